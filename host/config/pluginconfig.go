package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A position has the place of a plugin's block, and of each value of its configuration, by JSON pointer.
type position struct {
	block  hcl.Range
	values map[string]hcl.Range
}

// Mistake is a mistake in a plugin's configuration that only the plugin can find. The path is a JSON pointer or names
// with dots, as in "/server/0/port" or "server.0.port". A value that is not written in the file is located by the
// innermost enclosing value, or the plugin's block; a plugin that is not in the file by the file.
func (c *Config) Mistake(plugin, path, message string) *Error {
	at, _ := c.locate(plugin, path)
	return &Error{Path: c.shown, Mistakes: []Mistake{c.report.Mistake(at, message)}}
}

// locate returns where a value of a plugin's configuration is written, see Mistake; not there for a plugin that is not
// in the file.
func (c *Config) locate(plugin, path string) (at hcl.Range, there bool) {
	p, there := c.positions[plugin]
	if !there {
		return at, false
	}
	if path != "" && path[0] != '/' {
		path = "/" + strings.NewReplacer("~", "~0", "/", "~1", ".", "/", "[", "/", "]", "").Replace(path)
	}
	for {
		if at, there := p.values[path]; there {
			return at, true
		}
		if path == "" {
			return p.block, true
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// pluginConfig reads a plugin's own configuration, a config block or a config attribute, into a JSON object; nil when
// there is none. It keeps the ranges of all values for Mistake, and adds the values by reference to references.
func (r *reader) pluginConfig(in *hclfile.Body, plugin string, references map[string]string) json.RawMessage {
	t := &tree{reader: r, in: in, values: map[string]hcl.Range{}, references: references}
	if _, taken := r.config.positions[plugin]; !taken {
		r.config.positions[plugin] = position{block: in.Header(), values: t.values}
	}
	b, a := in.Block("config"), in.Syntax.Attributes["config"]
	switch {
	case b != nil && a != nil:
		in.Wrong(a.NameRange, "there is also a config block at %s", r.Position(b.TypeRange)).WithHint("keep one of the two")
		in.Know("config")
		return nil
	case b != nil:
		t.note("", b.TypeRange)
		return sdk.Encode(t.body(b.Body, ""))
	}
	v, e := in.Typed("config", hclfile.ObjectKind, func(cty.Value) string { return "write config { … }" })
	if e == nil {
		return nil
	}
	t.value("", e, v)
	return sdk.Encode(jsonOf(v))
}

// jsonOf converts a value to types that encoding/json writes exactly.
func jsonOf(v cty.Value) any {
	switch {
	case v.IsNull():
		return nil
	case hclfile.TextKind.Is(v):
		return v.AsString()
	case hclfile.BoolKind.Is(v):
		return v.True()
	case hclfile.NumberKind.Is(v):
		return json.Number(v.AsBigFloat().Text('f', -1))
	case hclfile.ListKind.Is(v):
		list := []any{}
		for _, item := range v.AsValueSlice() {
			list = append(list, jsonOf(item))
		}
		return list
	}
	object := map[string]any{}
	for key, item := range v.AsValueMap() {
		object[key] = jsonOf(item)
	}
	return object
}

// A tree converts a plugin's configuration to JSON. It records the range of each value, and the source of each value
// by reference, under its JSON pointer.
type tree struct {
	*reader
	in         *hclfile.Body
	values     map[string]hcl.Range
	references map[string]string // see supervise.References.Config
}

// body makes an object of the attributes and of the blocks: one block of a type is an object, several are an array.
func (t *tree) body(b *hclsyntax.Body, pointer string) map[string]any {
	out := map[string]any{}
	for _, a := range hclfile.InOrder(b.Attributes) {
		if v, ok := t.Eval(a.Expr); ok {
			out[a.Name] = jsonOf(v)
			t.value(child(pointer, a.Name), a.Expr, v)
		}
	}
	byType := map[string][]*hclsyntax.Block{}
	for _, inner := range b.Blocks {
		byType[inner.Type] = append(byType[inner.Type], inner)
	}
	for _, inner := range b.Blocks {
		name, same := inner.Type, byType[inner.Type]
		if inner != same[0] {
			continue
		}
		pointer := child(pointer, name)
		if a := b.Attributes[name]; a != nil {
			t.in.Wrong(inner.TypeRange, "%q is also an attribute, at %s", name, t.Position(a.NameRange)).
				WithHint("keep one of the two")
			continue
		}
		t.note(pointer, inner.TypeRange)
		if len(same) == 1 {
			out[name] = t.block(inner, pointer)
			continue
		}
		var list []any
		for i, one := range same {
			item := child(pointer, strconv.Itoa(i))
			t.note(item, one.TypeRange)
			list = append(list, t.block(one, item))
		}
		out[name] = list
	}
	return out
}

func (t *tree) block(b *hclsyntax.Block, pointer string) map[string]any {
	out := t.body(b.Body, pointer)
	if len(b.Labels) == 0 {
		return out
	}
	if _, taken := out["labels"]; taken {
		t.in.Wrong(b.LabelRanges[0], "a block with labels cannot have %q in it too",
			"labels").WithHint("remove one of the two")
	}
	out["labels"] = b.Labels
	return out
}

// tooDeep stands for all pointers that are too long to be kept.
const tooDeep = "-"

// child is the pointer of a part.
func child(pointer, name string) string {
	if pointer == tooDeep || len(pointer)+len(name) > 512 {
		return tooDeep
	}
	return pointer + "/" + textutil.EscapePointer(name)
}

// note records where a value is.
func (t *tree) note(pointer string, at hcl.Range) {
	if pointer != tooDeep {
		t.values[pointer] = at
	}
}

// value records the lines of an expression and of the expressions inside it, and how values by reference are written.
func (t *tree) value(pointer string, e hclsyntax.Expression, v cty.Value) {
	t.note(pointer, e.Range())
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		t.value(pointer, e.Expression, v)
		return
	case *hclsyntax.TupleConsExpr:
		items := v.AsValueSlice()
		for i, item := range e.Exprs {
			t.value(child(pointer, strconv.Itoa(i)), item, items[i])
		}
		return
	case *hclsyntax.ObjectConsExpr:
		members := v.AsValueMap()
		literal := !slices.ContainsFunc(e.Items, func(item hclsyntax.ObjectConsItem) bool {
			_, ok := hclfile.LiteralKey(item)
			return !ok
		})
		for _, item := range e.Items {
			key, ok := hclfile.LiteralKey(item)
			if literal {
				t.value(child(pointer, key), item.ValueExpr, members[key])
			} else if ok {
				t.note(child(pointer, key), item.ValueExpr.Range())
			}
		}
		if literal {
			return
		}
	}
	if hclfile.Literal(e) {
		return
	}
	name := t.Source(e)
	if pointer == tooDeep {
		pointer, name = "", "values by reference"
	}
	t.references[pointer] = name
	if refersToLocal(e) {
		t.referTexts(v, name)
		t.referLocals(e) // keys too
	}
}
