// Package match finds the place in a file that a model means with its old_string, and makes the changes there that lead
// from old_string to new_string. It knows bytes only: no files, no plugin.
//
// The passes go from exact to loose. The first that finds the text decides: in one place it is changed, in several the
// edit is refused. No pass writes what it compared; whatever is changed are bytes of the file as it was given, and bytes
// that the edit does not speak of stay as they are.
package match

// A Text is a file that changes are planned for. One goroutine at a time may use it.
type Text struct {
	*source
	name    string
	streams map[level]*stream
	index   *index
	words   map[string]bool // whether the file has it
	lineSet map[string]bool
	work    int // spent on distances in this plan
}

// NewText takes the content of a file: UTF-8 without a byte order mark, or nearly, as bytes that are not are carried
// along. The name tells the kind of file by its extension. Data must not change afterwards.
func NewText(name string, data []byte) *Text {
	return &Text{name: name, source: newSource(data, syntaxOf(name)), streams: map[level]*stream{}, words: map[string]bool{}}
}

// A Change is what a model asks for.
type Change struct {
	Old, New string
	// All is for every place of Old, which must fit exactly or but for white space.
	All bool
	// Expected is how many places there must be; 0 stands for one, or with All for any number but none.
	Expected int
	// NearLine is the line, from 1, near which Old is, to choose between places that fit equally well; 0 for no word on that.
	NearLine int
	// Strictness bounds the passes that may be used.
	Strictness Strictness
	// Inserted are the parts of the text that earlier changes of the same call have put there, in order. Only an exact
	// match may lie in one of them.
	Inserted []Range
}

// Strictness says how far old_string may be from what the file has.
type Strictness int

// The levels of strictness.
const (
	Full  Strictness = iota // all passes
	Safe                    // those that compare for equality: no distances, no key tokens
	Exact                   // byte for byte, line endings aside
)

// A Range is a part of a text: bytes Start to End, End not included.
type Range struct{ Start, End int }

// An Edit puts With in place of a range of the text.
type Edit struct {
	Range
	With []byte
}

// A Plan is what a change does to a text.
type Plan struct {
	// Edits are sorted and do not overlap. There is at least one, and applying them changes the text.
	Edits []Edit
	// Places are the parts of the text that old_string was found to mean, sorted.
	Places []Range
	// Pass is the number of the pass that found them, 1 to 9, and PassName its name.
	Pass     int
	PassName string
	// Warnings say for a model how its old_string differed from the file, so that the next one does not.
	Warnings []string
}

// Growth is how many bytes the text gets longer by the edits; less than 0 when it gets shorter.
func (p *Plan) Growth() (n int) {
	for _, e := range p.Edits {
		n += len(e.With) - (e.End - e.Start)
	}
	return n
}

// Apply gives the text after the edits.
func (p *Plan) Apply(data []byte) []byte {
	out := make([]byte, 0, len(data)+p.Growth())
	at := 0
	for _, e := range p.Edits {
		out = append(append(out, data[at:e.Start]...), e.With...)
		at = e.End
	}
	return append(out, data[at:]...)
}
