package shellcmd

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/lazy"
)

const (
	maxDepth    = 100   // of constructs in constructs
	maxLevel    = 8     // of sh -c in sh -c
	maxWrappers = 16    // of wrappers around one command
	maxCommands = 20000 // in one text; with more the text is refused, none is dropped
)

// sharedState is shared by all walkers of one text.
type sharedState struct {
	commands  []Command
	depth     int
	guesses   int
	unclear   bool // a guess cannot be determined either
	err       error
	bomb      string            // starts processes without end
	functions bool              // there are some, which may set variables, or be called mktemp
	values    map[string]string // known values of variables
	lists     map[string]bool   // those that are the words of a loop
	tested    int               // how many commands there were when the last test, or negation, was walked
	empty     []emptyPart
	homes     map[int]string // variables that place the settings of programs in a folder for all, see followHomes
	outer     *wholeText     // the whole text, without quotes
}

// A walker walks one text: the whole one, or the string of an sh -c.
type walker struct {
	src   string
	all   *sharedState
	via   []string
	level int
	loop  bool  // what is walked may run several times
	built bool  // the text is not in the command that runs it
	names names // the names of files that it reads, see printsNames

	variables map[string]Word // the known values of variables that the text sets
	unsure    bool            // the current part may or may not run
	either    bool            // and so it may although those before it succeed
	chosen    bool            // and that depends on more than constants
	passing   bool            // variables that are set do not stay so
	unrolled  int             // how often the enclosing loops are walked
	computed  func() bool     // see setOnce
	once      map[string]bool // what namedOnce has found out
}

// A folderFlow holds the folders that a shell may be in after something succeeded, and after it failed.
type folderFlow struct{ ok, bad []string }

func (f folderFlow) any() []string { return union(f.ok, f.bad) }

func union(a, b []string) []string {
	out := slices.Clip(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (w *walker) text(dirs []string) {
	list, err := statements(w.src)
	w.stmts(list, dirs)
	if err != nil && w.all.err == nil {
		w.all.err = err
	}
}

func (w *walker) refuse(n syntax.Node, why string) {
	if w.all.err == nil {
		w.all.err = &RefusedError{Offset: int(n.Pos().Offset()), Reason: why}
	}
}

// slice is the source of a node.
func (w *walker) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(w.src) {
		return ""
	}
	return w.src[from:to]
}

// within is the walker for a part found in a construct.
func (w *walker) within(name string) *walker {
	inner := *w
	inner.via = append(slices.Clip(w.via), name)
	return &inner
}

// repeated is the walker for a part that may run any number of times.
func (w *walker) repeated() *walker {
	inner := *w
	inner.loop = true
	return &inner
}

// inSubshell is the walker for commands of a subshell: its variables are gone afterwards.
func (w *walker) inSubshell() *walker {
	inner := *w
	inner.variables, inner.passing = maps.Clone(w.variables), true
	return &inner
}

// maybeRuns is the walker for commands that may or may not run: their variables may or may not be set afterwards.
func (w *walker) maybeRuns() *walker {
	inner := *w
	inner.unsure, inner.either = true, true
	return &inner
}

// chosenBy is maybeRuns for what runs by how a command ends.
func (w *walker) chosenBy(test syntax.Node) *walker {
	inner := w.maybeRuns()
	inner.chosen = w.chosen || !constantTest().MatchString(w.slice(test))
	return inner
}

// constantTest always ends alike.
var constantTest = lazy.Regexp("^(?:! *)?(?:true|false|:|(?:\\[\\[?|test) +(?:! +)?(?:-[nz] +)?[^-$`]+|" +
	"\\(\\([0-9 <>=!]+\\)\\));?$")

func (w *walker) stmts(list []*syntax.Stmt, dirs []string) folderFlow {
	f := folderFlow{dirs, dirs}
	for _, s := range list {
		f = w.stmt(s, f.any())
	}
	return f
}

func (w *walker) stmt(s *syntax.Stmt, dirs []string) folderFlow {
	if w.all.depth++; w.all.depth > maxDepth {
		w.refuse(s, "it is nested too deeply")
	}
	defer func() { w.all.depth-- }()
	if w.all.err != nil {
		return folderFlow{dirs, dirs}
	}
	if s.Coprocess || s.Disown {
		w.refuse(s, "bash does not know this way to run something in the background")
	}
	f := folderFlow{dirs, dirs}
	if s.Background {
		w.construct("&", s, s.Redirs, dirs)
		_ = w.inSubshell().command(s, dirs) // which leaves this shell where it is
	} else {
		f = w.command(s, dirs)
	}
	switch {
	case s.Background:
		return folderFlow{dirs, dirs}
	case s.Negated:
		return folderFlow{f.bad, f.ok}
	}
	return f
}

func (w *walker) command(s *syntax.Stmt, dirs []string) folderFlow {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.call(s, c, dirs)
	}
	if slices.ContainsFunc(s.Redirs, readsFrom) {
		inner := *w
		inner.names, w = names{}, &inner // it reads something else
	}
	from := len(w.all.commands)
	if len(s.Redirs) > 0 && !s.Background {
		w.construct(keyword(s.Cmd), s, s.Redirs, dirs)
	}
	if slices.ContainsFunc(s.Redirs, readsFrom) {
		to := len(w.all.commands)
		defer func() { w.feed(to, span{from, to}) }()
	}
	switch c := s.Cmd.(type) {
	case nil:
		return folderFlow{dirs, dirs}
	case *syntax.Block:
		return w.stmts(c.Stmts, dirs)
	case *syntax.Subshell:
		w.inSubshell().stmts(c.Stmts, dirs)
		return folderFlow{dirs, dirs}
	case *syntax.BinaryCmd:
		return w.binary(c, dirs)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.within("time").stmt(c.Stmt, dirs)
		}
		return folderFlow{dirs, dirs}
	}
	return w.compound(s, dirs)
}

func readsFrom(r *syntax.Redirect) bool { return r.Op.String()[0] == '<' }

// feed records for the commands from an index on what they read, unless something nearer to them gives them that.
func (w *walker) feed(from int, by span) {
	for i := from; i < len(w.all.commands); i++ {
		if c := &w.all.commands[i]; c.input == (span{}) {
			c.input = by
		}
	}
}

// keyword is the name under which a construct is listed.
func keyword(c syntax.Command) string {
	switch c.(type) {
	case nil:
		return ":"
	case *syntax.Block:
		return "{"
	case *syntax.Subshell:
		return "("
	case *syntax.TestClause:
		return "[["
	}
	return "compound"
}

func (w *walker) binary(c *syntax.BinaryCmd, dirs []string) folderFlow {
	switch c.Op {
	case syntax.AndStmt:
		from := len(w.all.commands)
		x := w.stmt(c.X, dirs)
		if c.X.Negated {
			w.all.tested = len(w.all.commands)
		}
		right, to := w.maybeRuns(), len(w.all.commands)
		right.either = w.either || w.all.tested > from
		right.chosen = w.chosen || right.either && !constantTest().MatchString(w.slice(c.X))
		y := right.stmt(c.Y, x.ok)
		w.keepEmpty(to, true, w.slice(c.Y), c.X)
		return folderFlow{y.ok, union(x.bad, y.bad)}
	case syntax.OrStmt:
		x, to := w.stmt(c.X, dirs), len(w.all.commands)
		y := w.chosenBy(c.X).stmt(c.Y, x.bad)
		w.keepEmpty(to, false, w.slice(c.Y), c.X)
		return folderFlow{union(x.ok, y.ok), y.bad}
	case syntax.Pipe, syntax.PipeAll:
		from := len(w.all.commands)
		w.inSubshell().stmt(c.X, dirs)
		to := len(w.all.commands)
		right := w.inSubshell()
		right.names = printsNames(w.all.commands[from:to])
		right.stmt(c.Y, dirs)
		w.feed(to, span{from, to})
		if to == from+1 {
			for i := range w.all.commands[to:] {
				w.piped(from, to+i)
			}
		}
	default:
		w.refuse(c, "an operator that is not known")
	}
	return folderFlow{dirs, dirs}
}

// piped guesses at what one command prints for another that runs what it reads.
func (w *walker) piped(from, to int) {
	x := w.all.commands[from]
	if !w.all.commands[to].severe {
		return
	}
	if x.Name == "cat" {
		for _, text := range x.documents() {
			w.guessText(to, text)
		}
	}
	if x.Name != "echo" && x.Name != "printf" {
		return
	}
	for _, a := range x.Args {
		if a.Static && !strings.HasPrefix(a.Text, "-") {
			w.guessText(to, strings.ReplaceAll(a.Text, `\n`, "\n"))
			w.guessLiterals(to, a.Text)
		}
	}
	w.guessText(to, textOf(x.Args))
}

// construct lists something that is more than the commands in it.
func (w *walker) construct(name string, n syntax.Node, redirects []*syntax.Redirect, dirs []string, doubts ...string) {
	at := w.reserve(n)
	c := w.builtin(name, n, dirs)
	c.Doubts = doubts
	w.redirect(&c, redirects)
	w.put(at, c)
}

func (w *walker) builtin(name string, n syntax.Node, dirs []string) Command {
	return Command{Name: name, Program: static(name), Via: w.via, Text: shorten(w.slice(n)), dirs: dirs, built: true}
}

// reserve adds a placeholder for a command, so that commands found inside its words are listed after it.
func (w *walker) reserve(n syntax.Node) int {
	w.all.commands = append(w.all.commands, Command{})
	if len(w.all.commands) > maxCommands {
		w.refuse(n, "it has too many commands")
	}
	return len(w.all.commands) - 1
}

func (w *walker) put(at int, c Command) { w.all.commands[at] = c }

const maxShown = 160

// shorten makes a text fit on one line.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 4*maxShown)]), " ")
	runes := []rune(strings.ToValidUTF8(s, ""))
	if len(runes) > maxShown {
		return string(runes[:maxShown-3]) + "..."
	}
	return string(runes)
}
