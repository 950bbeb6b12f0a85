package match

import (
	"bytes"
	"slices"
)

// Plan finds the places of a change and makes the edits. The error is always a *Refusal, and then nothing is to be done.
func (t *Text) Plan(c Change) (*Plan, error) {
	p, refusal := t.plan(c)
	if refusal != nil {
		return nil, refusal
	}
	return p, nil
}

func (t *Text) plan(c Change) (*Plan, *Refusal) {
	if refusal := t.guard(c); refusal != nil {
		return nil, refusal
	}
	c.All = c.All || c.Expected > 1
	t.work = 0
	readings := t.readings(c)
	if f := t.find(c, readings); f != nil {
		return t.decide(c, f)
	}
	if refusal := t.harmful(c, readings[0], nil); refusal != nil {
		return nil, refusal
	}
	if t.tooLong(readings) {
		r := guardTooLong()
		if near := (&Refusal{}); t.nearestLines(c, readings[0], near) {
			r.Candidates, r.Excerpt, r.Exact = near.Candidates, near.Excerpt, near.Exact
		}
		return nil, r
	}
	if refusal := t.present(c, readings); refusal != nil {
		return nil, refusal
	}
	if c.Strictness == Full && !c.All {
		if p, refusal := t.similar(c, readings); p != nil || refusal != nil {
			return p, refusal
		}
	}
	return nil, t.notFound(c, readings)
}

// maxCached is the size of a file up to which the streams of all levels are kept.
const maxCached = 2 << 20

func (t *Text) stream(lv level) *stream {
	if s, ok := t.streams[lv]; ok {
		return s
	}
	if len(t.data) > maxCached {
		clear(t.streams)
	}
	t.streams[lv] = canon(t.source, lv)
	return t.streams[lv]
}

// find goes through the passes and gives what the first pass finds for the first reading that has a place. It goes by
// passes, not by readings, so that a large file is brought into each form once.
func (t *Text) find(c Change, readings []*reading) *finding {
	if f := t.raw(c); f != nil {
		return f
	}
	found := make([]*finding, len(readings))
	for order, p := range passes {
		if p.number > 1 && c.Strictness == Exact || p.number > 8 && c.Strictness == Safe || p.number > lastForAll && c.All {
			continue
		}
		if f := earliest(found); p.number > lastNoted && f != nil && f.reading.lastPass < p.number {
			return f // escapes: which is nearer to the file than what has to ignore comments
		}
		for i, r := range readings {
			if found[i] != nil || p.number > r.lastPass || p.number > 1 && t.foreign(r) {
				continue
			}
			if found[i] = t.search(p, r, t.stream(p.level), c.All); found[i] != nil {
				found[i].order = order
			}
		}
		if found[0] != nil {
			return found[0]
		}
	}
	return earliest(found)
}

// earliest is the finding of the strictest pass, with those that other readings of the same name have in that pass.
func earliest(all []*finding) (best *finding) {
	for _, f := range all {
		switch {
		case f == nil:
		case best == nil || f.order < best.order:
			best, f.also = f, nil
		case f.order == best.order && f.reading.name == best.reading.name:
			best.also = append(best.also, f)
		}
	}
	return best
}

// raw looks for old_string byte for byte.
func (t *Text) raw(c Change) *finding {
	f := &finding{pass: passes[0], reading: newReading("", c.Old, c.New, 1, t.syntax)}
	for from := 0; len(f.hits) < maxHits; {
		i := bytes.Index(t.data[from:], []byte(c.Old))
		if i < 0 {
			break
		}
		f.hits = append(f.hits, hit{Range: Range{from + i, from + i + len(c.Old)}})
		from += i + 1
		if c.All {
			from += len(c.Old) - 1
		}
	}
	if len(f.hits) == 0 {
		return nil
	}
	return f
}

// decide makes the plan for what a pass has found, or says why it may not be done.
func (t *Text) decide(c Change, f *finding) (*Plan, *Refusal) {
	if refusal := t.choose(c, f); refusal != nil {
		return nil, refusal
	}
	if refusal := t.frame(f); refusal != nil {
		return nil, refusal
	}
	var refusal *Refusal
	if f.reading, refusal = t.alone(c, f.reading, f.hits[0].Range); refusal != nil {
		return nil, refusal
	}
	p := &Plan{Pass: f.number, PassName: passNames[f.number], Warnings: t.warnings(f)}
	for _, h := range f.hits {
		p.Places = append(p.Places, h.Range)
	}
	if refusal := t.harmful(c, f.reading, p.Places); refusal != nil {
		return nil, refusal
	}
	if f.number == 1 && c.Strictness != Exact {
		if refusal := t.exact(c, f, p); refusal != nil {
			return nil, refusal
		}
	} else {
		for _, h := range f.hits {
			if f.number > 1 && inserted(c, h.Range) {
				return nil, t.ownInsertion(h.Range)
			}
			edits, refusal := t.edits(f, h)
			if refusal != nil {
				return nil, refusal
			}
			p.Edits = append(p.Edits, edits...)
		}
	}
	if overlap(p.Edits) {
		return nil, t.conflictAt(p.Places[0], "the places of old_string lie so close that their changes overlap")
	}
	if len(p.Edits) == 0 {
		return nil, t.unchanged(p.Places[0])
	}
	return p, nil
}

// edits are those for one hit.
func (t *Text) edits(f *finding, h hit) ([]Edit, *Refusal) {
	if f.number == 1 || f.literal {
		return t.literal(f.reading, h.Range), nil
	}
	if t.appliedAt(f, h) {
		return nil, t.applied(h.Range)
	}
	return t.project(f.number, f.reading, t.place(f, h))
}

// literal puts new_string in the place of old_string as it is, with the line endings that the file has there.
func (t *Text) literal(r *reading, at Range) []Edit {
	was := t.data[at.Start:at.End]
	with := []byte(r.new)
	if !bytes.Equal(toLF(with), toLF(r.old.data)) {
		if at.Start > 0 && was[0] == '\n' && t.data[at.Start-1] == '\r' {
			at.Start-- // a line ending is changed as a whole
			was = t.data[at.Start:at.End]
		}
		with = t.fitEndings(r, at)
	}
	if bytes.Equal(was, with) {
		return nil
	}
	return []Edit{{at, with}}
}

// fitEndings gives each line of new_string the end that it has in the file, and new ones that of their neighbors.
func (t *Text) fitEndings(r *reading, at Range) []byte {
	first := t.lineAt(at.Start)
	fresh := newSource(toLF([]byte(r.new)), nil)
	kept := make(map[int]int)
	o, n := 0, 0
	x, y := trimmedLines(r.old), trimmedLines(fresh)
	for _, h := range append(diffLines(x, y), hunk{len(x), len(x), len(y), len(y)}) {
		for ; o < h.a && n < h.na; o, n = o+1, n+1 {
			kept[n] = first + o
		}
		o, n = h.b, h.nb
	}
	var out []byte
	last := first
	for i, l := range fresh.lines {
		out = append(out, fresh.text(i)...)
		if f, ok := kept[i]; ok {
			last = f
		}
		if l.next > l.end {
			out = append(out, t.eol(last)...)
		}
	}
	return out
}

func inserted(c Change, r Range) bool {
	return slices.ContainsFunc(c.Inserted, func(in Range) bool { return r.Start >= in.Start && r.End <= in.End })
}

// overlap says that two edits change the same bytes.
func overlap(edits []Edit) bool {
	for i := 1; i < len(edits); i++ {
		if edits[i].Start < edits[i-1].End {
			return true
		}
	}
	return false
}
