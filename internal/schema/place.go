package schema

import (
	"cmp"
	"strconv"
	"strings"
)

// place is where a value stands in its document: a chain of steps up to the root, which is nil.
type place struct {
	up    *place
	name  string // of a property
	index int    // of an item, or -1 for a property
}

func (p *place) member(name string) *place { return &place{up: p, name: name, index: -1} }
func (p *place) item(i int) *place         { return &place{up: p, index: i} }

func (p *place) steps() []*place {
	var out []*place
	for ; p != nil; p = p.up {
		out = append(out, p)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// String is the place as people write it: edits[2].old_string, env["a b"], or "" for the root.
func (p *place) String() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !simpleName(s.name):
			b.WriteString("[" + quote(s.name) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// pointer is the place as a JSON pointer.
func (p *place) pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		if s.index >= 0 {
			b.WriteString("/" + strconv.Itoa(s.index))
		} else {
			b.WriteString("/" + pointerStep(s.name))
		}
	}
	return b.String()
}

// pointerStep escapes one step of a JSON pointer.
func pointerStep(name string) string { return pointerEscapes.Replace(name) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// compare orders places: outer before inner, items by number, properties by name.
func (p *place) compare(q *place) int {
	a, b := p.steps(), q.steps()
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(cmp.Compare(a[i].index, b[i].index), strings.Compare(a[i].name, b[i].name)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func simpleName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("_-$", r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxQuoted
}
