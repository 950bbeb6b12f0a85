package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// digitParam reports parameters that are always digits.
func digitParam(p *syntax.ParamExp) bool {
	return plainParam(p) && (p.Param.Value == "?" || p.Param.Value == "#" || p.Param.Value == "$")
}

// plainParam reports an expansion that only takes the value of a variable.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset
}

// digitArithm reports arithmetic on written numbers. A name in it could hold text that runs commands when evaluated.
func digitArithm(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return digits(x.Lit())
	case *syntax.ParenArithm:
		return digitArithm(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && digitArithm(x.X)
	case *syntax.BinaryArithm:
		return digitArithm(x.X) && digitArithm(x.Y)
	}
	return false
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// inside walks the commands that expanding a word runs, and gives the doubts about expanding it.
func (w *walker) inside(x *syntax.Word, dirs []string) (doubts []string) {
	if x == nil {
		return nil
	}
	for _, p := range x.Parts {
		doubts = append(doubts, w.insidePart(p, dirs)...)
	}
	return doubts
}

func (w *walker) insidePart(p syntax.WordPart, dirs []string) (doubts []string) {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			doubts = append(doubts, w.insidePart(q, dirs)...)
		}
	case *syntax.CmdSubst:
		return w.substitution(p, dirs)
	case *syntax.ProcSubst:
		w.within(p.Op.String()+"...)", func(w *walker) { w.apart(func(w *walker) { w.stmts(p.Stmts, dirs) }) })
	case *syntax.ParamExp:
		return w.insideParam(p, dirs)
	case *syntax.ArithmExp:
		if !digitArithm(p.X) {
			w.hiddenIn(p, dirs)
			return []string{"arithmetic with variables can run commands"}
		}
	case *syntax.ExtGlob:
		w.refuse(p, "patterns like "+p.Op.String()+"...) are read differently with and without extglob")
	default:
		return []string{"an expansion that is not known"}
	}
	return doubts
}

func (w *walker) substitution(p *syntax.CmdSubst, dirs []string) (doubts []string) {
	w.within("$(...)", func(w *walker) { w.apart(func(w *walker) { w.stmts(p.Stmts, dirs) }) })
	switch {
	case p.TempFile || p.ReplyVar:
		return []string{"a substitution that is not known"}
	case p.Backquotes && strings.Contains(w.slice(p), `\`):
		return []string{"a backslash inside of backquotes"}
	}
	return nil
}

func (w *walker) insideParam(p *syntax.ParamExp, dirs []string) (doubts []string) {
	if harmlessParam(p) {
		return nil
	}
	w.hiddenIn(p, dirs)
	return []string{"the expansion " + shorten(w.slice(p)) + " can run commands or set variables"}
}

// hiddenIn walks the substitutions somewhere below a node that is doubtful itself, so that what they run is listed.
func (w *walker) hiddenIn(n syntax.Node, dirs []string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.substitution(n, dirs)
			return false
		case *syntax.ProcSubst:
			w.insidePart(n, dirs)
			return false
		}
		return true
	})
}
