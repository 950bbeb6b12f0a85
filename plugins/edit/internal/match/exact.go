package match

import "fmt"

// harmful refuses new_string when what it has was most likely not meant to be written into the file, at any strictness but
// exact. Without places it looks at what is senseless anywhere.
func (t *Text) harmful(c Change, r *reading, places []Range) *Refusal {
	if c.Strictness == Exact {
		return nil
	}
	if refusal := t.leavesOut(r, places); refusal != nil {
		return refusal
	}
	return t.fencedAlone(r, places)
}

// exact makes the edits for exact matches. By the letter some would do harm: line breaks at the edges stay, and what was
// made before is not made twice.
func (t *Text) exact(c Change, f *finding, p *Plan) *Refusal {
	p.Places = p.Places[:0]
	left, said := 0, map[string]bool{}
	for _, h := range f.hits {
		if there, ok := t.twice(f.reading, h.Range); ok {
			if left++; !c.All || left == len(f.hits) {
				return t.appliedTwice(there)
			}
			continue
		}
		fresh, note, refusal := t.keepBreaks(f.reading, h.Range)
		if refusal != nil {
			return refusal
		}
		if note != "" && !said[note] {
			said[note] = true
			p.Warnings = append(p.Warnings, note)
		}
		r := *f.reading
		r.new = fresh
		stayed, at, refusal := t.stayNote(&r, t.wholeLine(&r, h.Range))
		if refusal != nil {
			return refusal
		}
		p.Edits = append(p.Edits, t.literal(stayed, at)...)
		p.Places = append(p.Places, h.Range)
	}
	if left > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s had new_string already and stayed as they were.", plural(left, "place")))
	}
	return nil
}
