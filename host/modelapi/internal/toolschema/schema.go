package toolschema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Where schemas stand inside of schemas.
var (
	singles = []string{"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"}
	lists = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	maps  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

// A schema is a schema being rewritten.
type schema struct {
	root  *object
	steps int
}

// open reads a schema and brings it to JSON Schema 2020-12 with an object at its root.
func open(raw []byte) (*schema, error) {
	root, err := read(raw)
	if err != nil {
		return nil, err
	}
	if kind, ok := root.members["type"]; ok && kind != "object" {
		return nil, errors.New(`the type of its root is not "object"`)
	}
	each(root, modernise)
	if !root.has("type") {
		root.lead("type", "object")
	}
	return &schema{root: root}, nil
}

// each calls f with o and then with every schema object inside.
func each(o *object, f func(*object)) {
	f(o)
	visit := func(value any) {
		if sub, ok := value.(*object); ok {
			each(sub, f)
		}
	}
	for _, name := range o.names {
		switch value := o.members[name].(type) {
		case *object:
			switch {
			case slices.Contains(singles, name):
				visit(value)
			case slices.Contains(maps, name):
				for _, member := range value.names {
					visit(value.members[member])
				}
			}
		case []any:
			if slices.Contains(lists, name) {
				for _, item := range value {
					visit(item)
				}
			}
		}
	}
}

// nullUnion writes OpenAPI's nullable as the union that it stands for.
func nullUnion(o *object) {
	types := kinds(o.members["type"])
	if o.members["nullable"] == true && len(types) > 0 && !slices.Contains(types, "null") {
		union := []any{}
		for _, kind := range append(types, "null") {
			union = append(union, kind)
		}
		o.set("type", union)
	}
	if _, is := o.members["nullable"].(bool); is && len(types) > 0 {
		o.drop("nullable")
	}
}

// modernise writes what older drafts say in another way as 2020-12 does. No keyword means two things, so it needs not
// know the draft. An inner $id changes nothing here: references below one are refused before.
func modernise(o *object) {
	o.drop("$schema", "$id")
	if _, ok := o.members["id"].(string); ok {
		o.drop("id")
	}
	nullUnion(o)
	if items, ok := o.members["items"].([]any); ok {
		rest, more := o.members["additionalItems"]
		o.drop("items")
		o.set("prefixItems", items)
		if more {
			o.set("items", rest)
		}
	}
	o.drop("additionalItems")
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		is, ok := o.members[exclusive].(bool)
		if value, bounded := o.members[limit]; ok && is && bounded {
			o.set(exclusive, value)
			o.drop(limit)
		} else if ok {
			o.drop(exclusive)
		}
	}
}

// bytes writes the schema. Its references must still point at something.
func (s *schema) bytes() ([]byte, error) {
	var err error
	each(s.root, func(o *object) {
		if ref, ok := o.members["$ref"].(string); ok && err == nil {
			_, err = s.target(ref)
		}
	})
	if err != nil {
		return nil, err
	}
	return encode(s.root)
}

// target is what a reference points at.
func (s *schema) target(ref string) (any, error) {
	pointer, inside := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	var value any = s.root
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 {
			inside = inside && step == ""
			continue
		}
		value = below(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	switch value.(type) {
	case *object, bool:
		if inside {
			return value, nil
		}
	}
	return nil, fmt.Errorf("its reference %.100q points at nothing that can be kept for this format", ref)
}

// below is a member or an item of a value; nil, which is no schema, when there is none.
func below(value any, step string) any {
	switch v := value.(type) {
	case *object:
		return v.members[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// step counts the work; references can multiply it.
func (s *schema) step(depth int) error {
	s.steps++
	if s.steps > maxSteps || depth > maxDepth {
		return fmt.Errorf("with its references followed it has more than %d schemas or %d levels", maxSteps, maxDepth)
	}
	return nil
}
