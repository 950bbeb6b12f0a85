package audit

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// redacted stands where a secret was.
	redacted = "[redacted]"
	// minSecret is how many bytes a known secret must have.
	minSecret = 6
)

// A Redactor takes secrets out of what is written down: values that it knows, and what looks like the keys and tokens of
// well-known services. It cannot know a secret that looks like any other word. It may be used from several goroutines.
type Redactor struct {
	secrets []string
}

// NewRedactor gives a redactor that also knows these values, in plain and as they stand in JSON and in URLs. Values under
// 6 bytes are ignored.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) >= minSecret {
			r.secrets = append(r.secrets, spellings(s)...)
		}
	}
	slices.Sort(r.secrets)
	r.secrets = slices.Compact(r.secrets)
	return r
}

// spellings are the ways to write a secret.
func spellings(secret string) []string {
	inJSON, _ := json.Marshal(secret) // a string can always be written
	return []string{secret, string(inJSON[1 : len(inJSON)-1]), quoted(secret), unquote(inJSON), url.QueryEscape(secret), url.PathEscape(secret)}
}

// quoted is the text within the quotes of JSON, with no more escapes than JSON needs.
func quoted(text string) string {
	out := string(quote(text))
	return out[1 : len(out)-1]
}

// Text gives the text with [redacted] in the place of each secret.
func (r *Redactor) Text(text string) string {
	lower := strings.ToLower(text)
	if !r.suspects(text, lower) {
		return text
	}
	var found []span
	for _, s := range r.secrets {
		found = occurrences(found, text, s)
	}
	for _, p := range patterns {
		if p.likely(lower) {
			found = p.find(found, text)
		}
	}
	return replaced(text, found)
}

// suspects says quickly of most texts that there is nothing to find in them.
func (r *Redactor) suspects(text, lower string) bool {
	return slices.ContainsFunc(allHints, func(h string) bool { return strings.Contains(lower, h) }) ||
		slices.ContainsFunc(r.secrets, func(s string) bool { return strings.Contains(text, s) })
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
