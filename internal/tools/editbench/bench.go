// Package editbench makes edits as models ask for them: a true change to a real file, and then the noise that models
// put into what they quote. It knows what a careful person would make of each, and judges what an editor makes of it.
//
// It has no editor: the tests of plugins/edit run it against that plugin, over the wire. The same seed gives the same
// cases on the same files.
package editbench

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Case is one edit that a model asks for, and what is to become of it.
type Case struct {
	Category string
	Name     string // of the file; its extension determines the language
	Noise    string // what was done to Old, in a few words for people
	Data     []byte // the file
	Old, New string // old_string and new_string
	All      bool   // replace_all
	Want     []byte // the file after the edit; nil when the edit must be refused
	Doubtful bool   // to refuse it is right as well

	start, end int       // the part of Data that the edit is about
	after      []outcome // the lines of that part after the edit; nil when there is no telling
}

// An outcome is a line of Want in the part that an edit is about.
type outcome struct {
	line    line
	touched bool // by the edit; other lines must keep their bytes
}

// Refuse reports whether the edit must be refused.
func (c *Case) Refuse() bool { return c.Want == nil }

// Options say which cases to make.
type Options struct {
	Seed     uint64
	Count    int    // cases of each category; 40 when 0
	Category string // only this one; all when empty
	Small    bool   // use no file of more than 10,000 bytes, which takes less time
}

// attempts is how often a category may fail for each case that it makes: many places are not fit for a given noise.
const attempts = 3000

// Generate makes cases from files. A category's cases depend on the seed and the files, not on the other categories.
// It fails when the files do not give enough cases of a category, or when there is no such category.
func Generate(sources []Source, o Options) ([]Case, error) {
	if o.Small {
		sources = slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return len(s.Data) > 10_000 })
	}
	if len(sources) == 0 {
		return nil, errors.New("editbench: there are no files to make cases from")
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
		return nil, fmt.Errorf("editbench: there is no category %q", o.Category)
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
	return nil, fmt.Errorf("editbench: the files give %d cases of %s, not %d; add files or ask for fewer", len(out),
		r.name, count)
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

// telling reports whether a window begins and ends with something, and most of its lines say something.
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

// after makes the noise of a plan and what spoils its text then. With inner the plan leaves the first and last line
// alone.
func after(inner bool, noise func(d *draft) bool) func(d *draft) bool {
	return func(d *draft) bool { return d.plan(inner) && noise(d) }
}

// recipes are the categories, in the order of the table.
var recipes = []recipe{
	edits("exact", 1, 20, (*draft).exact),
	{"replace_all", (*maker).everywhere},
	edits("delete_fuzzy", 2, 20, (*draft).deletion),
	edits("trim_blank", 2, 20, after(false, (*draft).trimmed)),
	edits("trailing_ws", 2, 30, after(false, (*draft).trailing)),
	edits("tabs_spaces", 2, 30, after(false, (*draft).tabs)),
	edits("indent_shift", 2, 30, after(false, (*draft).shift)),
	edits("crlf", 2, 30, after(false, (*draft).returns)),
	edits("collapsed_spaces", 2, 20, func(d *draft) bool { return d.plan(false) && d.evenMiddles() && d.collapsed() }),
	edits("comments_dropped", 6, 30, after(true, (*draft).dropComments)),
	edits("comments_changed", 6, 30, after(true, (*draft).rewordComments)),
	edits("unicode_punct", 2, 20, (*draft).printed),
	edits("unicode_nf", 2, 20, (*draft).composed),
	edits("typos", 6, 30, after(false, (*draft).typos)),
	edits("typos_ctx", 7, 30, after(false, (*draft).contextTypos)),
	edits("line_altered", 8, 30, after(true, (*draft).altered)),
	edits("line_missing", 8, 30, after(true, (*draft).missing)),
	edits("line_extra", 8, 30, after(true, (*draft).more)),
	edits("blank_lines", 5, 30, after(true, (*draft).blankLines)),
	edits("escape", 2, 16, after(false, (*draft).escaped)),
	edits("lineno_prefix", 2, 30, after(false, (*draft).numbered)),
	edits("wrapped", 2, 20, after(false, (*draft).wrapped)),
	edits("format_drift", 2, 16, after(false, (*draft).drift)),
	edits("rewrap", 5, 20, after(true, (*draft).rewrapped)),
	edits("partial_line", 1, 10, (*draft).partial),
	{"eof", (*maker).ending},
	{"cjk", (*maker).cjk},
	edits("mixed_noise", 2, 20, after(false, (*draft).mixed)),
	{"neardup_unique", (*maker).rightDuplicate},
	{"ambiguous_exact", (*maker).repeatedExactly},
	{"ambiguous_fuzzy", (*maker).repeatedNearly},
	{"absent", (*maker).elsewhere},
	{"absent_hard", (*maker).nearlyThere},
	{"already_applied", (*maker).done},
	{"neardup_ambig", (*maker).eitherDuplicate},
	{"sibling_absent", (*maker).noSibling},
	{"guards", (*maker).senseless},
	family("blank_eaten", 1, 8, finished((*draft).blankMore)),
	family("blank_doubled", 1, 8, finished((*draft).blankLess)),
	family("twins_typos", 5, 15, (*draft).misspeltDuplicates),
	family("prefixes", 2, 15, finished(after(false, (*draft).prefixed))),
	family("escapes_mixed", 2, 12, finished(after(false, (*draft).halfEscaped))),
	{"number_keys", (*maker).numberKeys},
	{"number_absent", (*maker).otherKeys},
	family("breaks_lost", 1, 10, finished((*draft).breakLost)),
	family("placeholders", 4, 14, (*draft).stubbed),
	family("fences", 2, 12, (*draft).onlyNewFenced),
	family("inserted_twice", 1, 6, (*draft).twice),
	family("stale_line", 1, 1, (*draft).staleLine),
	family("meant", 1, 6, finished((*draft).meant)),
	family("first_indent", 1, 8, finished((*draft).firstIndent)),
	{"other_indent", func(m *maker) (Case, bool) {
		d, ok := m.draw(m.source(), 2, 12)
		if !ok || !d.otherIndent() {
			return Case{}, false
		}
		return d.finish()
	}},
	family("beside_twice", 1, 8, (*draft).besideTwice),
	family("marked", 2, 10, (*draft).marked),
	edits("comments_slurred", 6, 30, after(true, (*draft).slurred)),
	family("diff_signs", 2, 10, finished((*draft).signed)),
	family("diff_lines", 2, 10, (*draft).patchLines),
	family("elided_old", 7, 20, (*draft).elidedOnce),
	family("elided_both", 7, 20, finished(func(d *draft) bool { return d.elided(true) })),
	family("separators", 2, 8, finished((*draft).unseparated)),
	family("dashes", 1, 8, finished((*draft).dashed)),
	family("escapes_unshown", 2, 8, doubtful((*draft).unshownEscapes)),
	family("signs_new", 2, 10, finished((*draft).signsOfNewLines)),
	{"twins_near", (*maker).nearDuplicate},
	family("layout_off", 5, 15, doubtful((*draft).layoutOff)),
	family("mixed_eol", 2, 12, finished((*draft).mixedEndings)),
	family("last_comma", 4, 12, doubtful((*draft).lastComma)),
}

// families are the categories of faults that use has shown. Each must hold by itself.
var families = strings.Fields("blank_eaten blank_doubled twins_typos prefixes escapes_mixed number_keys " +
	"number_absent breaks_lost placeholders fences inserted_twice stale_line meant first_indent other_indent " +
	"beside_twice marked comments_slurred diff_signs diff_lines elided_old elided_both separators dashes " +
	"escapes_unshown signs_new twins_near layout_off mixed_eol last_comma")
