package arguments

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/sdk"
)

// mayHaveVariants is false for quoted names that have no other spelling.
func mayHaveVariants(name jsontext.Value) bool {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' || b == '\\' || b >= 0x80 {
			return true
		}
	}
	return false
}

// duplicates refuses two names in one object that differ only by letter case or Unicode normal form, where the tool
// may take one for the other: plugins in Go take "Path" for "path", so a rule and a plugin would read different
// arguments. In a map, such as an environment with both http_proxy and HTTP_PROXY, they are two names, unless the
// schema declares one of them. It expects arguments that check has accepted.
func duplicates(arguments json.RawMessage, s *Schema) *sdk.Error {
	d := jsontext.NewDecoder(bytes.NewBuffer(arguments))
	var open []*container
	for kind, raw, err := readToken(d); err == nil; kind, raw, err = readToken(d) {
		switch {
		case kind == '{' || kind == '[':
			open = append(open, &container{array: kind == '['})
		case kind == '}' || kind == ']':
			open = open[:len(open)-1]
		case raw != nil:
			in, name := open[len(open)-1], Unquote(raw)
			if other, ok := in.add(name); ok && !mayCoexist(s, open, other, name) {
				return invalidAt(d.InputOffset()-int64(len(raw)), arguments,
					"have two properties in one object, %q and %q, that differ only by letter case or the like", other, name)
			}
		}
	}
	return nil
}

// A container is an object or array that is being read.
type container struct {
	array  bool
	member string            // the one being read
	names  map[string]string // folded name to name

	node     *node // looked up when first needed
	isMap    bool
	declared map[string]bool // the names that the schema declares
	folded   map[string]bool // the same, folded
}

// add adds a member's name, and returns an earlier one that differs only by case or normal form.
func (c *container) add(name string) (other string, ok bool) {
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.member = name
	folded := fold(name)
	if other, ok = c.names[folded]; !ok {
		c.names[folded] = name
	}
	return other, ok
}

// mayCoexist reports whether two variants of a name may be in the innermost object: both are declared exactly so, or
// the object is a map and neither can be taken for a declared name.
func mayCoexist(s *Schema, open []*container, a, b string) bool {
	in := open[len(open)-1]
	if in.node == nil {
		n := s.top()
		for _, c := range open[:len(open)-1] {
			if c.array {
				n = n.item()
			} else {
				n = n.member(c.member)
			}
		}
		in.node, in.isMap, in.declared, in.folded = &n, n.isMap(), n.names(), map[string]bool{}
		for name := range in.declared {
			in.folded[fold(name)] = true
		}
	}
	return in.declared[a] && in.declared[b] || in.isMap && !in.folded[fold(a)]
}

// Misspelled refuses "Path" where the schema has "path" and allows other names too: a plugin in Go would take it for
// that, unchecked. It expects arguments that Read has returned. A schema that allows no other names refuses the name
// itself.
func (s *Schema) Misspelled(arguments json.RawMessage) *sdk.Error {
	if s.folded == nil {
		return nil
	}
	d := decoders.Get().(*jsontext.Decoder)
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	for _, _, err := readToken(d); err == nil; err = d.SkipValue() {
		_, raw, failed := readToken(d)
		if raw == nil || failed != nil {
			return nil
		}
		if s.declared[string(raw[1:len(raw)-1])] {
			continue
		}
		name := Unquote(raw)
		if meant, ok := s.folded[fold(name)]; ok && !s.declared[name] {
			return invalidAt(d.InputOffset()-int64(len(raw)), arguments, "have the unknown property %q (did you mean %q?)", name,
				meant)
		}
	}
	return nil
}

// fold maps all spellings of a name that differ only by letter case or normal form to one.
func fold(name string) string { return norm.NFD.String(strings.Map(foldLetter, norm.NFD.String(name))) }

// foldLetter returns the smallest of the letters that differ only by case, as package encoding/json does.
func foldLetter(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
