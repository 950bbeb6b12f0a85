// Package arguments reads the arguments of tool calls as models write them, and refuses those that two readers could
// understand differently. It uses JSON and a tool's input schema, and nothing of the host.
package arguments

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/sdk"
)

// Limits of an arguments object, besides sdk.MaxArguments.
const (
	MaxDepth   = 64
	maxNodes   = 100_000 // names and values, together
	maxStrings = 3       // JSON strings around the object, nested
)

// OneObject begins the suggestion of an error about arguments that are not one JSON object.
const OneObject = "Send one JSON object."

// Whitespace are the white space characters of JSON.
const Whitespace = " \t\r\n"

// IsBlank reports whether a text is JSON white space only.
func IsBlank(text []byte) bool { return len(bytes.Trim(text, Whitespace)) == 0 }

// Read returns the bytes of the one JSON object in text, "{}" for blank text. Only JSON strings and one Markdown code
// fence around the object are removed. With a nil schema, names that differ only by case are not compared: whether
// they may coexist depends on the tool.
func Read(text json.RawMessage, s *Schema) (json.RawMessage, *sdk.Error) {
	if len(text) > sdk.MaxArguments {
		return nil, tooMuch(invalid("have more than the %d bytes that are allowed", sdk.MaxArguments))
	}
	object, wrappers, e := unwrap(text)
	if e == nil {
		e = check(object, s)
	}
	if e == nil {
		return object, nil
	}
	const subject = "the arguments " // offsets count from inside the innermost wrapper, so the error names all of them
	for _, w := range wrappers {
		e.Message = subject + w + " " + strings.TrimPrefix(e.Message, subject)
	}
	return nil, e
}

// unwrap removes JSON strings that contain the object as JSON, and one code fence: the arguments remain unambiguous.
// The wrappers are named for error messages, the outermost first.
func unwrap(text json.RawMessage) (object json.RawMessage, wrappers []string, e *sdk.Error) {
	for depth, fenced := 0, false; ; {
		start := bytes.TrimLeft(text, Whitespace)
		switch {
		case len(start) == 0 && !fenced:
			return json.RawMessage("{}"), wrappers, nil
		case bytes.HasPrefix(start, []byte("```")) && !fenced:
			fenced = true
			if text, e = unfence(text); e != nil {
				return nil, wrappers, e
			}
			wrappers = append(wrappers, "inside the code fence")
		case bytes.HasPrefix(start, []byte(`"`)) && depth < maxStrings:
			depth++
			if text, e = decodeString(text); e != nil {
				return nil, wrappers, e
			}
			wrappers = append(wrappers, "inside the string")
		default:
			return text, wrappers, nil
		}
	}
}

func decodeString(text json.RawMessage) (json.RawMessage, *sdk.Error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	value, err := d.ReadValue()
	if err != nil {
		return nil, malformed(err, text)
	}
	if e := trailing(d.InputOffset(), text); e != nil {
		return nil, e
	}
	decoded, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return nil, invalid("are not valid JSON: %s", err)
	}
	return decoded, nil
}

// unfence returns what is between ```json and ```; the language may be missing.
func unfence(text json.RawMessage) (json.RawMessage, *sdk.Error) {
	body, closed := bytes.CutSuffix(bytes.Trim(text, Whitespace)[3:], []byte("```"))
	if !closed {
		return nil, invalidAt(int64(len(text)), text, "begin with a code fence that is not closed, as if they were cut off")
	}
	if language := []byte("json"); len(body) >= len(language) && bytes.EqualFold(body[:len(language)], language) {
		body = body[len(language):]
	}
	return body, nil
}

// decoders are pooled: creating one costs a dozen allocations.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// check accepts exactly one object, within the limits, in which no two names could be confused.
func check(arguments json.RawMessage, s *Schema) *sdk.Error {
	d := decoders.Get().(*jsontext.Decoder) // refuses duplicate names, invalid UTF-8 and unpaired surrogates
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		if _, err := d.ReadToken(); err != nil { // "name=x" is not null, though it begins like it
			return malformed(err, arguments)
		}
		return invalid("must be a JSON object, not %s", kindNames[kind])
	}
	for nodes, variants := 0, false; ; {
		kind, name, err := readToken(d)
		if err != nil {
			return malformed(err, arguments)
		}
		variants = variants || mayHaveVariants(name)
		if kind != '}' && kind != ']' {
			nodes++
		}
		switch {
		case d.StackDepth() > MaxDepth:
			return tooMuch(invalidAt(d.InputOffset(), arguments, "are nested more than %d deep", MaxDepth))
		case nodes > maxNodes:
			return tooMuch(invalidAt(d.InputOffset(), arguments, "have more than %d names and values", maxNodes))
		case d.StackDepth() == 0 && variants && s != nil:
			return cmp.Or(trailing(d.InputOffset(), arguments), duplicates(arguments, s))
		case d.StackDepth() == 0:
			return trailing(d.InputOffset(), arguments)
		}
	}
}

// readToken reads one token. It returns the bytes of a member's name, and nil for everything else.
func readToken(d *jsontext.Decoder) (kind jsontext.Kind, name jsontext.Value, err error) {
	if in, n := d.StackIndex(d.StackDepth()); in == '{' && n%2 == 0 && d.PeekKind() == '"' {
		name, err = d.ReadValue()
		return '"', name, err
	}
	token, err := d.ReadToken()
	return token.Kind(), nil, err
}

// Unquote decodes a JSON string that is known to be valid.
func Unquote(raw jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// trailing refuses anything but white space after the object.
func trailing(offset int64, arguments json.RawMessage) *sdk.Error {
	if IsBlank(arguments[offset:]) {
		return nil
	}
	return invalidAt(offset, arguments, "continue after the object has ended")
}

var kindNames = map[jsontext.Kind]string{'[': "an array", '"': "a string", '0': "a number", 'n': "null",
	't': "a boolean", 'f': "a boolean"}

// malformed explains a syntax error, and names syntax of other languages that JSON does not have.
func malformed(err error, arguments json.RawMessage) *sdk.Error {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok || errors.Is(err, io.ErrUnexpectedEOF):
		return misquoted(invalidAt(int64(len(arguments)), arguments, "end too early: the object is not closed"))
	case errors.Is(err, jsontext.ErrDuplicateName):
		return invalidAt(e.ByteOffset, arguments, "have two properties named %q in one object", e.JSONPointer.LastToken())
	}
	at, text := e.ByteOffset, arguments[e.ByteOffset:]
	begin, word := unquoted(arguments, at, e.Err.Error())
	after, comma := bytes.CutPrefix(text, []byte(","))
	after = bytes.TrimLeft(after, Whitespace)
	starts := func(with string) bool { return bytes.HasPrefix(text, []byte(with)) }
	switch {
	case comma && len(after) > 0 && (after[0] == '}' || after[0] == ']'):
		return invalidAt(at, arguments, "have a comma with nothing behind it")
	case starts("//"), starts("/*"), starts("#"):
		return invalidAt(at, arguments, "have a comment, which JSON does not know")
	case starts("'"):
		return invalidAt(at, arguments, "have a single quote where JSON needs a double one")
	case starts("\u201c"), starts("\u201d"):
		return invalidAt(at, arguments, "have a typographic quote where JSON needs a plain one")
	case word != "" && IsBlank(arguments[:begin]):
		return invalidAt(begin, arguments, "must be a JSON object, not text")
	case word != "":
		return invalidAt(begin, arguments, "have the word %.60s without quotes; JSON has only true, false and null", word)
	}
	return misquoted(invalidAt(at, arguments, "are not valid JSON: %s", e.Err))
}

// unquoted returns the word that stands where a name or a value should, "" for any other mistake.
func unquoted(text []byte, at int64, mistake string) (begin int64, word string) {
	name := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, after := bytes.TrimRightFunc(text[:at], name), bytes.TrimLeftFunc(text[at:], name)
	whole := text[len(before) : len(text)-len(after)]
	misplaced := strings.Contains(mistake, "at start of value") || strings.Contains(mistake, " in literal ") ||
		strings.Contains(mistake, " in number ") || strings.Contains(mistake, "name must be a string")
	if len(whole) == 0 || '0' <= whole[0] && whole[0] <= '9' || !misplaced {
		return 0, ""
	}
	return int64(len(before)), string(whole)
}

// misquoted adds advice to an error that a quote or another character in a string may have caused.
func misquoted(e *sdk.Error) *sdk.Error {
	e.Suggestion += ` Inside strings write a quote as \", a backslash as \\ and a line break as \n.`
	return e
}

func tooMuch(e *sdk.Error) *sdk.Error {
	e.Suggestion = "Pass less at once, or the path of a file."
	return e
}

// invalidAt says what is wrong with the text of the arguments, at which byte, and quotes the text around it.
func invalidAt(offset int64, arguments json.RawMessage, format string, a ...any) *sdk.Error {
	const context = 20 // bytes
	excerpt := func(from, to int64) string { return strings.ToValidUTF8(string(arguments[from:to]), "") }
	format, a = format+" (at byte %d", append(a, offset)
	if before := excerpt(max(0, offset-context), offset); before != "" {
		format, a = format+", after %#q", append(a, before)
	}
	if after := excerpt(offset, min(int64(len(arguments)), offset+context)); after != "" {
		format, a = format+", before %#q", append(a, after)
	}
	e := invalid(format+")", a...)
	e.Details = sdk.Details(map[string]int64{"offset": offset})
	return e
}

func invalid(format string, a ...any) *sdk.Error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "MalformedArguments",
		Message: "the arguments " + fmt.Sprintf(format, a...) + "; nothing was run", Suggestion: OneObject}
}

// mayHaveVariants is false for quoted names that have no other spelling.
func mayHaveVariants(name jsontext.Value) bool {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' || b == '\\' || b >= 0x80 {
			return true
		}
	}
	return false
}

// duplicates refuses two names in one object that differ only by letter case or Unicode normal form, where the tool
// may take one for the other: plugins in Go take "Path" for "path", so a rule and a plugin would read different
// arguments. In a map, such as an environment with both http_proxy and HTTP_PROXY, they are two names, unless the
// schema declares one of them. It expects arguments that check has accepted.
func duplicates(arguments json.RawMessage, s *Schema) *sdk.Error {
	d := jsontext.NewDecoder(bytes.NewBuffer(arguments))
	var open []*container
	for kind, raw, err := readToken(d); err == nil; kind, raw, err = readToken(d) {
		switch {
		case kind == '{' || kind == '[':
			open = append(open, &container{array: kind == '[', names: map[string]string{}})
		case kind == '}' || kind == ']':
			open = open[:len(open)-1]
		case raw != nil:
			in, name := open[len(open)-1], Unquote(raw)
			if other, ok := in.add(name); ok && !mayCoexist(s, open, other, name) {
				return invalidAt(d.InputOffset()-int64(len(raw)), arguments,
					"have two properties in one object, %q and %q, that differ only by letter case or the like", other, name)
			}
		}
	}
	return nil
}

// A container is an object or array that is being read.
type container struct {
	array  bool
	member string            // the one being read
	names  map[string]string // folded name to name

	node     *node // looked up when first needed
	isMap    bool
	declared map[string]bool // the names that the schema declares
	folded   map[string]bool // the same, folded
}

// add adds a member's name, and returns an earlier one that differs only by case or normal form.
func (c *container) add(name string) (other string, ok bool) {
	c.member = name
	folded := fold(name)
	if other, ok = c.names[folded]; !ok {
		c.names[folded] = name
	}
	return other, ok
}

// mayCoexist reports whether two variants of a name may be in the innermost object: both are declared exactly so, or
// the object is a map and neither can be taken for a declared name.
func mayCoexist(s *Schema, open []*container, a, b string) bool {
	in := open[len(open)-1]
	if in.node == nil {
		n := s.top()
		for _, c := range open[:len(open)-1] {
			if c.array {
				n = n.item()
			} else {
				n = n.member(c.member)
			}
		}
		in.node, in.isMap, in.declared, in.folded = &n, n.isMap(), n.names(), map[string]bool{}
		for name := range in.declared {
			in.folded[fold(name)] = true
		}
	}
	return in.declared[a] && in.declared[b] || in.isMap && !in.folded[fold(a)]
}

// Misspelled refuses "Path" where the schema has "path" and allows other names too: a plugin in Go would take it for
// that, unchecked. It expects arguments that Read has returned. A schema that allows no other names refuses the name
// itself.
func (s *Schema) Misspelled(arguments json.RawMessage) *sdk.Error {
	if s.folded == nil {
		return nil
	}
	d := decoders.Get().(*jsontext.Decoder)
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	for _, _, err := readToken(d); err == nil; err = d.SkipValue() {
		_, raw, failed := readToken(d)
		if raw == nil || failed != nil {
			return nil
		}
		if s.declared[string(raw[1:len(raw)-1])] {
			continue
		}
		name := Unquote(raw)
		if meant, ok := s.folded[fold(name)]; ok && !s.declared[name] {
			return invalidAt(d.InputOffset()-int64(len(raw)), arguments, "have the unknown property %q (did you mean %q?)", name,
				meant)
		}
	}
	return nil
}

// fold maps all spellings of a name that differ only by letter case or normal form to one.
func fold(name string) string { return norm.NFD.String(strings.Map(foldLetter, norm.NFD.String(name))) }

// foldLetter returns the smallest of the letters that differ only by case, as package encoding/json does.
func foldLetter(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
