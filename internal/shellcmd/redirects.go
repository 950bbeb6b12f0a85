package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Redirect redirects the input or output of a command.
type Redirect struct {
	Op string // as in the text, such as ">>"
	// Target is a file, a descriptor for >& and <&, and the text for here-documents.
	Target Word
	// Writes is true when a file may be created, cut or written, except for /dev/null.
	Writes bool
}

func (w *walker) redirect(c *Command, list []*syntax.Redirect) {
	for _, r := range list {
		c.Redirects = append(c.Redirects, w.oneRedirect(c, r))
	}
}

func (w *walker) oneRedirect(c *Command, r *syntax.Redirect) Redirect {
	out := Redirect{Op: r.Op.String(), Target: w.word(r.Word)}
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		c.doubt("a redirect that sets the variable " + r.N.Value)
	}
	c.Doubts = append(c.Doubts, w.inside(r.Word, c.dirs)...)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		if r.Op != syntax.WordHdoc {
			out.Target = w.hereDoc(c, r)
		}
		if r.N != nil && r.N.Value != "0" { // which is not its input
			out.Target.Static, out.Target.kind = false, runtime
		}
		if r.Op != syntax.WordHdoc {
			return out
		}
	case syntax.RdrIn:
	case syntax.DplIn, syntax.DplOut:
		out.Writes = !out.Target.Static || out.Target.Text != "-" && !digits(strings.TrimSuffix(out.Target.Text, "-"))
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		out.Writes = out.Target.Text != "/dev/null"
	default:
		w.refuse(r, "a redirect that bash does not know")
	}
	// [ and * in a target are read as a pattern by bash, and braces as a list
	if out.Target.kind != known && out.Target.kind != source || hasBraces(r.Word) {
		c.doubt("the target of " + out.Op + " is only known when it runs")
	}
	return out
}

// hereDoc returns the text of a here-document.
func (w *walker) hereDoc(c *Command, r *syntax.Redirect) Word {
	end := int(r.Word.End().Offset())
	if !plainMark(w.slice(r.Word)) || end < len(w.src) && !strings.ContainsRune(" \t\n;&|()<>", rune(w.src[end])) {
		w.refuse(r, "the end mark of a here-document is not a plain word")
	}
	if r.Hdoc == nil {
		return static("")
	}
	quoted := strings.ContainsAny(w.slice(r.Word), `'"\`)
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			c.doubt("a here-document that is only known when it runs")
			c.Doubts = append(c.Doubts, w.inside(r.Hdoc, c.dirs)...)
			return Word{Text: w.slice(r.Hdoc)}
		case quoted:
			b.WriteString(l.Value)
		default:
			b.WriteString(unescape(l.Value, "$`\\\n"))
		}
	}
	return static(b.String())
}

// plainMark reports delimiters that all shells read alike: EOF, 'EOF', "EOF".
func plainMark(s string) bool {
	if n := len(s); n > 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}
