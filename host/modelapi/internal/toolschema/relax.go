package toolschema

import (
	"bytes"
	"cmp"
	"slices"
)

// maxOptions is how many schemas for one property are put side by side.
const maxOptions = 50

// combiners are the keywords that put a schema together from others for the same value.
var combiners = []string{"$ref", "allOf", "anyOf", "oneOf"}

// relax puts what the combiners at the root say about properties into the root itself, and leaves them out with the
// other keywords given. What is lost is which properties go together: the host still checks it.
func (s *schema) relax(also ...string) error {
	s.root.drop(also...)
	if !slices.ContainsFunc(combiners, s.root.has) {
		return nil
	}
	f, err := s.fields(s.root, 0)
	if err != nil {
		return err
	}
	s.root.drop(combiners...)
	if len(f.names) > 0 {
		s.root.set("properties", f.properties())
	}
	if len(f.required) > 0 {
		s.root.set("required", f.requiredList())
	}
	return nil
}

// fields are the properties that a schema names, wherever it does.
type fields struct {
	names    []string
	schemas  map[string]any
	required []string
}

func (f *fields) properties() *object {
	out := newObject()
	for _, name := range f.names {
		out.set(name, f.schemas[name])
	}
	return out
}

func (f *fields) requiredList() []any { return texts(f.required) }

func texts(list []string) (out []any) {
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// fields collects the properties of a schema and of the schemas that its combiners name.
func (s *schema) fields(value any, depth int) (fields, error) {
	f := fields{schemas: map[string]any{}}
	o, ok := value.(*object)
	if err := s.step(depth); err != nil || !ok {
		return f, err
	}
	if own := o.object("properties"); own != nil {
		f.names = slices.Clone(own.names)
		for _, name := range own.names {
			f.schemas[name] = own.members[name]
		}
	}
	f.required = o.strings("required")
	all := slices.Clone(o.list("allOf"))
	if ref, ok := o.members["$ref"].(string); ok {
		target, err := s.target(ref)
		if err != nil {
			return f, err
		}
		all = append(all, target)
	}
	return f, cmp.Or(s.addAll(&f, all, depth), s.addAny(&f, o.list("anyOf"), depth), s.addAny(&f, o.list("oneOf"), depth))
}

// addAll adds what holds together with f.
func (s *schema) addAll(f *fields, parts []any, depth int) error {
	for _, part := range parts {
		sub, err := s.fields(part, depth+1)
		if err != nil {
			return err
		}
		f.add(sub)
	}
	return nil
}

// addAny adds what may hold besides f: all properties of all branches, of which those are required that every branch
// requires.
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
			either.put(name, sub.schemas[name], "anyOf")
		}
	}
	f.add(either)
	return nil
}

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

func equal(a, b any) bool {
	if a, ok := a.(*object); ok && a == b {
		return true
	}
	x, err := encode(a)
	y, err2 := encode(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
