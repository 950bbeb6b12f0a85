package arguments

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// maxNullWork bounds how many schemas WithoutNulls examines: MCP servers may have any schema.
const maxNullWork = 500_000

// WithoutNulls returns the arguments without each null, at any depth, of a property whose schema allows no null. So
// models write a property that they leave out where their vendor's strict mode requires all of them. What is returned
// may still not fit the schema. It is nil if there is no such null. It expects arguments that Read has returned.
func (s *Schema) WithoutNulls(arguments json.RawMessage) json.RawMessage {
	if !bytes.Contains(arguments, []byte("null")) {
		return nil
	}
	left := maxNullWork
	out, changed := withoutNulls(bytes.TrimLeft(arguments, Whitespace), s.top, &left)
	if !changed || left < 0 {
		return nil
	}
	return out
}

// withoutNulls returns the value of a place in the arguments without its nulls.
func withoutNulls(value json.RawMessage, at func() node, left *int) (out json.RawMessage, changed bool) {
	if kind := value[0]; kind != '{' && kind != '[' || *left < 0 {
		return value, false
	}
	n := at()
	*left -= 1 + len(n.schemas)
	add := func(before string, v json.RawMessage, at func() node) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		*left -= len(n.schemas)
		v, other := withoutNulls(v, at, left)
		out, changed = append(append(out, before...), v...), changed || other
	}
	out = append(out, value[0])
	if value[0] == '[' {
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items)
		for _, item := range items {
			add("", item, n.item)
		}
		return append(out, ']'), changed
	}
	for _, m := range rawjson.ObjectOf(value) {
		if string(m.Value) == "null" && !n.mayBeNull(m.Name, left) {
			changed = true
			continue
		}
		add(string(rawjson.AppendText(nil, m.Name))+":", m.Value, func() node { return n.member(m.Name) })
	}
	return append(out, '}'), changed
}

// mayBeNull reports whether a schema of this object allows null for a member, or none declares it.
func (n node) mayBeNull(name string, left *int) bool {
	declared := false
	*left -= len(n.schemas)
	for _, s := range n.schemas {
		properties, _ := s["properties"].(map[string]any)
		if own, is := properties[name]; is {
			if n.schema.kinds(own, left)&nullKind != 0 {
				return true
			}
			declared = true
		}
	}
	return !declared
}
