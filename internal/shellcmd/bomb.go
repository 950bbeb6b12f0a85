package shellcmd

import (
	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) bombs(what string) {
	if what != "" {
		w.all.bomb = what
	}
}

// keepValue notes what a variable is set to; one that is set twice is what it is set to last.
func (w *walker) keepValue(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil || a.Append || a.Index != nil || a.Array != nil {
		return
	}
	if x := readWord(a.Value, w.slice(a.Value)); len(w.all.values) < 100 && len(x.Text) <= 256 {
		if w.all.values == nil {
			w.all.values = map[string]string{}
		}
		w.all.values[a.Name.Value] = x.Text
	}
}

// forkBomb finds a function that calls itself more than once, or beside itself: each call makes several, without end. A call
// with arguments may come to an end, as one that walks through folders does.
func forkBomb(c *syntax.FuncDecl, name string) string {
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

// callsItself reports a statement that is nothing but a call of the function, or of the script itself.
func callsItself(s *syntax.Stmt, name string) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	word := readWord(call.Args[0], "")
	return word.Static && word.Text == name
}

// endlessBomb finds a loop without end that does nothing but start shells, or itself, in the background.
func endlessBomb(c *syntax.WhileClause) string {
	if len(c.Cond) != 1 || c.Until != isFalse(c.Cond[0]) {
		return ""
	}
	if !c.Until && !isTrue(c.Cond[0]) {
		return ""
	}
	for _, s := range c.Do {
		if !s.Background {
			return ""
		}
	}
	return "a loop without end starts processes in the background, and waits for none"
}

func isTrue(s *syntax.Stmt) bool { return oneWord(s, "true", ":") || arithmetic(s, "1") }

func isFalse(s *syntax.Stmt) bool { return oneWord(s, "false") || arithmetic(s, "0") }

func oneWord(s *syntax.Stmt, words ...string) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	got := readWord(call.Args[0], "").Text
	if got == "[" || got == "test" { // [ 1 ]
		return len(call.Args) > 1 && words[0] == "true" && readWord(call.Args[1], "").Text == "1"
	}
	for _, w := range words {
		if got == w && len(call.Args) == 1 {
			return true
		}
	}
	return false
}

func arithmetic(s *syntax.Stmt, number string) bool {
	c, ok := s.Cmd.(*syntax.ArithmCmd)
	if !ok {
		return false
	}
	x, ok := c.X.(*syntax.Word)
	return ok && x.Lit() == number
}
