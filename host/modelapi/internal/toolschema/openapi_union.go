package toolschema

import "fmt"

// several gives one alternative for each of several types.
func (c *openapi) several(o *object, types []string, nullable bool, at string) (*object, error) {
	var options []any
	for _, kind := range types {
		sub, err := c.typed(o, kind, nullable, at)
		if err != nil {
			return nil, err
		}
		options = append(options, sub)
	}
	out := newObject()
	out.set("anyOf", options)
	return out, nil
}

// union gives anyOf, which must be the only member where it is: null becomes nullable and the description moves inside.
func (c *openapi) union(o *object, nullable bool, at string) (*object, error) {
	keyword := "anyOf"
	if !o.has(keyword) {
		keyword = "oneOf"
	}
	var options []*object
	for i, choice := range o.list(keyword) {
		if onlyNull(choice) {
			nullable = true
			continue
		}
		sub, err := c.convert(choice, fmt.Sprintf("%s/%s/%d", at, keyword, i))
		if err != nil {
			return nil, err
		}
		options = append(options, alternatives(sub)...)
	}
	return joined(options, o, nullable), nil
}

// alternatives are the members of anyOf, or the schema itself.
func alternatives(o *object) (out []*object) {
	if !o.has("anyOf") {
		return []*object{o}
	}
	for _, v := range o.list("anyOf") {
		if sub, ok := v.(*object); ok {
			out = append(out, sub)
		}
	}
	return out
}

func joined(options []*object, o *object, nullable bool) *object {
	if len(options) == 0 {
		options = []*object{head(o, "string", false)}
	}
	var list []any
	for i, sub := range options {
		if i == 0 && !sub.has("description") && o.text("description") != "" {
			sub.set("description", o.text("description"))
		}
		if nullable {
			sub.set("nullable", true)
		}
		sub.order()
		list = append(list, sub)
	}
	if len(options) == 1 {
		return options[0]
	}
	out := newObject()
	out.set("anyOf", list)
	return out
}

// onlyNull says that a schema takes null and nothing else.
func onlyNull(value any) bool {
	o, ok := value.(*object)
	if !ok {
		return false
	}
	types := kinds(o.members["type"])
	constant, fixed := o.members["const"]
	return len(types) == 1 && types[0] == "null" || fixed && constant == nil ||
		len(o.list("enum")) == 1 && o.list("enum")[0] == nil
}
