package host

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// A schemaPlace is where in a tool's arguments an object stands: the schemas that may hold for it, all those together that
// references and combinations lead to. What any of them says of names counts.
type schemaPlace struct {
	schema  *argumentSchema
	schemas []map[string]any
	top     bool
}

// An argumentSchema is a tool's input schema, decoded, to look up what it says of one place.
type argumentSchema struct{ root any }

func newArgumentSchema(schema json.RawMessage) *argumentSchema {
	var root any
	_ = json.Unmarshal(schema, &root) // it was compiled: it is JSON; else nothing is known of any place
	return &argumentSchema{root}
}

func (s *argumentSchema) top() schemaPlace { return s.collect(true, s.root) }

// maxSchemas bounds how many schemas may hold for one place.
const maxSchemas = 1000

// collect gives the schemas that hold where these do. Of "not" nothing can be told.
func (s *argumentSchema) collect(top bool, schemas ...any) schemaPlace {
	p := schemaPlace{schema: s, top: top}
	seen := map[uintptr]bool{}
	for len(schemas) > 0 && len(p.schemas) < maxSchemas {
		next, ok := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if !ok || seen[reflect.ValueOf(next).Pointer()] {
			continue
		}
		seen[reflect.ValueOf(next).Pointer()] = true
		p.schemas = append(p.schemas, next)
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
		for _, d := range dependent {
			schemas = append(schemas, d)
		}
	}
	return p
}

// resolve follows a reference within the schema; nil is one that leads nowhere that is known.
func (s *argumentSchema) resolve(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
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

// member is the place of a member's value.
func (p schemaPlace) member(name string) schemaPlace {
	var schemas []any
	for _, s := range p.schemas {
		properties, _ := s["properties"].(map[string]any)
		if own, declared := properties[name]; declared {
			schemas = append(schemas, own)
			continue
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		for _, of := range patterns { // whichever fits
			schemas = append(schemas, of)
		}
		schemas = append(schemas, s["additionalProperties"], s["unevaluatedProperties"])
	}
	return p.schema.collect(false, schemas...)
}

// item is the place of an array's items, any of them.
func (p schemaPlace) item() schemaPlace {
	var schemas []any
	for _, s := range p.schemas {
		for _, key := range []string{"items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"} {
			switch of := s[key].(type) {
			case []any:
				schemas = append(schemas, of...)
			default:
				schemas = append(schemas, of)
			}
		}
	}
	return p.schema.collect(false, schemas...)
}

// names are those that the schemas declare for the place.
func (p schemaPlace) names() map[string]bool {
	names := map[string]bool{}
	for _, s := range p.schemas {
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

// isMap says that the place holds a map: an object whose names are values of the caller's, such as those of an environment
// or of headers. At the top, where tools have their arguments, it takes a word of the schema on other names.
func (p schemaPlace) isMap() bool {
	for _, s := range p.schemas {
		switch s["additionalProperties"].(type) {
		case map[string]any:
			return true
		case bool:
			if s["additionalProperties"] == true {
				return true
			}
		}
		for _, key := range []string{"patternProperties", "propertyNames", "unevaluatedProperties"} {
			if of, ok := s[key].(map[string]any); ok && len(of) > 0 {
				return true
			}
		}
		if !p.top && allows(s, "object") && len(p.names()) == 0 {
			return true
		}
	}
	return false
}

// allows says that a schema's own word on types names this one.
func allows(schema map[string]any, kind string) bool {
	switch types := schema["type"].(type) {
	case string:
		return types == kind
	case []any:
		for _, t := range types {
			if t == kind {
				return true
			}
		}
	}
	return false
}
