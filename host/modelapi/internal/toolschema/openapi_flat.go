package toolschema

import (
	"fmt"
	"slices"
)

// flat puts a reference's target and the parts of allOf into the schema itself. Of two values for one keyword the outer
// one is kept.
func (c *openapi) flat(o *object, entered *[]string) (*object, error) {
	if err := c.step(c.depth + len(*entered)); err != nil {
		return nil, err
	}
	target, err := c.enter(o, entered)
	if err != nil {
		return nil, err
	}
	parts := append(slices.Clone(o.list("allOf")), target)
	if len(parts) == 1 && target == nil {
		return o, nil
	}
	out := o.clone()
	out.drop("$ref", "allOf")
	for _, part := range parts {
		sub, ok := part.(*object)
		if !ok {
			continue
		}
		sub, err := c.flat(sub, entered)
		if err != nil {
			return nil, err
		}
		merge(out, sub)
	}
	return out, nil
}

// enter gives what a schema refers to, or nil. What it referred to for the same value before adds nothing.
func (c *openapi) enter(o *object, entered *[]string) (any, error) {
	ref, ok := o.members["$ref"].(string)
	switch {
	case !ok || slices.Contains(*entered, ref):
		return nil, nil
	case c.active[ref]:
		return nil, fmt.Errorf("the reference %.100q leads back to itself, which this format cannot say, but the format "+
			"gemini", ref)
	}
	c.active[ref] = true
	*entered = append(*entered, ref)
	return c.target(ref)
}

func (c *openapi) leave(entered []string) {
	for _, ref := range entered {
		delete(c.active, ref)
	}
}

// merge adds to a schema what another one for the same value says.
func merge(into, from *object) {
	f := fields{schemas: map[string]any{}}
	for _, o := range []*object{into, from} {
		g := fields{schemas: map[string]any{}, required: o.strings("required")}
		if p := o.object("properties"); p != nil {
			g.names, g.schemas = p.names, p.members
		}
		f.add(g)
	}
	for _, name := range from.names {
		if !into.has(name) {
			into.set(name, from.members[name])
		}
	}
	if len(f.names) > 0 {
		into.set("properties", f.properties())
	}
	if len(f.required) > 0 {
		into.set("required", f.requiredList())
	}
}
