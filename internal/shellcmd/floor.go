package shellcmd

import (
	"cmp"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"mvdan.cc/sh/v3/syntax"
)

// Catastrophe says why a text would destroy a system, a home folder or a disk, or stop the machine: never the
// intention of text written for an agent, such as rm -rf /, mkfs on a device, or a fork bomb. It is "" for everything
// else, including text that only mentions such a command. It examines wrappers, quotes, and variables that the text
// itself sets.
func Catastrophe(text string, c Context) string {
	left := maxGiven
	return catastropheIn(text, &wholeText{text: text}, c, &left)
}

// catastropheIn examines a text that outer, the whole one, runs.
func catastropheIn(text string, outer *wholeText, c Context, left *int) string {
	if !suspicious(text) {
		return ""
	}
	if c.Dir == "" && c.Root == "" {
		c.Dir = "/an/unknown/folder/far/below/the/root" // so that ../.. leads to no known folder
	}
	why := ""
	readings(text, suspicious, func(s *Script) (done bool) {
		why = catastrophe(s, outer, c, left)
		return why != ""
	})
	return why
}

// catastrophe examines one reading. Of one with an error it has the part before it: bash would run that.
func catastrophe(s *Script, outer *wholeText, c Context, left *int) string {
	if s.bomb != "" {
		return s.bomb
	}
	f := floor{at: c, outer: outer, values: map[string]string{}, lists: s.lists, commands: s.Commands,
		bodies: map[string][]int{}, left: left}
	for name, value := range c.Given {
		// a home folder is one wherever it is, and the shell sets the others
		if !homeVariable(name) && name != "PWD" && name != "OLDPWD" {
			f.values[name] = value
		}
	}
	maps.Copy(f.values, s.values)
	inBody := map[int]bool{}
	for i := range s.Commands {
		for _, via := range s.Commands[i].Via {
			if name, ok := strings.CutPrefix(via, inFunction); ok {
				f.bodies[name], inBody[i] = append(f.bodies[name], i), true
			}
		}
	}
	for i := range s.Commands {
		values := f.values
		if inBody[i] { // its arguments are those of a call
			f.values = maps.Clone(f.values)
			f.positional(nil)
		}
		if why := f.command(i); why != "" {
			return shorten(s.Commands[i].Text) + ": " + why + f.hint
		}
		f.values = values
	}
	return ""
}

// suspects are in every text that could be one: most texts need no further examination.
var suspects = []string{
	"rm", "mk", "dd", "/dev", "/proc", "/etc", "chmod", "chown", "chgrp", "setfacl", "chattr", "mv", "kill",
	"()", "function", "while", "until", "fork", "shred", "wipefs", "blkdiscard", "find", "rsync", "truncate",
	"sgdisk", "parted", "fdisk", "zpool", "diskutil", "hdparm", "nvme", "cryptsetup", "badblocks", "vgremove",
	"pvremove", "lvremove", "unlink", "system", "IFS", "((", "rmtree", "$'", "zfs", "mdadm", "userdel",
	"clean", "btrfs", "srm", "wipe", "rimraf", "trash", "del-cli", "remove", "/bin/",
}

// suspicious also reports a text whose variables may hold the letters of a suspect each.
func suspicious(text string) bool {
	return mentions(text, suspects) || strings.Contains(text, "$") && strings.Contains(text, "=")
}

var (
	withoutQuotes = strings.NewReplacer("'", "", `"`, "")
	unquoted      = strings.NewReplacer("'", "", `"`, "", "\\\n", "", "\\", "")
)

// mentions reports a text with one of some words in it, also in quotes or with a backslash.
func mentions(text string, words []string) bool {
	plain := unquoted.Replace(text)
	lower := strings.ToLower(plain)
	return slices.ContainsFunc(words, func(s string) bool {
		return strings.Contains(plain, s) || strings.Contains(text, s) || strings.Contains(lower, s)
	})
}

// A floor examines the commands of one text.
type floor struct {
	at       Context
	outer    *wholeText // a variable may be set outside of the part that is examined
	values   map[string]string
	commands []Command
	entered  []string         // the folders of cd and pushd that the walk does not follow, each in the one before
	bodies   map[string][]int // the commands of functions, by their names
	lists    map[string]bool  // variables of loops

	extra extra  // what another command adds to the one that is examined
	line  string // what a loop reads
	hint  string // what to write instead
	left  *int   // how much may still be examined, see maxGiven
}

const wholeSystem, wholeHome, wholeDisk = "it would destroy the system", "it would destroy a home folder",
	"it would destroy what is on a disk"

func (f *floor) command(i int) string {
	c := &f.commands[i]
	if c.otherDirectory() {
		return ""
	}
	if why := f.redirects(c); why != "" {
		return why
	}
	words := f.texts([]Word{c.Program})
	if len(words) == 0 || words[0] == "" || c.built {
		return ""
	}
	if matched, _ := path.Match(path.Base(words[0]), "rm"); matched && c.Program.kind == glob { // /bin/r?
		words[0] = "rm"
	}
	name, args := baseName(words[0]), f.added(c, append(words[1:], f.texts(c.Args)...))
	p := f.at.workdirs(c.dirs)
	var operands []string
	for i, a := range args {
		if a == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			operands = append(operands, a)
		}
	}
	has := func(letters string, long ...string) bool { return option(args, letters, long...) }
	if stopsMachine(name, args) {
		return "it would stop the machine"
	}
	if shells.Has(name) {
		f.shellArguments(args)
	}
	if why := cmp.Or(f.computed(c, name, args), f.gives(i, name, args)); why != "" {
		return why
	}
	why, gone := "", []string(nil) // the files that are deleted
	switch name {
	case "set":
		f.positional(operands)
	case "shift":
		f.shift(operands)
	case "pushd":
		f.entered = append(f.entered, operands...)
	case "popd":
		f.entered = f.entered[:max(len(f.entered)-1, 0)]
	case "git":
		return cmp.Or(f.cleans(args, p), f.aliases(args))
	case "printf":
		if len(args) > 2 && args[0] == "-v" && !strings.Contains(args[2], "%") {
			f.values[args[1]] = args[2]
		}
	case "cd":
		f.entered = nil
		if len(operands) == 0 {
			f.entered = []string{"~"}
		} else if !c.Args[len(c.Args)-1].Static {
			f.entered = operands[:1]
		}
	case "rm":
		why = f.remove(args, operands, p)
	case "mv":
		gone = operands[:max(len(operands)-1, 0)]
	case "chmod", "chown", "chgrp", "chattr", "setfacl":
		return f.changesModes(name, operands, has("R", "recursive", "no-preserve-root"), p)
	case "shred", "unlink", "srm", "wipe", "truncate", "rimraf", "del-cli", "trash", "trash-put":
		gone = operands
	case "docker", "podman", "nerdctl":
		return f.container(args)
	case "btrfs":
		if len(operands) > 2 && cutFrom("--"+operands[0], "--subvolume") && cutFrom("--"+operands[1], "--delete") {
			gone = operands[2:]
		}
	case "tar", "bsdtar":
		if slices.Contains(args, "--remove-files") {
			gone = operands
		}
	case "cmake":
		if len(args) > 2 && args[0] == "-E" && (args[1] == "rm" || args[1] == "remove_directory") {
			gone = args[2:]
		}
	case "find":
		if slices.Contains(args, "-delete") {
			if gone = wholeTrees(args); len(gone) == 0 {
				return ""
			}
		}
	case "rsync":
		if n := len(operands); n > 1 && has("", "remove-source-files") {
			gone = operands[:n-1]
		} else if n > 1 && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--del") }) {
			gone = operands[n-1:]
		}
	case "kill", "pkill", "killall5":
		return endsAllProcesses(name, args, operands)
	case "userdel":
		if slices.Contains(operands, "root") {
			why = wholeSystem
		}
	}
	for i := 0; i < len(gone) && why == ""; i++ {
		why = f.target(gone[i], p)
	}
	if why != "" || len(gone) > 0 && name == "find" {
		return why
	}
	if why = disks(name, args, operands, has); why != "" {
		return why
	}
	return cmp.Or(f.overwrites(c, name, operands), f.program(name, args))
}

func (f *floor) remove(args, operands []string, p workdirs) string {
	if slices.ContainsFunc(args,
		func(a string) bool { return a == "--no-preserve-root" || strings.HasPrefix(a, "--no-p") }) {
		return wholeSystem
	}
	recursive := option(args, "rR", "recursive")
	for _, o := range operands {
		why := f.target(o, p)
		if why != "" && (recursive || strings.ContainsAny(o, "*?[")) {
			return why
		}
	}
	return ""
}

// changesModes examines changes of modes and owners. For a home folder they may be intended, except one that opens or
// closes it to all.
func (f *floor) changesModes(name string, operands []string, recursive bool, p workdirs) string {
	if len(operands) < 2 && name != "setfacl" {
		return ""
	}
	files := operands
	if name != "setfacl" { // whose -b takes no rights before the files
		files = operands[1:]
	}
	for _, o := range files {
		if !recursive && !strings.HasSuffix(o, wholeTree) && !(o == "/" && name == "chmod" && closes.Has(operands[0])) {
			continue
		}
		why := f.target(o, p)
		if why == wholeSystem || why == wholeHome && name == "chmod" &&
			slices.Contains([]string{"777", "0777", "000", "0", "a+rwx", "ugo+rwx", "a-rwx", "+rwx"}, operands[0]) {
			return strings.Replace(why, "destroy", "change the rights of all in", 1)
		}
	}
	return ""
}

// closes are the rights without which no one gets into a folder.
const closes lazy.Words = `000 00 0 0000 a-rwx a-x -x ugo-x ugo-rwx a= ugo=`

// aliases examines the aliases that git is given for this call.
func (f *floor) aliases(args []string) string {
	for i, a := range args {
		if _, text, ok := strings.Cut(a, "=!"); ok && i > 0 && args[i-1] == "-c" && strings.HasPrefix(a, "alias.") {
			if why := f.nested(text); why != "" {
				return why
			}
		}
	}
	return ""
}

// cleans examines git clean, which deletes what is not committed in the folder of -C or --work-tree, or in its own.
func (f *floor) cleans(args []string, p workdirs) string {
	i := slices.Index(args, "clean")
	if i < 0 || !option(args[i:], "f", "force") {
		return ""
	}
	folder := cmp.Or(f.values["GIT_WORK_TREE"], ".")
	for at, a := range args[:i] {
		if tree, ok := strings.CutPrefix(a, "--work-tree="); ok {
			folder = tree
		} else if a == "-C" || a == "--work-tree" {
			folder = args[at+1]
		}
	}
	return f.target(folder, p)
}

// mounted are the folders of this system that a container sees, and where: -v FROM:TO, --mount source=FROM,target=TO.
var mounted = lazy.Regexp(`^(?:-v=?|--volume=)?([/~][^:,]*):(/[^:,]+)(?::.*)?$|` +
	`\b(?:source|src)=([^,]+),(?:.*,)?(?:target|dst|destination)=([^,]+)`)

// pathInText is an absolute path, or one in the home folder, in a word or in a text for a shell.
var pathInText = lazy.Regexp(`(?:^|[\s='"(;|&>])(?:/|~)[^\s'");|&]*`)

// container examines what runs in a container, with the paths of folders of this system that it sees; others are its
// own.
func (f *floor) container(args []string) (why string) {
	places, own := map[string]string{}, "/container"
	if option(args, "", "privileged", "device") {
		places["/dev"] = "/dev"
	}
	for _, a := range args {
		if m := mounted().FindStringSubmatch(a); m != nil {
			places[strings.TrimSuffix(m[2]+m[4], "/")] = m[1] + m[3]
			if m[1]+m[3] == "/" && slices.Contains(args, "chroot") {
				own = ""
			}
		}
	}
	for i := 0; len(places) > 0 && i < min(len(args), maxGuessed); i++ {
		if args[i] == "" || args[i][0] == '-' {
			continue
		}
		words, here := make([]string, 0, len(args)-i), own == ""
		for _, word := range args[i:] {
			words = append(words, textutil.ShellQuoted(pathInText().ReplaceAllStringFunc(word, func(found string) string {
				at := strings.IndexAny(found, "/~")
				for to := path.Clean(found[at:]); to != "/" && to != "."; to = path.Dir(to) {
					if from, ok := places[to]; ok {
						here = true
						return found[:at] + path.Join(from, strings.TrimPrefix(found[at:], to))
					}
				}
				return found[:at] + own + found[at:]
			})))
		}
		if here && why == "" {
			why = f.nested(strings.Join(words, " "))
		}
	}
	return why
}

// endsAllProcesses reports kill with -1 for the processes, or with the first process, and patterns for all.
func endsAllProcesses(name string, args, operands []string) string {
	const all = "it would end all processes"
	switch name {
	case "killall5":
		return all
	case "pkill":
		few := slices.ContainsFunc(args, func(a string) bool {
			return len(a) > 1 && a[0] == '-' && strings.ContainsAny(a[1:2], "PgstF") && a != "-STOP"
		})
		if !few && slices.ContainsFunc(operands,
			func(o string) bool { return slices.Contains([]string{".", ".*", ".+", "^", "$", ""}, o) }) {
			return all
		}
		return ""
	}
	kills := slices.ContainsFunc(args,
		func(a string) bool {
			return slices.Contains([]string{"-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "9"}, a)
		})
	for i, a := range args {
		last := i > 0 && args[i-1] != "-s" && args[i-1] != "-n" && args[i-1] != "--signal"
		if a == "-1" && last || a == "--" && i+1 < len(args) && args[i+1] == "-1" || a == "1" && last && kills {
			return all
		}
	}
	return ""
}

const sysrq = "/proc/sysrq-trigger"

// stopsMachine reports a program that writes to the file by which the kernel stops or restarts.
func stopsMachine(name string, args []string) bool {
	return slices.Contains([]string{"tee", "dd", "cp", "sponge", "install"}, name) &&
		slices.ContainsFunc(args, func(a string) bool { return path.Clean(strings.TrimPrefix(a, "of=")) == sysrq })
}

// runsOne are calls in other languages that run the text in them.
var runsOne = lazy.Regexp(`(?:system|popen|exec|execSync|call|run|check_call|check_output|Popen|shell_exec|passthru|qx)\s*\(?\s*(?:"([^"]*)"|'([^']*)'|qq?\s*[{(|/]([^})|]*))`)

// forks start processes without end, in other languages.
var forks = lazy.Regexp(`fork\s+while\s+(fork|1|true)\b|while\s*\(?\s*(1|true|True|fork)\s*\)?\s*[:;` +
	`{]?\s*\{?\s*(os\.)?fork\b|loop\s*\{\s*(Process\.)?fork\b|\bfork\s+while\b`)

var wipesTree = lazy.Regexp(`(?:rmtree|rm_rf?|remove_tree|rmSync|remove_dir_all)[\s(]+(?:["'](?:/?[*.]?|~/?)["']|` +
	`(?:os\.path\.expanduser\(["']~/?["']\)|(?:pathlib\.)?Path\.home\(\)|Dir\.home|os\.homedir\(\))\s*[,)])`)

// program examines the program text of an interpreter.
func (f *floor) program(name string, args []string) string {
	if _, ok := interpreterOf(name); !ok {
		return ""
	}
	for _, a := range args {
		switch {
		case forks().MatchString(a):
			return "it starts processes without end"
		case wipesTree().MatchString(a) && !strings.Contains(a, `("")`):
			return wholeSystem
		}
		for _, found := range runsOne().FindAllStringSubmatch(a, 10) {
			if why := f.nested(found[1] + found[2] + found[3]); why != "" {
				return why
			}
		}
	}
	return ""
}

// option finds a short option in a bundle, or the beginning of a long one.
func option(args []string, letters string, long ...string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		switch {
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a[2:], "=")
			if name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) }) {
				return true
			}
		case len(a) > 1 && a[0] == '-' && letters != "" && strings.ContainsAny(a[1:], letters):
			return true
		}
	}
	return false
}

func (f *floor) texts(words []Word) (out []string) {
	for _, w := range words {
		text := f.text(w)
		list, ok := braces(text)
		if f.extra.place != "" && strings.Contains(text, f.extra.place) {
			text, w.Static = strings.ReplaceAll(text, f.extra.place, f.extra.word), false
		}
		switch {
		case w.Static || strings.ContainsAny(text, "$`<"):
			out = append(out, text)
		case ok:
			out = append(out, list...)
		case !strings.HasPrefix(w.Text, `"`) || strings.Contains(w.Text, "@") || f.isList(w.Text): // it falls apart
			out = append(out, strings.Fields(text)...)
		default:
			out = append(out, text)
		}
	}
	return out
}

var (
	variable  = lazy.Regexp(`\$\{([A-Za-z_]\w*|[0-9@*])(?:\[[@*0-9]\])?(:?[-=?+][^}]*|%[^}]*|#[^}]*)?\}|\$([A-Za-z_]\w*|[0-9@*])`)
	printed   = lazy.Regexp(`^(?:\$\(|` + "`" + `)\s*(?:echo|printf(?:\s+%[sb](?:\\n)?)?)\s+([^()$` + "`" + `;|&<>]*?)\s*(?:\)|` + "`" + `)$`)
	listing   = lazy.Regexp(`^(?:\$\(|` + "`" + `)\s*(ls|find)\b([^()$` + "`" + `;|&<>]*)(?:\)|` + "`" + `)$`)
	fallbacks = lazy.Regexp(`^:?[-=](.*)$`)
)

// printedBy is what the substitution that a text consists of prints: words of echo, or patterns for names of files.
func printedBy(text string) string {
	if m := printed().FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	m := listing().FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case m[1] == "ls":
		return strings.Join(listed(strings.Fields(m[2]), false), " ")
	}
	return strings.Join(found(strings.Fields(m[2])), " ")
}

// text is the known text of a word: without quotes, and with the values of variables. A home folder is ~.
func (f *floor) text(w Word) string {
	switch {
	case w.Static:
		return w.Text
	case w.named && f.line != "":
		return strings.ReplaceAll(w.Text, "*", f.line)
	}
	text := withoutQuotes.Replace(w.Text)
	for range 4 {
		expanded := variable().ReplaceAllStringFunc(text, func(found string) string {
			m := variable().FindStringSubmatch(found)
			name := m[1] + m[3]
			switch value, known := f.values[name]; {
			case known:
				return printedBy(trimmed(withoutQuotes.Replace(value), m[2]))
			case homeVariable(name):
				return "~"
			}
			if other := fallbacks().FindStringSubmatch(m[2]); other != nil {
				if strings.HasPrefix(strings.TrimPrefix(m[2], ":"), "=") {
					f.values[name] = other[1]
				}
				return other[1]
			}
			return found
		})
		expanded = printedBy(expanded)
		if expanded == text || len(expanded) > maxText {
			break
		}
		text = expanded
	}
	return text
}

// homeVariable reports a variable for the user's home folder; of the last two only /home/$USER counts.
func homeVariable(name string) bool { return name == "HOME" || name == "USER" || name == "LOGNAME" }

// trimmed is a value without what an expansion such as ${x%y} or ${x#y} takes away, if that is no pattern.
func trimmed(value, expansion string) string {
	switch {
	case strings.HasPrefix(expansion, "%"):
		return strings.TrimSuffix(value, strings.TrimLeft(expansion, "%"))
	case strings.HasPrefix(expansion, "#"):
		return strings.TrimPrefix(value, strings.TrimLeft(expansion, "#"))
	}
	return value
}

// systemFolders are those without which a machine does not start, or holds no data any more. Folders that are
// legitimately emptied, such as /tmp, /opt and /mnt, are not among them.
const systemFolders lazy.Words = `/bin /boot /dev /etc /home /lib /lib32 /lib64 /proc /sbin /sys /usr /var /Users
	/System /Library /Applications /private`

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
		if m[2] != "" && m[2][0] != '%' && m[2][0] != '#' || !f.unset(m[1]+m[3]) {
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
		`RANDOM|SECONDS|REPLY|(XDG|BASH|LC)_?\w*|[^A-Za-z_].*)$`)
	// setsAny are commands that may set a variable without naming it, and set -u, with which none is empty.
	setsAny = lazy.Regexp(`\b(source|eval|export|declare|typeset|readonly|env|nounset)\b|(^|[\s;&|({])\.\s|` +
		`\bset\s+-\w*u`)
)

// A wholeText is the text of a call, with what it says of variables, which is looked up once.
type wholeText struct {
	text  string
	words map[string]bool // but those behind $ or {, which take a value; nil before the lookup
	sets  bool            // one of setsAny is in it
}

// unset reports a variable that the text does not name but to take its value, and that is not there before it.
func (f *floor) unset(name string) bool {
	if inherited().MatchString(name) || slices.Contains(f.at.Env, name) {
		return false
	}
	w := f.outer
	if w.words == nil {
		w.words, w.sets = map[string]bool{}, setsAny().MatchString(w.text)
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
	return !w.sets && !w.words[name]
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
	if strings.HasPrefix(full, "/") && strings.ContainsAny(first, "*?[") && matchesSystem(first) {
		return wholeSystem
	}
	return ""
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
			return "it would stop the machine"
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
	case "tee":
		if option(f.texts(c.Args), "a", "append") {
			return ""
		}
	case "dd":
		to = nil
		for _, a := range f.texts(c.Args) {
			if file, ok := strings.CutPrefix(a, "of="); ok {
				to = append(to, file)
			}
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
		case file == sysrq && name != "rm":
			return "it would stop the machine"
		case accounts.Has(file) && !slices.Contains([]string{"sed", "patch", "sort"}, name):
			return wholeSystem
		}
	}
	return ""
}

// A deviceUse says with which words a program destroys what is on a device: options, or beginnings of operands; "" for
// any. Unnamed ones do so whatever they name.
type deviceUse struct {
	words   lazy.Words
	unnamed bool
}

var deviceUses = sync.OnceValue(func() map[string]deviceUse {
	m := map[string]deviceUse{
		"badblocks": {words: "-w"}, "ntfsclone": {words: "-O --overwrite"}, "bcachefs": {words: "format"},
		"wipefs": {words: "-a -o -f --all --offset --force"}, "sgdisk": {words: "-Z -o -d --zap-all --zap --clear --delete"},
		"parted": {words: "mklabel mktable rm mkpart"}, "cryptsetup": {words: "luksformat erase lukserase reencrypt"},
		"hdparm":   {words: "--security-erase --trim-sector-ranges --write-sector"},
		"nvme":     {"format sanitize write-zeroes", true},
		"diskutil": {"erasedisk erasevolume zerodisk randomdisk secureerase partitiondisk", true},
		"mdadm":    {words: "--zero-superblock -C --create"}, "vgremove": {"-f -y --force --yes", true},
		"lvremove": {"-f -y --force --yes", true}, "zpool": {"destroy", true},
	}
	for name := range strings.FieldsSeq("tee shred wipe blkdiscard mkswap truncate sponge pvremove scrub pvcreate " +
		"nwipe mkntfs sg_format sg_sanitize sg_write_same ddrescue mke2fs newfs mkdosfs") {
		m[name] = deviceUse{}
	}
	return m
})

// disks examines programs that write to devices.
func disks(name string, args, operands []string, has func(letters string, long ...string) bool) string {
	named := slices.ContainsFunc(operands, func(o string) bool { return device().MatchString(path.Clean(o)) })
	if u, ok := deviceUses()[name]; ok {
		uses := u.words == "" || u.words.Any(func(word string) bool {
			switch {
			case strings.HasPrefix(word, "--"):
				return has("", word[2:])
			case word[0] == '-':
				return has(word[1:])
			}
			return slices.ContainsFunc(operands, func(o string) bool {
				o = strings.ToLower(o)
				return o == word || strings.HasPrefix(word, "mk") && strings.HasPrefix(o, word) // mklabelgpt
			})
		})
		if uses && (named || u.unnamed) {
			return wholeDisk
		}
	}
	onDevice := func(file string) bool { return device().MatchString(path.Clean(file)) }
	last := func() bool { return len(operands) > 0 && onDevice(operands[len(operands)-1]) }
	switch name {
	case "dd", "dcfldd", "dc3dd", "qemu-img":
		named = name == "qemu-img" && last() && operands[0] == "convert" || slices.ContainsFunc(args, func(a string) bool {
			option, of, _ := strings.Cut(a, "=")
			return slices.Contains([]string{"of", "hof", "wipe", "hwipe"}, option) && onDevice(of)
		})
	case "fio":
		named = slices.ContainsFunc(args, func(a string) bool {
			file, ok := strings.CutPrefix(a, "--filename=")
			return ok && onDevice(file)
		}) && slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--rw=") && (strings.Contains(a, "write") || strings.HasSuffix(a, "rw"))
		})
	case "cp", "mv", "install", "dd_rescue", "bmaptool":
		named = len(operands) > 1 && last()
	case "fdisk", "cfdisk", "gdisk":
		named = named && !has("lx", "list")
	case "sfdisk":
		named = named && !has("ldJs", "list", "dump", "json", "show-size", "verify")
	case "zpool":
		named = named && slices.Contains([]string{"create", "labelclear"}, operands[0])
	case "zfs":
		named = len(operands) > 0 && operands[0] == "destroy" && has("rR")
	default:
		named = strings.HasPrefix(name, "mkfs") && slices.ContainsFunc(operands, func(o string) bool {
			return strings.HasPrefix(path.Clean(o), "/dev/") || strings.HasPrefix(o, "$") // and no image file
		})
	}
	if named {
		return wholeDisk
	}
	return ""
}

// keepValue records a variable's value; the last one counts. That of an array is its elements.
func (w *walker) keepValue(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil && a.Array == nil || a.Append || a.Index != nil {
		return
	}
	var text []string
	if a.Value != nil {
		text = append(text, readWord(a.Value, w.slice(a.Value), nil).Text)
	} else {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				text = append(text, readWord(e.Value, w.slice(e.Value), nil).Text)
			}
		}
	}
	w.keepText(a.Name.Value, strings.Join(text, " "))
}

func (w *walker) keepText(name, value string) {
	if len(w.all.values) < 100 && len(value) <= 256 {
		if w.all.values == nil {
			w.all.values = map[string]string{}
		}
		w.all.values[name] = value
	}
}

// keepItems records the words of a loop for its variable. It is a list: the body of the loop runs for each.
func (w *walker) keepItems(name string, items []*syntax.Word) {
	var text []string
	for _, x := range items {
		text = append(text, readWord(x, w.slice(x), nil).Text)
	}
	w.keepText(name, strings.Join(text, " "))
	if w.all.lists == nil {
		w.all.lists = map[string]bool{}
	}
	w.all.lists[name] = true
}

// isForkBomb finds a function that calls itself more than once, or in the background: each call starts several,
// without end. A call with arguments may end, as one that walks through folders does.
func isForkBomb(c *syntax.FuncDecl, name string) string {
	calls, beside := 0, false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && (callsItself(n.X, name) || callsItself(n.Y, name)) {
				beside = true
			}
		case *syntax.Stmt:
			if callsItself(n, name) {
				calls++
				beside = beside || n.Background
			}
		}
		return true
	})
	if name != "" && (beside || calls > 1) {
		return "the function " + name + " starts itself again and again, without end"
	}
	return ""
}

// callsItself reports a statement that only calls the function, or the script itself.
func callsItself(s *syntax.Stmt, name string) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	word := readWord(call.Args[0], "", nil)
	return word.Static && word.Text == name
}

var (
	alwaysTrue  = lazy.Regexp(`^(true|:|(\[|test) 1( .*)?|\(\(\s*1\s*\)\))$`)
	alwaysFalse = lazy.Regexp(`^(false|\(\(\s*0\s*\)\))$`)
)

// endless finds a loop whose condition never changes, and that only starts shells, or itself, in the background.
func (w *walker) endless(c *syntax.WhileClause) {
	always := alwaysTrue
	if c.Until {
		always = alwaysFalse
	}
	if len(c.Cond) == 1 && always().MatchString(strings.Trim(withoutQuotes.Replace(w.slice(c.Cond[0])), "; \n")) {
		w.onlyStarts(c.Do)
	}
}

func (w *walker) onlyStarts(list []*syntax.Stmt) {
	if !slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return !s.Background }) {
		w.all.bomb = "a loop without end starts processes in the background, and waits for none"
	}
}
