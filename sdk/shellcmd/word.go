package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Word is one word of a command.
type Word struct {
	// Text is the word after unquoting; the source when it is not Static.
	Text string
	// Static is false for a word that is only known when it runs.
	Static bool

	kind kind
	odd  string // why it is doubtful although it is known
}

// A kind says what is known about a word.
type kind uint8

const (
	unknown kind = iota
	known
	number // digits: $? or $((1+2))
	count  // text with such digits in it
	glob   // names of files
	source // <(command): a file to read
)

func static(text string) Word { return Word{Text: text, Static: true, kind: known} }

// words reads a word as bash would; a brace expansion makes several of one.
func (w *walker) words(x *syntax.Word) []Word {
	raw := w.slice(x)
	if !hasBraces(x) {
		return []Word{readWord(x, raw)}
	}
	list, ok := []string(nil), false
	if len(x.Parts) == 1 {
		list, ok = braces(raw)
	}
	if !ok {
		return []Word{{Text: raw}}
	}
	out := make([]Word, len(list))
	for i, s := range list {
		var r reader
		r.lit(s)
		out[i] = r.word(s)
	}
	return out
}

func (w *walker) wordList(list []*syntax.Word) (out []Word) {
	for _, x := range list {
		out = append(out, w.words(x)...)
	}
	return out
}

func readWord(x *syntax.Word, raw string) Word {
	r := reader{whole: len(x.Parts) == 1}
	for _, p := range x.Parts {
		r.part(p)
	}
	return r.word(raw)
}

// A reader puts a word together from its parts.
type reader struct {
	text     strings.Builder
	whole    bool // the word has one part
	unknown  bool
	number   bool
	glob     bool
	fromPipe bool
	odd      string
}

func (r *reader) word(raw string) Word {
	switch {
	case r.unknown || r.glob && r.number:
		return Word{Text: raw, odd: r.odd}
	case r.fromPipe:
		return Word{Text: raw, kind: source}
	case r.glob:
		return Word{Text: raw, kind: glob}
	case r.number && r.text.Len() > 0:
		return Word{Text: raw, kind: count}
	case r.number:
		return Word{Text: raw, kind: number}
	}
	return Word{Text: r.text.String(), Static: true, kind: known, odd: r.odd}
}

func (r *reader) part(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.lit(p.Value)
	case *syntax.SglQuoted:
		r.single(p)
	case *syntax.DblQuoted:
		r.double(p)
	case *syntax.ProcSubst:
		r.fromPipe = r.whole && p.Op == syntax.CmdIn
		r.unknown = !r.fromPipe
	default:
		r.expansion(p)
	}
}

func (r *reader) expansion(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		r.digits(digitParam(p))
	case *syntax.ArithmExp:
		r.digits(digitArithm(p.X))
	default:
		r.unknown = true
	}
}

func (r *reader) digits(only bool) {
	r.number = r.number || only
	r.unknown = r.unknown || !only
}

func (r *reader) single(q *syntax.SglQuoted) {
	if !q.Dollar {
		r.text.WriteString(q.Value)
		return
	}
	text, ok := ansi(q.Value)
	r.text.WriteString(text)
	r.unknown = r.unknown || !ok
}

func (r *reader) double(q *syntax.DblQuoted) {
	if q.Dollar {
		r.odd = `$"..." may be translated`
	}
	for _, p := range q.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			r.text.WriteString(unescape(l.Value, "$`\"\\\n"))
			continue
		}
		r.expansion(p)
	}
}

// lit is text outside of quotes.
func (r *reader) lit(s string) {
	if s != "" && s[0] == '~' || strings.Contains(s, "=~") || strings.Contains(s, ":~") {
		r.unknown = true // somebody's home
	}
	if r.whole && s == "[" { // the program, not a pattern
		r.text.WriteString(s)
		return
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			switch i++; {
			case i == len(s): // at the end of the text it is itself
				r.text.WriteByte('\\')
				continue
			case s[i] == '\n':
				continue
			}
		case '*', '?', '[':
			r.glob = true
		}
		r.text.WriteByte(s[i])
	}
}

// unescape takes away the backslashes before the characters that need one.
func unescape(s, special string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
