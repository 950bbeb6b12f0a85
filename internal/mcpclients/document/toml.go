package document

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// parseTOML reads TOML 1.0.
func parseTOML(data []byte) (*Node, error) {
	p := &tomlParser{jsonParser: jsonParser{data: data, line: 1}, root: &Node{Kind: Object, Line: 1, form: header}}
	if bytes.HasPrefix(data, bom) {
		p.at = len(bom)
	}
	p.root.Start, p.root.End = p.at, p.at
	p.table = p.root
	if at := tomlControl().FindIndex(data); at != nil {
		p.line = lineOf(data, at[0])
		p.fail("the character U+%04X is not allowed; remove it", data[at[0]])
	}
	for p.skip(true); p.err == nil && p.at < len(p.data); p.skip(true) {
		if p.data[p.at] == '[' {
			p.header()
		} else {
			p.assign(p.table, 0)
			p.table.End = p.at
		}
		p.endOfLine()
	}
	if p.err != nil {
		p.err.Syntax = TOML
		return nil, p.err
	}
	return p.root, nil
}

type tomlParser struct {
	jsonParser
	root, table *Node
	index       map[*Node]map[string]*Node // the members of tables
}

// get returns the member of a table, or nil.
func (p *tomlParser) get(n *Node, name string) *Node { return p.index[n][name] }

// add adds a member that does not exist yet.
func (p *tomlParser) add(n *Node, m Member) {
	n.Members = append(n.Members, m)
	if p.index == nil {
		p.index = map[*Node]map[string]*Node{}
	}
	if p.index[n] == nil {
		p.index[n] = map[string]*Node{}
	}
	p.index[n][m.Name] = m.Value
}

// skip skips blanks and comments, also over lines.
func (p *tomlParser) skip(lines bool) {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '\n' && lines:
			p.line++
			p.at++
		case c == ' ' || c == '\t' || c == '\r' && lines:
			p.at++
		case c == '#':
			end := bytes.IndexByte(p.data[p.at:], '\n')
			if end < 0 {
				end = len(p.data) - p.at
			}
			p.at += end
		default:
			return
		}
	}
}

// endOfLine wants nothing but blanks and a comment.
func (p *tomlParser) endOfLine() {
	p.skip(false)
	if p.err == nil && p.at < len(p.data) && p.data[p.at] != '\n' && !bytes.HasPrefix(p.data[p.at:], []byte("\r\n")) {
		p.fail("the line should end after the value; a key, a value or a comment is written wrongly")
	}
}

// header opens the table of [a.b], or a new one of the array of [[a.b]].
func (p *tomlParser) header() {
	start, many := p.at, bytes.HasPrefix(p.data[p.at:], []byte("[["))
	p.at++
	if many {
		p.at++
	}
	path := p.key()
	if !p.take(']') || many && !p.take(']') {
		p.fail("the header of a table is not closed with ]")
	}
	if p.err != nil {
		return
	}
	over := p.descend(p.root, path[:len(path)-1], implicit)
	if over == nil {
		return
	}
	last := path[len(path)-1]
	there := p.get(over, last)
	made := &Node{Kind: Object, Start: start, End: p.at, Line: p.line, form: header}
	switch {
	case many && there == nil:
		p.add(over, Member{last, &Node{Kind: Array, Items: []*Node{made}, Start: start, End: p.at, Line: p.line,
			form: header}, start, p.line})
	case many && there.Kind == Array && there.form == header:
		there.Items = append(there.Items, made)
	case !many && there == nil:
		p.add(over, Member{last, made, start, p.line})
	case !many && there.Kind == Object && there.form == implicit:
		there.Start, there.End, there.Line, there.form = start, p.at, p.line, header
		made = there
	default:
		p.fail("%s is there already, on line %d", strings.Join(path, "."), there.Line)
		return
	}
	p.count(len(path))
	p.table = made
}

func (p *tomlParser) count(n int) {
	if p.nodes += n; p.nodes > maxNodes {
		p.fail("more than %d values", maxNodes)
	}
}

// descend finds the table of a path below n, and makes those that are missing; nil after a failure. A dotted key adds
// to no table that has a header of its own.
func (p *tomlParser) descend(n *Node, path []string, made form) *Node {
	if len(path) > maxDepth {
		p.fail("more than %d tables inside each other", maxDepth)
		return nil
	}
	for _, name := range path {
		next := p.get(n, name)
		if next == nil {
			next = &Node{Kind: Object, Start: p.at, End: p.at, Line: p.line, form: made}
			p.add(n, Member{name, next, p.at, p.line})
			p.count(1)
		}
		if next.Kind == Array && next.form == header && made != dotted {
			next = next.Items[len(next.Items)-1]
		}
		if next.Kind != Object || next.form == inline || made == dotted && next.form == header {
			p.fail("%s is not a table that can be added to; it is on line %d", name, next.Line)
			return nil
		}
		n = next
	}
	return n
}

// assign reads one key and value into the table.
func (p *tomlParser) assign(table *Node, depth int) {
	start, line := p.at, p.line
	path := p.key()
	if p.err == nil && !p.take('=') {
		p.fail("a = is missing after the key %q", brief(strings.Join(path, ".")))
	}
	p.skip(false)
	value := p.tomlValue(depth + 1)
	if p.err != nil {
		return
	}
	over := p.descend(table, path[:len(path)-1], dotted)
	if over == nil {
		return
	}
	last := path[len(path)-1]
	if there := p.get(over, last); there != nil {
		p.line = line
		p.fail("the key %q is there twice, first on line %d", brief(last), there.Line)
		return
	}
	p.add(over, Member{last, value, start, line})
}

var bareKey = lazy.Regexp(`^[A-Za-z0-9_-]+`)

// key reads a key with dots, and the blanks after it.
func (p *tomlParser) key() (path []string) {
	for p.err == nil {
		p.skip(false)
		rest := p.data[p.at:]
		switch {
		case len(rest) > 0 && (rest[0] == '"' || rest[0] == '\''):
			n := &Node{}
			p.tomlText(n, false)
			path = append(path, n.Text)
		default:
			word := bareKey().Find(rest[:min(len(rest), 1000)])
			if len(word) == 0 {
				p.fail("a key is expected")
				break
			}
			p.at += len(word)
			path = append(path, string(word))
		}
		p.skip(false)
		if !p.take('.') {
			break
		}
	}
	if len(path) == 0 {
		path = []string{""}
	}
	return path
}

// tomlValue reads a value; nil after a failure.
func (p *tomlParser) tomlValue(depth int) *Node {
	p.count(1)
	if depth > maxDepth {
		p.fail("more than %d values inside each other", maxDepth)
	}
	if p.err != nil || p.at == len(p.data) {
		p.fail("a value is missing")
		return nil
	}
	n := &Node{Start: p.at, Line: p.line}
	switch p.data[p.at] {
	case '"', '\'':
		p.tomlText(n, true)
	case '[':
		n.Kind = Array
		p.list(']', func() {
			if item := p.tomlValue(depth + 1); item != nil {
				n.Items = append(n.Items, item)
			}
		})
	case '{':
		n.Kind, n.form = Object, inline
		p.list('}', func() { p.assign(n, depth) })
	default:
		p.tomlWord(n)
	}
	n.End = p.at
	if p.err != nil {
		return nil
	}
	return n
}

func (p *tomlParser) list(end byte, item func()) {
	opened := p.line
	p.at++
	for first := true; p.err == nil; first = false {
		p.skip(true)
		if p.take(end) {
			return
		}
		switch {
		case p.at == len(p.data):
			p.fail("what opens on line %d is not closed with %q", opened, end)
			return
		case !first && !p.take(','):
			p.fail("a comma or %q is missing", end)
			return
		}
		p.skip(true)
		if !first && p.take(end) {
			return
		}
		if p.at == len(p.data) {
			continue
		}
		item()
	}
}

// tomlText reads a string of one of the four kinds.
func (p *tomlParser) tomlText(n *Node, multiline bool) {
	n.Kind = String
	quote := p.data[p.at : p.at+1]
	long := bytes.Repeat(quote, 3)
	if bytes.HasPrefix(p.data[p.at:], long) && multiline {
		p.longText(n, long)
		return
	}
	start := p.at + 1
	for i := start; i < len(p.data) && p.data[i] != '\n'; i++ {
		switch {
		case p.data[i] == '\\' && quote[0] == '"' && !bytes.HasPrefix(p.data[i+1:], []byte("\n")):
			i++
		case p.data[i] == quote[0]:
			p.at = i + 1
			n.Text = string(p.data[start:i])
			if quote[0] == '"' {
				n.Text = p.unescape(n.Text)
			}
			return
		}
	}
	p.fail("this string is not closed on its line")
}

func (p *tomlParser) longText(n *Node, long []byte) {
	start := p.at + len(long)
	for i := start; i < len(p.data); i++ {
		if p.data[i] == '\\' && long[0] == '"' {
			i++
			continue
		}
		if !bytes.HasPrefix(p.data[i:], long) {
			continue
		}
		for n := 0; n < 2 && i+len(long) < len(p.data) && p.data[i+len(long)] == long[0]; n++ {
			i++ // up to two quotes at the end belong to the text
		}
		text := string(p.data[start:i])
		p.line += strings.Count(text, "\n")
		p.at = i + len(long)
		text = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
		if long[0] == '"' {
			text = p.unescape(text)
		}
		n.Text = text
		return
	}
	p.fail("this string is not closed")
}

var tomlContinued = lazy.Regexp(`^[ \t]*\r?\n[ \t\r\n]*`)

// unescape replaces the escapes of a string in double quotes.
func (p *tomlParser) unescape(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, `\`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if blank := tomlContinued().FindString(rest); blank != "" {
			text = rest[len(blank):]
			continue
		}
		if rest == "" {
			p.fail(`a \ without a character behind it`)
			return ""
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]]
		const letters, meant = `btnfre"\`, "\b\t\n\f\r\x1b\"\\"
		switch i := strings.IndexByte(letters, rest[0]); {
		case i >= 0:
			out.WriteByte(meant[i])
			text = rest[1:]
		case digits > 0 && len(rest) > digits:
			code, err := strconv.ParseUint(rest[1:1+digits], 16, 32)
			if err != nil || code > 0x10ffff || code >= 0xd800 && code < 0xe000 {
				p.fail(`\%s is no character`, rest[:1+digits])
			}
			out.WriteRune(rune(code))
			text = rest[1+digits:]
		default:
			p.fail(`TOML has no escape \%c`, []rune(rest)[0])
			return ""
		}
	}
}

const (
	tomlDay  = `\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
	tomlTime = `([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d+)?)?`
)

var (
	tomlWordEnd = lazy.Regexp(`^[^\s,\]\}#=]+( \d[\d:.]*(Z|[+-][\d:]+)?)?`) // a date and a time may have a blank between
	tomlNumber  = lazy.Regexp(`^([+-]?((0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?|inf|nan)|` +
		`0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)$`)
	tomlDate = lazy.Regexp(`^(` + tomlDay + `([Tt ]` + tomlTime + `([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)?)?|` + tomlTime + `)$`)
	// tomlControl are the characters that TOML has nowhere, not even in comments. The grammar of 1.0 has U+007F in these.
	tomlControl = lazy.Regexp(`[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?:[^\n]|\z)`)
)

func (p *tomlParser) tomlWord(n *Node) {
	word := tomlWordEnd().FindString(string(p.data[p.at:min(p.at+200, len(p.data))]))
	n.Text = word
	switch {
	case word == "true" || word == "false":
		n.Kind = Bool
	case tomlNumber().MatchString(word):
		n.Kind = Number
	case tomlDate().MatchString(word):
		n.Kind = Other
	default:
		p.fail("this is not a value of TOML; text needs quotes")
	}
	p.at += len(word)
}

// quoteTOML writes a string.
func quoteTOML(text string) string { return strings.ReplaceAll(quoteJSON(text), "\x7f", `\u007F`) }

func tomlKey(name string) string {
	if bareKey().FindString(name) == name && name != "" {
		return name
	}
	return quoteTOML(name)
}

// flowTOML writes a value on one line.
func flowTOML(n *Node) string {
	return flowIn(n, quoteTOML, func(name string) string { return tomlKey(name) + " = " })
}

// addTOML adds a table at the end of the file.
func (w writer) addTOML(holder *Node, c Change) (edit, error) {
	if holder != nil && holder.form == inline {
		return edit{}, &ByHandError{holder.Line,
			strings.Join(c.Path, ".") + " is written in braces, which cannot be added to"}
	}
	var names, lines []string
	for _, name := range append(c.Path[:len(c.Path):len(c.Path)], c.Name) {
		names = append(names, tomlKey(name))
	}
	lines = append(lines, "["+strings.Join(names, ".")+"]")
	for _, m := range c.Value.Members {
		lines = append(lines, tomlKey(m.Name)+" = "+flowTOML(m.Value))
	}
	before := w.brokenLine()
	if strings.TrimSpace(string(w.data)) != "" {
		before += w.newline
	}
	end := len(w.data)
	return edit{end, end, before + strings.Join(lines, w.newline) + w.newline}, nil
}

// putTOML sets a key of a table.
func (w writer) putTOML(entry, old *Node, m Member) (edit, error) {
	switch {
	case entry.form != header:
		return edit{}, &ByHandError{entry.Line, "it is not written as a table with a header of its own, and differs"}
	case old != nil && (old.form == header || old.form == implicit || old.form == dotted):
		return edit{}, &ByHandError{old.Line, m.Name + " is a table; a value is expected"}
	case old != nil:
		return edit{old.Start, old.End, flowTOML(m.Value)}, nil
	}
	at := w.lineEnd(entry.End)
	return edit{at, at, w.newline + tomlKey(m.Name) + " = " + flowTOML(m.Value)}, nil
}
