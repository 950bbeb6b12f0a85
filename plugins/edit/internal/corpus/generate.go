package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// Options say which cases to make.
type Options struct {
	Seed     uint64
	Count    int    // cases of each category; 40 when 0
	Category string // only this one; all when empty
}

// attempts is how often a category may fail for each case that it makes: many places are not fit for a given noise.
const attempts = 3000

// Generate makes cases from files. A category's cases depend on the seed and the files, not on the other categories.
// It fails when the files do not give enough cases of a category, or when there is no such category.
func Generate(sources []Source, o Options) ([]Case, error) {
	if len(sources) == 0 {
		return nil, errors.New("corpus: there are no files to make cases from")
	}
	var out []Case
	for _, r := range recipes {
		if o.Category != "" && o.Category != r.name {
			continue
		}
		cases, err := r.cases(newMaker(sources, o.Seed, r.name), cmp.Or(o.Count, 40))
		if err != nil {
			return nil, err
		}
		out = append(out, cases...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("corpus: there is no category %q", o.Category)
	}
	return out, nil
}

// A recipe makes the cases of a category, one at a time; it fails when its dice fell badly.
type recipe struct {
	name string
	make func(m *maker) (Case, bool)
}

func (r recipe) cases(m *maker, count int) ([]Case, error) {
	var out []Case
	seen := map[string]bool{}
	for range attempts * count {
		if len(out) == count {
			return out, nil
		}
		c, ok := r.make(m)
		if id := c.Name + "\x00" + c.Old + "\x00" + c.New; ok && !seen[id] {
			seen[id] = true
			c.Category = r.name
			out = append(out, c)
		}
	}
	if len(out) == count {
		return out, nil
	}
	return nil, fmt.Errorf("corpus: the files give %d cases of %s, not %d; add files or ask for fewer", len(out), r.name, count)
}

// A maker throws the dice for a category.
type maker struct {
	*rand.Rand
	kinds   [][]*Source // the files by language
	alike   [][]*Source // likewise, each language once
	foreign []*Source   // those that are not all ASCII
}

// weights are for languages that are to come up more often than others, which have 2.
var weights = map[string]int{".go": 10, ".py": 4, ".ts": 3, ".c": 3, ".java": 3, ".yaml": 3, ".json": 1, ".css": 1}

func newMaker(sources []Source, seed uint64, name string) *maker {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	m := &maker{Rand: rand.New(rand.NewPCG(seed, h.Sum64()))} //nolint:gosec // the same cases are to come again
	by := map[string][]*Source{}
	for i := range sources {
		s := &sources[i]
		ext := extension(s.Name)
		by[ext] = append(by[ext], s)
		if !ascii(string(s.Data)) {
			m.foreign = append(m.foreign, s)
		}
	}
	for _, ext := range sorted(by) {
		m.alike = append(m.alike, by[ext])
		for range cmp.Or(weights[ext], 2) {
			m.kinds = append(m.kinds, by[ext])
		}
	}
	return m
}

func (m *maker) source() *Source { return one(m.Rand, one(m.Rand, m.kinds)) }

// draw opens a draft on lo to hi lines of a file: often few, sometimes many.
func (m *maker) draw(s *Source, lo, hi int) (*draft, bool) {
	most := one(m.Rand, []int{6, 15, 15, hi})
	count := lo
	if most = min(most, hi); most > lo {
		count += m.IntN(most - lo + 1)
	}
	if count >= len(s.lines) {
		return nil, false
	}
	d := window(m.Rand, s, s.lines, m.IntN(len(s.lines)-count), count)
	return d, d.telling()
}

// telling says whether a window begins and ends with something, and most of its lines say something.
func (d *draft) telling() bool {
	if blank(d.cells[0].old) || blank(d.cells[len(d.cells)-1].old) {
		return false
	}
	n := 0
	for i := range d.cells {
		if letters(d.cells[i].old) >= 3 {
			n++
		}
	}
	return n*3 >= len(d.cells)*2
}

// edits makes the recipe of a category that is to be edited.
func edits(name string, lo, hi int, noise func(d *draft) bool) recipe {
	return recipe{name, func(m *maker) (Case, bool) {
		d, ok := m.draw(m.source(), lo, hi)
		if !ok || !noise(d) {
			return Case{}, false
		}
		return d.finish()
	}}
}

// after makes the noise of a plan and what spoils its text then. With inner the plan leaves the first and last line alone.
func after(inner bool, noise func(d *draft) bool) func(d *draft) bool {
	return func(d *draft) bool { return d.plan(inner) && noise(d) }
}
