package toolschema

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Keywords that hold schemas.
var (
	schemaKeywords = []string{"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"}
	listKeywords = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	mapKeywords  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

// A schema is a schema being rewritten.
type schema struct {
	root  *object
	steps int
}

// open decodes a schema and converts it to JSON Schema 2020-12 with an object at its root.
func open(raw []byte) (*schema, error) {
	root, err := read(raw)
	if err != nil {
		return nil, err
	}
	for _, draft := range []string{"draft-04", "draft-06", "draft-07"} {
		if strings.Contains(root.text("$schema"), draft) {
			each(root, referenceAlone)
		}
	}
	if err := requireType(root); err != nil {
		return nil, err
	}
	each(root, upgrade)
	s := &schema{root: root}
	s.repair()
	return s, nil
}

// requireType makes the type of the root "object", the first member if there was none: arguments are never anything
// else.
func requireType(root *object) error {
	if !root.has("type") {
		root.names = slices.Insert(root.names, 0, "type")
	} else if !slices.Contains(typeNames(root), "object") {
		return errors.New(`the type of its root is not "object"`)
	}
	root.members["type"] = "object"
	return nil
}

// referenceAlone removes what stands beside a reference and checks anything, which drafts up to 07 ignore.
func referenceAlone(o *object) {
	kept := []string{"$ref", "description", "default", "$defs", "definitions"}
	if o.has("$ref") {
		o.drop(slices.DeleteFunc(slices.Clone(o.names), func(n string) bool { return slices.Contains(kept, n) })...)
	}
}

// each calls f with o and then with every schema object inside.
func each(o *object, f func(*object)) {
	f(o)
	replaceInside(o, func(value any) any {
		if sub, ok := value.(*object); ok {
			each(sub, f)
		}
		return value
	})
}

// replaceInside replaces the schemas in the keywords of a schema. What holds them is copied.
func replaceInside(o *object, replace func(any) any) {
	for _, name := range o.names {
		switch value := o.members[name].(type) {
		case *object:
			if slices.Contains(schemaKeywords, name) {
				o.members[name] = replace(value)
			} else if slices.Contains(mapKeywords, name) {
				value = value.clone()
				for _, member := range value.names {
					value.members[member] = replace(value.members[member])
				}
				o.members[name] = value
			}
		case []any:
			if slices.Contains(listKeywords, name) {
				value = slices.Clone(value)
				for i := range value {
					value[i] = replace(value[i])
				}
				o.members[name] = value
			}
		}
	}
}

// upgrade converts what older drafts write differently to 2020-12. No keyword has two meanings, so the draft need not
// be known here. An inner $id makes no difference: references below one have been refused.
func upgrade(o *object) {
	o.drop("$schema", "$id")
	if _, ok := o.members["id"].(string); ok {
		o.drop("id")
	}
	nullableToUnion(o)
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

// nullableToUnion converts OpenAPI's nullable to a union of types.
func nullableToUnion(o *object) {
	types := typeNames(o)
	if len(types) == 0 {
		return
	}
	if o.members["nullable"] == true && !slices.Contains(types, "null") {
		o.set("type", anys(append(types, "null")))
	}
	if _, ok := o.members["nullable"].(bool); ok {
		o.drop("nullable")
	}
}

func typeNames(o *object) []string {
	if name, ok := o.members["type"].(string); ok {
		return []string{name}
	}
	return o.strings("type")
}

func anys(list []string) (out []any) {
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// bytes encodes the schema. References to what has been left out are left out too, which permits more.
func (s *schema) bytes() ([]byte, error) {
	s.dropOpenReferences()
	return encode(s.root)
}

func (s *schema) target(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	ok = ok && (pointer == "" || pointer[0] == '/')
	var value any = s.root
	for step := range jsontext.Pointer(pointer).Tokens() {
		switch v := value.(type) {
		case *object:
			value = v.members[step]
		case []any:
			i, err := strconv.Atoi(step)
			if value = nil; err == nil && i >= 0 && i < len(v) {
				value = v[i]
			}
		default:
			value = nil
		}
	}
	switch value.(type) {
	case *object, bool:
		if ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("its reference %.100q points at nothing, or at something that this format leaves out", ref)
}

// step counts the work, which references can multiply.
func (s *schema) step(depth int) error {
	s.steps++
	if s.steps > maxSteps || depth > maxDepth {
		return fmt.Errorf("with its references followed it has more than %d schemas or %d levels", maxSteps, maxDepth)
	}
	return nil
}

// maxOptions is how many alternatives for one property are combined.
const maxOptions = 50

// combiners are the keywords that combine schemas for the same value.
var combiners = []string{"$ref", "allOf", "anyOf", "oneOf"}

// relax moves the properties that the combiners at the root mention to the root itself, and drops the combiners and the
// keywords given. Which properties go together is lost; the host still checks it.
func (s *schema) relax(keywords ...string) error {
	s.root.drop(keywords...)
	if !slices.ContainsFunc(combiners, s.root.has) {
		return nil
	}
	f, err := s.fields(s.root, 0)
	if err != nil {
		return err
	}
	s.root.drop(combiners...)
	f.into(s.root)
	return nil
}

// fields are the properties that a schema mentions anywhere.
type fields struct {
	names    []string
	schemas  map[string]any
	required []string
}

// into sets properties and required of a schema.
func (f *fields) into(o *object) {
	if len(f.names) > 0 {
		properties := newObject()
		for _, name := range f.names {
			properties.set(name, f.schemas[name])
		}
		o.set("properties", properties)
	}
	if len(f.required) > 0 {
		o.set("required", anys(f.required))
	}
}

// ownFields returns the properties of a schema itself, without those of its combiners.
func ownFields(o *object) fields {
	f := fields{schemas: map[string]any{}, required: o.strings("required")}
	if own := o.object("properties"); own != nil {
		for _, name := range own.names {
			f.put(name, own.members[name], "allOf")
		}
	}
	return f
}

// fields returns the properties of a schema and of the schemas that it combines.
func (s *schema) fields(value any, depth int) (fields, error) {
	o, ok := value.(*object)
	if err := s.step(depth); err != nil || !ok {
		return fields{}, err
	}
	f := ownFields(o)
	all := slices.Clone(o.list("allOf"))
	if ref, ok := o.members["$ref"].(string); ok {
		target, err := s.target(ref)
		if err != nil {
			return f, err
		}
		all = append(all, target)
	}
	for _, part := range all {
		sub, err := s.fields(part, depth+1)
		if err != nil {
			return f, err
		}
		f.add(sub)
	}
	return f, cmp.Or(s.addAny(&f, o.list("anyOf"), depth), s.addAny(&f, o.list("oneOf"), depth))
}

// addAny adds all properties of all branches; required are those that every branch requires.
func (s *schema) addAny(f *fields, branches []any, depth int) error {
	either := fields{schemas: map[string]any{}}
	for i, branch := range branches {
		sub, err := s.fields(branch, depth+1)
		if err != nil {
			return err
		}
		if i == 0 {
			either.required = sub.required
		}
		either.required = slices.DeleteFunc(slices.Clone(either.required),
			func(n string) bool { return !slices.Contains(sub.required, n) })
		for _, name := range sub.names {
			if sub.schemas[name] != false { // this branch excludes the property, others may not
				either.put(name, sub.schemas[name], "anyOf")
			}
		}
	}
	f.add(either)
	return nil
}

// add adds properties that apply together with those of f.
func (f *fields) add(g fields) {
	for _, name := range g.names {
		f.put(name, g.schemas[name], "allOf")
	}
	for _, name := range g.required {
		if !slices.Contains(f.required, name) {
			f.required = append(f.required, name)
		}
	}
}

// put adds a property; one that is there already is combined with the other schema for it.
func (f *fields) put(name string, value any, combiner string) {
	old, ok := f.schemas[name]
	if !ok {
		f.names = append(f.names, name)
		f.schemas[name] = value
		return
	}
	options := []any{old}
	if o, ok := old.(*object); ok && len(o.names) == 1 && o.has(combiner) {
		options = slices.Clone(o.list(combiner))
	}
	if slices.ContainsFunc(options, func(o any) bool { return equal(o, value) }) {
		return
	}
	both := newObject()
	if len(options) < maxOptions { // with more, the property may be anything
		both.set(combiner, append(options, value))
	}
	f.schemas[name] = both
}
