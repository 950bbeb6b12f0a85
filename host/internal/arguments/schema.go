package arguments

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A Schema is a tool's input schema, decoded to look up the schemas of one place in the arguments.
type Schema struct {
	root any

	// Of the properties at the top; both are nil for schemas that allow no others.
	declared map[string]bool
	folded   map[string]string // to the property
}

// NewSchema decodes a schema that has been compiled before. For text that is not JSON it is empty.
func NewSchema(text json.RawMessage) *Schema {
	s := &Schema{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // examples show numbers with their digits
	_ = d.Decode(&s.root)
	top, _ := s.root.(map[string]any)
	names := s.top().names()
	if len(names) == 0 || top["additionalProperties"] == false {
		return s
	}
	s.declared, s.folded = names, map[string]string{}
	for name := range names {
		s.folded[fold(name)] = name
	}
	return s
}

// Names are those of the properties at the top, also of what the schema refers to and combines. nil means that it
// describes none and allows any.
func (s *Schema) Names() map[string]bool {
	n := s.top()
	if names := n.names(); len(names) > 0 || n.isEmpty() {
		return names
	}
	return nil
}

// A node is a place in the arguments: all schemas that may apply there, including those of references and
// combinations. The names of all of them count.
type node struct {
	schema  *Schema
	schemas []map[string]any
	top     bool
}

func (s *Schema) top() node { return s.collect(true, s.root) }

// maxSchemas bounds how many schemas are examined for one place.
const maxSchemas = 1000

// collect returns the schemas that apply where these do. "not" is ignored.
func (s *Schema) collect(top bool, schemas ...any) node {
	n := node{schema: s, top: top}
	seen := map[uintptr]bool{}
	for len(schemas) > 0 && len(n.schemas) < maxSchemas {
		next, ok := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if !ok || seen[reflect.ValueOf(next).Pointer()] {
			continue
		}
		seen[reflect.ValueOf(next).Pointer()] = true
		n.schemas = append(n.schemas, next)
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := next[key].(string); ok {
				schemas = append(schemas, s.resolve(ref))
			}
		}
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := next[key].([]any)
			schemas = append(schemas, list...)
		}
		for _, key := range []string{"if", "then", "else"} {
			schemas = append(schemas, next[key])
		}
		dependent, _ := next["dependentSchemas"].(map[string]any)
		schemas = slices.AppendSeq(schemas, maps.Values(dependent))
	}
	return n
}

// resolve follows a reference within the schema; nil when it does not resolve.
func (s *Schema) resolve(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = textutil.UnescapePointer(step)
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			at = in[i]
		default:
			return nil
		}
	}
	return at
}

func (n node) member(name string) node {
	var schemas []any
	for _, s := range n.schemas {
		properties, _ := s["properties"].(map[string]any)
		if own, declared := properties[name]; declared {
			schemas = append(schemas, own)
			continue
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		schemas = slices.AppendSeq(schemas, maps.Values(patterns)) // whichever matches
		schemas = append(schemas, s["additionalProperties"], s["unevaluatedProperties"])
	}
	return n.schema.collect(false, schemas...)
}

func (n node) item() node {
	var schemas []any
	for _, s := range n.schemas {
		for _, key := range []string{"items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"} {
			switch of := s[key].(type) {
			case []any:
				schemas = append(schemas, of...)
			default:
				schemas = append(schemas, of)
			}
		}
	}
	return n.schema.collect(false, schemas...)
}

// names are those that the schemas declare here.
func (n node) names() map[string]bool {
	names := map[string]bool{}
	for _, s := range n.schemas {
		properties, _ := s["properties"].(map[string]any)
		for name := range properties {
			names[name] = true
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if name, ok := name.(string); ok {
				names[name] = true
			}
		}
	}
	return names
}

// isEmpty reports an object that can have no members.
func (n node) isEmpty() bool {
	return len(n.schemas) > 0 && n.schemas[0]["additionalProperties"] == false && len(n.names()) == 0 && !n.isMap()
}

// isMap reports a map: an object whose names are the caller's values, such as an environment or headers. At the top,
// where tools have their arguments, only a schema that mentions other names makes it one.
func (n node) isMap() bool {
	for _, s := range n.schemas {
		if _, isSchema := s["additionalProperties"].(map[string]any); isSchema || s["additionalProperties"] == true {
			return true
		}
		for _, key := range []string{"patternProperties", "propertyNames", "unevaluatedProperties"} {
			if of, ok := s[key].(map[string]any); ok && len(of) > 0 {
				return true
			}
		}
		if !n.top && slices.Contains(typesOf(s), any("object")) && len(n.names()) == 0 {
			return true
		}
	}
	return false
}

// typesOf are what the schema's own "type" names.
func typesOf(schema map[string]any) []any {
	if types, several := schema["type"].([]any); several {
		return types
	}
	return []any{schema["type"]}
}
