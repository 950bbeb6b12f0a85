package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/lazy"
)

// parameterName is what Vertex AI demands of the names of arguments.
// https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration
var parameterName = lazy.Regexp(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// GeminiOpenAPI gives a schema for parameters, the older field, which takes a subset of OpenAPI 3.0's schemas and
// refuses the whole request for a keyword outside of it. References are inlined. It is nil for a tool without named
// arguments, where the field is to be left unset. The subset has no words for a value of any type, an array of anything
// and an object with no named properties: an optional property of this kind is left out, a required one is an error, as
// is a schema that holds itself. https://ai.google.dev/api/caching#Schema
func GeminiOpenAPI(raw json.RawMessage) (json.RawMessage, error) {
	s, err := open(raw)
	if err != nil {
		return nil, err
	}
	f, err := s.fields(s.root, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range f.names {
		if !parameterName().MatchString(name) {
			return nil, fmt.Errorf("the name of its property %.80q does not match %s", name, parameterName())
		}
	}
	c := openapi{schema: s, active: map[string]bool{}}
	out, err := c.convert(s.root, "#")
	if e, ok := errors.AsType[*unsayable](err); ok && e.at == "#" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return encode(out)
}

// openapi writes the schemas of one tool anew, with the members in a fixed order.
type openapi struct {
	*schema
	active map[string]bool // references that are being followed
	depth  int
	size   int // of the texts in what is written
}

// convert gives what the subset has for one schema.
func (c *openapi) convert(value any, at string) (*object, error) {
	if err := c.step(c.depth); err != nil {
		return nil, fmt.Errorf("at %.200s: %w", at, err)
	}
	c.depth++
	defer func() { c.depth-- }()
	o, ok := value.(*object)
	if !ok {
		return nil, &unsayable{at, "a value of any type"}
	}
	var entered []string
	defer func() { c.leave(entered) }()
	o, err := c.flat(o, &entered)
	if err != nil {
		return nil, fmt.Errorf("at %.200s: %w", at, err)
	}
	if c.size += weight(o); c.size > maxBytes {
		return nil, fmt.Errorf("with its references inlined it has more than %d bytes", maxBytes)
	}
	return c.described(o, at)
}

// described gives what the subset has for a schema with nothing to follow in it.
func (c *openapi) described(o *object, at string) (*object, error) {
	types, nullable := typesOf(o)
	switch {
	case len(types) == 1:
		return c.typed(o, types[0], nullable, at)
	case len(types) > 1:
		return c.several(o, types, nullable, at)
	case o.has("anyOf") || o.has("oneOf"):
		return c.union(o, nullable, at)
	}
	return nil, &unsayable{at, "a value of any type"}
}

// weight is the size of what is copied from a schema.
func weight(o *object) int {
	n := len(o.text("description")) + len(o.text("title")) + len(o.text("pattern"))
	for _, v := range choices(o) {
		n += len(literal(v))
	}
	return n
}

// An unsayable schema is one that the subset has no words for.
type unsayable struct{ at, what string }

func (e *unsayable) Error() string {
	return fmt.Sprintf("at %.200s: %s cannot be said in this format, but in the format gemini", e.at, e.what)
}

// typed gives the schema for the values of one type.
func (c *openapi) typed(o *object, kind string, nullable bool, at string) (*object, error) {
	out := head(o, kind, nullable)
	var err error
	switch kind {
	case "object":
		err = c.objectInto(out, o, at)
	case "array":
		err = c.arrayInto(out, o, at)
	case "string":
		copyCounts(out, o, "minLength", "maxLength")
		if pattern := o.text("pattern"); pattern != "" {
			out.set("pattern", pattern)
		}
	case "number", "integer":
		copyNumber(out, o, "minimum", "exclusiveMinimum")
		copyNumber(out, o, "maximum", "exclusiveMaximum")
	case "boolean":
	default:
		err = fmt.Errorf("at %.200s: %.40q is no type", at, kind)
	}
	out.order()
	return out, err
}

func (c *openapi) objectInto(out, o *object, at string) error {
	f, err := c.fields(o, c.depth)
	if err != nil {
		return fmt.Errorf("at %.200s: %w", at, err)
	}
	properties, err := c.properties(f, at)
	if err != nil {
		return err
	}
	if len(properties.names) == 0 {
		return &unsayable{at, "an object with no named properties"}
	}
	f.required = slices.DeleteFunc(slices.Clone(f.required), func(n string) bool { return !properties.has(n) })
	out.set("properties", properties)
	if len(f.required) > 0 {
		out.set("required", f.requiredList())
	}
	copyCounts(out, o, "minProperties", "maxProperties")
	if len(properties.names) > 1 {
		out.set("propertyOrdering", texts(properties.names))
	}
	return nil
}

// properties converts those that can be said.
func (c *openapi) properties(f fields, at string) (*object, error) {
	out := newObject()
	for _, name := range f.names {
		if f.schemas[name] == false {
			continue
		}
		sub, err := c.convert(f.schemas[name], at+"/properties/"+name)
		if _, no := errors.AsType[*unsayable](err); no && !slices.Contains(f.required, name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.set(name, sub)
	}
	return out, nil
}

func (c *openapi) arrayInto(out, o *object, at string) error {
	items, where := o.members["items"], at+"/items"
	if tuple := o.list("prefixItems"); len(tuple) > 0 {
		either := newObject()
		either.set("anyOf", tuple)
		items, where = either, at+"/prefixItems"
	}
	if items == nil {
		return &unsayable{at, "an array of anything"}
	}
	sub, err := c.convert(items, where)
	if err != nil {
		return err
	}
	out.set("items", sub)
	copyCounts(out, o, "minItems", "maxItems")
	return nil
}

func copyCounts(out, o *object, names ...string) {
	for _, name := range names {
		n, _ := o.members[name].(jsontext.Value)
		if _, err := strconv.ParseInt(string(n), 10, 64); err == nil { // the field is an int64
			out.set(name, n)
		}
	}
}

// copyNumber copies a limit, or the exclusive one, for which the subset has no word, as if its value were allowed.
func copyNumber(out, o *object, name, exclusive string) {
	for _, n := range []string{exclusive, name} {
		if limit, ok := o.members[n].(jsontext.Value); ok {
			out.set(name, limit)
		}
	}
}
