package sdk

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// inferSchema returns the JSON Schema (2020-12) of a Go struct. Errors begin with subject, which is what the schema
// is for. The output depends on the type alone, field by field in the order of the source, so that it is the same in
// every build.
func inferSchema[T any](subject string) (json.RawMessage, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s: %v is not a struct; only structs have named fields", subject, t)
	}
	s, err := schemaOf(t, nil)
	if err == nil && t.NumField() > 0 && knownSchema(t) == "" && !anyExported(t) {
		err = fmt.Errorf(
			"%v has no exported field, so encoding/json never fills it; begin the names of its fields with capitals",
			t,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject, err)
	}
	return json.RawMessage(s), nil
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
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
	textType   = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType   = reflect.TypeFor[json.Unmarshaler]()
)

// schemaOf returns the schema of t. Parents are the enclosing types: a recursive type has no finite schema.
func schemaOf(t reflect.Type, parents []reflect.Type) (string, error) {
	if s := knownSchema(t); s != "" {
		return s, nil
	}
	if slices.Contains(parents, t) {
		return "", fmt.Errorf("%v contains itself; use json.RawMessage there, or bring an InputSchema", t)
	}
	parents = append(parents, t)
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), parents)
	case reflect.Slice, reflect.Array:
		return wrapped(`{"type":"array","items":`, t.Elem(), parents)
	case reflect.Map:
		return mapSchema(t, parents)
	case reflect.Struct:
		var o object
		err := o.addFields(t, parents)
		return o.schema(), err
	}
	return "", fmt.Errorf("%v has no JSON Schema; use another type, or bring an InputSchema", t)
}

// knownSchema returns the schema of a type that contains no others, or "". It describes what the type decodes from.
func knownSchema(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return "" // encoding/json cannot decode into it
	case t.Kind() == reflect.Interface:
		return `{}`
	case t == timeType:
		return `{"type":"string","format":"date-time"}`
	case t == numberType:
		return `{"type":"number"}`
	case implements(t, jsonType):
		return `{}`
	case implements(t, textType):
		return `{"type":"string"}`
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return `{"type":"string","contentEncoding":"base64"}`
	}
	return scalarSchema(t.Kind())
}

func implements(t, i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }

func scalarSchema(k reflect.Kind) string {
	switch {
	case k == reflect.String:
		return `{"type":"string"}`
	case k == reflect.Bool:
		return `{"type":"boolean"}`
	case k >= reflect.Int && k <= reflect.Int64:
		return `{"type":"integer"}`
	case k >= reflect.Uint && k <= reflect.Uint64:
		return `{"type":"integer"` + notNegative + `}`
	case k == reflect.Float32 || k == reflect.Float64:
		return `{"type":"number"}`
	}
	return ""
}

func wrapped(head string, inner reflect.Type, parents []reflect.Type) (string, error) {
	s, err := schemaOf(inner, parents)
	return head + s + "}", err
}

func mapSchema(t reflect.Type, parents []reflect.Type) (string, error) {
	if t.Key().Kind() != reflect.String {
		return "", fmt.Errorf("%v: only maps with string keys are JSON objects", t)
	}
	return wrapped(`{"type":"object","additionalProperties":`, t.Elem(), parents)
}

// An object collects the properties of a struct, in order.
type object struct {
	names      []string
	properties []string
	required   []string
}

func (o *object) schema() string {
	out := `{"type":"object","properties":{` + strings.Join(o.properties, ",") + `}`
	if len(o.required) > 0 {
		out += `,"required":[` + strings.Join(o.required, ",") + `]`
	}
	return out + `,"additionalProperties":false}`
}

func (o *object) addFields(t reflect.Type, parents []reflect.Type) error {
	for f := range t.Fields() {
		if err := o.addField(f, parents); err != nil {
			return fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

// addField adds the fields that encoding/json fills, under its names.
func (o *object) addField(f reflect.StructField, parents []reflect.Type) error {
	tag := f.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return nil
	case f.Anonymous && name == "" && pointed(f.Type).Kind() == reflect.Struct:
		return o.embed(f, parents)
	case !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct):
		return hiddenField(f)
	}
	return o.addProperty(f, cmp.Or(name, f.Name), strings.Split(options, ","), parents)
}

// hiddenField refuses a field that was meant for JSON but is never filled. A field without tags is not meant for
// JSON.
func hiddenField(f reflect.StructField) error {
	for _, name := range tagNames(f.Tag) {
		if name == "json" || slices.ContainsFunc(schemaTags, func(k schemaTag) bool { return k.tag == name }) {
			return fmt.Errorf(
				"the field has tags but is not exported, so encoding/json never fills it; begin its name with a capital",
			)
		}
	}
	return nil
}

// embed adds the fields of an embedded struct. Those of a pointer are all optional.
func (o *object) embed(f reflect.StructField, parents []reflect.Type) error {
	t := pointed(f.Type)
	switch {
	case t != f.Type && !f.IsExported():
		return errors.New("encoding/json cannot fill an embedded pointer to an unexported struct")
	case slices.Contains(parents, t):
		return fmt.Errorf("%v contains itself; use json.RawMessage there, or bring an InputSchema", t)
	}
	before := len(o.required)
	err := o.addFields(t, append(parents, t))
	if t != f.Type {
		o.required = o.required[:before]
	}
	return err
}

func (o *object) addProperty(f reflect.StructField, name string, options []string, parents []reflect.Type) error {
	switch {
	case slices.Contains(o.names, name):
		return fmt.Errorf("two fields have the JSON name %q", name)
	case strings.ContainsFunc(name, invalidInName):
		return fmt.Errorf("encoding/json does not accept the name %q", name)
	case slices.Contains(options, "string"):
		return errors.New(`the json option "string" is not supported`)
	}
	s, err := schemaOf(f.Type, parents)
	if err != nil {
		return err
	}
	if s, err = tagged(s, f); err != nil {
		return err
	}
	o.names = append(o.names, name)
	o.properties = append(o.properties, quote(name)+":"+s)
	if f.Type.Kind() != reflect.Pointer && !slices.Contains(options, "omitempty") &&
		!slices.Contains(options, "omitzero") {
		o.required = append(o.required, quote(name))
	}
	return nil
}

// invalidInName returns characters that make encoding/json silently ignore a name and use the field's.
func invalidInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && (r < ' ' || r > '~' || strings.ContainsRune("\"'`\\", r))
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
