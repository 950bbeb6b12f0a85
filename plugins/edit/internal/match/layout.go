package match

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// In some languages indentation carries meaning. What an edit makes of it is checked in the text after the edit.

// layoutMatters reports that a tab for blanks, or the other way round, changes what a line means or makes it invalid.
func (t *Text) layoutMatters() bool {
	return t.syntax != nil && t.syntax.layout || t.isMakefile()
}

func (t *Text) isMakefile() bool {
	return t.ext == "mk" || t.ext == "makefile" || t.ext == "gnumakefile"
}

// stepWidth is how many blanks stand for a tab where old_string shows nothing and the file is uniform: the step of the
// one that is indented with blanks. It is 0 when that is not known, and in a Makefile unless all lines are of recipes.
func (t *Text) stepWidth(fresh *source, other byte) int {
	blank := t.source
	if other == ' ' {
		blank = fresh
	}
	rule, has := false, false
	for i := range fresh.lines {
		b := fresh.text(i)
		has = has || !isBlank(b) && b[0] == other
		if !isBlank(b) && leading(b) == "" {
			rule = ruleLine().Match(b)
		} else if t.isMakefile() && !isBlank(b) && !rule {
			return 0
		}
	}
	if !has {
		return 0
	}
	step, _ := commonStep(0, blank)
	return len(strings.Trim(step, "\t"))
}

var (
	ruleLine      = lazy.Regexp(`^[^\s#=:][^=]*:([^=]|$)`)
	makeDirective = lazy.Regexp(`^(ifn?eq|ifn?def|else|endif|-?include|define|endef|export|override|#)|[?:+]?=`)
)

// checkTabs refuses edits after which a line is indented with tabs next to one with blanks, or the other way round,
// where that matters and the file has no such lines yet.
func (t *Text) checkTabs(p *Plan) *Refusal {
	if !t.layoutMatters() || len(t.mixedIndents(t.edited(p))) == 0 {
		return nil
	}
	had := t.mixedIndents(t.source)
	after := newSource(p.Apply(t.data), t.syntax)
	first := len(after.lines)
	for pair, lines := range t.mixedIndents(after) {
		for _, i := range lines {
			if len(had[pair]) == 0 && i < first && !(t.syntax != nil && t.syntax.within(after.data, after.lines[i].start)) {
				first = i
			}
		}
	}
	if first == len(after.lines) {
		return nil
	}
	out := guard("With this edit the line "+quoteShort(after.key(first))+" would be indented with tabs and the lines "+
		"around with spaces, or the other way round, and in this language that changes what it means.",
		"Indent new_string as the lines around are in the file: with tabs, or with spaces.")
	t.show(out, p.Places[0])
	return out
}

// edited are the lines that the edits are on as they will be, with the closest ones around that are not blank.
func (t *Text) edited(p *Plan) *source {
	from, to := max(0, t.closeFilled(t.lineAt(p.Edits[0].Start), -1)), len(t.lines)
	if next := t.closeFilled(t.lineAt(p.Edits[len(p.Edits)-1].End), +1); next >= 0 {
		to = next + 1
	}
	near, start := slices.Clone(p.Edits), t.lines[from].start
	for i := range near {
		near[i].Start, near[i].End = near[i].Start-start, near[i].End-start
	}
	return newSource((&Plan{Edits: near}).Apply(t.bytes(span{from, to})), t.syntax)
}

// An indentPair is how a line is indented, and the one before it that is not blank.
type indentPair struct{ before, line string }

// mixedIndents are the indentations of which neither is a part of the other, with the lines of each. In YAML any tab is
// mixed, in a Makefile are blanks where only a recipe can be.
func (t *Text) mixedIndents(s *source) map[indentPair][]int {
	out := map[indentPair][]int{}
	last := -1
	for i := range s.lines {
		b := s.text(i)
		if isBlank(b) {
			continue
		}
		pair := indentPair{line: leading(b)}
		var mixed bool
		switch {
		case t.isMakefile():
			if last >= 0 && !bytes.HasSuffix(s.text(last), []byte(`\`)) {
				recipe := ruleLine().Match(s.text(last)) || bytes.HasPrefix(s.text(last), []byte("\t"))
				mixed = recipe && strings.HasPrefix(pair.line, " ") && !makeDirective().Match(b[len(pair.line):])
			}
		case t.syntax == yaml:
			mixed = strings.HasPrefix(pair.line, "\t")
		case last >= 0:
			pair.before = leading(s.text(last))
			mixed = !strings.HasPrefix(pair.before, pair.line) && !strings.HasPrefix(pair.line, pair.before)
		}
		if mixed {
			out[pair] = append(out[pair], i)
		}
		last = i
	}
	return out
}

// checkDedent refuses edits that end the block of a line above their place in Python or YAML: what they write begins no
// deeper than that line, where the file has a block. What old_string quotes the model sees, and may mean.
func (t *Text) checkDedent(c Change, p *Plan) *Refusal {
	if t.syntax != python && t.syntax != yaml ||
		squeeze([]byte(c.Old)) == squeeze([]byte(c.New)) { // indentation is the change
		return nil
	}
	var after *source
	shift, end := 0, 0
	for _, e := range p.Edits {
		before, from := shift, end
		shift, end = shift+len(e.With)-(e.End-e.Start), e.End
		above := t.closeCode(t.lineAt(e.Start), -1)
		quoted := slices.ContainsFunc(p.Places, func(r Range) bool {
			first, next := t.span(r)
			return above >= first && above < next
		})
		if isBlank(e.With) || above < 0 || quoted || t.lines[above].start < from ||
			!bytes.HasSuffix(bytes.TrimRight(t.data[t.lines[above].start:t.commentStart(above)], blanks), []byte(":")) ||
			t.syntax.within(t.data, t.lines[above].start) {
			continue
		}
		if after == nil {
			after = newSource(p.Apply(t.data), t.syntax)
		}
		parent := leading(t.text(above))
		was, is := t.closeCode(above, +1), after.closeCode(after.lineAt(t.lines[above].start+before), +1)
		if was < 0 || is < 0 || len(leading(t.text(was))) <= len(parent) || len(leading(after.text(is))) > len(parent) {
			continue
		}
		if key := after.key(is); t.syntax == yaml && (strings.HasPrefix(key, "-") || likeness(t.key(was), key) == 0) {
			continue // a list may be as deep as its key, and a key without a value is fine
		}
		out := guard("With this edit "+quoteShort(after.key(is))+" would be no deeper than "+quoteShort(t.key(above))+
			" above it, which begins a block in the file.", "Indent all lines of new_string as they shall be in the file. "+
			"To end the block there, include the line above in both strings.")
		t.show(out, p.Places[0])
		return out
	}
	return nil
}

// closeCode is the closest line before or behind another, by the step, that is neither blank nor a comment, or -1.
func (s *source) closeCode(n, step int) int { return s.closest(n, step, s.blankOrComment) }

// closeFilled is closeCode with comments.
func (s *source) closeFilled(n, step int) int {
	return s.closest(n, step, func(i int) bool { return isBlank(s.text(i)) })
}

func (s *source) closest(n, step int, skips func(int) bool) int {
	for n += step; n >= 0 && n < len(s.lines); n += step {
		if !skips(n) {
			return n
		}
	}
	return -1
}
