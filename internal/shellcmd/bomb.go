package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// What starts processes without end, and where tests say that variables have no value.

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

// An emptyPart is a part of the commands that only run where some variables have no value.
type emptyPart struct {
	names []string
	in    span
}

// keepEmpty records that for the commands from an index on, which run where the last of some statements succeeds, or
// fails; text is what they are in.
func (w *walker) keepEmpty(from int, ok bool, text string, after ...*syntax.Stmt) {
	for _, s := range after[max(0, len(after)-1):] {
		if names := onlyTaken(w.emptyAfter(s, ok, maxTests), text); len(names) > 0 {
			w.all.empty = append(w.all.empty, emptyPart{names, span{from, len(w.all.commands)}})
		}
	}
}

// maxTests is how many tests with && or || between them are looked at, and maxTested how long what they guard may be:
// parts may be in parts.
const maxTests, maxTested = 4, 2000

// emptyAfter are the variables that have no value where a statement has succeeded, or failed.
func (w *walker) emptyAfter(s *syntax.Stmt, ok bool, left int) []string {
	ok = ok != s.Negated
	if c, both := s.Cmd.(*syntax.BinaryCmd); both && left > 0 &&
		(c.Op == syntax.AndStmt && ok || c.Op == syntax.OrStmt && !ok) {
		return append(onlyTaken(w.emptyAfter(c.X, ok, left-1), w.slice(c.Y)), w.emptyAfter(c.Y, ok, left-1)...)
	}
	if s.Cmd == nil {
		return nil
	}
	m := emptyTest().FindStringSubmatch(w.slice(s.Cmd))
	if m == nil || (m[2] == "-z" || m[4] == "=" || m[4] == "==") == (m[1] != "") == ok {
		return nil
	}
	return m[3:4]
}

// emptyTest is a test of whether a variable has a value.
var emptyTest = lazy.Regexp(`^(?:\[\[?|test)\s+(!\s+)?(?:(-[zn])\s+)?"?\$\{?(\w+)(?::?-)?\}?"?` +
	`(?:\s+(=|==|!=)\s+(?:""|''))?(?:\s+\]\]?)?$`)

// onlyTaken are the names of the variables that a text does not name but to take their values.
func onlyTaken(names []string, text string) []string {
	if len(names) == 0 || len(text) > maxTested || setsAny().MatchString(text) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return timesNamed(name, text, 1) > 0 })
}
