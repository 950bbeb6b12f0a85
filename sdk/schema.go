package sdk

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A direction says what a schema describes: what a type is decoded from, or what it is encoded to.
type direction int

const (
	ofInput direction = iota
	ofOutput
)

// inferSchema returns the JSON Schema (2020-12) of a Go type: of what it is decoded from, or encoded to. Errors begin
// with subject, which is what the schema is for, and name the field. The output depends on the type alone, field by
// field in the order of the source, so that it is the same in every build.
func inferSchema(subject string, t reflect.Type, of direction) (json.RawMessage, error) {
	i := &inferrer{of: of}
	if t.Name() != "" {
		i.path = []string{t.String()}
	}
	s, err := i.root(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject, err)
	}
	if i.checkValues(); len(i.faults) > 0 {
		for n, fault := range i.faults {
			i.faults[n] = fmt.Errorf("%s: %w", subject, fault)
		}
		return nil, errors.Join(i.faults...)
	}
	return json.RawMessage(s.text()), nil
}

// An inferrer makes the schema of one Go type.
type inferrer struct {
	of     direction
	path   []string       // the field that is looked at, for errors
	open   []reflect.Type // enclosing types
	defs   []definition   // recursive types
	values []value        // to check when all of defs is there
	faults []error
}

// A definition is a type that contains itself. Others refer to it.
type definition struct {
	of     reflect.Type
	name   string
	schema *schema // nil while it is made
}

func (i *inferrer) fault(format string, a ...any) *schema {
	if place := strings.Join(i.path, "."); place != "" {
		format, a = "%s: "+format, append([]any{strings.ReplaceAll(place, ".[", "[")}, a...)
	}
	i.faults = append(i.faults, fmt.Errorf(format, a...))
	return &schema{}
}

// root returns the schema of the whole. It stands for itself, also when it is in defs too: vendors ask for an object
// at the top.
func (i *inferrer) root(t reflect.Type) (*schema, error) {
	if i.of == ofOutput {
		t = pointed(t)
	}
	isMap := i.of == ofOutput && t.Kind() == reflect.Map
	switch {
	case isMap:
	case t.Kind() == reflect.Pointer && pointed(t).Kind() == reflect.Struct:
		return nil, fmt.Errorf("%v is a pointer; use %v", t, pointed(t))
	case t.Kind() != reflect.Struct:
		return nil, fmt.Errorf("%v is not a struct; only structs have named fields. Make it a field of one", t)
	case t.NumField() > 0 && i.known(t) == nil && !anyExported(t):
		return nil, fmt.Errorf("%v has no exported field, so encoding/json never fills it; begin the names of its fields "+
			"with capitals", t)
	case i.of == ofInput && i.known(t) != nil:
		return nil, fmt.Errorf("%v decodes itself, perhaps by a method of a type that it embeds, so its fields are not "+
			"known; make it a field of a struct, or bring an InputSchema", t)
	}
	s := i.schemaOf(t)
	if ref := s.get("$ref"); ref != nil {
		s = &schema{slices.Clone(i.defs[i.definition(t)].schema.keywords)}
	}
	if len(i.defs) > 0 {
		defs := &schema{}
		for _, d := range i.defs {
			defs.keywords = append(defs.keywords, keyword{name: d.name, sub: d.schema})
		}
		s.add(keyword{name: "$defs", sub: defs})
	}
	return s, nil
}

func anyExported(t reflect.Type) bool {
	for f := range t.Fields() {
		if f.IsExported() || f.Anonymous {
			return true
		}
	}
	return false
}

var (
	timeType         = reflect.TypeFor[time.Time]()
	durationType     = reflect.TypeFor[time.Duration]()
	durationTextType = reflect.TypeFor[Duration]()
	numberType       = reflect.TypeFor[json.Number]()
	errorType        = reflect.TypeFor[error]()
	readsText        = reflect.TypeFor[encoding.TextUnmarshaler]()
	readsJSON        = reflect.TypeFor[json.Unmarshaler]()
	writesText       = reflect.TypeFor[encoding.TextMarshaler]()
	writesJSON       = reflect.TypeFor[json.Marshaler]()
	choosesType      = reflect.TypeFor[chooser]()
)

// schemaOf returns the schema of t. A type that contains itself goes to defs.
func (i *inferrer) schemaOf(t reflect.Type) *schema {
	if t.Kind() == reflect.Pointer {
		return i.schemaOf(t.Elem())
	}
	if s := i.known(t); s != nil {
		return s
	}
	if n := i.definition(t); n >= 0 {
		return refTo(i.defs[n].name)
	}
	if t.Name() != "" && slices.Contains(i.open, t) { // a type contains itself only through one with a name
		i.defs = append(i.defs, definition{of: t, name: i.nameFor(t)})
		return refTo(i.defs[len(i.defs)-1].name)
	}
	i.open = append(i.open, t)
	s := i.compound(t)
	i.open = i.open[:len(i.open)-1]
	if n := i.definition(t); n >= 0 {
		i.defs[n].schema = s
		return refTo(i.defs[n].name)
	}
	return s
}

func (i *inferrer) compound(t reflect.Type) *schema {
	switch {
	case t.Implements(choosesType):
		return i.choice(t)
	case t.Kind() == reflect.Slice:
		return typed("array").add(keyword{name: "items", sub: i.element(t.Elem(), "[]")})
	case t.Kind() == reflect.Array:
		count := strconv.Itoa(t.Len())
		return typed("array").add(keyword{name: "items", sub: i.element(t.Elem(), "[]")},
			keyword{name: "minItems", json: count}, keyword{name: "maxItems", json: count})
	case t.Kind() == reflect.Map:
		return i.mapOf(t)
	case t.Kind() == reflect.Struct:
		return i.structOf(t)
	}
	if t == errorType && i.of == ofOutput {
		return i.fault("error has no JSON form that says anything; use its text")
	}
	return i.fault("%v has no JSON Schema; use another type, or bring an %s", t,
		map[direction]string{ofInput: "InputSchema", ofOutput: "OutputSchema"}[i.of])
}

func (i *inferrer) element(t reflect.Type, step string) *schema {
	i.path = append(i.path, step)
	s := i.schemaOf(t)
	i.path = i.path[:len(i.path)-1]
	if i.of == ofOutput && canBeNil(t) {
		s = s.orNull()
	}
	return s
}

func canBeNil(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// mapOf returns the schema of a map. Its keys are what encoding/json takes: texts, whole numbers, and what reads or
// writes itself as text.
func (i *inferrer) mapOf(t reflect.Type) *schema {
	key := t.Key()
	s := typed("object").add(keyword{name: "additionalProperties", sub: i.element(t.Elem(), "[key]")})
	switch {
	case key.Kind() == reflect.String, implements(key, i.pick(readsText, writesText)):
	case key.Kind() >= reflect.Int && key.Kind() <= reflect.Int64:
		s.add(keyword{name: "propertyNames", sub: (&schema{}).add(keyword{name: "pattern", json: `"^-?[0-9]+$"`})})
	case key.Kind() >= reflect.Uint && key.Kind() <= reflect.Uintptr:
		s.add(keyword{name: "propertyNames", sub: (&schema{}).add(keyword{name: "pattern", json: `"^[0-9]+$"`})})
	default:
		return i.fault("%v: the keys of a JSON object are texts; %v is neither a string nor a whole number, and does not "+
			"read and write itself as text", t, key)
	}
	return s
}

// known returns the schema of a type that contains no others, or nil.
func (i *inferrer) known(t reflect.Type) *schema {
	switch {
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return &schema{}
	case t.Kind() == reflect.Interface && i.of == ofOutput && t != errorType:
		return &schema{}
	case t.Kind() == reflect.Interface:
		return nil // encoding/json cannot decode into it
	case t == timeType:
		return typed("string").add(keyword{name: "format", json: `"date-time"`})
	case t == numberType:
		return typed("number")
	case t.Implements(choosesType):
		return nil
	case t == durationType:
		return typed("integer").add(keyword{name: "description", json: `"nanoseconds"`})
	case t == durationTextType:
		return typed("string").add(keyword{name: "pattern", json: quote(durationPattern)},
			keyword{name: "examples", json: `["1m30s","250ms"]`})
	case implements(t, i.pick(readsJSON, writesJSON)):
		return &schema{}
	case i.of == ofOutput && implements(t, writesText) && !t.Implements(writesText):
		return &schema{} // text only where it is addressable
	case implements(t, i.pick(readsText, writesText)):
		return typed("string")
	case isBytes(t):
		return typed("string").add(keyword{name: "contentEncoding", json: `"base64"`})
	}
	return scalar(t)
}

func (i *inferrer) pick(input, output reflect.Type) reflect.Type {
	if i.of == ofOutput {
		return output
	}
	return input
}

func implements(t, i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }

// scalar returns the schema of a scalar, or nil. Bounds that a float64 does not hold exactly are left to decoding.
func scalar(t reflect.Type) *schema {
	switch t.Kind() {
	case reflect.String:
		return typed("string")
	case reflect.Bool:
		return typed("boolean")
	case reflect.Float32, reflect.Float64:
		return typed("number")
	case reflect.Int, reflect.Int64: // as large on each platform
		return typed("integer")
	case reflect.Uint, reflect.Uint64:
		return typed("integer").add(keyword{name: "minimum", json: "0"})
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		low, high := integerRange(t)
		return typed("integer").add(keyword{name: "minimum", json: low}, keyword{name: "maximum", json: high})
	}
	return nil
}

func (i *inferrer) structOf(t reflect.Type) *schema {
	fields := i.visible(i.fields(nil, t, field{}, nil))
	properties, required := &schema{make([]keyword, 0, len(fields))}, make([]string, 0, len(fields))
	for _, f := range fields {
		depth := len(i.path)
		i.path = append(i.path, f.outer...)
		i.path = append(i.path, f.Name)
		properties.add(keyword{name: f.name, sub: i.property(f)})
		i.path = i.path[:depth]
		if f.required(i.of) {
			required = append(required, quote(f.name))
		}
	}
	s := typed("object").add(keyword{name: "properties", sub: properties})
	if len(required) > 0 {
		s.add(keyword{name: "required", json: "[" + strings.Join(required, ",") + "]"})
	}
	s.add(keyword{name: "additionalProperties", json: "false"})
	for f := range t.Fields() {
		if f.Name == "_" {
			i.aboutStruct(s, f)
		}
	}
	return s
}

func (i *inferrer) property(f field) *schema {
	s := i.tagged(i.schemaOf(f.Type), f.StructField)
	if i.of == ofOutput && canBeNil(f.Type) && !f.omitted() {
		s = s.orNull()
	}
	return s
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
