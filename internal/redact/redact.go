// Package redact takes secrets out of texts that are written down or shown: the record of calls, logs, and what plugins
// print. It knows values that it is given and the forms of well-known credentials, and looks at nothing but the text.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// redacted replaces a secret.
	redacted = "[redacted]"
	// minSecret is how many bytes a known secret must have.
	minSecret = 6
)

// A Redactor takes secrets out of what is written down: values that it knows, and what looks like the keys and tokens
// of well-known services. It cannot know a secret that looks like any other word. It may be used from several
// goroutines.
type Redactor struct {
	secrets []string // as they are written in texts
	encoded []string // as they are written within longer runs of base64
}

// New returns a redactor that also knows these values, in plain and as they are written in JSON, in URLs, in
// hexadecimal and in base64, wherever in the encoded text they begin. Values under 6 bytes are ignored.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) >= minSecret {
			r.secrets = append(r.secrets, spellings(s)...)
			r.encoded = append(r.encoded, inBase64(s)...)
		}
	}
	slices.Sort(r.secrets)
	r.secrets = slices.Compact(r.secrets)
	slices.Sort(r.encoded)
	r.encoded = slices.Compact(r.encoded)
	return r
}

func spellings(secret string) []string {
	inJSON, _ := json.Marshal(secret) // a string can always be written
	inHex := hex.EncodeToString([]byte(secret))
	var percent, escaped strings.Builder
	for i := range len(secret) {
		fmt.Fprintf(&percent, "%%%02X", secret[i])
		fmt.Fprintf(&escaped, `\x%02x`, secret[i])
	}
	return []string{secret, string(inJSON[1 : len(inJSON)-1]), quoted(secret), unquote(inJSON), url.QueryEscape(secret),
		url.PathEscape(secret),
		inHex, strings.ToUpper(inHex), percent.String(), strings.ToLower(percent.String()), escaped.String()}
}

// inBase64 are the characters that base64 always has for a secret, whatever is before and after it: three
// spellings, one for each place in a group of three bytes where it may begin, and three more in the alphabet of URLs.
func inBase64(secret string) (out []string) {
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), secret...))
		from, to := (before*8+5)/6, (before+len(secret))*8/6
		out = append(out, text[from:to], strings.NewReplacer("+", "-", "/", "_").Replace(text[from:to]))
	}
	return out
}

// quoted is the text within the quotes of JSON, with no more escapes than JSON needs.
func quoted(text string) string {
	out := string(quote(text))
	return out[1 : len(out)-1]
}

// Text returns the text with [redacted] in place of each secret. JSON is redacted as JSON does it: many places have the
// arguments of a call, or a line of a log, as a text.
func (r *Redactor) Text(text string) string {
	if text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		return string(r.JSON([]byte(text)))
	}
	return replaced(text, r.find(text))
}

func (r *Redactor) find(text string) (found []span) {
	for _, s := range r.secrets {
		found = occurrences(found, text, s)
	}
	found = r.findCut(r.findEncoded(found, text), text)
	if wide(text) {
		plain, at := narrowed(text)
		for _, s := range findPatterns(nil, plain) {
			found = append(found, span{at[s.from], at[s.to]})
		}
		return found
	}
	return findPatterns(found, text)
}

func findPatterns(found []span, text string) []span {
	set, starts := likely(text)
	if set == (patternSet{}) {
		return found
	}
	for i, p := range patterns() {
		switch {
		case !set.has(i):
		case p.starts != "":
			found = p.findFrom(starts, i, found, text)
		default:
			found = p.find(found, text)
		}
	}
	return found
}

// findEncoded finds known secrets within base64, also where lines of it were broken, and takes the whole run of base64.
func (r *Redactor) findEncoded(found []span, text string) []span {
	if len(r.encoded) == 0 {
		return found
	}
	joined := lineBreaks.Replace(text)
	if !slices.ContainsFunc(r.encoded, func(s string) bool { return strings.Contains(joined, s) }) {
		return found
	}
	var at []int // where each byte of joined is in text
	for i := range len(text) {
		if text[i] != '\r' && text[i] != '\n' {
			at = append(at, i)
		}
	}
	at = append(at, len(text))
	for _, s := range r.encoded {
		for _, o := range occurrences(nil, joined, s) {
			for o.from > 0 && isBase64(joined[o.from-1]) {
				o.from--
			}
			for o.to < len(joined) && isBase64(joined[o.to]) {
				o.to++
			}
			found = append(found, span{at[o.from], at[o.to-1] + 1})
		}
	}
	return found
}

// findCut finds beginnings of known secrets that a mark of a cut follows.
func (r *Redactor) findCut(found []span, text string) []span {
	for _, mark := range []string{"…", "..."} {
		for at := 0; len(r.secrets) > 0; at += len(mark) {
			i := strings.Index(text[at:], mark)
			if i < 0 {
				break
			}
			at += i
			for _, s := range r.secrets {
				n := min(len(s)-1, at)
				for n >= minSecret && !strings.HasSuffix(text[:at], s[:n]) {
					n--
				}
				if n >= minSecret {
					found = append(found, span{at - n, at})
				}
			}
		}
	}
	return found
}

var lineBreaks = strings.NewReplacer("\n", "", "\r", "")

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+/-_=", c) >= 0
}

// wide reports whether a text has letters in full width, which people read as the plain ones.
func wide(text string) bool {
	return strings.IndexByte(text, '\xef') >= 0 && // almost no text has that byte
		(strings.Contains(text, "\xef\xbc") || strings.Contains(text, "\xef\xbd"))
}

// narrowed returns the text with plain letters in place of those in full width, and where each byte came from.
func narrowed(text string) (string, []int) {
	out, at := make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for i, c := range text {
		size := utf8.RuneLen(c)
		if c == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		if '\uff01' <= c && c <= '\uff5e' {
			out, at = append(out, byte(c-'\uff01'+'!')), append(at, i)
			continue
		}
		for n := range size {
			out, at = append(out, text[i+n]), append(at, i+n)
		}
	}
	return string(out), append(at, len(text))
}

// A span is a part of a text that is secret.
type span struct{ from, to int }

// occurrences finds all, also those that overlap.
func occurrences(found []span, text, secret string) []span {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			return found
		}
		at += i
		if last := len(found) - 1; last >= 0 && found[last].from <= at && at <= found[last].to {
			found[last].to = max(found[last].to, at+len(secret))
		} else {
			found = append(found, span{at, at + len(secret)})
		}
	}
}

func replaced(text string, found []span) string {
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	end := 0 // of what is done
	for i, s := range found {
		if i == 0 || s.from > end {
			out.WriteString(text[end:s.from])
			out.WriteString(redacted)
		}
		end = max(end, s.to)
	}
	out.WriteString(text[end:])
	return out.String()
}

// maxBlock is how many lines a private key may have: an end that never comes must not hide everything after it.
const maxBlock = 400

// Blocks follows private keys through a text that comes line by line. Its zero value is at the text's beginning.
type Blocks struct {
	left int // lines that may still belong to the key that has begun
}

// Inside reports whether the line continues with a private key that began in a line before, up to the line that ends
// it. Such a line is secret as a whole. The line in which a key begins is not one of them: Text redacts it.
func (b *Blocks) Inside(line []byte) bool {
	if b.left > 0 {
		b.left--
		if ends(line) {
			b.left = 0
		}
		return true
	}
	if begins := keyBegins(line); begins >= 0 && !ends(line[begins:]) {
		b.left = maxBlock
	}
	return false
}

// Quiet says that no line of the text begins or continues with a private key. It costs less than asking for each
// line.
func (b *Blocks) Quiet(text []byte) bool {
	return b.left == 0 && !bytes.Contains(text, []byte("PRIVATE KEY")) && !bytes.Contains(text, []byte("Private-Lines:"))
}

// keyBegins is where the first line of a key that continues has its marker, or -1.
func keyBegins(line []byte) int {
	if i := bytes.Index(line, []byte("Private-Lines:")); i >= 0 {
		return i
	}
	if i := bytes.Index(line, []byte("BEGIN ")); i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) {
		return i
	}
	return -1
}

func ends(line []byte) bool {
	i := bytes.Index(line, []byte("END "))
	return i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) || bytes.Contains(line, []byte("Private-MAC"))
}
