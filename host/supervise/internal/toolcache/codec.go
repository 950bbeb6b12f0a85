package toolcache

import (
	"encoding/binary"
	"encoding/json"
	"reflect"

	"github.com/toolhost/toolhost/sdk"
)

// A coder writes a description, or reads one: each of its methods does either with one field, so that both directions
// have the fields in one order. JSON takes fifteen times as long to read, which is most of a listing from the cache.
type coder struct {
	reading bool
	bytes   []byte // written so far, or left to be read
	damaged bool   // what was read is no description
}

// encode returns nil for a description that would not come back unchanged.
func encode(d *sdk.Description) []byte {
	c := coder{}
	c.description(d)
	if !reflect.DeepEqual(decode(c.bytes), d) {
		return nil
	}
	return c.bytes
}

// decode returns nil for what encode has not written.
func decode(text []byte) *sdk.Description {
	c, d := coder{reading: true, bytes: text}, &sdk.Description{}
	c.description(d)
	if c.damaged || len(c.bytes) > 0 {
		return nil
	}
	return d
}

func (c *coder) description(d *sdk.Description) {
	c.text(&d.Name)
	c.text(&d.Version)
	c.text(&d.SDK)
	c.json(&d.ConfigSchema)
	c.bool(&d.Dynamic)
	c.bool(&d.Cacheable)
	c.text(&d.Missing)
	c.bool(&d.Pending)
	c.text(&d.Memory)
	list(c, &d.Notices, c.notice)
	list(c, &d.Tools, c.tool)
}

func (c *coder) notice(n *sdk.Notice) {
	c.text((*string)(&n.Kind))
	c.text(&n.Text)
}

func (c *coder) tool(t *sdk.Tool) {
	for _, text := range []*string{&t.Name, &t.Title, &t.Description, &t.Category, (*string)(&t.CostTier),
		&t.OriginalName} {
		c.text(text)
	}
	for _, value := range []*json.RawMessage{&t.InputSchema, &t.OutputSchema, &t.Extra} {
		c.json(value)
	}
	for _, flag := range []*bool{&t.Previews, &t.Stateful, &t.ForeignSchema, &t.PathAware, &t.ForeignHints,
		&t.TextIsJSON} {
		c.bool(flag)
	}
	for _, hint := range []**bool{&t.Hints.ReadOnly, &t.Hints.Destructive, &t.Hints.Idempotent, &t.Hints.OpenWorld} {
		c.hint(hint)
	}
	c.number((*int64)(&t.Timeout))
	c.number(&t.MaxResultBytes)
}

const maxList = 1 << 16 // how long a list may be

// list writes or reads a list, which may be nil, with one function for its elements.
func list[T any](c *coder, values *[]T, element func(*T)) {
	n := int64(len(*values))
	if *values == nil {
		n = -1
	}
	c.number(&n)
	if c.reading {
		if n < 0 || n > int64(min(len(c.bytes), maxList)) {
			c.damaged = c.damaged || n != -1
			return
		}
		*values = make([]T, n)
	}
	for i := range *values {
		element(&(*values)[i])
	}
}

func (c *coder) text(s *string) {
	part := []byte(nil)
	if !c.reading {
		part = []byte(*s)
	}
	if c.part(&part); c.reading {
		*s = string(part)
	}
}

func (c *coder) json(value *json.RawMessage) {
	there := *value != nil
	if c.bool(&there); !there {
		return
	}
	part := []byte(*value)
	if c.part(&part); c.reading {
		*value = append(json.RawMessage{}, part...) // the whole of what is read may be much longer
	}
}

// part writes bytes, or has part be the next ones.
func (c *coder) part(part *[]byte) {
	n := int64(len(*part))
	c.number(&n)
	switch {
	case !c.reading:
		c.bytes = append(c.bytes, *part...)
	case n < 0 || n > int64(len(c.bytes)):
		c.damaged = true
	default:
		*part, c.bytes = c.bytes[:n:n], c.bytes[n:]
	}
}

func (c *coder) number(n *int64) {
	if !c.reading {
		c.bytes = binary.AppendVarint(c.bytes, *n)
		return
	}
	value, size := binary.Varint(c.bytes)
	if size <= 0 {
		c.damaged, c.bytes = true, nil
		return
	}
	*n, c.bytes = value, c.bytes[size:]
}

func (c *coder) bool(b *bool) {
	n := int64(0)
	if *b {
		n = 1
	}
	if c.number(&n); c.reading {
		*b = n != 0
	}
}

func (c *coder) hint(hint **bool) {
	there := *hint != nil
	if c.bool(&there); !there {
		return
	}
	if c.reading {
		*hint = new(bool)
	}
	c.bool(*hint)
}
