package match

import (
	"slices"
	"strings"
)

// planElided plans a change whose strings both leave out lines at the same place, with a line such as "...": the parts
// between are changes of their own, each with one place. It returns nil when that is not so.
func (t *Text) planElided(c Change) *Plan {
	mark := ""
	if c.Strictness != Exact && !c.All && c.Expected <= 1 {
		mark = t.findElision(newSource(toLF([]byte(c.Old)), t.syntax))
	}
	if mark == "" {
		return nil
	}
	old, fresh := partsAt(c.Old, mark), partsAt(c.New, mark)
	if len(old) != len(fresh) {
		return nil
	}
	out := &Plan{}
	for i := range old {
		part := c
		if part.Old, part.New = old[i], fresh[i]; isBlankString(part.Old) {
			return nil
		}
		p := t.planPart(part)
		if p == nil || p.Pass > lastComment || len(p.Places) != 1 ||
			i > 0 && p.Places[0].Start < out.Places[i-1].End {
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
	out.Warnings = append(out.Warnings, "The lines for which "+quoteShort(mark)+" stands stayed as they are.")
	return out
}

// planPart plans a part, which may be one that stays.
func (t *Text) planPart(c Change) *Plan {
	if c.Old != c.New {
		p, err := t.Plan(c)
		if err != nil {
			return nil
		}
		return p
	}
	f := t.find(c, t.readings(c))
	if f == nil || len(f.hits) != 1 {
		return nil
	}
	return &Plan{Pass: f.number, PassName: f.name, Places: []Range{f.hits[0].Range}}
}

// partsAt cuts a text at the lines that are nothing but a mark.
func partsAt(s, mark string) []string {
	out := []string{""}
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == mark {
			out = append(out, "")
			continue
		}
		out[len(out)-1] += l
	}
	return out
}
