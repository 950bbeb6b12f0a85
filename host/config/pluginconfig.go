package config

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// pluginConfig reads what a plugin is configured with, a config block or a config attribute, into a JSON object. It
// gives nil when there is none. The lines of all values are kept for Locate.
func (f *fields) pluginConfig(plugin string, block *hclsyntax.Block, references map[string]string) json.RawMessage {
	t := &tree{fields: f, lines: map[string]int{}, references: references}
	if _, taken := f.config.places[plugin]; !taken {
		f.config.places[plugin] = place{line: block.TypeRange.Start.Line, lines: t.lines}
	}
	b, a := f.block("config"), f.body.Attributes["config"]
	switch {
	case b != nil && a != nil:
		f.wrong(a.NameRange, "there is also a config block at %s", f.place(b.TypeRange)).hint("keep one of the two")
		f.attr("config")
		return nil
	case b != nil:
		t.note("", b.TypeRange)
		return encode(t.body(b.Body, ""))
	}
	v, e := f.typed("config", objectKind, func(cty.Value) string { return "write config { … }" })
	if e == nil {
		return nil
	}
	t.mark("", e)
	t.refer("", e, v)
	return encode(plain(v))
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // not reached: plain and body make nothing that has no JSON form
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

// A tree turns a free body into what JSON can say, and notes the line of each value under its JSON pointer.
type tree struct {
	*fields
	lines      map[string]int
	references map[string]string // by pointer, see supervise.References
}

// body makes an object: of the attributes, and of the blocks by their types.
func (t *tree) body(b *hclsyntax.Body, pointer string) map[string]any {
	out := map[string]any{}
	for _, a := range inOrder(b.Attributes) {
		if v, ok := t.eval(a.Expr); ok {
			out[a.Name] = plain(v)
			t.refer(child(pointer, a.Name), a.Expr, v)
		}
		t.mark(child(pointer, a.Name), a.Expr)
	}
	for _, same := range byType(b.Blocks) {
		t.blocks(b, out, same, child(pointer, same[0].Type))
	}
	return out
}

// blocks adds the blocks of one type: one is an object, several are an array.
func (t *tree) blocks(parent *hclsyntax.Body, out map[string]any, same []*hclsyntax.Block, pointer string) {
	name, first := same[0].Type, same[0]
	if a := parent.Attributes[name]; a != nil {
		t.wrong(first.TypeRange, "%q is also an attribute, at %s", name, t.place(a.NameRange)).hint("keep one of the two")
		return
	}
	t.note(pointer, first.TypeRange)
	if len(same) == 1 {
		out[name] = t.block(first, pointer)
		return
	}
	var list []any
	for i, b := range same {
		item := child(pointer, strconv.Itoa(i))
		t.note(item, b.TypeRange)
		list = append(list, t.block(b, item))
	}
	out[name] = list
}

func (t *tree) block(b *hclsyntax.Block, pointer string) map[string]any {
	out := t.body(b.Body, pointer)
	if len(b.Labels) == 0 {
		return out
	}
	if _, taken := out["labels"]; taken {
		t.wrong(b.LabelRanges[0], "a block with labels cannot have %q in it too", "labels").hint("remove one of the two")
	}
	out["labels"] = b.Labels
	return out
}

// byType groups blocks, in the order in which each type comes first.
func byType(blocks hclsyntax.Blocks) [][]*hclsyntax.Block {
	var groups [][]*hclsyntax.Block
	index := map[string]int{}
	for _, b := range blocks {
		i, there := index[b.Type]
		if !there {
			i = len(groups)
			index[b.Type] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], b)
	}
	return groups
}

// plain turns a value into what encoding/json writes exactly.
func plain(v cty.Value) any {
	switch {
	case v.IsNull():
		return nil
	case textKind.is(v):
		return v.AsString()
	case boolKind.is(v):
		return v.True()
	case numberKind.is(v):
		return json.Number(v.AsBigFloat().Text('f', -1))
	case listKind.is(v):
		list := []any{}
		for _, item := range v.AsValueSlice() {
			list = append(list, plain(item))
		}
		return list
	}
	object := map[string]any{}
	for key, item := range v.AsValueMap() {
		object[key] = plain(item)
	}
	return object
}
