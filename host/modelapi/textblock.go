package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
)

const (
	// maxFenceLine is how much of a line outside of a block is examined, if it does not begin a call itself.
	maxFenceLine = 1 << 10 // bytes
	// maxStart is how much of a line says whether it does: more than nativeStart and the longest name take.
	maxStart = 128 // bytes
)

// Tags in which models that were trained on them write calls, instead of fences.
const openTag, closeTag = "<tool_call>", "</tool_call>"

// A fence is a line that begins or ends a fenced block, or begins a call with a tag; size is 0 for any other line.
type fence struct {
	mark byte // ` or ~, or < for a tag
	size int
	info string // of a tag, what follows it
}

func fenceOf(line []byte) fence {
	text := strings.TrimRight(string(line), arguments.Whitespace)
	marks := strings.TrimLeft(text, " ")
	if marks == "" || len(text)-len(marks) > 3 {
		return fence{}
	}
	if rest, ok := strings.CutPrefix(marks, openTag); ok && !isAboutTags(rest) {
		if rest != "" { // its end is a part of the value of an argument that begins on this line
			rest += string(line[len(text):])
		}
		return fence{'<', len(openTag), rest}
	}
	info := strings.TrimLeft(marks, marks[:1])
	f := fence{marks[0], len(marks) - len(info), strings.Trim(info, arguments.Whitespace)}
	if f.size < 3 || f.mark != '`' && f.mark != '~' || f.mark == '`' && strings.Contains(info, "`") && !f.quotesTicks() {
		return fence{}
	}
	return f
}

// isAboutTags reports whether what follows a tag on its line is neither a call nor the beginning of one.
func isAboutTags(rest string) bool {
	call, after, _ := strings.Cut(rest, closeTag)
	call, after = strings.TrimSpace(call), strings.TrimSpace(after)
	if call == "" || strings.IndexByte("{[<", call[0]) < 0 {
		name, key, hasArguments := strings.Cut(call, "<arg_key>")
		return call != "" && !plainName().MatchString(strings.TrimSpace(name)) ||
			hasArguments && !strings.Contains(key, "</arg_key>") && strings.Contains(key, " ") ||
			after != "" && (!hasArguments || after[0] != '<' && glmForm.opened([]byte(call)) == 0)
	}
	return after != "" && after[0] != '<' && json.Valid([]byte(call))
}

// quotesTicks reports whether the backticks in the line of a fence are in strings of the JSON of a call, so that the
// line is no code span.
func (f fence) quotesTicks() bool {
	body, listed, isCall := f.call()
	var s scanner
	for text := []byte(strings.TrimSpace(body)); isCall && s.state != invalid && s.read < len(text); {
		if s.scan(text[:s.read+1]); text[max(s.read, 1)-1] == '`' && s.state != inString {
			return false
		}
	}
	return isCall && !listed && s.state != invalid
}

func (f fence) closes(open fence) bool {
	return f.mark == open.mark && f.size >= open.size && f.info == ""
}

// call reports whether a fence or tag begins a call, of which kind, and what of it is on the same line.
func (f fence) call() (body string, listed, isCall bool) {
	switch rest, named := strings.CutPrefix(f.info, "tool_call"); {
	case f.mark == '<':
		return f.info, false, true
	case f.mark == '`' && f.info == "tool":
		return "", true, true
	default:
		return rest, false, f.mark == '`' && named && (rest == "" || strings.IndexByte(" \t{", rest[0]) >= 0)
	}
}

// inXML is the mark of a block that is a call in XML and is not read: its values may quote other calls.
const inXML = 'x'

// A textReader finds the blocks with calls in a text that comes in pieces, cut anywhere. It reads line by line.
type textReader struct {
	line  []byte     // so far, outside of a block with a call
	open  fence      // of the block that the text is in, of any kind
	block *textBlock // with a call, if the text is in one
	held  []byte     // from a line on that has the beginning of a model's own form of calls
	calls int        // where that is in held or, after a sentence, in the line
	xml   *xmlForm   // of the block, if it is one in XML
	plain bool       // what was held is no call, so that no such line is one
	begun bool       // a line has been read that is not blank
	depth int        // how many calls in XML are open, in a block that is one
}

// add returns the blocks that the piece closes.
func (r *textReader) add(piece []byte) (closed []*textBlock) {
	for len(piece) > 0 {
		if r.held != nil && len(r.held)+len(piece) <= maxMessage {
			r.held = append(r.held, piece...)
			return closed
		}
		closed = append(closed, r.release()...)
		n := bytes.IndexByte(piece, '\n') + 1
		ended := n > 0
		if !ended {
			n = len(piece)
		}
		if r.block != nil {
			r.block.add(piece[:n])
		} else {
			r.line = append(r.line, piece[:n]...)
			limit := maxFenceLine
			start := r.line[:min(len(r.line), maxStart)]
			if _, _, isCall := fenceOf(start).call(); isCall || r.open.mark == inXML || r.isNative(start, n) {
				limit = maxMessage
			}
			r.line = r.line[:min(len(r.line), limit)]
		}
		if ended {
			closed = append(closed, r.endLine()...)
		}
		piece = piece[n:]
	}
	return closed
}

// end ends the text. A last line that is no fence may be incomplete, and is not read.
func (r *textReader) end() (closed []*textBlock) {
	if r.block != nil {
		if _, closes := r.closing(); !closes {
			return nil
		}
	}
	if r.held == nil {
		closed = r.endLine()
	}
	if r.held == nil {
		return closed
	}
	if calls := nativeCalls(r.held[r.calls:]); calls != nil {
		return append(closed, calls...)
	}
	closed = append(closed, r.release()...)
	return append(closed, r.end()...)
}

// release reads what was held like any other text.
func (r *textReader) release() []*textBlock {
	held := r.held
	if held == nil {
		return nil
	}
	r.held, r.calls, r.plain = nil, 0, true
	return r.add(held)
}

// endLine returns the block that the line closes, if it closes one.
func (r *textReader) endLine() []*textBlock {
	if b := r.block; b != nil {
		end, closes := r.closing()
		if !closes {
			b.endLine()
			return nil
		}
		b.body, b.closed = b.body[:end], true
		r.open, r.block = fence{}, nil
		if b.tagged {
			if calls := nativeCalls(slices.Concat([]byte(openTag), b.body)); calls != nil {
				calls[0].partial = b.partial
				return calls
			}
		}
		return []*textBlock{b}
	}
	if r.plain && r.open.size == 0 {
		if r.xml = quotingForm(r.line); r.xml != nil {
			r.open = fence{mark: inXML, size: 1}
		}
	}
	if r.open.mark == inXML {
		if r.depth += r.xml.opened(r.line); r.depth <= 0 {
			r.open, r.depth = fence{}, 0
		}
		r.line = r.line[:0]
		return nil
	}
	f := fenceOf(r.line)
	if r.isNative(r.line, 0) {
		r.held, f = bytes.Clone(r.line), fence{}
	} else {
		r.calls = 0
	}
	r.begun = r.begun || len(bytes.TrimSpace(r.line)) > 0
	r.line = r.line[:0]
	switch {
	case r.open.size > 0 && f.closes(r.open):
		r.open = fence{}
	case r.open.size == 0 && f.size > 0:
		r.open = f
		if body, listed, isCall := f.call(); isCall {
			r.block = &textBlock{body: []byte(body), tagged: f.mark == '<', listed: listed, arguments: []byte("{")}
			if body != "" {
				return r.endLine()
			}
		}
	}
	return nil
}

// isNative reports whether a line, of which at least the start is given, has the beginning of a model's own form of
// calls. Of its last bytes so many are new.
func (r *textReader) isNative(start []byte, added int) bool {
	if r.open.size > 0 || r.plain {
		return false
	}
	if nativeStart().Match(start) || !r.begun && pythonStart().Match(start) {
		return true
	}
	begins := func(at int) bool { return sentenceStart().Match(r.line[at:min(len(r.line), at+maxStart)]) }
	at := max(1, len(r.line)-added-maxStart)
	if r.calls > 0 {
		if begins(r.calls) {
			return true
		}
		at, r.calls = r.calls+1, 0
	}
	for ; at < min(len(r.line), maxFenceLine-maxStart); at++ { // a longer line may have been cut behind it
		if (r.line[at] == '<' || r.line[at] == '[') && begins(at) && endsSentence(r.line[:at]) {
			r.calls = at
			return true
		}
	}
	return false
}

// closing returns, at the end of a line, where the body ends if the line closes the block. No line does inside the
// value of an argument.
func (r *textReader) closing() (end int, closes bool) {
	b := r.block
	if b.depth+b.opens() > 0 {
		return 0, false
	}
	if r.open.mark == '<' {
		line, closes := bytes.CutSuffix(bytes.TrimRight(b.body[b.line:], arguments.Whitespace), []byte(closeTag))
		return b.line + len(line), closes
	}
	return b.line, b.value == nil && fenceOf(b.body[b.line:]).closes(r.open)
}

// maxHead is how far into a block its name and the beginning of its arguments are searched for before it is closed.
const maxHead = 4 << 10 // bytes

// A textBlock is a fenced block with a call: a JSON object, or listed arguments between BEGIN_ARG and END_ARG.
type textBlock struct {
	body    []byte
	tagged  bool     // it is in tags, not in a fence
	line    int      // where the last line of the body begins
	xml     *xmlForm // of the elements of XML, nil before the first
	depth   int      // how many of them are open before that line
	tooLong bool     // the body was too long, and is dropped
	closed  bool
	partial *partialCall

	name      string
	begin     int // where the arguments begin in a JSON object; 0 while that is unknown
	listed    bool
	arguments json.RawMessage // of a listed block, without the closing brace
	key       string          // of the argument whose value is being read
	value     []byte          // nil between arguments
}

// form says what the body must hold.
func (b *textBlock) form() string {
	if b.listed {
		return "a line TOOL_NAME: with it"
	}
	return `one JSON object with "name" and "arguments"`
}

func (b *textBlock) call() (name string, args json.RawMessage) {
	text := b.body
	if b.tagged && !bytes.HasPrefix(bytes.TrimLeft(text, arguments.Whitespace), []byte("<")) {
		text = slices.Concat([]byte(openTag), text, []byte(closeTag))
	}
	if name, args, rest, ok := readXMLCall(text); ok && len(bytes.TrimSpace(rest)) == 0 {
		b.name, b.arguments, b.listed = name, args, true
	}
	if b.listed {
		return b.name, append(b.arguments[:len(b.arguments):len(b.arguments)], '}')
	}
	name, _, args = readEnvelope(b.body)
	return name, args
}

// soFar returns as much of the call as is known before the block is closed.
func (b *textBlock) soFar() (name string, args []byte) {
	if b.listed {
		return b.name, b.arguments
	}
	if b.begin == 0 {
		b.name, b.begin, _ = readEnvelope(b.body[:min(len(b.body), maxHead)])
	}
	if b.begin == 0 {
		return b.name, nil
	}
	return b.name, b.body[b.begin:]
}

func (b *textBlock) add(piece []byte) {
	if room := maxMessage - len(b.body); len(piece) > room {
		b.tooLong, piece = true, piece[:room]
	}
	b.body = append(b.body, piece...)
}

// opens is how many elements of XML the last line opens, in a body that is no JSON: they may quote other calls.
func (b *textBlock) opens() int {
	start := bytes.TrimLeft(b.body[:min(len(b.body), 128)], arguments.Whitespace)
	if b.listed || b.depth == 0 && bytes.HasPrefix(start, []byte("{")) {
		return 0
	}
	line := b.body[b.line:]
	if b.xml == nil {
		b.xml = formOf(line)
	}
	if b.xml == nil {
		return 0
	}
	return b.xml.opened(line)
}

// endLine ends a line that does not close the block.
func (b *textBlock) endLine() {
	b.depth += b.opens()
	if b.listed {
		b.readLine(b.body[b.line:])
	}
	if b.tooLong {
		b.body, b.arguments, b.value = b.body[:0], nil, b.value[:0] // a value that is open stays open
	}
	b.line = len(b.body)
}

// readLine reads a line of a listed block. A line outside of arguments makes them invalid, so that Host.Call reports
// it.
func (b *textBlock) readLine(line []byte) {
	text := strings.TrimSpace(string(line))
	word, rest, _ := strings.Cut(text, ":")
	rest = strings.TrimSpace(rest)
	switch {
	case b.value != nil && text == "END_ARG": // the last line break of the value is part of END_ARG
		value := bytes.TrimSuffix(bytes.TrimSuffix(b.value, []byte("\n")), []byte("\r"))
		if len(b.arguments) > 1 {
			b.arguments = append(b.arguments, ',')
		}
		b.arguments = append(appendString(b.arguments, []byte(b.key)), ':')
		b.arguments = appendString(b.arguments, value)
		b.value = nil
	case b.value != nil:
		b.value = append(b.value, line...)
	case word == "BEGIN_ARG" && rest != "":
		b.key, b.value = rest, []byte{}
	case word == "TOOL_NAME" && b.name == "":
		b.name = rest
	case text != "":
		b.arguments = append(b.arguments, " not between BEGIN_ARG and END_ARG: "+text...)
	}
}

// appendString writes a JSON string. Invalid UTF-8 is not quoted, so that the arguments are refused.
func appendString(out, text []byte) []byte {
	if !utf8.Valid(text) {
		return append(out, text...)
	}
	out, _ = jsontext.AppendQuote(out, text)
	return out
}

// readEnvelope reads the object around the arguments of a call as far as possible: the tool's name, where the
// arguments begin (0 if they do not exist), and the bytes of the arguments. Of an invalid object these are the text
// from where they begin, or what takes their place, so that Host.Call reports its error.
func readEnvelope(body []byte) (name string, begin int, args json.RawMessage) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body)) // refuses duplicate keys and invalid UTF-8
	after := func(these string) int { return len(body) - len(bytes.TrimLeft(body[d.InputOffset():], these)) }
	other := 0 // where the first member begins that is neither of the two
	token, err := d.ReadToken()
	if err == nil && token.Kind() != '{' {
		err = errors.New("not an object")
	}
	for err == nil && d.PeekKind() == '"' {
		start := after(arguments.Whitespace + ",")
		key, _ := d.ReadToken() // an error recurs below
		switch key.String() {
		case "name":
			var value jsontext.Value
			if value, err = d.ReadValue(); err == nil && value.Kind() == '"' {
				unquoted, _ := jsontext.AppendUnquote(nil, value) // it has been validated
				name = string(unquoted)
			}
		case "arguments":
			if at := after(arguments.Whitespace + ":"); at < len(body) {
				begin = at
			}
			var value jsontext.Value
			if value, err = d.ReadValue(); err == nil && value.Kind() != 'n' {
				args = bytes.Clone(value)
			} else {
				args = nil
			}
		default:
			other = cmp.Or(other, start)
			err = d.SkipValue()
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil && after(arguments.Whitespace) < len(body) {
		err = errors.New("text follows its end")
	}
	switch {
	case err != nil && begin > 0:
		args = bytes.TrimRight(body[begin:], arguments.Whitespace)
	case err != nil:
		args = body
	case begin == 0 && other > 0: // arguments under another name, which {} must not replace
		args = body[other:]
	}
	return name, begin, args
}
