// Package mcpcontent reads and writes the content parts of MCP, such that a part that is read is written with the
// bytes that it had: the order of its members, the escapes of its strings, members that no one knows. Blanks between
// tokens are not kept. The SDK's Content is a [Part]; the reader is here because both ends of the wire and the SDK
// need it.
package mcpcontent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A Part is a content part. Its fields are those of sdk.Content, which says what they mean.
type Part struct {
	Type      string
	Text      string
	Data      []byte
	MIMEType  string
	URI, Name string
	Raw       json.RawMessage
	Extra     json.RawMessage
	Source    json.RawMessage
}

// Read makes a part of its JSON, which is valid. What a part cannot hold, such as an unknown kind, bad base64 or two
// members of one name, is Raw as a whole.
func Read(raw json.RawMessage) Part {
	r := parse(raw)
	// without data the wire does not tell an image from a broken one
	if !r.ok || r.body == inData && len(r.part.Data) == 0 {
		return Part{Raw: bytes.Clone(raw)}
	}
	if r.usual && r.start == len(plainText) && r.end == len(raw)-1 && bytes.HasPrefix(raw, []byte(plainText)) {
		return r.part // as most are
	}
	source := raw
	if r.usual && r.body != 0 {
		source = r.fill(raw, []byte(`""`))
	}
	if source = compact(source); !bytes.Equal(source, compact(r.part.withoutBody().standard())) {
		r.part.Source, r.part.Extra = source, parse(source).part.Extra
	}
	return r.part
}

// plainText begins a part that is nothing but a text.
const plainText = `{"type":"text","text":`

// compact removes the blanks of valid JSON.
func compact(raw json.RawMessage) json.RawMessage {
	out := bytes.NewBuffer(make([]byte, 0, len(raw)))
	_ = json.Compact(out, raw)
	return out.Bytes()
}

// Resolve makes the part that a plugin sent with a Source: Text and Data fill what the Source leaves empty. It is false
// when the Source is no part, or says something else than the other fields.
func Resolve(sent Part) (Part, bool) {
	r := parse(sent.Source)
	out := r.part
	out.Source = sent.Source
	switch {
	case !r.ok, len(sent.Raw) > 0, sent.Type != out.Type, sent.MIMEType != out.MIMEType, sent.URI != out.URI,
		sent.Name != out.Name, sent.Text != "" && (r.body != inText || out.Text != ""),
		len(sent.Data) > 0 && (r.body != inData || len(out.Data) > 0):
		return Part{}, false
	case r.body == inText && out.Text == "":
		out.Text = sent.Text
	case len(sent.Data) > 0:
		out.Data = sent.Data
	}
	return out, true
}

// Sent returns the part in its wire form: if Source already holds the whole text, Text is omitted. A Source that is
// not that of the part is left out.
func Sent(p Part) Part {
	if p.Source == nil {
		return p
	}
	r, ok := p.ofSource()
	switch {
	case !ok:
		p.Source = nil
		return p
	case r.part.Text != "":
		p.Text = ""
	case len(r.part.Data) > 0:
		p.Data = nil
	}
	p.Extra = nil
	return p
}

// Write returns the JSON of a part: its Source if that says what the fields say, and otherwise the usual form. So a
// part that was changed after it was read is never written as it was before.
func Write(p Part) json.RawMessage {
	if p.Raw != nil {
		return p.Raw
	}
	if p.Source == nil {
		return p.standard()
	}
	r, ok := p.ofSource()
	switch {
	case !ok:
		return p.standard()
	case r.body == inText && r.part.Text == "":
		return r.fill(p.Source, rawjson.AppendText(nil, p.Text))
	case r.body == inData && len(r.part.Data) == 0:
		return r.fill(p.Source, encoded(nil, p.Data))
	}
	return p.Source
}

// ofSource reads the Source, and reports whether it says what the fields say.
func (p Part) ofSource() (reading, bool) {
	r := parse(p.Source)
	s := r.part
	same := r.ok && s.Type == p.Type && s.MIMEType == p.MIMEType && s.URI == p.URI && s.Name == p.Name &&
		bytes.Equal(s.Extra, p.Extra) && (s.Text == "" || s.Text == p.Text) && (len(s.Data) == 0 ||
		bytes.Equal(s.Data, p.Data)) && (p.Type != "resource" || (p.Data != nil) == (r.body == inData))
	return r, same
}

// Where the body of a part is, which is what may be large.
const (
	inText = 1 + iota
	inData
)

// A reading is a part that is being read.
type reading struct {
	part       Part
	ok         bool
	body       int  // inText or inData; 0 without one
	start, end int  // of the string of the body
	usual      bool // its escapes are those that Write makes
}

// A member is one of an object, with where its value begins in the whole.
type member struct {
	rawjson.Member
	at int
}

// membersOf returns the members of an object, none of other JSON; ok is false for that, and where two have one name.
func membersOf(object json.RawMessage, at int) (out []member, ok bool) {
	m := rawjson.MembersOf(object)
	ok = rawjson.First(object) == '{'
	const few = 8
	var seen map[string]bool // of many names, so that a hostile object does not take a square of its size
	for m.Next() {
		name := string(m.Name)
		if len(out) == few {
			seen = make(map[string]bool, 2*few)
			for _, o := range out {
				seen[o.Name] = true
			}
		}
		if seen == nil {
			ok = ok && !slices.ContainsFunc(out, func(o member) bool { return o.Name == name })
		} else {
			ok = ok && !seen[name]
			seen[name] = true
		}
		out = append(out, member{rawjson.Member{Name: name, Value: m.Value}, at + m.End - len(m.Value)})
	}
	if m.Err != nil {
		return nil, false
	}
	return out, ok
}

// parse reads a part. Its body may be empty.
func parse(raw json.RawMessage) (r reading) {
	all, ok := membersOf(raw, 0)
	kind := slices.IndexFunc(all, func(m member) bool { return m.Name == "type" })
	if !ok || kind < 0 {
		return reading{}
	}
	r.ok, r.usual = true, true
	r.part.Type = r.text(all[kind].Value)
	var extra rawjson.Object
	found := false
	for _, m := range all {
		switch known := partOf[r.part.Type]; {
		case m.Name == "type":
		case m.Name == known.body && known.body == "resource":
			found = true
			if inside := r.resource(m); inside != nil {
				extra = append(extra, rawjson.Member{Name: m.Name, Value: inside})
			}
		case m.Name == known.body:
			found = true
			r.readBody(m)
		case slices.Contains(known.filled, m.Name):
			*r.field(m.Name) = r.filled(m.Value)
		default: // also what has a field in another kind, such as the name of a text
			extra = append(extra, m.Member)
		}
	}
	r.part.Extra = extra.JSON()
	r.ok = r.ok && (found || r.part.URI != "" && r.part.Type == "resource_link")
	return r
}

// partOf has, for each kind, the member that the kind is about, and further ones that have fields.
var partOf = map[string]struct {
	body   string
	filled []string
}{
	"text":          {body: "text"},
	"image":         {body: "data", filled: []string{"mimeType"}},
	"audio":         {body: "data", filled: []string{"mimeType"}},
	"resource":      {body: "resource"},
	"resource_link": {filled: []string{"uri", "name", "mimeType"}},
}

// ownMembers are the members of a kind that have fields, and are not in Extra.
func ownMembers(kind string) []string {
	known, ok := partOf[kind]
	if !ok {
		known = partOf["resource_link"] // it is written as one
	}
	return append([]string{"type", known.body}, known.filled...)
}

func (r *reading) field(name string) *string {
	switch name {
	case "uri":
		return &r.part.URI
	case "name":
		return &r.part.Name
	}
	return &r.part.MIMEType
}

// resource reads an embedded resource, and returns the members that have no field.
func (r *reading) resource(whole member) json.RawMessage {
	all, ok := membersOf(whole.Value, whole.at)
	r.ok = r.ok && ok
	var extra rawjson.Object
	for _, m := range all {
		switch m.Name {
		case "uri":
			r.part.URI = r.filled(m.Value)
		case "mimeType":
			r.part.MIMEType = r.filled(m.Value)
		case "text", "blob":
			r.ok = r.ok && r.body == 0
			r.readBody(m)
		default:
			extra = append(extra, m.Member)
		}
	}
	r.ok = r.ok && r.part.URI != "" && r.body != 0
	return extra.JSON()
}

// readBody reads the string that may be large.
func (r *reading) readBody(m member) {
	r.start, r.end = m.at, m.at+len(m.Value)
	if m.Name == "text" {
		r.body, r.part.Text, r.usual = inText, r.text(m.Value), usualEscapes(m.Value)
		return
	}
	r.body, r.usual = inData, bytes.IndexByte(m.Value, '\\') < 0
	encoded := m.Value
	if r.usual && len(encoded) > 1 && encoded[0] == '"' {
		encoded = encoded[1 : len(encoded)-1]
	} else {
		encoded = []byte(r.text(m.Value))
	}
	r.part.Data = make([]byte, base64.StdEncoding.DecodedLen(len(encoded)))
	n, err := strictBase64.Decode(r.part.Data, encoded)
	r.part.Data = r.part.Data[:n]
	r.ok = r.ok && err == nil && !bytes.ContainsAny(encoded, "\r\n")
}

// strictBase64 refuses bits at the end that encoding again would lose.
var strictBase64 = base64.StdEncoding.Strict()

// text reads a string, and filled one that is left out when it is empty.
func (r *reading) text(raw json.RawMessage) string {
	out, is := rawjson.Text(raw)
	r.ok = r.ok && is
	return out
}

func (r *reading) filled(raw json.RawMessage) string {
	out := r.text(raw)
	r.ok = r.ok && out != ""
	return out
}

// fill replaces the string of the body.
func (r *reading) fill(raw json.RawMessage, body []byte) json.RawMessage {
	return slices.Concat(raw[:r.start], body, raw[r.end:])
}

func (p Part) withoutBody() Part {
	p.Text, p.Data = "", p.Data[:0:0]
	return p
}

// standard writes the fields in the usual order.
func (p Part) standard() json.RawMessage {
	b := make([]byte, 0, len(p.Text)+base64.StdEncoding.EncodedLen(len(p.Data))+len(p.Extra)+200)
	b = rawjson.AppendText(append(b, `{"type":`...), p.Type)
	extra := rawjson.ObjectOf(p.Extra)
	switch p.Type {
	case "text":
		b = rawjson.AppendText(append(b, `,"text":`...), p.Text)
	case "image", "audio":
		b = encoded(append(b, `,"data":`...), p.Data)
		b = optional(b, `,"mimeType":`, p.MIMEType)
	case "resource":
		b = p.appendResource(append(b, `,"resource":`...), extra)
	default:
		b = optional(b, `,"uri":`, p.URI)
		b = optional(b, `,"name":`, p.Name)
		b = optional(b, `,"mimeType":`, p.MIMEType)
	}
	return closed(b, extra, ownMembers(p.Type))
}

func (p Part) appendResource(b []byte, extra rawjson.Object) []byte {
	b = rawjson.AppendText(append(b, `{"uri":`...), p.URI)
	b = optional(b, `,"mimeType":`, p.MIMEType)
	if p.Data == nil {
		b = rawjson.AppendText(append(b, `,"text":`...), p.Text)
	} else {
		b = encoded(append(b, `,"blob":`...), p.Data)
	}
	return closed(b, rawjson.ObjectOf(extra.Get("resource")), []string{"uri", "mimeType", "text", "blob"})
}

func optional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return rawjson.AppendText(append(b, name...), value)
}

// closed ends an object that is open and not empty with those members that it does not define itself.
func closed(b []byte, extra rawjson.Object, but []string) []byte {
	for _, m := range extra {
		if !slices.Contains(but, m.Name) {
			b = append(append(rawjson.AppendText(append(b, ','), m.Name), ':'), m.Value...)
		}
	}
	return append(b, '}')
}

// usualEscapes reports whether rawjson.AppendText writes the same JSON string.
func usualEscapes(raw []byte) bool {
	for at := bytes.IndexByte(raw, '\\'); at >= 0; at = bytes.IndexByte(raw, '\\') {
		raw = raw[at+1:] // of a valid string, in which something follows
		switch {
		case strings.IndexByte(`"\bfnrt`, raw[0]) >= 0:
			raw = raw[1:]
		case raw[0] == 'u' && raw[1] == '0' && raw[2] == '0' && (raw[3] == '0' || raw[3] == '1') &&
			strings.IndexByte("0123456789abcdef", raw[4]) >= 0 && (raw[3] == '1' || strings.IndexByte("89acd", raw[4]) < 0):
			raw = raw[5:]
		default:
			return false
		}
	}
	return true
}

// Reserved begins the names of members of _meta that are the protocol's own.
const Reserved = "io.modelcontextprotocol/"

// OfOneHop reports whether a member of _meta is between a client and the next server only.
func OfOneHop(name string) bool { return strings.HasPrefix(name, Reserved) || name == "progressToken" }

// encoded appends bytes as a JSON string of base64.
func encoded(b, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), data), '"')
}
