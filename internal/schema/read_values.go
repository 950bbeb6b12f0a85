package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

func readType(_ *reader, n *node, at string, v any) error {
	words, ok := v.([]any)
	if !ok {
		words = []any{v}
	}
	for _, w := range words {
		name, _ := w.(string)
		k, known := kindNames[name]
		switch {
		case !known:
			return fault(at, "unknown type %s; known: array, boolean, integer, null, number, object, string; leave \"type\" out to allow anything", showPlain(w))
		case n.types&k != 0:
			return fault(at, "type %q is listed twice", name)
		}
		n.types |= k
		n.typeWords = append(n.typeWords, name)
	}
	if len(words) == 0 {
		return fault(at, "must name at least one type")
	}
	return nil
}

func readEnum(_ *reader, n *node, at string, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return fault(at, "must be a list of at least one value, got %s", showPlain(v))
	}
	n.enum = make([]any, len(list))
	for i, item := range list {
		n.enum[i] = plain(item)
	}
	return nil
}

func readConst(_ *reader, n *node, _ string, v any) error {
	n.constant = []any{plain(v)}
	return nil
}

// plain forgets the order of names.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		out := make(map[string]any, len(v.members))
		for name, m := range v.members {
			out[name] = plain(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

func readRequired(_ *reader, n *node, at string, v any) (err error) {
	if _, ok := v.(bool); ok {
		return fault(at, "must be a list of property names, got %s; write the name into \"required\" of the schema around it", show(v))
	}
	n.required, err = names(at, v)
	return err
}

func names(at string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fault(at, "must be a list of property names, got %s", showPlain(v))
	}
	var out []string
	for _, item := range list {
		name, ok := item.(string)
		switch {
		case !ok:
			return nil, fault(at, "must be a list of property names, but has %s in it", showPlain(item))
		case slices.Contains(out, name):
			return nil, fault(at, "property %s is listed twice", quote(name))
		}
		out = append(out, name)
	}
	return out, nil
}

func readUnique(_ *reader, n *node, at string, v any) error {
	unique, ok := v.(bool)
	if !ok {
		return fault(at, "must be true or false, got %s", showPlain(v))
	}
	n.uniqueItems = unique
	return nil
}

// count reads a number of things. Above what any document can hold, all are the same.
func count(at string, v any) (*int, error) {
	const most = 1 << 30
	n, ok := v.(json.Number)
	if !ok || !isInteger(n) || rational(n).Sign() < 0 {
		return nil, fault(at, "must be a whole number of at least 0, got %s", showPlain(v))
	}
	whole := rational(n).Num()
	if !whole.IsInt64() || whole.Int64() > most {
		return new(most), nil
	}
	return new(int(whole.Int64())), nil
}

func readBound(at string, v any) (*bound, error) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, fault(at, "must be a number, got %s%s", showPlain(v), boundHint(v))
	}
	b := &bound{text: n, exact: rational(n)}
	if strings.HasSuffix(at, "/multipleOf") && b.exact.Sign() <= 0 {
		return nil, fault(at, "must be more than 0, got %s", n)
	}
	return b, nil
}

func boundHint(v any) string {
	if _, ok := v.(bool); ok {
		return "; the boolean form is draft-04 and needs \"$schema\": \"http://json-schema.org/draft-04/schema#\""
	}
	return ""
}

// showPlain is show for a value of the schema itself.
func showPlain(v any) string {
	switch v := v.(type) {
	case *object:
		return "object"
	case []any:
		if len(v) == 0 {
			return "an empty array"
		}
	}
	return show(v)
}
