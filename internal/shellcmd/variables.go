package shellcmd

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// late stands for a value that is only known when it runs.
var late = Word{kind: runtime}

// apart walks what runs in a shell of its own: what it sets is gone afterwards.
func (w *walker) apart(walk func(*walker)) {
	inner := *w
	inner.variables = maps.Clone(w.variables)
	walk(&inner)
}

// perhaps walks what may run or not: what it sets may be set or not afterwards.
func (w *walker) perhaps(walk func(*walker) flow) flow {
	inner := *w
	inner.unsure = true
	return walk(&inner)
}

// bind notes what a variable is from here on.
func (w *walker) bind(name string, is Word) {
	if w.variables == nil {
		w.variables = map[string]Word{}
	}
	if w.unsure || w.loop {
		is = late
	}
	w.variables[name] = is
}

// plainSets are assignments that do nothing but set variables which no program looks at: those with names in small letters.
func plainSets(assigns []*syntax.Assign) bool {
	for _, a := range assigns {
		if a.Name == nil || !loopName().MatchString(a.Name.Value) || a.Append || a.Index != nil || a.Array != nil || a.Naked {
			return false
		}
	}
	return len(assigns) > 0
}

// sets binds what such assignments set.
func (w *walker) sets(assigns []*syntax.Assign) {
	for _, a := range assigns {
		is := static("")
		if a.Value != nil {
			is = w.word(a.Value)
		}
		if is.kind != known || is.odd != "" || a.Value != nil && hasBraces(a.Value) {
			is = late
		}
		w.bind(a.Name.Value, is)
	}
}

// forget makes what is set somewhere below a node unknown: it may have run before.
func (w *walker) forget(nodes ...*syntax.Stmt) {
	for _, s := range nodes {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil {
					w.lose(n.Name.Value)
				}
			case *syntax.WordIter:
				w.lose(n.Name.Value)
			case *syntax.CallExpr:
				for _, a := range n.Args { // of read; other words do no harm
					w.lose(a.Lit())
				}
			}
			return true
		})
	}
}

// lose makes a variable unknown, if anything is known of it.
func (w *walker) lose(name string) {
	if _, there := w.variables[name]; there {
		w.variables[name] = late
	}
}

// plainRead reports a read that only sets variables in small letters: read, read -r, read -d with what ends a line.
func plainRead(c *Command) (names []string, ok bool) {
	if c.Name != "read" || c.Program.Text != "read" {
		return nil, false
	}
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case !a.Static:
			return nil, false
		case a.Text == "-r" && len(names) == 0:
		case a.Text == "-d" && len(names) == 0:
			if i++; i == len(c.Args) || !c.Args[i].Static {
				return nil, false
			}
		case loopName().MatchString(a.Text):
			names = append(names, a.Text)
		default:
			return nil, false
		}
	}
	return names, len(names) > 0
}

// harmlessParam reports an expansion that only takes the value of a variable, or makes another text of it. Those that set
// variables, take the value for a name or for a prompt, or evaluate something are not among them.
func harmlessParam(p *syntax.ParamExp) bool {
	if plainParam(p) {
		return true
	}
	q := *p
	q.Exp, q.Length = nil, false
	if !plainParam(&q) || p.Length && p.Exp != nil {
		return false
	}
	if p.Exp == nil {
		return true
	}
	ops := []syntax.ParExpOperator{syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix}
	return slices.Contains(ops, p.Exp.Op) && harmlessWord(p.Exp.Word)
}

func harmlessWord(x *syntax.Word) bool {
	if x == nil {
		return true
	}
	for _, p := range x.Parts {
		if !harmlessPart(p) {
			return false
		}
	}
	return true
}

func harmlessPart(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return !strings.ContainsAny(p.Value, "<>(){}")
	case *syntax.SglQuoted:
		return !p.Dollar
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if !harmlessPart(q) {
				return false
			}
		}
		return !p.Dollar
	case *syntax.ParamExp:
		return plainParam(p) && !secretVariable(p.Param.Value)
	}
	return false
}

// Dynamic reports a command of which something is only known when it runs: because of a doubt, of names that it is given, or of a
// word that may be anything or fall apart into several.
func (c *Command) Dynamic() bool {
	return len(c.Doubts) > 0 || c.Fed != "" || slices.ContainsFunc(c.Args, func(a Word) bool { return a.kind == runtime || a.split })
}
