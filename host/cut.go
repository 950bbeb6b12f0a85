package host

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// cutText keeps the first characters of s.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit == 0 {
			return s[:i] + "... (truncated)"
		}
		limit--
	}
	return s
}

// A cutter shortens the result of one call, and keeps the whole of what it cuts.
type cutter struct {
	limit  int // bytes
	id     string
	keeper *keeper
}

// result cuts the texts of r, all text parts together and that of each resource by itself. JSON cannot be cut: it is all
// or nothing.
func (x cutter) result(r *sdk.Result) {
	text := allText(r.Content)
	if len(text) > x.limit {
		r.Content, r.Truncated = withText(r.Content, x.text(text)), true
	}
	for i, p := range r.Content {
		if short, ok := x.part(p); ok {
			r.Content, r.Truncated = slices.Clone(r.Content), true
			r.Content[i] = short
		}
	}
	if len(r.Structured) > x.limit {
		if string(r.Structured) != text { // else it is in the same file
			r.Content = append(slices.Clip(r.Content), x.note("The structured result", r.Structured))
		}
		r.Structured, r.Truncated = nil, true
	}
}

// part cuts one part that is no text.
func (x cutter) part(p sdk.Content) (sdk.Content, bool) {
	switch {
	case p.Type == "text":
		return p, false
	case len(p.Raw) > x.limit:
		return x.note("A part of the result", p.Raw), true
	case len(p.Text) > x.limit:
		p.Text = x.text(p.Text)
		return p, true
	}
	return p, false
}

func (x cutter) text(s string) string {
	return middleCut(s, x.limit, x.keeper.keep(x.id, ".txt", []byte(s)))
}

// note is what a model sees in the place of JSON that is too large.
func (x cutter) note(what string, raw []byte) sdk.Content {
	return sdk.TextContent(fmt.Sprintf("[%s has %d bytes and is left out; %s]", what, len(raw), x.keeper.keep(x.id, ".json", raw)))
}

// withText puts one text in the place of all of them, where the first was.
func withText(parts []sdk.Content, text string) (out []sdk.Content) {
	there := false
	for _, p := range parts {
		switch {
		case p.Type != "text":
			out = append(out, p)
		case !there:
			out, there = append(out, sdk.TextContent(text)), true
		}
	}
	return out
}

// middleCut keeps the beginning and the end of a text, which tell most, and says what is missing.
func middleCut(text string, limit int, note string) string {
	head, from := limit-limit/4, len(text)-limit/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return fmt.Sprintf("%s\n[... %d of %d bytes are left out here; %s ...]\n%s", text[:head], from-head, len(text), note, text[from:])
}
