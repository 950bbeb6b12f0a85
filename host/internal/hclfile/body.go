package hclfile

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// A Body reads the content of one block, or the top level of a file. Names requested by Expr, Blocks and the typed
// methods are known; Done reports the others.
type Body struct {
	*File
	Syntax *hclsyntax.Body

	block *hclsyntax.Block // nil at the top level
	what  string           // names the block in reports, such as `plugin "shell"`
	path  string           // the types of the enclosing blocks and this one, such as "plugin.sandbox"

	knownAttrs, knownBlocks words
	given                   words // attributes that are present and not null
}

type words map[string]bool

func (f *File) body(syntax *hclsyntax.Body) *Body {
	return &Body{File: f, Syntax: syntax, knownAttrs: words{}, knownBlocks: words{}, given: words{}}
}

// Open starts the reading of a block, which reports name as what.
func (b *Body) Open(block *hclsyntax.Block, what string) *Body {
	in := b.body(block.Body)
	in.block, in.what, in.path = block, what, strings.TrimPrefix(b.path+"."+block.Type, ".")
	return in
}

func (b *Body) asks(name, form string) {
	if b.Asked != nil {
		b.Asked(b.path, name, form)
	}
}

// Inner opens the one block of a type without labels inside this one; nil if there is none.
func (b *Body) Inner(kind string) *Body {
	block := b.Block(kind)
	if block == nil {
		return nil
	}
	return b.Open(block, strings.TrimPrefix(b.what+", "+kind, ", "))
}

// Each opens the blocks of a type, each with a label that no other of them may have. What is not read of a block once
// its turn is over is reported.
func (b *Body) Each(kind string, n Naming) iter.Seq2[string, *Body] {
	return func(yield func(string, *Body) bool) {
		names := Names{}
		for _, block := range b.Blocks(kind) {
			name, in := b.Named(block, n, names)
			if !yield(name, in) {
				return
			}
			in.Done()
		}
	}
}

// Named opens a block with one label, which no other of its kind may have. The name is the label, allowed or not.
func (b *Body) Named(block *hclsyntax.Block, n Naming, names Names) (string, *Body) {
	name, at, ok := b.Label(block, n)
	if ok {
		names.Add(b.Report, block.Type, name, at)
	}
	return name, b.Open(block, fmt.Sprintf("%s %q", block.Type, Brief(name)))
}

// What names the block in reports.
func (b *Body) What() string { return b.what }

// Where is the position of the block, such as "config.hcl:12", and Line its line.
func (b *Body) Where() string { return b.Position(b.block.TypeRange) }

// Line is the line of the block, from 1.
func (b *Body) Line() int { return b.block.TypeRange.Start.Line }

// Header is where the block's type and labels are written.
func (b *Body) Header() hcl.Range { return b.block.DefRange() }

// Wrong reports a mistake in this block.
func (b *Body) Wrong(at hcl.Range, format string, args ...any) *Mistake {
	if b.what != "" {
		format = "%s: " + format
		args = append([]any{b.what}, args...)
	}
	return b.Add(at, format, args...)
}

// Warn reports a setting that is valid, but probably not meant.
func (b *Body) Warn(at hcl.Range, format string, args ...any) *Mistake {
	m := b.Wrong(at, format, args...)
	b.mistakes = b.mistakes[:len(b.mistakes)-1]
	b.warnings = append(b.warnings, m)
	return m
}

func (b *Body) attr(name string) *hclsyntax.Attribute {
	b.knownAttrs[name] = true
	return b.Syntax.Attributes[name]
}

// Expr returns the expression of an attribute without evaluating it, or nil; form is its required form.
func (b *Body) Expr(name, form string) hclsyntax.Expression {
	b.asks(name, form)
	if a := b.attr(name); a != nil {
		return a.Expr
	}
	return nil
}

// Know makes names known that this reading does not request.
func (b *Body) Know(names ...string) {
	for _, name := range names {
		b.knownAttrs[name] = true
	}
}

// Given reports whether an attribute that was read is present and not null.
func (b *Body) Given(name string) bool { return b.given[name] }

// ExprOf is the expression of a present attribute.
func (b *Body) ExprOf(name string) hclsyntax.Expression { return b.Syntax.Attributes[name].Expr }

// NameRange is the position of a present attribute's name.
func (b *Body) NameRange(name string) hcl.Range { return b.Syntax.Attributes[name].NameRange }

// Blocks returns the blocks of a type, in the order of the file.
func (b *Body) Blocks(kind string) []*hclsyntax.Block {
	b.knownBlocks[kind] = true
	b.asks(kind, "block")
	var out []*hclsyntax.Block
	for _, inner := range b.Syntax.Blocks {
		if inner.Type == kind {
			out = append(out, inner)
		}
	}
	return out
}

// Block returns the one block of a type without labels, or nil. Further ones are reported.
func (b *Body) Block(kind string) *hclsyntax.Block {
	all := b.Blocks(kind)
	for i, inner := range all {
		if i > 0 {
			b.Wrong(inner.TypeRange, "there is already %s block at %s", article(kind), b.Position(all[0].TypeRange)).
				WithHint("join the two")
		}
		b.unlabelled(inner)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func (b *Body) unlabelled(inner *hclsyntax.Block) {
	if len(inner.LabelRanges) > 0 {
		b.Wrong(inner.LabelRanges[0], "%s block takes no name", article(inner.Type)).WithHint("write %s {", inner.Type)
	}
}

// article puts "a" or "an" before a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// Require reports a missing attribute; example shows how to write it.
func (b *Body) Require(name, example string) {
	if !b.given[name] {
		b.Wrong(b.Header(), "%s is missing", name).WithHint("add %s = %s", name, example)
	}
}

// Needs reports an attribute that has no effect without another one.
func (b *Body) Needs(name, other, example string) {
	if b.given[name] && !b.given[other] {
		b.Wrong(b.Syntax.Attributes[name].NameRange, "%s means nothing without %s", name, other).
			WithHint("add %s = %s, or remove it", other, example)
	}
}

// Done reports everything that was not requested.
func (b *Body) Done() {
	for name, a := range b.Syntax.Attributes {
		switch {
		case b.knownAttrs[name]:
		case b.knownBlocks[name]:
			b.Wrong(a.NameRange, "%q is a block, not an attribute", name).
				WithHint("write %s { … }, without the equals sign", name)
		default:
			b.Wrong(a.NameRange, "unknown key %q", name).Hint = b.elsewhere(name, false)
		}
	}
	for _, inner := range b.Syntax.Blocks {
		switch name := inner.Type; {
		case b.knownBlocks[name]:
		case b.knownAttrs[name]:
			b.Wrong(inner.TypeRange, "%q is an attribute, not a block", name).
				WithHint("write %s = …, with an equals sign", name)
		default:
			b.Wrong(inner.TypeRange, "unknown block %q", name).Hint = b.elsewhere(name, true)
		}
	}
}

// elsewhere is the hint for a name that is not known in this block. A block that exists elsewhere is meant as such, an
// attribute may also be a typing error.
func (b *Body) elsewhere(name string, block bool) string {
	near := textutil.Nearest(name, b.known())
	switch hint := b.Foreign[strings.TrimPrefix(b.path+"."+name, ".")]; {
	case hint != "":
		return hint
	case b.Homes[name] != "" && (block || near == ""):
		return fmt.Sprintf("%s belongs %s", name, b.Homes[name])
	case near == "":
		return Suggest(name, b.known(), "known here") + b.Rest[b.path]
	}
	return Suggest(name, b.known(), "known here")
}

// known are the names that belong in this block, sorted.
func (b *Body) known() []string {
	all := maps.Clone(b.knownAttrs)
	maps.Copy(all, b.knownBlocks)
	return slices.Sorted(maps.Keys(all))
}

// InOrder returns attributes by their position in the file, because maps have no order and reports must.
func InOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hclsyntax.Attribute) int {
		return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte
	})
}

// Literal reports whether an expression has neither names nor functions.
func Literal(e hclsyntax.Expression) bool {
	literal := true
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
			literal = false
		}
		return nil
	})
	return literal
}

// MaxToolName is the longest PLUGIN__TOOL; model vendors refuse longer names.
const MaxToolName = 64

// A Naming is the rule for the names of a kind of thing.
type Naming struct {
	OK   func(string) bool
	Rule string // in words
}

var (
	toolPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

	// PluginNaming is for plugins, profiles and roots.
	PluginNaming = Naming{
		toolname.IsPlugin,
		`a name starts with a letter and has at most 32 characters, which are small letters, digits and "-"`,
	}
	// ToolNaming is for a tool's own name, without the plugin.
	ToolNaming = Naming{
		func(s string) bool { return toolPattern().MatchString(s) && !strings.Contains(s, "__") },
		`a tool's name starts with a letter or a digit and has letters, digits, "-" and single "_"`,
	}
)

// Label returns the one label of a block and its position. It is false, and reports why, when the name is not
// allowed; the label can still be used to name the block in reports.
func (f *File) Label(b *hclsyntax.Block, n Naming) (string, hcl.Range, bool) {
	if len(b.Labels) == 0 {
		f.Add(b.TypeRange, "this %s block has no name", b.Type).WithHint("write %s \"NAME\" {", b.Type)
		return "", b.TypeRange, false
	}
	name, at := b.Labels[0], b.LabelRanges[0]
	if len(b.Labels) > 1 {
		f.Add(b.LabelRanges[1], "%s block has one name only", article(b.Type)).WithHint("write %s %q {", b.Type, name)
	}
	if !n.OK(name) {
		f.Add(at, "%s cannot be called %q", article(b.Type), name).Hint = n.Rule + instead(name, n)
		return name, at, false
	}
	return name, at, true
}

// Names remembers where each name was used first.
type Names map[string]hcl.Range

// Add is false, and reports both positions, when the name has been used before. What names the kind of thing.
func (n Names) Add(r *Report, what, name string, at hcl.Range) bool {
	if first, there := n[name]; there {
		r.Add(at, "%s %q is already defined at %s", what, name, r.Position(first)).
			WithHint("keep one of the two, or give this one another name")
		return false
	}
	n[name] = at
	return true
}

const maxWord = 40 // how much of a name is repeated in reports, in bytes

// Brief cuts a name that is too long for a report.
func Brief(name string) string {
	if len(name) <= maxWord {
		return name
	}
	return strings.ToValidUTF8(name[:maxWord], "") + "…"
}

var notInName = lazy.Regexp(`[^A-Za-z0-9]+`)

// instead suggests a similar name that is allowed, if there is one.
func instead(name string, n Naming) string {
	for _, s := range []string{name, strings.ToLower(name)} {
		if s = strings.Trim(notInName().ReplaceAllString(s, "-"), "-"); n.OK(s) {
			return `; "` + s + `" would do`
		}
	}
	return ""
}

const maxListed = 24 // how many names a hint lists; the configuration has fewer in each of its blocks

// Suggest makes the hint for a name that is not among the known ones, which are sorted.
func Suggest(name string, known []string, list string) string {
	if n := textutil.Nearest(name, known); n != "" {
		return `did you mean "` + n + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	var names []string
	for _, k := range known[:min(len(known), maxListed)] {
		names = append(names, Brief(k))
	}
	if len(names) < len(known) {
		names = append(names, "…")
	}
	return list + ": " + strings.Join(names, ", ")
}
