package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// OneOf is a value of one of the types that RegisterOneOf gives to the interface T, for fields of arguments and
// results. In JSON it is the object of that type with one member more, the discriminator, which names the type. It is
// null when Value is nil.
type OneOf[T any] struct{ Value T }

// RegisterOneOf declares which types a OneOf[T] holds, by the names that they have in JSON as the value of the member
// discriminator. They are structs or pointers to structs, which are also what is decoded:
//
//	type shape interface{ area() float64 }
//
//	sdk.RegisterOneOf("kind", map[string]shape{"circle": circle{}, "square": square{}})
//
// A field of the type sdk.OneOf[shape] then takes {"kind":"circle","radius":1}, and its Value is a circle. Call it once
// for an interface, before tools are added. It panics when a type cannot be used.
func RegisterOneOf[T any](discriminator string, variants map[string]T) {
	types := make(map[string]reflect.Type, len(variants))
	for name, v := range variants {
		types[name] = reflect.TypeOf(v)
	}
	if err := register(reflect.TypeFor[T](), discriminator, types); err != nil {
		panic("sdk: RegisterOneOf: " + err.Error())
	}
}

// unions are those of RegisterOneOf: by interface type, a *union.
var unions sync.Map

// A union is the types that stand for an interface in JSON.
type union struct {
	discriminator string
	names         []string // sorted
	types         map[string]reflect.Type
}

func register(t reflect.Type, discriminator string, types map[string]reflect.Type) error {
	switch {
	case t.Kind() != reflect.Interface:
		return fmt.Errorf("%v is not an interface; name one in the type of the map, as in map[string]shape{…}", t)
	case discriminator == "" || strings.ContainsFunc(discriminator, invalidInName):
		return fmt.Errorf("the discriminator %q is not a name; use one such as kind", discriminator)
	case len(types) == 0:
		return fmt.Errorf("%v has no types", t)
	}
	u := &union{discriminator: discriminator, names: slices.Sorted(maps.Keys(types)), types: types}
	byType := map[reflect.Type]string{}
	for _, name := range u.names {
		if err := u.check(name, types[name], byType); err != nil {
			return fmt.Errorf("%v: %q: %w", t, name, err)
		}
	}
	if _, twice := unions.LoadOrStore(t, u); twice {
		return fmt.Errorf("%v is registered twice; register all its types in one call", t)
	}
	return nil
}

func (u *union) check(name string, t reflect.Type, byType map[reflect.Type]string) error {
	switch {
	case name == "":
		return errors.New("it needs a name")
	case t == nil:
		return errors.New("the value is nil; give a value of the type, such as circle{}")
	case pointed(t).Kind() != reflect.Struct:
		return fmt.Errorf("%v is not a struct, nor a pointer to one", t)
	case slices.ContainsFunc([]reflect.Type{readsJSON, readsText, writesJSON, writesText},
		func(i reflect.Type) bool { return implements(pointed(t), i) }):
		return fmt.Errorf("%v has methods of encoding/json of its own, which know nothing of the discriminator", t)
	case byType[pointed(t)] != "":
		return fmt.Errorf("%v is %q already; each name needs a type of its own", t, byType[pointed(t)])
	}
	byType[pointed(t)] = name
	return nil
}

// unionOf returns the union of an interface type, or an error that says how to declare it.
func unionOf(t reflect.Type) (*union, error) {
	if u, ok := unions.Load(t); ok {
		return u.(*union), nil
	}
	return nil, fmt.Errorf("no types are registered for %v; call sdk.RegisterOneOf with them before sdk.AddTool", t)
}

// A chooser is a OneOf of any interface.
type chooser interface{ interfaceType() reflect.Type }

func (OneOf[T]) interfaceType() reflect.Type { return reflect.TypeFor[T]() }

// UnmarshalJSON decodes the type that the discriminator names. It refuses unknown members.
func (o *OneOf[T]) UnmarshalJSON(data []byte) error {
	value, err := decodeOneOf(reflect.TypeFor[T](), data)
	if err != nil || value == nil {
		var none T
		o.Value = none
		return err
	}
	o.Value = value.(T) //nolint:forcetypeassert // RegisterOneOf takes only what implements T
	return nil
}

func decodeOneOf(of reflect.Type, data []byte) (any, error) {
	u, err := unionOf(of)
	if err != nil || string(data) == "null" {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil, fmt.Errorf("must be an object with a member %q", u.discriminator)
	}
	var name string
	if err := json.Unmarshal(members[u.discriminator], &name); err != nil || u.types[name] == nil {
		return nil, fmt.Errorf("%q must be one of %s", u.discriminator, strings.Join(u.names, ", "))
	}
	delete(members, u.discriminator)
	if data, err = json.Marshal(members); err != nil {
		return nil, err
	}
	t := u.types[name]
	value := reflect.New(pointed(t))
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err = decodeRewritten(data, value.Interface(), d.Decode(value.Interface())); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.Kind() == reflect.Pointer {
		return value.Interface(), nil
	}
	return value.Elem().Interface(), nil
}

// MarshalJSON writes the value with its discriminator first.
func (o OneOf[T]) MarshalJSON() ([]byte, error) {
	return encodeOneOf(reflect.TypeFor[T](), any(o.Value))
}

func encodeOneOf(of reflect.Type, value any) ([]byte, error) {
	u, err := unionOf(of)
	v := reflect.ValueOf(value)
	if err != nil || !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return []byte("null"), err
	}
	for _, name := range u.names {
		if pointed(u.types[name]) != pointed(v.Type()) {
			continue
		}
		object, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		head := `{` + quote(u.discriminator) + `:` + quote(name)
		if string(object) != "{}" {
			head += ","
		}
		return append([]byte(head), object[1:]...), nil
	}
	return nil, fmt.Errorf("%T is not one of the types that sdk.RegisterOneOf has for %v", value, of)
}

// choice returns the schema of a OneOf: the object of each type, with the discriminator as its first member.
func (i *inferrer) choice(t reflect.Type) *schema {
	if !strings.HasPrefix(t.Name(), "OneOf[") || t.PkgPath() != durationTextType.PkgPath() {
		return i.fault("%v embeds a sdk.OneOf, whose JSON replaces that of the whole struct; give that field a name", t)
	}
	u, err := unionOf(reflect.Zero(t).Interface().(chooser).interfaceType())
	if err != nil {
		return i.fault("%w", err)
	}
	out := keyword{name: "oneOf"}
	for _, name := range u.names {
		variant := pointed(u.types[name])
		i.path = append(i.path, "("+variant.String()+")")
		s := i.structOf(variant)
		if s.get("properties").sub.get(u.discriminator) != nil {
			i.fault("the JSON name %q is that of the discriminator; rename the field", u.discriminator)
		}
		i.path = i.path[:len(i.path)-1]
		s.first(u.discriminator, typed("string").add(keyword{name: "const", json: quote(name)}))
		out.list = append(out.list, s)
	}
	return (&schema{}).add(out)
}

// first adds a required property before the others of an object.
func (s *schema) first(name string, property *schema) {
	properties := s.get("properties").sub
	properties.keywords = append([]keyword{{name: name, sub: property}}, properties.keywords...)
	names := quote(name)
	if r := s.get("required"); r != nil {
		names += "," + strings.Trim(r.json, "[]")
	}
	s.add(keyword{name: "required", json: "[" + names + "]"})
}
