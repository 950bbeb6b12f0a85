package shellcmd

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// compound walks the constructs that are rarer.
func (w *walker) compound(s *syntax.Stmt, dirs []string) flow {
	same := flow{dirs, dirs}
	switch c := s.Cmd.(type) {
	case *syntax.IfClause:
		return w.ifs(c, dirs)
	case *syntax.WhileClause:
		return w.whiles(c, dirs)
	case *syntax.ForClause:
		return w.fors(c, dirs)
	case *syntax.CaseClause:
		return w.cases(c, dirs)
	case *syntax.TestClause:
		w.test(c, dirs)
	case *syntax.FuncDecl:
		w.function(c, dirs)
	case *syntax.CoprocClause:
		w.construct("coproc", c, nil, dirs, "a coprocess")
		w.within("coproc", func(w *walker) { w.stmt(c.Stmt, dirs) })
	case *syntax.DeclClause:
		w.declare(c, dirs)
	case *syntax.ArithmCmd:
		w.evaluated("((", c, dirs)
	case *syntax.LetClause:
		w.evaluated("let", c, dirs)
	default:
		w.refuse(s, "a construct that is not known")
	}
	return same
}

func (w *walker) whiles(c *syntax.WhileClause, dirs []string) flow {
	w.bombs(endlessBomb(c))
	w.forget(c.Cond...)
	w.forget(c.Do...)
	return w.repeated(func(w *walker) flow {
		out := w.stmts(c.Cond, dirs).any()
		return w.join(out, w.stmts(c.Do, out))
	})
}

func (w *walker) join(dirs []string, f flow) flow {
	u := union(dirs, f.any())
	return flow{u, u}
}

func (w *walker) ifs(c *syntax.IfClause, dirs []string) flow {
	cond := flow{dirs, dirs}
	if len(c.Cond) > 0 { // a final else has none
		cond = w.stmts(c.Cond, dirs)
	}
	return w.perhaps(func(w *walker) flow {
		out := w.join(cond.bad, w.stmts(c.Then, cond.ok))
		if c.Else != nil {
			return w.join(out.ok, w.ifs(c.Else, cond.bad))
		}
		return out
	})
}

// loopName is what a loop may count with; other names mean something to the shell or to programs.
var loopName = lazily(`^[a-z][a-z0-9]*(_[a-oq-z0-9][a-z0-9]*)*$`)

func (w *walker) fors(c *syntax.ForClause, dirs []string) flow {
	var doubts []string
	var items []Word
	name := ""
	if iter, ok := c.Loop.(*syntax.WordIter); ok {
		if name = iter.Name.Value; !loopName().MatchString(name) {
			doubts = append(doubts, "a loop that sets the variable "+name)
		}
		for _, x := range iter.Items {
			from := len(w.all.commands)
			doubts = append(doubts, w.inside(x, dirs)...)
			items = append(items, w.items(x, printsNames(w.all.commands[from:]))...)
		}
	} else {
		doubts = append(doubts, "arithmetic with variables can run commands")
		w.hiddenIn(c.Loop, dirs)
	}
	if c.Select {
		doubts = append(doubts, "it asks a person")
	}
	if len(doubts) > 0 {
		w.construct("for", c, nil, dirs, doubts...)
	}
	return w.each(name, items, c.Do, dirs)
}

// maxUnrolled is how often the body of a loop is walked, with one item after the other.
const maxUnrolled = 24

// each walks the body of a loop once for each item that is known, or once with an item that is not.
func (w *walker) each(name string, items []Word, body []*syntax.Stmt, dirs []string) flow {
	w.forget(body...)
	if len(items)*max(w.unrolled, 1) > maxUnrolled || len(items) == 0 {
		items = []Word{late}
	}
	out := flow{dirs, dirs}
	for _, item := range items {
		f := w.repeated(func(w *walker) flow {
			w.unrolled = max(w.unrolled, 1) * len(items)
			w.variables = maps.Clone(w.variables)
			if w.variables == nil {
				w.variables = map[string]Word{}
			}
			w.variables[name] = item
			return w.join(dirs, w.stmts(body, dirs))
		})
		out = flow{union(out.ok, f.ok), union(out.bad, f.bad)}
	}
	w.bind(name, late)
	return out
}

// items are what a loop may set its variable to for one of its words. Listed says that the commands in the word print names of
// files.
func (w *walker) items(x *syntax.Word, listed bool) []Word {
	if _, ok := x.Parts[0].(*syntax.CmdSubst); ok && listed && len(x.Parts) == 1 {
		return []Word{{Text: "*", kind: glob}}
	}
	out := w.words(x)
	for i, is := range out {
		if is.kind != known && is.kind != glob || is.odd != "" {
			out[i] = late
		}
		out[i].split = false
	}
	return out
}

func (w *walker) cases(c *syntax.CaseClause, dirs []string) flow {
	doubts := w.inside(c.Word, dirs)
	out := dirs
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			doubts = append(doubts, w.inside(p, dirs)...)
		}
		// ;& falls through into the next one, from any of those before
		out = union(out, w.perhaps(func(w *walker) flow { return w.stmts(item.Stmts, out) }).any())
	}
	if len(doubts) > 0 {
		w.construct("case", c, nil, dirs, doubts...)
	}
	return flow{out, out}
}

func (w *walker) function(c *syntax.FuncDecl, dirs []string) {
	name := ""
	if c.Name != nil {
		name = c.Name.Value
	}
	w.bombs(forkBomb(c, name))
	w.construct("function", c, nil, dirs, "a function gives the name "+name+" a new meaning")
	w.within("function "+name, func(w *walker) {
		w.repeated(func(w *walker) flow { return w.stmt(c.Body, dirs) })
	})
}

func (w *walker) declare(c *syntax.DeclClause, dirs []string) {
	at := w.reserve(c)
	d := Command{Name: c.Variant.Value, Program: static(c.Variant.Value), Via: w.via, Text: shorten(w.slice(c)), dirs: dirs, built: true}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			w.keepValue(a)
			d.Assigns = append(d.Assigns, a.Name.Value)
		}
		if a.Value != nil && a.Name == nil {
			d.Args = append(d.Args, w.words(a.Value)...)
		}
		d.Doubts = append(d.Doubts, w.assigned(a, dirs)...)
	}
	d.Doubts = append(d.Doubts, "it sets variables for what follows")
	w.put(at, d)
}

// assigned walks what an assignment runs.
func (w *walker) assigned(a *syntax.Assign, dirs []string) []string {
	if a.Index == nil && a.Array == nil {
		return w.inside(a.Value, dirs)
	}
	w.hiddenIn(a, dirs)
	return []string{"it sets an array, which can run commands"}
}

func (w *walker) evaluated(name string, n syntax.Node, dirs []string) {
	w.construct(name, n, nil, dirs, "arithmetic with variables can run commands")
	w.hiddenIn(n, dirs)
}

// test lists [[ ]] with its words, as if it were a program.
func (w *walker) test(c *syntax.TestClause, dirs []string) {
	at := w.reserve(c)
	t := Command{Name: "[[", Program: static("[["), Via: w.via, Text: shorten(w.slice(c)), dirs: dirs, built: true}
	syntax.Walk(c.X, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			t.Args = append(t.Args, static(n.Op.String()))
			t.Doubts = append(t.Doubts, doubtfulTest(n)...)
		case *syntax.BinaryTest:
			t.Doubts = append(t.Doubts, w.comparison(n)...)
		case *syntax.Word:
			t.Args = append(t.Args, w.word(n))
			t.Doubts = append(t.Doubts, w.inside(n, dirs)...)
			return false
		}
		return true
	})
	w.put(at, t)
}

func doubtfulTest(n *syntax.UnaryTest) []string {
	if slices.Contains([]syntax.UnTestOperator{syntax.TsVarSet, syntax.TsRefVar}, n.Op) {
		return []string{"a test of a variable can run commands"}
	}
	return nil
}

// comparison finds numbers that are no digits: they are evaluated, and that can run commands.
func (w *walker) comparison(n *syntax.BinaryTest) []string {
	if n.Op < syntax.TsEql || n.Op > syntax.TsGtr {
		return nil
	}
	for _, x := range []syntax.TestExpr{n.X, n.Y} {
		word, ok := x.(*syntax.Word)
		if !ok || !digits(readWord(word, "").Text) && readWord(word, "").kind != number {
			return []string{"arithmetic with variables can run commands"}
		}
	}
	return nil
}
