package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

const (
	hiddenText = "[hidden]"
	// leastSecret is the shortest text that is hidden; shorter ones would be found in any text.
	leastSecret = 6
)

// A hider takes the operator's secrets out of whatever a model or a person may see: servers like to repeat what they were
// sent.
type hider struct {
	forms    []string // the secrets in all their spellings, the longest first
	replacer *strings.Replacer
}

// newHider hides the values of headers that are not about the form of the data, and what the URL asks with.
func newHider(h http.Header, u *url.URL) hider {
	secrets := []string{u.RawQuery}
	for name := range h {
		if !slices.Contains(portable, name) {
			secrets = append(append(secrets, h.Get(name)), parts(name, h.Get(name))...)
		}
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	var out hider
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= leastSecret {
			out.forms = append(out.forms, spellings(s)...)
		}
	}
	// The replacer takes the first that fits.
	slices.SortFunc(out.forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	out.forms = slices.Compact(out.forms)
	var pairs []string
	for _, form := range out.forms {
		pairs = append(pairs, form, hiddenText)
	}
	out.replacer = strings.NewReplacer(pairs...)
	return out
}

// parts are the pieces of a header's value that may come back by themselves, such as a token without its scheme.
func parts(name, value string) []string {
	words := strings.Fields(value)
	if scheme, rest, ok := strings.Cut(value, " "); name == "Authorization" && ok {
		words = strings.Fields(rest)
		if user, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(user), ":")
			words = append(words, string(user), password)
		}
	}
	for pair := range strings.SplitSeq(value, ";") { // as in Cookie
		pair = strings.TrimSpace(pair)
		_, v, _ := strings.Cut(pair, "=")
		words = append(words, v)
	}
	return words
}

// spellings are the ways in which JSON, HTML and URLs write a text.
func spellings(s string) []string {
	plain := string(sdk.Encode(s))
	escaped, _ := json.Marshal(s)
	out := []string{s, html.EscapeString(s), url.QueryEscape(s), url.PathEscape(s)}
	for _, quoted := range []string{plain, string(escaped)} {
		inner := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
		out = append(out, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	return out
}

func (h hider) result(r *sdk.Result) *sdk.Result {
	if r == nil {
		return nil
	}
	for i, part := range r.Content {
		r.Content[i].Text = h.replacer.Replace(part.Text)
		if r.Truncated {
			r.Content[i].Text = h.end(r.Content[i].Text)
		}
	}
	if r.Structured != nil {
		r.Structured = stillJSON(h.replacer.Replace(string(r.Structured)))
	}
	return r
}

func (h hider) error(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Message, out.Suggestion = h.message(e.Message), h.message(e.Suggestion)
	if e.Details != nil {
		out.Details = stillJSON(h.message(string(e.Details)))
	}
	return &out
}

// message hides secrets in a text that is put together of clipped ones too, where the first part of one may be left.
func (h hider) message(text string) string {
	pieces := strings.Split(h.replacer.Replace(text), clipped)
	for i, piece := range pieces {
		pieces[i] = h.end(piece)
	}
	return strings.Join(pieces, clipped)
}

// end hides the first part of a secret that was cut off with the rest of its text.
func (h hider) end(text string) string {
	for _, form := range h.forms {
		for n := min(len(form)-1, len(text)); n >= leastSecret; n-- {
			if rest, ok := strings.CutSuffix(text, form[:n]); ok {
				return rest + hiddenText
			}
		}
	}
	return text
}

// stillJSON drops what is not JSON any more: a secret may be a number.
func stillJSON(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}
