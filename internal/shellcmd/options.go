package shellcmd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// before reads the options before the first operand.
func (s *spec) before(name string, args []Word) *invocation {
	u := &invocation{command: &Command{Name: name}}
	if u.read(s, args) != "" || u.ended {
		u.unknown, u.operands = args[u.at].Text, args[u.at+1:]
	}
	return u
}

// An invocation is a command seen as options and operands.
type invocation struct {
	command  *Command
	workdirs workdirs
	given    []given
	operands []Word
	extra    int // how many operands are not in the user's rule
	listed   int // how many of the first arguments are in the user's rule, and are accepted unchanged
	pretty   bool
	at       int    // the word at which reading has ended
	ended    bool   // the value of the last option is missing
	unknown  string // of before: an option that is not in the list; operands are then the words after it
}

type given struct {
	name  string
	value Word
}

// has reports one of some options.
func (u *invocation) has(names ...string) bool {
	return slices.ContainsFunc(u.given, func(g given) bool { return slices.Contains(names, g.name) })
}

// last is the last value of one of some options.
func (u *invocation) last(names ...string) (value Word) {
	for _, g := range u.given {
		if slices.Contains(names, g.name) {
			value = g.value
		}
	}
	return value
}

// uncovered says why a command is more than its spec allows, or "" when it is not.
func (s *spec) uncovered(c *Command, skip, listed int, p workdirs) string {
	u := &invocation{command: c, workdirs: p, listed: listed - skip, pretty: s.pretty}
	args := c.plainArgs()[skip:]
	if c.Name == "tar" {
		args = c.dashed()
	}
	why := cmp.Or(u.read(s, args), u.countOperands(s), u.openOperands(s))
	if why == "" && s.check != nil {
		return s.check(u)
	}
	return why
}

// countOperands checks their number.
func (u *invocation) countOperands(s *spec) string {
	switch {
	case s.max < 0 && len(u.operands) > 0:
		return u.command.Name + " " + u.operands[0].Text + " is not known to only read"
	case s.max > 0 && len(u.operands) > s.max:
		return "with that many operands it may write"
	case s.fixed && u.listed > 0 && u.extra > 0:
		return "the rule does not list the other words"
	}
	for _, o := range u.operands {
		if s.max > 0 && o.kind == glob {
			return o.Text + " may match several files"
		}
		if s.fixed && strings.HasPrefix(o.Text, "-") {
			return o.Text + " is an option for what it runs"
		}
	}
	return ""
}

// openOperands checks those operands that are files.
func (u *invocation) openOperands(s *spec) string {
	kind, list := s.operands, u.operands
	if kind == firstText {
		if !u.has("e", "f", "regexp", "file", "files", "type-list", "expression") && len(list) > 0 && list[0].kind != glob {
			list = list[1:]
		}
		kind = paths
	}
	for _, o := range list {
		if why := u.workdirs.operand(o, kind); why != "" {
			return why
		}
	}
	return ""
}

// read separates options and operands.
func (u *invocation) read(s *spec, args []Word) string {
	for i := 0; i < len(args); {
		a := args[i]
		u.at = i
		if a.Static && a.Text == "--" && !s.raw && !(s.first && len(u.operands) > 0) {
			for _, a := range args[i+1:] { // options count in spite of the -- in find and go vet
				if s.oneDash && strings.HasPrefix(a.Text, "-") {
					return unknownOption(a.Text, u.command.Name)
				}
			}
			u.operands = append(u.operands, args[i+1:]...)
			u.extra += len(args) - max(i+1, u.listed)
			return ""
		}
		if (a.kind == number || a.kind == count) && i >= u.listed && !s.digits {
			return a.Text + " is only known when it runs"
		}
		if !a.Static || len(a.Text) < 2 || a.Text[0] != '-' || s.raw || s.first && len(u.operands) > 0 {
			u.operands = append(u.operands, a)
			if i++; i > u.listed {
				u.extra++
			}
			continue
		}
		n, why := u.option(s, args[i:])
		if why == "" && n == 2 && len(u.operands) > 0 && !s.oneDash && (s.operands == paths || s.operands == firstText) {
			why = u.workdirs.path(args[i+1]) // a system whose programs stop at the first operand opens it
		}
		if why != "" && i >= u.listed {
			return why
		}
		i += max(n, 1)
	}
	return ""
}

// option reads a word that begins with a dash, and returns how many words it takes.
func (u *invocation) option(s *spec, args []Word) (n int, why string) {
	text := args[0].Text
	switch {
	case s.count && digits(text[1:]):
		return 1, ""
	case strings.HasPrefix(text, "--"), s.oneDash:
		return u.long(s, args)
	}
	for i := 1; i < len(text); i++ {
		name := text[i : i+1]
		switch kind := s.options[name]; {
		case kind == flag:
			u.given = append(u.given, given{name: name})
		case kind == maybe:
			return u.value(s, name, text[i+1:], true, args)
		case kind != 0:
			if s.separate && (i > 1 || len(text) > 2 && !digits(text[2:])) {
				return 1, unknownOption(text, u.command.Name) // the letters after it are options, too
			}
			return u.value(s, name, text[i+1:], i+1 < len(text), args)
		case s.options[text] == flag: // it is listed as a whole, such as -ra; sort -month-sort is no long option, but sort
			u.given = append(u.given, given{name: text}) // -m -o nth-sort
			return 1, ""
		default:
			return 1, unknownOption(text, u.command.Name)
		}
	}
	return 1, ""
}

func unknownOption(option, program string) string {
	return "the option " + option + " of " + program + " is not known to be harmless"
}

// long reads an option with a name. Of two words behind it the second one may be any text unless it is a path.
func (u *invocation) long(s *spec, args []Word) (n int, why string) {
	text := args[0].Text
	name, v, attached := strings.Cut(strings.TrimLeft(text, "-"), "=")
	kind := s.options[name]
	two := kind == pair || kind == pairPath
	switch {
	case kind == 0, len(name) == 1 && !s.oneDash, attached && u.command.Name == "xxd", // its value is in the next word
		kind == flag && attached && (!s.oneDash || v != "true" && v != "false"),
		two && (len(args) < 3 || !args[1].Static || text != "--"+name):
		return 1, unknownOption(text, u.command.Name)
	case kind == flag:
		u.given = append(u.given, given{name: name})
		return 1, ""
	case !two:
		return u.value(s, name, v, attached || kind == maybe, args)
	}
	u.given = append(u.given, given{name, args[2]})
	switch {
	case kind == pair:
		return 3, ""
	case !args[2].Static:
		return 3, "the value of the option " + text + " is only known when it runs"
	}
	return 3, u.workdirs.path(args[2])
}

// optionLike reports a word that a program may take for an option although one that takes a value precedes it:
// journalctl -n --rotate has a value only where it is attached, and git log --format --output=x writes x before it
// fails.
func optionLike(text string) bool {
	return len(text) > 1 && text[0] == '-' && !digits(text[1:2])
}

// takesAny reports options that always take the next word: the tests of find, the text of env -S, and the patterns
// of grep.
func (u *invocation) takesAny(name string) bool {
	switch u.command.Name {
	case "find", "env":
		return true
	case "grep", "egrep", "fgrep", "rg":
		return slices.Contains([]string{"e", "regexp", "g", "glob", "r", "replace"}, name)
	}
	return false
}

func (u *invocation) value(s *spec, name, text string, attached bool, args []Word) (n int, why string) {
	g, n := given{name, static(text)}, 1
	if !attached {
		if len(args) < 2 {
			u.ended = true
			return 1, ""
		}
		g.value, n = args[1], 2
		if optionLike(g.value.Text) && !u.takesAny(name) {
			return n, unknownOption(g.value.Text, u.command.Name)
		}
	}
	switch late := !g.value.Static; {
	case s.options[name] == code && (late || !s.runs(g.value.Text)):
		return n, "what it runs is not known to be harmless"
	case late && !(s.says && (!g.value.split || g.value.kind == folder || ownUser().MatchString(g.value.Text) ||
		caches().MatchString(g.value.Text))):
		return n, "the value of the option " + args[0].Text + " is only known when it runs"
	}
	if only := s.values[name]; only != nil && !only().MatchString(g.value.Text) {
		return n, "the value " + shorten(g.value.Text) + " of the option " + args[0].Text + " is not known to be harmless"
	}
	u.given = append(u.given, g)
	if why := u.gitFormat(g); why != "" {
		return n, "the value of the option " + args[0].Text + " " + why
	}
	if _, file, _ := strings.Cut(g.value.Text, ":"); u.command.Name == "git" && name == "L" && file != "" {
		file = file[strings.LastIndexByte(file, ':')+1:] // git log -L 1,9:file
		if why := u.workdirs.operand(static(file), mixed); why != "" {
			return n, why
		}
	}
	if s.options[name] == pathValue {
		return n, u.workdirs.path(g.value)
	}
	return n, ""
}

// readLists are programs that read more operands, or options, from the file in an operand like @file.
const readLists lazy.Words = `gcc g++ cc c++ clang clang++ cpp ld ld.bfd gold lld as ar nm objdump objcopy readelf size
	strings strip ranlib addr2line windres dlltool c++filt elfedit gcc-ar gcc-nm gcc-ranlib java javac javadoc jar jlink
	jdeps jpackage kotlinc scalac swiftc rustc ghc 7z 7za 7zr zip lib link cl`

// tarLetters are what the first word of tar may be, with a dash or without: other letters, such as P, C, T, I and F,
// lead out of the folder, or name programs and lists.
var tarLetters = lazy.Regexp(`^[cdrtuxAvfzjJZakmpOwWBiSUo]+$`)

// uncoveredUnknown checks a program that is in no table: no options, and no paths that lead out.
func uncoveredUnknown(c *Command, listed int, p workdirs) string {
	for i, a := range c.Args {
		switch {
		case i < listed:
			continue
		case c.Name == "tar" && (i == 0 && !tarLetters().MatchString(a.Text) || strings.Contains(a.Text, ":")):
			return a.Text + " may lead out of the folder, or to another machine"
		case c.Name == "go" && c.Args[0].Text == "run" && strings.Contains(a.Text, "@"):
			return a.Text + " is fetched, and is no code of the project"
		case readLists.Has(c.Name) && strings.HasPrefix(a.Text, "@"):
			return "what is in " + a.Text[1:] + " is only known when it runs"
		}
		if a.Static && len(a.Text) > 1 && a.Text[0] == '-' {
			return "the rule does not list the option " + a.Text
		}
		if why := p.operand(a, mixed); why != "" {
			return why
		}
	}
	return ""
}

// programFolders hold the programs of the machine.
const programFolders lazy.Words = `/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin
	/snap/bin`

// unseen says why a command runs something that its words do not show, "" if it does not: a file, or something of the
// project. A rule can allow such a command by name; Otherwise never allows it.
func unseen(c *Command) string {
	if c.built || c.Name == "" || len(c.Args) == 1 && (c.Args[0].Text == "--version" || c.Args[0].Text == "--help") {
		return ""
	}
	sub := ""
	if args := c.plainArgs(); len(args) > 0 {
		sub = args[0].Text
	}
	kind, interprets := interpreterOf(c.Name)
	switch {
	case strings.Contains(c.Program.Text, "/") && !programFolders.Has(path.Dir(path.Clean(c.Program.Text))):
		return "what is in " + c.Program.Text + " is not looked into"
	case shells.Has(c.Name) && len(c.Args) > 0 && !strings.HasPrefix(c.Args[0].Text, "-"), interprets && kind.text != "*":
		return notLookedInto
	case c.Name == "npm" || c.Name == "pnpm" || c.Name == "yarn":
		if !readNPM.Has(sub) {
			return "it runs what the project holds"
		}
	case c.Name == "git":
		if sub, rest := c.gitArgs(); sub != "" && !gitSubs.Has(sub) && (sub != "config" ||
			!hasWord(rest[:min(1, len(rest))], "get --get --get-all --get-regexp --list -l --show-origin")) {
			return "git " + sub + " may run what a setting or its words say"
		}
	case projects.Has(c.Name) || projectSubs.Has(c.Name+":"+sub):
		return "it runs what the project or a package holds"
	}
	return ""
}
