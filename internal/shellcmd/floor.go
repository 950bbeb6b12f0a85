package shellcmd

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
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
		bodies: map[string][]int{}, files: map[string]string{}, left: left}
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
	empty := slices.Clone(s.empty)
	for n := range empty { // up to where a function may set what it likes
		in := &empty[n].in
		for i := in.from; len(f.bodies) > 0 && i < in.to; i++ {
			if f.bodies[s.Commands[i].Name] != nil {
				in.to = i
			}
		}
	}
	var outside map[string]string // the values when env has others for what it runs, and where it was found
	var depth int
	for i := range s.Commands {
		c := &s.Commands[i]
		f.empty = nil
		for _, part := range empty {
			if i >= part.in.from && i < part.in.to {
				f.empty = append(f.empty, part.names...)
			}
		}
		if outside != nil && len(c.Via) <= depth {
			f.values, outside = outside, nil
		}
		values := f.values
		if inBody[i] { // its arguments are those of a call
			f.values = maps.Clone(f.values)
			f.positional(nil, false)
		}
		// A function, or a branch, of a script may stop the machine where nothing calls it, or takes it.
		if why := f.unlessElsewhere(c, f.command(i)); why != "" &&
			!((inBody[i] || outer.script && c.branch) && strings.HasSuffix(why, stops)) {
			return shorten(c.Text) + ": " + why + f.hint
		}
		f.values = values
		if c.Name == "env" && !c.otherDirectory() {
			if outside == nil {
				outside, depth, f.values = f.values, len(c.Via), maps.Clone(f.values)
			}
			f.environment(c)
		}
		if why := f.unlessElsewhere(c, f.written(i)); why != "" {
			return shorten(c.Text) + ": " + why
		}
	}
	return ""
}

// environment keeps the values that env has for the command that it runs.
func (f *floor) environment(c *Command) {
	for _, a := range f.texts(c.Args) {
		if name, value, sets := strings.Cut(a, "="); sets && variableName().MatchString(name) {
			f.values[name] = value
		}
	}
}

// written examines a command that runs what the text has written to a file, and keeps what one writes.
func (f *floor) written(i int) string {
	c := &f.commands[i]
	if c.maybe || c.otherDirectory() || checksSyntax(c) {
		return ""
	}
	ran := f.files[c.ranFile()]
	if _, interprets := dialects()[usualName(c.Name)]; interprets && ran != "" {
		return f.program(c.Name, []string{ran})
	}
	if len(f.files) > 0 && recipeFiles.of(c.Name) != "" {
		if *f.left -= maxGiven / maxRecipes; *f.left < 0 {
			return ""
		}
		ran = c.recipe(f.files)
	}
	if ran != "" {
		set, given := "", f.texts(c.Args) // the arguments of a script
		if shells.Has(c.Name) {
			given = given[1+slices.IndexFunc(given, func(a string) bool { return a != "" && a[0] != '-' }):]
		}
		for _, a := range given {
			set += " " + textutil.ShellQuoted(a)
		}
		had := f.outer.script
		f.outer.script = true
		why := f.nested("set --" + set + "\n" + ran)
		f.outer.script = had
		return why
	}
	from, to := c.copied()
	text := cmp.Or(writtenText(f.commands, i), strings.Join(literals(c), "\n"))
	for n := 0; n < len(from) && text == ""; n++ {
		text = f.files[c.found(from[n].Text)]
	}
	if text != "" {
		for _, x := range slices.Concat(c.written(), c.redirected(), to) {
			if name := c.found(x.Text); x.Static {
				f.files[name] = c.after(f.files[name], text)
			}
		}
	}
	return ""
}

// suspects are in every text that could be one: most texts need no further examination.
var suspects = []string{
	"rm", "mk", "dd", "/dev", "/proc", "/etc", "chmod", "chown", "chgrp", "setfacl", "chattr", "mv", "kill",
	"()", "function", "while", "until", "fork", "shred", "wipefs", "blkdiscard", "find", "rsync", "truncate",
	"sgdisk", "parted", "fdisk", "zpool", "diskutil", "hdparm", "nvme", "cryptsetup", "badblocks", "vgremove",
	"pvremove", "lvremove", "unlink", "system", "IFS", "((", "rmtree", "$'", "zfs", "mdadm", "userdel",
	"clean", "btrfs", "srm", "wipe", "rimraf", "trash", "del-cli", "remove", "/bin/", "base64", "xxd", "rev ", "tr ",
	"flashrom", "dmsetup", "delete-dir", "reboot", "shutdown", "halt", "poweroff", "init 0", "init 6",
	`\x6`, `\x7`, `\14`, `\15`, `\16`, `\17`,
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
	entered  []string          // the folders of cd and pushd that the walk does not follow, each in the one before
	bodies   map[string][]int  // the commands of functions, by their names
	lists    map[string]bool   // variables of loops
	empty    []string          // variables that have no value where the command runs
	files    map[string]string // what the text has written to files

	extra extra  // what another command adds to the one that is examined
	line  string // what a loop reads
	hint  string // what to write instead
	left  *int   // how much may still be examined, see maxGiven
	deep  int    // how many substitutions it is in
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
	given := slices.Concat(words[1:], f.texts(c.Args))
	name, args := baseName(words[0]), f.added(c, given)
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
	if shells.Has(name) {
		f.shellArguments(args)
	}
	if why := f.separated(c); why != "" {
		return why
	}
	alone := i+1 == len(f.commands) || len(f.commands[i+1].Via) <= len(c.Via)
	if _, wraps := wrappers()[name]; wraps && alone && len(args) > len(given) { // xargs env
		return f.nested(name + " " + strings.Join(args, " "))
	}
	if why := cmp.Or(f.computed(c, name, args), f.gives(i, name, args)); why != "" {
		return why
	}
	f.changesShell(c, name, args, operands)
	why := ""
	switch name {
	case "git":
		return cmp.Or(f.cleans(args, p), f.aliases(args))
	case "docker", "podman", "nerdctl":
		return f.container(args)
	case "chmod", "chown", "chgrp", "chattr", "setfacl":
		return f.changesModes(name, args, operands, p)
	case "kill", "pkill", "killall5":
		return endsAllProcesses(name, args, operands)
	case "userdel":
		why = when(slices.Contains(operands, "root"), wholeSystem)
	case "rm":
		why = f.remove(args, operands, p)
	}
	gone := deleted(name, args, operands)
	for n := 0; n < len(gone) && why == ""; n++ {
		why = f.target(gone[n], p)
	}
	if why != "" || name == "find" && slices.Contains(args, "-delete") {
		return why
	}
	if why = f.machine(c, name, args, operands); why != "" {
		return why
	}
	return cmp.Or(f.overwrites(c, name, operands), f.program(name, append(args, c.documents()...)), f.fed(i, name))
}

// changesShell follows what builtins change for the commands behind them: arguments, variables, the folder, and files.
func (f *floor) changesShell(c *Command, name string, args, operands []string) {
	switch name {
	case "set":
		if at := slices.Index(args, "--"); at >= 0 {
			f.arguments(args[at+1:], nil)
		} else if len(args) > 0 && (args[0] == "" || args[0][0] != '-' && args[0][0] != '+') {
			f.arguments(operands, nil)
		}
	case "shift":
		f.shift(operands)
	case "pushd":
		f.entered = append(f.entered, operands...)
	case "popd":
		f.entered = f.entered[:max(len(f.entered)-1, 0)]
	case "exec":
		if len(args) == 0 {
			f.files[descriptors] = streamed(f.commands[c.input.from:c.input.to])
			for _, r := range c.Redirects {
				if strings.HasPrefix(r.Op, "<<") {
					f.files[descriptors] += f.text(r.Target)
				}
			}
		}
	case "printf":
		if len(args) > 2 && args[0] == "-v" && !strings.Contains(args[2], "%") {
			f.values[args[1]] = args[2]
		}
	case "cd":
		f.entered = nil
		if len(operands) == 0 {
			f.entered = []string{"~"}
		} else if len(c.Args) == 0 || !c.Args[len(c.Args)-1].Static {
			f.entered = operands[:1]
		}
	}
}

// deleted are the files that a program deletes, or moves away, but rm.
func deleted(name string, args, operands []string) []string {
	n := len(operands)
	switch name {
	case "mv":
		return operands[:max(n-1, 0)]
	case "shred", "unlink", "srm", "wipe", "truncate", "rimraf", "del-cli", "trash", "trash-put":
		return operands
	case "btrfs":
		if n > 2 && optionOf("--"+operands[0], "--subvolume") && optionOf("--"+operands[1], "--delete") {
			return operands[2:]
		}
	case "tar", "bsdtar", "cmake":
		if slices.Contains(args, "--remove-files") || len(args) > 2 && args[0] == "-E" &&
			(args[1] == "rm" || strings.HasPrefix(args[1], "remove")) {
			return operands
		}
	case "find":
		if slices.Contains(args, "-delete") {
			return wholeTrees(args)
		}
	case "rsync":
		if n > 1 && optionIn(args, "--remove-source-files") {
			return operands[:n-1]
		} else if n > 1 && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--del") }) {
			return operands[n-1:]
		}
	}
	return nil
}

// fed examines what a shell or an interpreter runs that others print for it, perhaps decoded.
func (f *floor) fed(i int, name string) string {
	c := &f.commands[i]
	_, interprets := interpreterOf(name)
	interprets = interprets || escaping.Has(name)
	if !interprets && !shells.Has(name) && name != "eval" && name != "make" {
		return ""
	}
	from := substituted(f.commands, i)
	if slices.Contains(c.Doubts, readsCode) || escaping.Has(name) {
		from = slices.Concat(f.commands[c.input.from:c.input.to], from, f.around(i))
	}
	if *f.left -= len(from) >> 4; *f.left < 0 {
		return ""
	}
	text, why := streamed(from), ""
	for n := range from {
		why = cmp.Or(why, f.mayPrint(&from[n], text))
		for _, a := range from[n].Args { // cat x
			if file := f.files[from[n].found(a.Text)]; text == "" && file != "" {
				text = decoded(&from[n], file)
			}
		}
		text = cmp.Or(text, f.opened(&from[n]))
	}
	text = cmp.Or(text, f.opened(c))
	if c.input == (span{}) && len(c.Redirects) == 0 && slices.Contains(c.Doubts, readsCode) {
		text = cmp.Or(text, f.files[descriptors])
	}
	switch {
	case text == "" || why != "":
		return why
	case interprets:
		return f.program(name, []string{text})
	case name == "make":
		made := *c
		made.Args = slices.Clone(c.Args)
		for n, a := range made.Args {
			if a.kind == source {
				made.Args[n] = static("-")
			}
		}
		text = made.recipe(map[string]string{c.found("-"): text})
	}
	return f.nested(text)
}

// descriptors stands for a file that exec has opened.
const descriptors = "<&"

// opened is the text that a command reads from that, or from a file that the text has written.
func (f *floor) opened(c *Command) (text string) {
	for _, r := range c.Redirects {
		switch r.Op {
		case "<":
			text = f.files[c.found(r.Target.Text)]
		case "<&":
			text = f.files[descriptors]
		}
	}
	return text
}

// around are the commands that write to the one at i in >(...).
func (f *floor) around(i int) []Command {
	const into = ">(...)"
	if !slices.Contains(f.commands[i].Via, into) {
		return nil
	}
	for j := i - 1; j >= 0; j-- {
		outer := &f.commands[j]
		switch *f.left -= len(outer.Args) >> 4; {
		case *f.left < 0:
			return nil
		case slices.Contains(outer.Via, into):
		case outer.built, outer.Name == "exec": // for all that follows
			return f.commands[i+1 : min(len(f.commands), i+1+maxGuessed)]
		default:
			return append(slices.Clip(f.commands[outer.input.from:outer.input.to]), *outer)
		}
	}
	return nil
}

// printers are other programs that print what is in their words.
const printers lazy.Words = "jq yq gojq"

// literals are the texts in a program that may print them.
func literals(c *Command) (texts []string) {
	for _, a := range c.Args { // what sed puts in the place of something
		if m := substitution().FindStringSubmatch(a.Text); m != nil && (c.Name == "sed" || c.Name == "gsed") {
			parts := strings.Split(strings.ReplaceAll(m[2], `\`+m[1], "\x00"), m[1])
			texts = append(texts, strings.ReplaceAll(parts[min(1, len(parts)-1)], "\x00", m[1]))
		}
	}
	if _, interprets := interpreterOf(c.Name); c.maybe || !interprets && !printers.Has(c.Name) {
		return texts
	}
	for _, m := range literal().FindAllStringSubmatch(textOf(c.Args)+c.document(), maxWords) {
		text, _ := ansi(strings.Join(m[1:], ""))
		texts = append(texts, text)
	}
	return texts
}

// mayPrint examines such texts of a program that prints for a shell: alone, one behind the other, and before what it
// reads.
func (f *floor) mayPrint(c *Command, read string) (why string) {
	texts := literals(c)
	if len(texts) == 0 {
		return ""
	}
	all := strings.Join(texts, "")
	words := append(f.prints(c.input), read, "")
	for _, text := range append(texts, formatted(texts)) {
		why = cmp.Or(why, f.nested(text))
	}
	for _, word := range words[:min(len(words), maxWords)] {
		why = cmp.Or(why, f.nested(all+word))
	}
	return why
}

// substituted are the commands in the substitutions of the one at i.
func substituted(all []Command, i int) []Command {
	inner := i + 1
	for inner < len(all) && slices.ContainsFunc(all[i].Args, func(a Word) bool {
		return !a.Static && strings.Contains(a.Text, all[inner].Text)
	}) {
		inner++
	}
	return all[i+1 : inner]
}

func (f *floor) remove(args, operands []string, p workdirs) string {
	if slices.ContainsFunc(args,
		func(a string) bool { return a == "--no-preserve-root" || strings.HasPrefix(a, "--no-p") }) {
		return wholeSystem
	}
	recursive := optionIn(args, "-r -R --recursive")
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
func (f *floor) changesModes(name string, args, operands []string, p workdirs) string {
	if removes := slices.IndexFunc(args, func(a string) bool { // a mode that looks like an option
		return a != "-" && strings.Trim(a, "rwxXst") == "-"
	}); removes >= 0 && name == "chmod" {
		operands = append([]string{args[removes]}, operands...)
	}
	if len(operands) < 2 && name != "setfacl" {
		return ""
	}
	files, recursive := operands, optionIn(args, "-R --recursive --no-preserve-root")
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
const closes lazy.Words = `000 00 0 0000 -rwx -x a-rwx a-x -x ugo-x ugo-rwx a= ugo=`

// shellAlias is an alias for a shell that git is given, for one call or its settings.
var shellAlias = lazy.Regexp(`(?:^|\s)(?:-c|config(?: --?[\w-]+)*(?: set)?) alias\.[^\s=]+[= ]!(.*)`)

// aliases examines such aliases.
func (f *floor) aliases(args []string) (why string) {
	for _, found := range shellAlias().FindAllStringSubmatch(strings.Join(args, " "), -1) {
		why = cmp.Or(why, f.nested(found[1]))
	}
	return why
}

// cleans examines git clean, which deletes what is not committed in the folder of -C or --work-tree, or in its own.
func (f *floor) cleans(args []string, p workdirs) string {
	i := slices.Index(args, "clean")
	if i < 0 || !optionIn(args[i:], "-f --force") {
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
	if optionIn(args, "--privileged --device") {
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

const sysrq = "/proc/sysrq-trigger" // by writing to it the kernel is told to stop or restart

// runsOne are calls in other languages that run the text in them.
var runsOne = lazy.Regexp(`(?:system|popen|exec|execSync|call|run|check_call|check_output|Popen|shell_exec|passthru|qx)\s*\(?\s*(?:"([^"]*)"|'([^']*)'|qq?\s*[{(|/]([^})|]*))`)

// escaping are programs in whose language shellEscape is a command for a shell.
const escaping lazy.Words = "ed red ex vi vim nvim view sqlite3 duckdb psql mysql mariadb gdb lldb ftp sftp"

var shellEscape = lazy.Regexp(`(?m)^\s*:?[\d,$.%]*\s*(?:[rwe]\s*)?(?:\\?!|(?:\.?shell|\.?system)\s)\s*(.+)$`)

// forks start processes without end, in other languages.
var forks = lazy.Regexp(`fork\s+while\s+(fork|1|true)\b|while\s*\(?\s*(1|true|True|fork)\s*\)?\s*[:;` +
	`{]?\s*\{?\s*(os\.)?fork\b|loop\s*\{\s*(Process\.)?fork\b|\bfork\s+while\b`)

var wipesTree = lazy.Regexp(`(?:rmtree|rm_rf?|remove_tree|rm(?:dir)?Sync|remove_dir_all)[\s(]+(?:["'](?:/?[*.]?|~/?)["']|` +
	`(?:os\.path\.expanduser\(["']~/?["']\)|(?:pathlib\.)?Path\.home\(\)|Dir\.home|os\.homedir\(\))\s*[,)])`)

// wipesPath finds the paths that such calls are given.
var wipesPath = lazy.Regexp(`(?:rmtree|rm_rf?|remove_tree|rm(?:dir)?Sync|remove_dir_all|removeSync|delete-directory|\brm|unlink)` +
	`[\s(]+(?:glob[\s(]*)?(?:(?:pathlib\.)?Path\(\s*)?["']([/~][^"']*)["']`)

// program examines the program text of an interpreter.
func (f *floor) program(name string, args []string) string {
	if _, ok := interpreterOf(name); !ok && textWords.of(name) == "" && name != "emacs" && !escaping.Has(name) {
		return ""
	}
	for _, a := range args {
		for _, found := range shellEscape().FindAllStringSubmatch(a, 10) {
			if why := f.nested(found[1]); why != "" && escaping.Has(name) {
				return why
			}
		}
		switch {
		case forks().MatchString(a):
			return "it starts processes without end"
		case wipesTree().MatchString(a) && !strings.Contains(a, `("")`):
			return wholeSystem
		}
		for _, found := range wipesPath().FindAllStringSubmatch(a, 10) {
			if why := f.target(found[1], workdirs{dirs: []string{"/"}}); why != "" {
				return why
			}
		}
		for _, found := range runsOne().FindAllStringSubmatch(a, 10) {
			if why := f.nested(found[1] + found[2] + found[3]); why != "" {
				return why
			}
		}
	}
	return ""
}

// optionIn finds one of some options among the words before --.
func optionIn(args []string, options lazy.Words) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(a string) bool { return optionOf(a, options) })
}
