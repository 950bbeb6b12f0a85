package shellcmd

import (
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
	"mvdan.cc/sh/v3/syntax"
)

// A Word is one word of a command.
type Word struct {
	// Text is the word after unquoting; the source when it is not Static.
	Text string
	// Static is false for a word that is only known when it runs.
	Static bool

	kind  kind
	file  string // for a place: the path; for a late word with a variable in front: what it is, if that is known
	split bool   // outside of quotes: what it stands for may fall apart into several words
	odd   string // why it is doubtful although it is known
	hint  string // for a late word: what to write instead
	named bool   // the pattern in it is a variable's, which is a name that a command prints
}

// A kind says what is known about a word.
type kind uint8

const (
	unknown kind = iota
	known
	number  // digits: $? or $((1+2))
	count   // text with such digits in it
	glob    // names of files
	source  // <(command): a file to read
	folder  // a path from a folder that is known, as $PWD/a
	runtime // only known when it runs; finding out does nothing else
)

func static(text string) Word { return Word{Text: text, Static: true, kind: known} }

// words reads a word as bash would; a brace expansion makes several of one.
func (w *walker) words(x *syntax.Word) []Word {
	raw := w.slice(x)
	if !hasBraces(x) {
		return []Word{w.word(x)}
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

// word reads a word with what is known of the variables in it.
func (w *walker) word(x *syntax.Word) Word {
	return readWord(x, w.slice(x), w.variables)
}

func readWord(x *syntax.Word, raw string, variables map[string]Word) Word {
	r := reader{whole: len(x.Parts) == 1, variables: variables}
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
	value    bool // a part is only known when it runs
	named    bool // the pattern is a variable's
	folder   string
	split    bool
	odd      string
	hint     string

	variables map[string]Word
}

func (r *reader) word(raw string) Word {
	switch {
	case r.unknown || r.glob && r.number:
		return Word{Text: raw, odd: r.odd}
	case r.folder != "" && !r.value && !r.named && !r.glob && !r.number && !r.fromPipe:
		return Word{Text: raw, kind: folder, file: r.folder + r.text.String(), split: r.split, odd: r.odd}
	case r.value || r.folder != "":
		return Word{Text: raw, kind: runtime, split: r.split, odd: r.odd, hint: r.hint}
	case r.named:
		return Word{Text: r.text.String(), kind: glob, split: r.split, odd: r.odd, named: true}
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
		r.expansion(p, false)
	}
}

func (r *reader) expansion(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		if plainParam(p) && lazy.Words("? # $").Has(p.Param.Value) { // always digits
			r.number = true
			return
		}
		r.parameter(p, quoted)
	case *syntax.ArithmExp:
		r.digits(digitArithm(p.X))
	case *syntax.CmdSubst: // what it runs is a command of its own
		if at := folderOf(p); at != "" && r.first() {
			r.folder, r.split = at, !quoted
			return
		}
		r.late(quoted)
	default:
		r.unknown = true
	}
}

// late is a part that is only known when it runs.
func (r *reader) late(quoted bool) { r.value, r.split = true, r.split || !quoted }

// first reports that nothing has come before.
func (r *reader) first() bool {
	return r.text.Len() == 0 && r.folder == "" && !r.value && !r.number && !r.glob
}

func (r *reader) parameter(p *syntax.ParamExp, quoted bool) {
	if p.Param != nil && p.Param.Value == "PWD" && plainParam(p) && r.first() {
		r.folder, r.split = ".", !quoted
		return
	}
	if !harmlessParam(p) || redact.Variable(p.Param.Value) {
		r.unknown = true
		return
	}
	is, bound := r.variables[p.Param.Value]
	_, fields := r.variables["IFS"] // how values fall apart is not known then
	switch {
	case fields && !quoted, !bound || !plainParam(p):
		r.late(quoted)
	case is.kind == known && (quoted || is.Text != "" && !strings.ContainsAny(is.Text, " \t\n*?[\\~")):
		r.text.WriteString(is.Text)
	case is.kind == folder && r.first(): // which has no blank in it
		r.folder = is.file
	case is.kind == glob && !strings.ContainsAny(is.Text, "'\"\\$`"):
		r.text.WriteString(is.Text)
		r.named, r.split = true, r.split || !quoted
	default:
		r.late(quoted)
		r.hint = is.hint
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
		r.expansion(p, true)
	}
}

// lit is text outside of quotes.
func (r *reader) lit(s string) {
	if s != "" && s[0] == '~' || strings.Contains(s, "=~") || strings.Contains(s, ":~") {
		r.unknown = true // someone's home
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
