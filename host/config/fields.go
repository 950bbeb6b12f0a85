package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// fields reads the content of one block. What is asked for by attr, blocks and the typed methods of value.go is known;
// done reports the rest.
type fields struct {
	*reader
	kind string // the type of the block, "" for the file
	what string // how people are told which block it is, such as `plugin "shell"`
	body *hclsyntax.Body

	knownAttrs, knownBlocks words
	given                   words // attributes that are there and not null
}

type words map[string]bool

func (r *reader) open(body *hclsyntax.Body, kind, what string) *fields {
	return &fields{reader: r, kind: kind, what: what, body: body, knownAttrs: words{}, knownBlocks: words{}, given: words{}}
}

// wrong reports a mistake in this block.
func (f *fields) wrong(at hcl.Range, format string, args ...any) *Mistake {
	if f.what != "" {
		format = "%s: " + format
		args = append([]any{f.what}, args...)
	}
	return f.add(at, format, args...)
}

// attr gives the attribute, or nil.
func (f *fields) attr(name string) *hclsyntax.Attribute {
	f.knownAttrs[name] = true
	return f.body.Attributes[name]
}

// blocks gives the blocks of a type, in the order of the file.
func (f *fields) blocks(kind string) []*hclsyntax.Block {
	f.knownBlocks[kind] = true
	var out []*hclsyntax.Block
	for _, b := range f.body.Blocks {
		if b.Type == kind {
			out = append(out, b)
		}
	}
	return out
}

// block gives the one block of a type that has no labels, or nil. Further ones are reported.
func (f *fields) block(kind string) *hclsyntax.Block {
	all := f.blocks(kind)
	for i, b := range all {
		if i > 0 {
			f.wrong(b.TypeRange, "there is already %s block at %s", article(kind), f.place(all[0].TypeRange)).hint("join the two")
		}
		f.unlabelled(b)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func (f *fields) unlabelled(b *hclsyntax.Block) {
	if len(b.LabelRanges) > 0 {
		f.wrong(b.LabelRanges[0], "%s block takes no name", article(b.Type)).hint("write %s {", b.Type)
	}
}

// article puts "a" or "an" before a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// require reports an attribute that is missing; example is what to write.
func (f *fields) require(name, example string, block *hclsyntax.Block) {
	if !f.given[name] {
		f.wrong(block.DefRange(), "%s is missing", name).hint("add %s = %s", name, example)
	}
}

// done reports all that was not asked for.
func (f *fields) done() {
	for name, a := range f.body.Attributes {
		if !f.knownAttrs[name] {
			f.stray(name, a.NameRange, f.knownBlocks, "is a block, not an attribute", "write "+name+" { … }, without the equals sign")
		}
	}
	for _, b := range f.body.Blocks {
		if !f.knownBlocks[b.Type] {
			f.stray(b.Type, b.TypeRange, f.knownAttrs, "is an attribute, not a block", "write "+b.Type+" = …, with an equals sign")
		}
	}
}

// stray reports a word that does not belong here. Other lists the words of the other form, block or attribute; is and
// hint are what to say about those.
func (f *fields) stray(name string, at hcl.Range, other words, is, hint string) {
	switch {
	case other[name]:
		f.wrong(at, "%q %s", name, is).Hint = hint
	default:
		f.wrong(at, "%q is not known here", name).Hint = suggest(name, f.known(), "known here")
	}
}

// known are the words that belong in this block, sorted.
func (f *fields) known() []string {
	all := maps.Clone(f.knownAttrs)
	maps.Copy(all, f.knownBlocks)
	return slices.Sorted(maps.Keys(all))
}

// suggest makes the hint for a name that is not among the known ones, which are sorted.
func suggest(name string, known []string, list string) string {
	if n := near(name, known); n != "" {
		return `did you mean "` + n + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	var names []string
	for _, k := range known[:min(len(known), 20)] {
		names = append(names, brief(k))
	}
	if len(names) < len(known) {
		names = append(names, "…")
	}
	return list + ": " + strings.Join(names, ", ")
}

// inOrder gives attributes by their place in the file, because maps have no order and reports must.
func inOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hclsyntax.Attribute) int {
		return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte
	})
}
