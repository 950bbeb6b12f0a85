package schema

import (
	"encoding/json"
	"strconv"
)

// emit writes the tree in its normal form for the library: dialect 2020-12, annotations and unknown words left out, and
// each schema that something refers to placed once in $defs of the root. The library resolves a pointer from the
// nearest schema outwards instead of from the root, and asserts content keywords; in this form neither can matter.
func emit(root *node, shared []*node) ([]byte, error) {
	out, ok := root.inline().(map[string]any)
	if !ok {
		return []byte("false"), nil
	}
	defs := map[string]any{}
	for _, n := range shared {
		defs[strconv.Itoa(n.shared)] = n.full()
	}
	out["$defs"] = defs
	return json.Marshal(out)
}

// inline is the schema where it stands: a reference if it is shared.
func (n *node) inline() any {
	if n.shared > 0 {
		return map[string]any{"$ref": n.sharedPointer()}
	}
	return n.full()
}

func (n *node) sharedPointer() string { return "#/$defs/" + strconv.Itoa(n.shared) }

// full is the schema itself. The schema true is written {}: the library takes true for having looked at every property.
func (n *node) full() any {
	if n.never {
		return false
	}
	out := map[string]any{}
	n.putSchemas(out)
	n.putNumbers(out)
	if n.ref != nil {
		out["$ref"] = n.ref.sharedPointer()
	}
	if n.types != 0 {
		out["type"] = n.typeWords
	}
	if n.enum != nil {
		out["enum"] = n.enum
	}
	if n.pattern != nil {
		n.pattern.put(out)
	}
	if n.format != nil {
		out["format"] = n.format.name
	}
	if len(n.required) > 0 {
		out["required"] = n.required
	}
	if n.uniqueItems {
		out["uniqueItems"] = true
	}
	if len(n.dependentRequired) > 0 {
		needs := map[string][]string{}
		for _, d := range n.dependentRequired {
			needs[d.name] = d.needs
		}
		out["dependentRequired"] = needs
	}
	return out
}

func (n *node) putSchemas(out map[string]any) {
	for word, field := range oneSchema {
		if sub := *field(n); sub != nil {
			out[word] = sub.inline()
		}
	}
	for word, field := range schemaLists {
		for _, sub := range *field(n) {
			list, _ := out[word].([]any)
			out[word] = append(list, sub.inline())
		}
	}
	for word, field := range namedSchemas {
		schemas := map[string]any{}
		for _, m := range *field(n) {
			name := m.name
			if m.pattern != nil {
				name = m.pattern.re.String()
			}
			schemas[name] = m.node.inline()
		}
		if len(schemas) > 0 {
			out[word] = schemas
		}
	}
}

// put writes a pattern, and its lookaheads as patterns of their own.
func (p *pattern) put(out map[string]any) {
	out["pattern"] = p.re.String()
	for _, l := range p.ahead {
		asks := map[string]any{"type": "string", "pattern": l.re.String()}
		if l.refuses {
			asks = map[string]any{"not": asks}
		} else {
			delete(asks, "type")
		}
		list, _ := out["allOf"].([]any)
		out["allOf"] = append(list, asks)
	}
}

func (n *node) putNumbers(out map[string]any) {
	for word, field := range counts {
		if v := *field(n); v != nil {
			out[word] = *v
		}
	}
	for word, field := range bounds {
		if v := *field(n); v != nil {
			out[word] = v.text
		}
	}
}
