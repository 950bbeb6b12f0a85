// Package match finds the place in a file that a model means with its old_string, and makes the changes there that lead
// from old_string to new_string. It works on bytes only: no files, no plugin.
//
// The route of a change, from Plan (plan.go) on:
//
//  1. What the strings may mean: readings, such as one without line numbers or the marks of a diff (readings.go,
//     linenumbers.go, escapes.go). Where both leave out the same lines, each part is a change of its own (elided.go).
//  2. Where old_string is: the passes (passes.go), from exact to loose, each for all readings. The first that finds the
//     text decides: one place is changed, several are refused. If none does, misspelt words are read as the file spells
//     them (spelling.go), and at last lines are compared with lines (pass 8, similar.go).
//  3. What new_string has that was not meant to be written is taken out or refused (adapted).
//  4. The edits. An exact match is replaced literally, but for what would do harm (exact.go, edges.go, tabs.go). No
//     other pass writes what it compared: its lines are aligned with those of the file (alignment.go), the difference
//     between old_string and new_string is projected on these (projection.go, hunks.go, merge.go), and the rest stays.
//  5. What was refused is explained with what the file has instead (refusals.go, nearest.go).
package match

import (
	"slices"
	"sync"
)

// A Text is a file that changes are planned for. One goroutine at a time may use it.
type Text struct {
	*source
	name    string
	ext     string // or name, in lower case, that tells the language
	streams map[equivalence]*stream
	index   *lineIndex
	words   map[string]bool                 // of the file; made when needed
	lineSet map[string]int                  // lines of the file, squeezed; made when needed
	telling map[string]bool                 // lines of the file that say something; made when needed
	work    int                             // spent on distances in this plan
	step    func() (string, map[string]int) // commonStep of the file; made when needed
}

// NewText takes the content of a file: UTF-8 without a byte order mark; invalid bytes are kept. The name determines the
// language, or the first line of a script. Data must not change afterwards.
func NewText(name string, data []byte) *Text {
	ext := extensionOf(name, data)
	return newText(name, ext, newSource(data, syntaxes[ext]))
}

func newText(name, ext string, s *source) *Text {
	t := &Text{name: name, ext: ext, source: s, streams: map[equivalence]*stream{}}
	t.step = sync.OnceValues(func() (string, map[string]int) { return commonStep(0, t.source) })
	return t
}

// After is the text after a plan, whose edits give data. It takes over the lines that stay: the text before must not be
// used any more.
func (t *Text) After(p *Plan, data []byte) *Text {
	if len(t.lines) == 0 {
		return NewText(t.name, data)
	}
	from, last := t.lineAt(p.Edits[0].Start), t.lineAt(p.Edits[len(p.Edits)-1].End)
	start, growth := t.lines[from].start, p.Growth()
	fresh := newSource(data[start:t.lines[last].next+growth], nil).lines
	lines := slices.Replace(t.lines, from, last+1, fresh...)
	for i := from; i < len(lines); i++ {
		shift := growth
		if i < from+len(fresh) {
			shift = start
		}
		l := &lines[i]
		l.start, l.end, l.next = l.start+shift, l.end+shift, l.next+shift
	}
	return newText(t.name, t.ext, &source{data: data, lines: lines, syntax: t.syntax})
}

// A Change is a change that a model asks for.
type Change struct {
	Old, New string
	// All changes every place of Old, which must fit exactly or but for white space.
	All bool
	// Expected is the number of places; 0 stands for one, or with All for any number but none.
	Expected int
	// NearLine is a line, from 1, that chooses between places that fit equally well; 0 chooses none.
	NearLine int
	// Strictness bounds the passes that may be used.
	Strictness Strictness
	// Inserted are the parts of the text that earlier changes of the same call inserted, sorted and apart. Only an exact
	// match may lie in one of them.
	Inserted []Range
}

// inserted reports whether a range lies in a part that an earlier change of the same call inserted.
func (c Change) inserted(r Range) bool {
	i, _ := slices.BinarySearchFunc(c.Inserted, r.End, func(in Range, end int) int { return in.End - end })
	return i < len(c.Inserted) && c.Inserted[i].Start <= r.Start
}

// Strictness says how far old_string may be from what the file has.
type Strictness int

// The levels of strictness.
const (
	Full  Strictness = iota // all passes
	Safe                    // passes 1 to 7: no distances, no key tokens
	Exact                   // byte for byte, ignoring line endings
)

// A Range is a part of a text: bytes Start to End, End not included.
type Range struct{ Start, End int }

// An Edit puts With in place of a range of the text.
type Edit struct {
	Range
	With []byte
}

// A Plan has the edits that make a change.
type Plan struct {
	// Edits are sorted and do not overlap. There is at least one, and applying them changes the text.
	Edits []Edit
	// Places are the parts of the text that old_string was found to mean, sorted.
	Places []Range
	// Pass is the number of the pass that found them, 1 to 9, and PassName its name.
	Pass     int
	PassName string
	// Warnings say how the model's old_string differed from the file.
	Warnings []string
}

// Growth is how many bytes the text gets longer by the edits; less than 0 when it gets shorter.
func (p *Plan) Growth() (n int) {
	for _, e := range p.Edits {
		n += len(e.With) - (e.End - e.Start)
	}
	return n
}

// Apply returns the text after the edits.
func (p *Plan) Apply(data []byte) []byte {
	out := make([]byte, 0, len(data)+p.Growth())
	at := 0
	for _, e := range p.Edits {
		out = append(append(out, data[at:e.Start]...), e.With...)
		at = e.End
	}
	return append(out, data[at:]...)
}

// Kind is the reason for a refusal.
type Kind string

// The kinds of refusals.
const (
	NotFound       Kind = "not_found"
	Ambiguous      Kind = "ambiguous"
	Conflict       Kind = "conflict"        // the place is known, but old_string does not have all that the file has there
	AlreadyApplied Kind = "already_applied" // new_string is in the file
	Guard          Kind = "guard"           // the change makes no sense, whatever the file holds
	Same           Kind = "same"            // there is no change
)

// A Refusal says why a change was not made, and what a model should do.
type Refusal struct {
	Kind    Kind
	Message string // what is wrong, and where; a sentence or a few
	Hint    string // what to do next
	// Candidates are the places closest to old_string, or all places (eight at most) where it fits.
	Candidates []Candidate
	// Count is the number of places where it fits, when Kind is Ambiguous.
	Count int
	// Diff shows how the best candidate differs, old_string against the file; it may be empty.
	Diff string
	// Excerpt is what the file has at the best candidate, or at all places where old_string fits, with line numbers.
	Excerpt string
	// Exact is the text of the best candidate in the file, to be used as old_string. It is empty when nothing is close
	// enough, or when it is too long to be repeated.
	Exact string
}

// A Candidate is a place in the file that is similar to old_string.
type Candidate struct {
	StartLine  int     `json:"start_line"` // from 1
	EndLine    int     `json:"end_line"`   // included
	Similarity float64 `json:"similarity"` // 0 to 1
	Why        string  `json:"why,omitempty"`
}

func (r *Refusal) Error() string { return string(r.Kind) + ": " + r.Message }

func guard(message, hint string) *Refusal { return &Refusal{Kind: Guard, Message: message, Hint: hint} }
