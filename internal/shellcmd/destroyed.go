package shellcmd

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
)

// systemFolders are those without which a machine does not start, or holds no data any more. Folders that are
// legitimately emptied, such as /tmp, /opt and /mnt, are not among them.
const systemFolders lazy.Words = `/bin /boot /dev /etc /home /lib /lib32 /lib64 /proc /sbin /sys /usr /usr/bin
	/usr/sbin /usr/lib /usr/lib64 /var /Users /System /Library /Applications /private /mnt/c /mnt/c/Users /mnt/c/Windows`

// homes are the home folders that are not in /home or /Users.
const homes lazy.Words = `/root /var/root`

// isHome reports a home folder, or a pattern for some. A path deeper in one is none.
func isHome(full string) bool {
	own, err := os.UserHomeDir()
	folder, name := path.Split(full)
	return homes.Has(full) || (folder == "/home/" || folder == "/Users/") && name != "" ||
		err == nil && own != "" && full == path.Clean(own)
}

// target says what would be lost with a file, "" when the loss may be intended.
func (f *floor) target(text string, p workdirs) string {
	plain, name := f.emptied(text)
	if !strings.HasPrefix(plain, "~") && strings.Contains(plain, "$") || plain == "" {
		return ""
	}
	for _, d := range p.dirs {
		for _, to := range append(slices.Clip(f.entered), plain) {
			to, unset := f.emptied(to)
			if name = cmp.Or(name, unset); strings.HasPrefix(to, "~") {
				to = "/home/" + to
			}
			d = joined(d, to)
		}
		if why := isDestroyed(d); why != "" {
			if name != "" {
				f.hint = " where $" + name + " is empty, and nothing here sets it; ${" + name + ":?} fails then"
			}
			return why
		}
	}
	return ""
}

// emptied is a path without the variables that nothing is known to set: "$X"/* is /* then. It names one of them.
func (f *floor) emptied(text string) (out, name string) {
	out = variable().ReplaceAllStringFunc(text, func(found string) string {
		m := variable().FindStringSubmatch(found)
		if m[2] != "" && !strings.ContainsAny(m[2][:1], "%#/,^") && strings.Trim(m[2], ": -0123456789") != "" ||
			!f.unset(m[1]+m[3]) {
			return found
		}
		name = m[1] + m[3]
		return ""
	})
	return out, name
}

var (
	// inherited are variables that a shell is started with, or sets itself.
	inherited = lazy.Regexp(`^(PATH|PWD|OLDPWD|TMPDIR|TMP|TEMP|LANG|TZ|TERM|HOSTNAME|[EP]?P?UID|PPID|` +
		`RANDOM|SECONDS|REPLY|(XDG|BASH|LC)_?\w*|_|[^A-Za-z_].*)$`)
	// guarded is a test that fails for a variable without a value, or for one with a value, or what ends the shell then.
	guarded = lazy.Regexp(`(?:\[\[?|\btest) (?:! )?(?:-[nzde] )?"\$\{?(\w+)(?::-)?\}?"|` +
		`\[\[ (?:! )?-[nzde] \$\{?(\w+)\b|\$\{(\w+):?\?`)
	// setsAny are commands that may set a variable without naming it, and set -u, with which none is empty.
	setsAny = lazy.Regexp(`\b(source|eval|export|declare|typeset|readonly|env|nounset)\b|(^|[\s;&|({])\.\s|` +
		`\bset\s+-\w*u`)
)

// A wholeText is the text of a call, with what it says of variables, which is looked up once.
type wholeText struct {
	text  string
	words map[string]bool // but those behind $ or {, which take a value; nil before the lookup
	sets  bool            // one of setsAny is in it
	tests bool            // and what may look at whether there are arguments

	script bool // what is examined is a file that the text has written

	walked int // how much of substitutions was walked, in commands as in maxGiven
}

// unset reports a variable that the text does not name but to take its value, and that is not there before it.
func (f *floor) unset(name string) bool {
	if inherited().MatchString(name) || slices.ContainsFunc(f.at.Env, func(given string) bool {
		is, _, _ := strings.Cut(given, "=")
		return is == name
	}) {
		return false
	}
	w := f.outer.read()
	return !w.sets && !w.words[name]
}

// read looks that up.
func (w *wholeText) read() *wholeText {
	if w.words == nil {
		w.words, w.sets = map[string]bool{}, setsAny().MatchString(w.text)
		w.tests = slices.ContainsFunc([]string{"[ ", "[[ ", "test ", "case ", "while ", "until ", "if ", "||", "$#", "${#",
			":?", ":=", "?}"}, func(part string) bool { return strings.Contains(w.text, part) })
		functions := strings.Contains(w.text, "()") || strings.Contains(w.text, "function ")
		for _, at := range guarded().FindAllStringSubmatchIndex(w.text, -1) { // before a use, or perhaps a call
			name := string(guarded().ExpandString(nil, "$1$2$3", w.text, at))
			if rest := w.text[at[1]:]; functions || strings.Contains(rest, "$"+name) || strings.Contains(rest, "${"+name) {
				w.words[name] = true
			}
		}
		for i := 0; i < len(w.text); i++ {
			begin := i
			for i < len(w.text) && isWordByte(w.text[i]) {
				i++
			}
			if i > begin && (begin == 0 || w.text[begin-1] != '$' && w.text[begin-1] != '{') {
				w.words[w.text[begin:i]] = true
			}
		}
	}
	return w
}

// rootOfProcess is another path of the root.
var rootOfProcess = lazy.Regexp(`^(/proc/[^/]+(/task/[^/]+)?/root)+(/|$)`)

func isDestroyed(full string) string {
	full = path.Clean(rootOfProcess().ReplaceAllString(full, "/"))
	folder, last := path.Split(full)
	folder = path.Clean(folder)
	all := strings.ContainsAny(last, "*?[") && matchesAll(last)
	switch {
	case full == "/", all && folder == "/":
		return wholeSystem
	case systemFolders.Has(full), all && systemFolders.Has(folder):
		return wholeSystem
	case isHome(full), all && isHome(folder):
		return wholeHome
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	return when(strings.HasPrefix(full, "/") && strings.ContainsAny(first, "*?[") && matchesSystem(first), wholeSystem)
}

// matchesAll reports patterns for everything in a folder: *, .*, ?*, .[!.]*.
func matchesAll(pattern string) bool {
	return strings.Trim(pattern, "*?.") == "" || pattern == ".[!.]*" || pattern == ".[^.]*" || pattern == "[!.]*"
}

// matchesSystem reports a pattern at the root that matches system folders, such as ??? and [a-z]*.
func matchesSystem(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	return systemFolders.Any(func(folder string) bool {
		ok, _ := path.Match(pattern, folder[1:])
		return ok
	})
}

var (
	device = lazy.Regexp(`^/dev/(disk/by-[a-z]+/.+|block/.+|r?disk[0-9*?\[].*|(a?da|vtbd|nvd)[0-9].*|mapper/` +
		`.+|([shv]|xv)d[a-z*?\[].*|\[[a-z]+\]d[a-z*?\[].*|nvme[0-9*?\[].*|mmcblk[0-9*?\[].*|md[0-9*?\[].*|dm-[0-9*?\[].*|k?mem|port|[*?]+)$`)
	// accounts are files without which no one can log in.
	accounts lazy.Words = `/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab`
)

// redirects examines the targets of writes.
func (f *floor) redirects(c *Command) string {
	for _, r := range c.Redirects {
		target := path.Clean(f.text(r.Target))
		switch {
		case !r.Writes:
		case device().MatchString(target):
			return wholeDisk
		case target == sysrq:
			return stopsAtOnce
		case (r.Op == ">" || r.Op == ">|" || r.Op == "&>") && accounts.Has(target):
			return wholeSystem
		}
	}
	return ""
}

// overwrites examines what a program writes to: devices, and files without which no one can log in.
func (f *floor) overwrites(c *Command, name string, operands []string) string {
	to := f.texts(c.written())
	switch name {
	case "rm", "unlink", "shred", "truncate":
		to = operands
	case "dd":
		to = valuesOf(f.texts(c.Args))
	}
	if name != "rm" && slices.ContainsFunc(to, func(file string) bool { return path.Clean(file) == sysrq }) {
		return stopsAtOnce
	}
	switch name {
	case "tee":
		if optionIn(f.texts(c.Args), "-a --append") {
			return ""
		}
	case "cp", "mv", "install", "ln": // a file that takes the place of another may be meant, nothing cannot
		switch {
		case len(operands) > 0 && operands[0] == "/dev/null":
		case name == "mv":
			to = operands[:max(0, len(operands)-1)]
		default:
			return ""
		}
	case "chmod", "touch", "mkdir", "mkfifo", "mknod", "link":
		return ""
	}
	for _, file := range to {
		switch file = path.Clean(file); {
		case name != "rm" && name != "unlink" && device().MatchString(file):
			return wholeDisk
		case accounts.Has(file) && !slices.Contains([]string{"sed", "patch", "sort"}, name):
			return wholeSystem
		}
	}
	return ""
}

// deviceUses are commands that destroy what is on a device, by which of their operands names it: unnamed is for any. A
// word may be anywhere among the operands; an option behind a ! must not be there.
var deviceUses = sync.OnceValue(func() map[string][]use {
	return table{
		{"all", `tee|socat|shred|wipe|blkdiscard|mkswap|truncate|sponge|pvremove|scrub|pvcreate|nwipe|mkntfs|sg_format,
			mke2fs, sg_sanitize|sg_write_same|ddrescue|newfs|mkdosfs, badblocks -w, ntfsclone -O|--overwrite, bcachefs format,
			parted mklabel|mktable|rm|mkpart, wipefs -a|-o|-f|--all|--offset|--force, mdadm --zero-superblock|-C|--create,
			sgdisk -Z|-o|-d|--zap-all|--zap|--clear|--delete, cryptsetup luksformat|erase|lukserase|reencrypt,
			hdparm --security-erase|--trim-sector-ranges|--write-sector, zpool create|labelclear,
			fdisk|cfdisk|gdisk !-l !-x !--list, sfdisk !-l !-d !-J !-s !--list !--dump !--json !--show-size !--verify`},
		{"last", `cp|mv|install|dd_rescue|bmaptool, qemu-img convert`},
		{"value", `dd|dcfldd|dc3dd, qemu-img dd,
			fio --rw=write|--rw=rw|--rw=readwrite|--rw=randwrite|--rw=randrw|--rw=trimwrite|--rw=randtrimwrite`},
		{unnamed, `nvme format|sanitize|write-zeroes, zpool destroy, zfs destroy -r|-R, flashrom -w|-E, dmsetup remove_all,
			vgremove|lvremove -f|-y|--force|--yes,
			diskutil erasedisk|erasevolume|zerodisk|randomdisk|secureerase|partitiondisk`},
		{stops, `reboot|poweroff|halt|shutdown !--help !--version !-c !-k !--show !-w !--wtmp-only,
			systemctl|loginctl reboot|poweroff|halt|kexec|soft-reboot !--help !-H !--host !-M
			!--machine !--dry-run, systemctl start|isolate reboot.target|poweroff.target|halt.target, init|telinit 0|6`},
	}.uses()
})

const stops, stopsAtOnce = "it would stop the machine", "it would stop the machine at once"

var fileValue = lazy.Regexp(`^(h?of|h?wipe|--filename)=(.*)$`)

// valuesOf are the files in words such as of=FILE.
func valuesOf(args []string) (files []string) {
	for _, a := range args {
		if m := fileValue().FindStringSubmatch(a); m != nil {
			files = append(files, m[2])
		}
	}
	return files
}

// systemPrograms are the folders of the programs of the system.
const systemPrograms lazy.Words = "/bin /sbin /usr/bin /usr/sbin"

// unlessElsewhere is what a command would do, "" if that is to stop another machine than this one.
func (f *floor) unlessElsewhere(c *Command, why string) string {
	elsewhere := func(via string) bool {
		variable, empty := strings.CutSuffix(via, " being empty") // it may be ssh a
		value := f.text(Word{Text: variable})
		return strings.HasSuffix(via, "ssh") || empty && value != variable && value != ""
	}
	return when(!strings.HasSuffix(why, stops) || !slices.ContainsFunc(c.Via, elsewhere), why)
}

// machine examines programs that write to devices, or stop the machine.
func (f *floor) machine(c *Command, name string, args, operands []string) string {
	onDevice := func(file string) bool { return device().MatchString(path.Clean(file)) }
	has := func(token string) bool {
		switch {
		case token[0] == '!':
			return !optionIn(args, lazy.Words(token[1:]))
		case strings.Contains(token, "="):
			return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, token) }) // --rw=write:4k
		case token[0] == '-':
			return optionIn(args, lazy.Words(token))
		}
		return slices.ContainsFunc(operands, func(o string) bool {
			o = strings.ToLower(o)
			return o == token || strings.HasPrefix(token, "mk") && strings.HasPrefix(o, token) // mklabelgpt
		})
	}
	for _, u := range deviceUses()[name] {
		if slices.ContainsFunc(u.prefix[1:], func(token string) bool { return !has(token) }) {
			continue
		}
		files := operands
		switch u.says {
		case unnamed:
			return wholeDisk
		case stops: // by its own program, whose first word says so
			if _, function := f.bodies[name]; !function && !c.maybe &&
				(systemPrograms.Has(path.Dir(c.Program.Text)) || !strings.Contains(c.Program.Text, "/")) &&
				(len(u.prefix) == 1 || u.prefix[1][0] == '!' || operands[0] == u.prefix[1]) {
				return stops
			}
			continue
		case "last":
			files = operands[min(len(operands), max(1, len(operands)-1)):] // which is not the only one
		case "value":
			files = valuesOf(args)
		}
		if slices.ContainsFunc(files, onDevice) {
			return wholeDisk
		}
	}
	if strings.HasPrefix(name, "mkfs") && slices.ContainsFunc(operands, func(o string) bool {
		return strings.HasPrefix(path.Clean(o), "/dev/") || strings.HasPrefix(o, "$") // and no image file
	}) {
		return wholeDisk
	}
	return ""
}
