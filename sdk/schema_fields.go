package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A field is one that encoding/json fills, with its name in JSON.
type field struct {
	reflect.StructField
	name     string
	options  []string
	outer    []string // names of the embedded structs that it is in
	optional bool     // it is in an embedded pointer
}

func (f *field) omitted() bool {
	return slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero")
}

func (f *field) required(of direction) bool {
	return !f.optional && !f.omitted() && (of == ofOutput || f.Type.Kind() != reflect.Pointer)
}

// fields appends the fields of t and of the structs that it embeds. Around are the structs that t is embedded in.
func (i *inferrer) fields(out []field, t reflect.Type, in field, around []reflect.Type) []field {
	around = append(around, t)
	if out == nil {
		out = make([]field, 0, t.NumField())
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := pointed(f.Type)
		switch {
		case tag == "-", f.Name == "_":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct && i.known(inner) == nil &&
			!inner.Implements(choosesType):
			if err := mayEmbed(f, inner, around); err != nil {
				i.faultAt(f.Name, err)
				continue
			}
			out = i.fields(out, inner, field{outer: append(slices.Clip(in.outer), f.Name),
				optional: in.optional || inner != f.Type}, around)
		case !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct):
			if err := hiddenField(f); err != nil {
				i.faultAt(f.Name, err)
			}
		default:
			found := field{StructField: f, name: cmp.Or(name, f.Name), outer: in.outer, optional: in.optional}
			if options != "" {
				found.options = strings.Split(options, ",")
			}
			if err := found.checkName(); err != nil {
				i.faultAt(f.Name, err)
				continue
			}
			out = append(out, found)
		}
	}
	return out
}

func (i *inferrer) faultAt(name string, err error) {
	i.path = append(i.path, name)
	i.fault("%w", err)
	i.path = i.path[:len(i.path)-1]
}

func mayEmbed(f reflect.StructField, inner reflect.Type, around []reflect.Type) error {
	switch {
	case inner != f.Type && !f.IsExported():
		return errors.New("encoding/json cannot fill an embedded pointer to an unexported struct")
	case slices.Contains(around, inner):
		return fmt.Errorf("%v embeds itself; give the field a name", inner)
	}
	return nil
}

// hiddenField refuses a field that was meant for JSON but is never filled. A field without tags is not meant for
// JSON.
func hiddenField(f reflect.StructField) error {
	names, _ := tagNames(f.Tag)
	for _, name := range names {
		if name == "json" || slices.ContainsFunc(schemaTags, func(k schemaTag) bool { return k.tag == name }) {
			return errors.New("the field has tags but is not exported, so encoding/json never fills it; begin its name with " +
				"a capital")
		}
	}
	return nil
}

func (f *field) checkName() error {
	if strings.ContainsFunc(f.name, invalidInName) {
		return fmt.Errorf("encoding/json does not accept the name %q", f.name)
	}
	for _, option := range f.options {
		switch option {
		case "omitempty", "omitzero", "":
		case "string":
			return errors.New(`the json option "string" is not supported; use a string, or leave the option out`)
		default:
			return fmt.Errorf("the json option %q is not one of omitempty and omitzero, so encoding/json ignores it; a field "+
				"without those is required", option)
		}
	}
	return nil
}

// visible leaves out the fields that others hide, as encoding/json does: of two with one name the less embedded one is
// filled. It fills none of two that are embedded equally deep, or only one with a tag, which is a mistake.
func (i *inferrer) visible(fields []field) []field {
	if len(fields) < 2 {
		return fields
	}
	least := make(map[string]int, len(fields)) // the index of the field that is filled
	for n, f := range fields {
		m, there := least[f.name]
		if !there || len(f.outer) < len(fields[m].outer) {
			least[f.name] = n
		}
	}
	if len(least) == len(fields) {
		return fields
	}
	var out []field
	for n, f := range fields {
		m := least[f.name]
		switch {
		case m == n:
			out = append(out, f)
		case len(f.outer) == len(fields[m].outer):
			i.faultAt(strings.Join(append(slices.Clone(f.outer), f.Name), "."), fmt.Errorf("two fields have the JSON name "+
				"%q; the other is %s", f.name, strings.Join(append(slices.Clone(fields[m].outer), fields[m].Name), ".")))
		}
	}
	return out
}

// invalidInName returns characters that make encoding/json silently ignore a name and use the field's.
func invalidInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && (r < ' ' || r > '~' || strings.ContainsRune("\"'`\\", r))
}
