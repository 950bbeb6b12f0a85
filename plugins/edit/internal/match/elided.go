package match

import (
	"slices"
	"strings"
)

// planElided plans a change whose strings both leave out lines at the same place, with a line such as "...", or are the
// same diff of several hunks: the parts between are changes of their own, each with one place. It returns nil when that
// is not so.
func (t *Text) planElided(c Change) *Plan {
	if c.Strictness == Exact || c.All || c.Expected > 1 {
		return nil
	}
	mark := t.findElision(newSource(toLF([]byte(c.Old)), t.syntax))
	isMark := func(l string) bool { return strings.TrimSpace(l) == mark }
	hunks := mark == "" && t.sameHunk(c)
	if hunks {
		isMark = func(l string) bool { return strings.HasPrefix(l, "@@") }
	} else if mark == "" {
		return nil
	}
	old, fresh := partsAt(c.Old, isMark), partsAt(c.New, isMark)
	if hunks && len(old) > 2 { // before the first one are the names of the files
		old, fresh = old[1:], fresh[1:]
	} else if hunks || len(old) != len(fresh) {
		return nil
	}
	out := &Plan{}
	for i := range old {
		part := c
		if part.Old, part.New = old[i], fresh[i]; isBlankString(part.Old) {
			return nil
		} else if part.New == "" && !strings.HasSuffix(part.Old, "\n") {
			part.Old += "\n" // a line goes
		}
		after := 0
		if i > 0 {
			after = out.Places[i-1].End
		}
		p := t.planPart(part, hunks, after)
		if p == nil || p.Pass > lastComment || len(p.Places) != 1 || p.Places[0].Start < after {
			return nil
		}
		out.Edits, out.Places = append(out.Edits, p.Edits...), append(out.Places, p.Places...)
		if p.Pass >= out.Pass {
			out.Pass, out.PassName = p.Pass, p.PassName
		}
		for _, w := range p.Warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
	}
	if len(out.Edits) == 0 || overlapping(out.Edits) {
		return nil
	}
	if hunks {
		return out
	}
	out.Warnings = append(out.Warnings, "The lines for which "+quoteShort(mark)+" stands stayed as they are.")
	return out
}

// planPart plans a part, a hunk or one that may stay. Of the places of one that stays it is the first behind the part
// before.
func (t *Text) planPart(c Change, hunk bool, after int) *Plan {
	text := func(s string) string { return strings.TrimSuffix(string(toLF([]byte(s))), "\n") }
	if hunk || text(c.Old) != text(c.New) { // line endings alone are no change
		p, err := t.Plan(c)
		if err != nil {
			return nil
		}
		return p
	}
	f := t.find(c, t.readings(c))
	if f == nil {
		return nil
	}
	for _, h := range f.hits {
		if h.Start >= after {
			return &Plan{Pass: f.number, PassName: f.name, Places: []Range{h.Range}}
		}
	}
	return nil
}

// partsAt cuts a text at the lines that are a mark.
func partsAt(s string, isMark func(string) bool) []string {
	out := []string{""}
	for l := range strings.Lines(s) {
		if isMark(l) {
			out = append(out, "")
			continue
		}
		out[len(out)-1] += l
	}
	return out
}
