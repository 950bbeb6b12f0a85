package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// systemFolders are those without which a machine does not start, or holds nothing any more. Not among them are those that are
// emptied in earnest, such as /tmp, /opt and /mnt.
var systemFolders = strings.Fields("/bin /boot /dev /etc /home /lib /lib32 /lib64 /proc /sbin /sys /usr /var /Users /System /Library /Applications /private")

// homes are home folders by their names.
var homes = strings.Fields("~ /root ~root /var/root")

// target says what would be lost with a file, "" when it is no more than somebody may mean.
func (f *floor) target(text string, p place) string {
	if f.atHome && slices.Contains([]string{".", "./", "*", "./*", ".*", "./.*", "..", "../"}, text) {
		return wholeHome
	}
	home := strings.HasPrefix(text, "~")
	if !home && strings.Contains(text, "$") {
		return ""
	}
	var all []string
	switch {
	case home:
		all = []string{path.Clean(text)}
	case text == "":
		return ""
	default:
		for _, d := range p.dirs {
			all = append(all, joined(d, text))
		}
	}
	for _, full := range all {
		if why := lost(full); why != "" {
			return why
		}
	}
	return ""
}

func lost(full string) string {
	folder, last := path.Split(full)
	folder = path.Clean(folder)
	pattern := strings.ContainsAny(last, "*?[")
	switch {
	case full == "/", pattern && folder == "/" && everything(last):
		return wholeSystem
	case slices.Contains(systemFolders, full), pattern && everything(last) && slices.Contains(systemFolders, folder):
		return wholeSystem
	case slices.Contains(homes, full), strings.HasPrefix(full, "~") && !strings.Contains(full, "/"):
		return wholeHome
	case pattern && everything(last) && (slices.Contains(homes, folder) || strings.HasPrefix(folder, "~") && !strings.Contains(folder, "/")):
		return wholeHome
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	if strings.HasPrefix(full, "/") && strings.ContainsAny(first, "*?[") && matchesSystem(first) {
		return wholeSystem
	}
	return ""
}

// everything reports patterns for all that is in a folder: *, .*, ?*, .[!.]*.
func everything(pattern string) bool {
	return strings.Trim(pattern, "*?.") == "" || pattern == ".[!.]*" || pattern == ".[^.]*" || pattern == "[!.]*"
}

// matchesSystem reports a pattern at the root that fits folders of the system, as ??? and [a-z]* do.
func matchesSystem(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	return slices.ContainsFunc(systemFolders, func(folder string) bool {
		ok, _ := path.Match(pattern, folder[1:])
		return ok
	})
}

var (
	device = lazily(`^/dev/(disk/by-[a-z]+/.+|r?disk[0-9*?\[].*|mapper/.+|([shv]|xv)d[a-z*?\[].*|\[[a-z]+\]d[a-z*?\[].*|nvme[0-9*?\[].*|mmcblk[0-9*?\[].*|md[0-9*?\[].*|dm-[0-9*?\[].*|k?mem|port|[*?]+)$`)
	// accounts are files without which nobody can log in.
	accounts = strings.Fields("/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab")
)

// redirects looks at what is written to.
func (f *floor) redirects(c *Command) string {
	for _, r := range c.Redirects {
		target := path.Clean(f.text(r.Target))
		switch {
		case !r.Writes:
		case device().MatchString(target):
			return wholeDisk
		case target == "/proc/sysrq-trigger":
			return "it would stop the machine"
		case (r.Op == ">" || r.Op == ">|" || r.Op == "&>") && slices.Contains(accounts, target):
			return wholeSystem
		}
	}
	return ""
}

// disks looks at programs that write to devices.
func disks(name string, args, operands []string, has func(letters string, long ...string) bool) string {
	named := slices.ContainsFunc(operands, func(o string) bool { return device().MatchString(path.Clean(o)) })
	switch name {
	case "dd", "dcfldd", "ddrescue":
		named = named && name == "ddrescue" || slices.ContainsFunc(args, func(a string) bool {
			of, ok := strings.CutPrefix(a, "of=")
			return ok && device().MatchString(path.Clean(of))
		})
	case "tee", "shred", "wipe", "blkdiscard", "mkswap", "truncate", "sponge", "pvremove", "badblocks":
		named = named && (name != "badblocks" || has("w"))
	case "cp", "mv", "install":
		named = len(operands) > 1 && device().MatchString(path.Clean(operands[len(operands)-1]))
	case "wipefs":
		named = named && has("aof", "all", "offset", "force")
	case "fdisk", "cfdisk", "gdisk":
		named = named && !has("lx", "list")
	case "sfdisk":
		named = named && !has("ldJs", "list", "dump", "json", "show-size", "verify")
	case "sgdisk":
		named = named && has("Zod", "zap-all", "zap", "clear", "delete")
	case "parted":
		named = named && slices.ContainsFunc(operands, func(o string) bool {
			return strings.HasPrefix(o, "mklabel") || strings.HasPrefix(o, "mktable") || o == "rm" || o == "mkpart"
		})
	case "hdparm":
		named = named && slices.ContainsFunc(args, func(a string) bool {
			return strings.Contains(a, "erase") || strings.Contains(a, "trim-sector") || strings.Contains(a, "write-sector")
		})
	case "nvme":
		named = slices.ContainsFunc(operands, func(o string) bool { return o == "format" || o == "sanitize" || o == "write-zeroes" })
	case "cryptsetup":
		named = named && slices.ContainsFunc(operands, func(o string) bool { return o == "luksFormat" || o == "erase" || o == "luksErase" || o == "reencrypt" })
	case "diskutil":
		named = slices.ContainsFunc(operands, func(o string) bool {
			return slices.Contains([]string{"erasedisk", "erasevolume", "zerodisk", "randomdisk", "secureerase", "partitiondisk"}, strings.ToLower(o))
		})
	case "zpool":
		named = len(operands) > 0 && operands[0] == "destroy"
	default:
		named = strings.HasPrefix(name, "mkfs") && makesOnDevice(operands) || (name == "mke2fs" || name == "newfs" || name == "mkdosfs") && named
	}
	if named {
		return wholeDisk
	}
	return ""
}

// makesOnDevice reports mkfs on anything but a file of its own, as an image is.
func makesOnDevice(operands []string) bool {
	if len(operands) == 0 {
		return false
	}
	return slices.ContainsFunc(operands, func(o string) bool { return strings.HasPrefix(path.Clean(o), "/dev/") || strings.HasPrefix(o, "$") })
}
