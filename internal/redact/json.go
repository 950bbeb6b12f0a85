package redact

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// secretFlag matches arguments of a program whose next argument is secret.
var secretFlag = lazy.Regexp(`(?i)^--?(?:[\w-]*` + namedToo + `|(?:[\w-]+-)?pass)$`)

// credentialOptions are followed by a name and a password, with a colon between. User and group ids are no password.
var (
	credentialOptions = []string{"-u", "-U", "-a", "--user", "--proxy-user", "--auth"}
	credentialPair    = lazy.Regexp(`^([^\s:/]*:)[^/\s]*[^/\s0-9][^/\s]*$`)
)

// pairNames are the names of members that name the value of their object, which is that of one of the valueNames.
const (
	pairNames  lazy.Words = "name key header field variable"
	valueNames lazy.Words = "value val"
)

// JSON returns the text with [redacted] in place of each secret, which may be written with escapes. Values of names
// such as password or api_key are secrets as a whole, unless they are null, true, false or "". What was JSON stays
// JSON; what was not is taken for text. The text itself is never changed, and is the result if there is nothing to
// redact.
func (r *Redactor) JSON(text []byte) []byte { return r.JSONStart(text, math.MaxInt) }

// redactMargin is how far past its end the start of a text is searched, for secrets of which a part is in it.
const redactMargin = 16 << 10

// JSONStart returns the start of what JSON returns, of at least so many bytes if that has as many. It looks at little
// more than that, and so costs the same however long the text is.
func (r *Redactor) JSONStart(text []byte, least int) []byte {
	plain := string(text)
	most := least
	if least < math.MaxInt-redactMargin {
		most += redactMargin
	}
	if !json.Valid(text) {
		return []byte(r.Text(plain[:min(len(plain), most)]))
	}
	if !strings.Contains(plain, `\u`) && !strings.Contains(plain, `\/`) && !r.suspects(plain) {
		return text // nothing is hidden in other escapes: for those there is one spelling only
	}
	out := make([]byte, 0, min(len(text), least))
	// the string before, if a comma is all that follows it: in an array of arguments it may say what comes next
	option := ""
	member, paired := "", false // of {"name": "password", "value": "x"}
	for i := 0; i < len(text) && len(out) < least; {
		n := len(token(text[i:]))
		part := text[i : i+n]
		if room := most - len(out); part[0] == '"' && n > room {
			part = cutString(part, room)
		}
		i += n
		from := nameEnds(text[i:])
		if part[0] == '"' && from == 0 {
			out = append(out, r.argument(option, part)...)
			option = unquote(part)
			paired = paired || pairNames.Has(strings.ToLower(member)) && Name(option)
			continue
		}
		if len(bytes.Trim(part, ", \t\r\n")) > 0 {
			option = ""
		}
		out = append(out, r.token(part)...)
		if part[0] != '"' {
			paired = paired && part[0] != '{' && part[0] != '}'
			continue
		}
		if member = unquote(part); Name(member) || paired && valueNames.Has(strings.ToLower(member)) {
			out = append(out, text[i:i+from]...)
			i += from
			n := extent(text[i:])
			out = append(out, withheld(text[i:i+n])...)
			i += n
		}
	}
	return out
}

// cutString shortens a string to so many bytes, outside of an escape and of a character.
func cutString(part []byte, most int) []byte {
	end := most
	if i := bytes.LastIndexByte(part[:end], '\\'); i >= end-6 { // \u1234 is the longest
		for i > 0 && part[i-1] == '\\' {
			i--
		}
		end = max(i, 1)
	}
	for end > 1 && !utf8.RuneStart(part[end]) {
		end--
	}
	return append(bytes.Clone(part[:end]), '"')
}

// token is the first token of valid JSON: a string, a run of blanks, a run of letters and digits, or one other byte.
func token(text []byte) []byte {
	if text[0] == '"' {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return text[:i+1]
			}
		}
	}
	if bytes.IndexByte([]byte("[]{}:,"), text[0]) >= 0 {
		return text[:1]
	}
	if n := bytes.IndexAny(text, "[]{}:,\" \t\r\n"); n > 0 {
		return text[:n]
	} else if n == 0 {
		return text[:len(text)-len(bytes.TrimLeft(text, " \t\r\n"))]
	}
	return text
}

// suspects says quickly of most texts that they have neither secrets nor names of secrets.
func (r *Redactor) suspects(text string) bool {
	set, _ := likely(text)
	return wide(text) || set != (patternSet{}) || slices.ContainsFunc(r.secrets,
		func(s string) bool { return strings.Contains(text, s) }) ||
		len(r.findCut(r.findEncoded(nil, text), text)) > 0
}

// argument redacts a string that may be what the option before it takes.
func (r *Redactor) argument(option string, part []byte) []byte {
	if secretFlag().MatchString(option) {
		return withheld(part)
	}
	if m := credentialPair().FindStringSubmatch(unquote(part)); m != nil && slices.Contains(credentialOptions, option) {
		return quote(m[1] + redacted)
	}
	return r.token(part)
}

func (r *Redactor) token(part []byte) []byte {
	plain := string(part)
	if part[0] != '"' {
		if r.Text(plain) != plain { // a number
			return quote(redacted)
		}
		return part
	}
	plain = unquote(part)
	if clean := r.Text(plain); clean != plain {
		return quote(clean)
	}
	return part
}

// nameEnds is where the value begins if the string before the text was a name, else 0.
func nameEnds(text []byte) int {
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) == 0 || rest[0] != ':' {
		return 0
	}
	return len(text) - len(bytes.TrimLeft(rest[1:], " \t\r\n"))
}

// extent is how long the first value of the text is.
func extent(text []byte) int {
	d := json.NewDecoder(bytes.NewReader(text))
	_ = d.Decode(new(json.RawMessage)) // the text is valid
	return int(d.InputOffset())
}

// withheld replaces a secret value. Values without content stay.
func withheld(value []byte) []byte {
	switch string(value) {
	case "null", "true", "false", `""`:
		return value
	}
	return quote(redacted)
}

func quote(text string) []byte {
	out, _ := rawjson.Encode(text, "") // a string can always be written
	return out
}

func unquote(text []byte) (out string) {
	_ = json.Unmarshal(text, &out) // the text is valid
	return out
}

// Value replaces the value of a name for which Name is true. Values without content (nil, a bool, "") stay.
func Value(v any) any {
	switch v {
	case nil, true, false, "":
		return v
	}
	return redacted
}
