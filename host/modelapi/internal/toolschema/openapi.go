package toolschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/internal/lazy"
)

// parameterName is what Vertex AI requires of property names.
// https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration
var parameterName = lazy.Regexp(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// GeminiOpenAPI returns a schema for parameters, the older field. It takes a subset of OpenAPI 3.0's schemas, and the
// API refuses a request with any other keyword. References are inlined. The result is nil for a tool without named
// arguments, for which the field must be absent. The subset cannot express a value of any type, an array of anything,
// an object without named properties, and a recursive schema: such an optional property is left out, a required one is
// an error. https://ai.google.dev/api/caching#Schema
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
	c := converter{schema: s, active: map[string]bool{}}
	out, err := c.convert(s.root, "#")
	if e, ok := errors.AsType[*inexpressible](err); ok && e.at == "#" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return encode(out)
}

// An inexpressible schema is one for which the subset has no form.
type inexpressible struct{ at, what string }

func (e *inexpressible) Error() string {
	return fmt.Sprintf("at %.200s: %s cannot be expressed in this format; use the format gemini", e.at, e.what)
}

// A converter converts the schemas of one tool.
type converter struct {
	*schema
	active  map[string]bool // references that are being followed
	depth   int
	inlined int // bytes of the texts written so far
}

func (c *converter) convert(value any, at string) (*object, error) {
	if err := c.step(c.depth); err != nil {
		return nil, fmt.Errorf("at %.200s: %w", at, err)
	}
	c.depth++
	var entered []string
	defer c.leave(&entered)
	o, ok := value.(*object)
	if !ok {
		return nil, &inexpressible{at, "a value of any type"}
	}
	o, err := c.flatten(o, &entered)
	if e, ok := errors.AsType[*inexpressible](err); ok {
		e.at = at
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("at %.200s: %w", at, err)
	}
	c.inlined += len(o.text("description")) + len(o.text("title")) + len(o.text("pattern"))
	for _, v := range choices(o) {
		c.inlined += len(literal(v))
	}
	if c.inlined > maxInlined {
		return nil, fmt.Errorf("with its references inlined it has more than %d bytes", maxInlined)
	}
	types, nullable := typesOf(o)
	switch {
	case len(types) == 1:
		return c.oneType(o, types[0], nullable, at)
	case len(types) > 1:
		var options []any
		for _, kind := range types {
			sub, err := c.oneType(o, kind, nullable, at)
			if err != nil {
				return nil, err
			}
			options = append(options, sub)
		}
		out := newObject()
		out.set("anyOf", options)
		return out, nil
	case o.has("anyOf") || o.has("oneOf"):
		return c.union(o, nullable, at)
	}
	return nil, &inexpressible{at, "a value of any type"}
}

// leave ends the conversion of a schema for which these references were followed.
func (c *converter) leave(entered *[]string) {
	c.depth--
	for _, ref := range *entered {
		delete(c.active, ref)
	}
}

// flatten merges the target of a reference and the parts of allOf into the schema itself. Of two values of a keyword
// the outer one is kept. It adds the references that it follows to entered.
func (c *converter) flatten(o *object, entered *[]string) (*object, error) {
	if err := c.step(c.depth + len(*entered)); err != nil {
		return nil, err
	}
	parts := slices.Clone(o.list("allOf"))
	ref, ok := o.members["$ref"].(string)
	switch {
	case !ok || slices.Contains(*entered, ref): // the same reference for the same value adds nothing
	case c.active[ref]:
		return nil, &inexpressible{what: fmt.Sprintf("the reference %.100q, which leads back to itself,", ref)}
	default:
		c.active[ref] = true
		*entered = append(*entered, ref)
		target, err := c.target(ref)
		if err != nil {
			return nil, err
		}
		parts = append(parts, target)
	}
	if len(parts) == 0 {
		return o, nil
	}
	out := o.clone()
	out.drop("$ref", "allOf")
	for _, part := range parts {
		sub, ok := part.(*object)
		if !ok {
			continue
		}
		sub, err := c.flatten(sub, entered)
		if err != nil {
			return nil, err
		}
		merged := fields{schemas: map[string]any{}}
		merged.add(ownFields(out))
		merged.add(ownFields(sub))
		for _, name := range sub.names {
			if !out.has(name) {
				out.set(name, sub.members[name])
			}
		}
		merged.into(out)
	}
	return out, nil
}

// inline returns a copy of a schema with its references followed everywhere. It adds errors to failed.
func (c *converter) inline(value any, failed *error) any {
	o, ok := value.(*object)
	if err := c.step(c.depth); err != nil || !ok || *failed != nil {
		*failed = cmp.Or(*failed, err)
		return value
	}
	c.depth++
	var entered []string
	defer c.leave(&entered)
	flat, err := c.flatten(o, &entered)
	if _, ok := errors.AsType[*inexpressible](err); ok {
		flat, err = o.clone(), nil
		flat.drop("$ref", "allOf")
	}
	if err != nil {
		*failed = cmp.Or(*failed, err)
		return value
	}
	out := flat.clone()
	out.drop("$defs", "definitions")
	for _, name := range out.names {
		if !slices.Contains(slices.Concat(schemaKeywords, listKeywords, mapKeywords), name) {
			c.inlined += len(name) + len(literal(out.members[name]))
		} else if sub := out.object(name); sub != nil {
			c.inlined += len(strings.Join(sub.names, ""))
		}
	}
	if c.inlined > maxInlined {
		*failed = cmp.Or(*failed, fmt.Errorf("with its references inlined it has more than %d bytes", maxInlined))
	}
	replaceInside(out, func(sub any) any { return c.inline(sub, failed) })
	return out
}

func (c *converter) oneType(o *object, kind string, nullable bool, at string) (*object, error) {
	out := describe(o, kind, nullable)
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
		copyLimit(out, o, "minimum", "exclusiveMinimum")
		copyLimit(out, o, "maximum", "exclusiveMaximum")
	case "boolean":
	default:
		err = fmt.Errorf("at %.200s: %.40q is not a type", at, kind)
	}
	out.sort()
	return out, err
}

func (c *converter) objectInto(out, o *object, at string) error {
	f, err := c.fields(o, c.depth)
	if err != nil {
		return fmt.Errorf("at %.200s: %w", at, err)
	}
	properties := newObject()
	for _, name := range f.names {
		if f.schemas[name] == false {
			continue
		}
		sub, err := c.convert(f.schemas[name], at+"/properties/"+name)
		if _, ok := errors.AsType[*inexpressible](err); ok && !slices.Contains(f.required, name) {
			continue
		}
		if err != nil {
			return err
		}
		properties.set(name, sub)
	}
	if len(properties.names) == 0 {
		return &inexpressible{at, "an object with no named properties"}
	}
	out.set("properties", properties)
	required := slices.DeleteFunc(slices.Clone(f.required), func(n string) bool { return !properties.has(n) })
	if len(required) > 0 {
		out.set("required", anys(required))
	}
	copyCounts(out, o, "minProperties", "maxProperties")
	if len(properties.names) > 1 {
		out.set("propertyOrdering", anys(properties.names))
	}
	return nil
}

func (c *converter) arrayInto(out, o *object, at string) error {
	items, where := o.members["items"], at+"/items"
	if tuple := o.list("prefixItems"); len(tuple) > 0 {
		either := newObject()
		either.set("anyOf", tuple)
		items, where = either, at+"/prefixItems"
	}
	if items == nil {
		return &inexpressible{at, "an array of anything"}
	}
	sub, err := c.convert(items, where)
	if err != nil {
		return err
	}
	out.set("items", sub)
	copyCounts(out, o, "minItems", "maxItems")
	return nil
}

// union returns anyOf, which must be alone: null becomes nullable, and the description moves to the first
// alternative.
func (c *converter) union(o *object, nullable bool, at string) (*object, error) {
	keyword := "anyOf"
	if !o.has(keyword) {
		keyword = "oneOf"
	}
	var options []*object
	for i, choice := range o.list(keyword) {
		if isNull(choice) {
			nullable = true
			continue
		}
		sub, err := c.convert(choice, fmt.Sprintf("%s/%s/%d", at, keyword, i))
		if err != nil {
			return nil, err
		}
		if !sub.has("anyOf") {
			options = append(options, sub)
			continue
		}
		for _, v := range sub.list("anyOf") {
			options = append(options, v.(*object))
		}
	}
	if len(options) == 0 {
		options = []*object{describe(o, "string", false)}
	}
	var list []any
	for i, sub := range options {
		if description := o.text("description"); i == 0 && !sub.has("description") && description != "" {
			sub.set("description", description)
		}
		if nullable {
			sub.set("nullable", true)
		}
		sub.sort()
		list = append(list, sub)
	}
	if len(options) == 1 {
		return options[0], nil
	}
	out := newObject()
	out.set("anyOf", list)
	return out, nil
}

func isNull(value any) bool {
	o, ok := value.(*object)
	if !ok {
		return false
	}
	types, values := typeNames(o), fixedValues(o)
	return len(types) == 1 && types[0] == "null" || len(values) == 1 && values[0] == nil
}

// copyCounts copies limits that are an int64, as the fields are.
func copyCounts(out, o *object, names ...string) {
	for _, name := range names {
		n, _ := o.members[name].(jsontext.Value)
		if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			out.set(name, n)
		}
	}
}

// copyLimit copies a limit, or the exclusive one, which the subset lacks, as if it were inclusive.
func copyLimit(out, o *object, name, exclusive string) {
	for _, n := range []string{exclusive, name} {
		if limit, ok := o.members[n].(jsontext.Value); ok {
			out.set(name, limit)
		}
	}
}

// memberOrder is the order of the members of a converted schema.
var memberOrder = []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems",
	"maxItems",
	"properties", "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
	"anyOf", "propertyOrdering"}

func (o *object) sort() {
	slices.SortFunc(o.names, func(a, b string) int {
		return slices.Index(memberOrder, a) - slices.Index(memberOrder, b)
	})
}

// knownFormats are the formats of the subset, by type. Older endpoints refuse all others.
var knownFormats = map[string][]string{
	"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

// describe begins a schema of one type. Only strings can be in enum; other values go into the description.
func describe(o *object, kind string, nullable bool) *object {
	out := newObject()
	out.set("type", strings.ToUpper(kind))
	if format := o.text("format"); slices.Contains(knownFormats[kind], format) {
		out.set("format", format)
	}
	if title := o.text("title"); title != "" {
		out.set("title", title)
	}
	var values []any
	var words []string
	for _, v := range choices(o) {
		if k := kindOf(v); k == kind || k == "integer" && kind == "number" {
			text, _ := encode(v) // which has been decoded
			values, words = append(values, v), append(words, string(text))
		}
	}
	description := o.text("description")
	switch {
	case len(values) == 0:
	case kind == "string" && !slices.Contains(values, any("")):
		out.set("enum", values)
	default:
		description = strings.TrimSpace(description + "\nOne of: " + strings.Join(words, ", ") + ".")
	}
	if description != "" {
		out.set("description", description)
	}
	if nullable {
		out.set("nullable", true)
	}
	return out
}

// choices returns the values that enum and const permit, here or in each alternative; none if other values are
// permitted.
func choices(o *object) []any {
	if values := fixedValues(o); len(values) > 0 {
		return values
	}
	var out []any
	for _, alternative := range append(slices.Clone(o.list("anyOf")), o.list("oneOf")...) {
		sub, ok := alternative.(*object)
		if !ok || len(fixedValues(sub)) == 0 {
			return nil
		}
		out = append(out, fixedValues(sub)...)
	}
	return out
}

func fixedValues(o *object) []any {
	if constant, ok := o.members["const"]; ok {
		return []any{constant}
	}
	return o.list("enum")
}

// typesOf returns the types of a schema's values without null, and whether null is one of them. A schema of null alone
// becomes that of a nullable string: not every endpoint has a null type.
func typesOf(o *object) (types []string, nullable bool) {
	names := typeNames(o)
	if len(names) == 0 {
		names = implied(o)
	}
	for _, name := range names {
		switch {
		case name == "null":
			nullable = true
		case !slices.Contains(types, name):
			types = append(types, name)
		}
	}
	if len(types) == 0 && nullable {
		types = []string{"string"}
	}
	return types, nullable || o.members["nullable"] == true
}

// typeKeywords are keywords that apply to one type only.
var typeKeywords = []struct {
	kind     string
	keywords []string
}{
	{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties",
		"maxProperties"}},
	{"array", []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
	{"string", []string{"pattern", "minLength", "maxLength"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// implied returns the types of the permitted values, or the type that the keywords apply to.
func implied(o *object) (types []string) {
	for _, v := range choices(o) {
		types = append(types, kindOf(v))
	}
	for _, t := range typeKeywords {
		if len(types) == 0 && slices.ContainsFunc(t.keywords, o.has) {
			return []string{t.kind}
		}
	}
	return types
}
