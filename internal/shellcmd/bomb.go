package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"mvdan.cc/sh/v3/syntax"
)

// What starts processes without end.

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
