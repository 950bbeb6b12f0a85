package toolschema

import "slices"

// Limits. A schema that a host has taken is far below the first two.
const (
	maxSize  = 256 << 10 // bytes
	maxDepth = 64        // nested objects and arrays
	maxSteps = 4000      // schemas visited while references are followed
	maxBytes = 256 << 10 // of the texts of a schema written out with its references inlined
)

// An object is a JSON object whose members keep their order. The other JSON values are []any, string, bool, nil and
// jsontext.Value for numbers as they were written.
type object struct {
	names   []string
	members map[string]any
}

func newObject() *object { return &object{members: map[string]any{}} }

func (o *object) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// set gives a member its value, in its place or at the end.
func (o *object) set(name string, value any) {
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.members[name] = value
}

// lead makes a member the first.
func (o *object) lead(name string, value any) {
	o.drop(name)
	o.names = slices.Insert(o.names, 0, name)
	o.members[name] = value
}

func (o *object) drop(names ...string) {
	for _, name := range names {
		if o.has(name) {
			delete(o.members, name)
			o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
		}
	}
}

func (o *object) object(name string) *object {
	sub, _ := o.members[name].(*object)
	return sub
}

func (o *object) list(name string) []any {
	list, _ := o.members[name].([]any)
	return list
}

func (o *object) text(name string) string {
	text, _ := o.members[name].(string)
	return text
}

// strings are the texts of a list, such as of required.
func (o *object) strings(name string) (out []string) {
	for _, v := range o.list(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (o *object) clone() *object {
	out := newObject()
	for _, name := range o.names {
		out.set(name, o.members[name])
	}
	return out
}
