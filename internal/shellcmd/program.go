package shellcmd

import (
	"strings"
	"sync"
)

// A spec is what is known about a program, or one of its sub-commands: the options that only do what its rules allow, and
// what its operands are. Options that are not in it are not known to be harmless.
type spec struct {
	options  map[string]arity
	operands operands
	max      int       // the most operands; 0 for any number, -1 for none
	read     bool      // it only reads
	digits   bool      // operands may be digits that are only known when it runs
	says     bool      // operands may be any text that is only known when it runs
	globs    globLevel // how it bears names of files that look like options
	oneDash  bool      // long options have one dash, as those of go and find
	count    bool      // -5 is an option
	fixed    bool      // operands mean something to run: a rule that lists one covers no others
	raw      bool      // it has no options; what looks like one is an operand
	first    bool      // options end at the first operand: what follows is operands, whatever it looks like
	apart    bool      // the value of a short option is always the next word; only digits may be attached
	pretty   bool      // --format and --pretty may name a format in the settings of git
	check    func(*use) string
}

// An arity is what follows an option.
type arity uint8

const (
	flag      arity = iota + 1
	value           // any text
	pathValue       // a path
	maybe           // nothing, or text after =
	pair            // two words of text
	pairPath        // a word of text, and a path
)

// operands says what the words that are no options are.
type operands uint8

const (
	texts     operands = iota // nothing that is opened
	paths                     // files
	firstText                 // a pattern or a script, then files
	mixed                     // names of revisions, packages or files: those that look like paths are
)

type globLevel uint8

const (
	noGlob   globLevel = iota
	nameGlob           // names without a slash: no option takes another kind of path
	anyGlob            // no option does any harm
)

// A row is a line of the tables. Options are words: one letter is a short option, more are a long one; a sign at the end
// tells what follows: = text, / a path, ? perhaps text after =, == two words of text, =/ one and a path.
type row struct {
	names   string // with | between programs that are alike; with blanks for sub-commands
	options string
	spec    spec
}

var specs = sync.OnceValue(func() map[string]*spec {
	m := map[string]*spec{}
	for _, list := range [][]row{fileRows, textRows, systemRows, plumbingRows, gitRows} {
		addRows(m, list, true)
	}
	addRows(m, changeRows, false)
	addRows(m, buildRows, false)
	return m
})

func addRows(m map[string]*spec, list []row, read bool) {
	for _, r := range list {
		s := r.spec
		s.read, s.options = read, map[string]arity{}
		for o := range strings.FieldsSeq(r.options) {
			s.options[strings.TrimRight(o, "=/?")] = arityOf(o)
		}
		first, rest, sub := strings.Cut(r.names, " ")
		for name := range strings.SplitSeq(first, "|") {
			if sub {
				for tail := range strings.SplitSeq(rest, "|") {
					m[name+" "+tail] = &s
				}
				continue
			}
			m[name] = &s
		}
	}
}

func arityOf(option string) arity {
	switch {
	case strings.HasSuffix(option, "=="):
		return pair
	case strings.HasSuffix(option, "=/"):
		return pairPath
	}
	switch option[len(option)-1] {
	case '=':
		return value
	case '/':
		return pathValue
	case '?':
		return maybe
	}
	return flag
}

// hasSubs are programs whose first operand is a sub-command.
var hasSubs = map[string]bool{"git": true, "go": true, "cargo": true, "npm": true, "yarn": true, "pnpm": true, "bun": true, "deno": true,
	"docker": true, "podman": true, "kubectl": true, "helm": true, "terraform": true, "gh": true, "glab": true, "pip": true, "pip3": true,
	"uv": true, "poetry": true, "brew": true, "apt": true, "apt-get": true, "dnf": true, "yum": true, "systemctl": true, "gcloud": true,
	"aws": true, "az": true, "rustup": true, "dotnet": true, "mix": true, "bundle": true, "composer": true, "just": true, "make": true,
	"gmake": true, "gradle": true, "./gradlew": true, "mvn": true, "./mvnw": true, "bazel": true, "swift": true, "flutter": true}

// spec finds what is known about a command; nil when nothing is.
func (c *Command) spec() *spec {
	s, _ := c.find()
	return s
}

// tabled are the programs with sub-commands in the tables.
var tabled = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for key := range specs() {
		if program, _, ok := strings.Cut(key, " "); ok {
			m[program] = true
		}
	}
	return m
})

// find also gives how many arguments are the name of the sub-command.
func (c *Command) find() (s *spec, n int) { return c.findIn(specs()) }

func (c *Command) findIn(table map[string]*spec) (s *spec, n int) {
	name := c.Name
	best, at := table[name], 0
	for i, a := range c.plainArgs()[:min(2, len(c.plainArgs()))] {
		if !a.Static {
			break
		}
		name += " " + a.Text
		if sub := table[name]; sub != nil {
			best, at = sub, i+1
		}
	}
	return best, at
}

// plainArgs are the arguments without options that only say how things are shown.
func (c *Command) plainArgs() []Word {
	args := c.Args
	if c.kept != nil {
		return c.kept
	}
	for c.Name == "git" && len(args) > 0 {
		switch {
		case args[0].Text == "--no-pager" || args[0].Text == "-P":
			args = args[1:]
		case c.moved && len(args) > 1 && args[0].Text == "-C":
			args = args[2:]
		default:
			return args
		}
	}
	return args
}
