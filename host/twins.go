package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/sdk"
)

// isOdd is false for names, in their quotes, that cannot be the same as another one in other letters.
func isOdd(name jsontext.Value) bool {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' || b == '\\' || b >= 0x80 {
			return true
		}
	}
	return false
}

// twins refuses two names in one object that differ only by letter case or Unicode normal form, where the tool may take one
// for the other: plugins in Go take "Path" for "path", so a rule and a plugin would read different arguments. In a map, such
// as an environment with both http_proxy and HTTP_PROXY, they are two names, unless the schema declares one of them. Only odd
// names can have twins.
func twins(arguments json.RawMessage, odd bool, of *argumentSchema) *sdk.Error {
	if !odd || of == nil {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(arguments))
	var open []*openValue
	for kind, raw, err := readToken(d); err == nil; kind, raw, err = readToken(d) { // it was all read once before
		switch {
		case kind == '{' || kind == '[':
			open = append(open, &openValue{list: kind == '['})
		case kind == '}' || kind == ']':
			open = open[:len(open)-1]
		case raw != nil:
			in, name := open[len(open)-1], unquoted(raw)
			if twin, ok := in.add(name); ok && !legalTwins(of, open, twin, name) {
				return badAt(d.InputOffset()-int64(len(raw)), arguments,
					"have two properties in one object, %q and %q, that differ only by letter case or the like", twin, name)
			}
		}
	}
	return nil
}

// An openValue is an object or array that is being read.
type openValue struct {
	list   bool
	member string            // the one that is being read
	names  map[string]string // folded name to name

	place *schemaPlace // when it was asked for
	isMap bool
	known map[string]bool // the names that the schema declares, exact and folded
}

// add takes a member's name, and gives its twin if there is one.
func (o *openValue) add(name string) (twin string, ok bool) {
	if o.names == nil {
		o.names = map[string]string{}
	}
	o.member = name
	folded := fold(name)
	if twin, ok = o.names[folded]; !ok {
		o.names[folded] = name
	}
	return twin, ok
}

// legalTwins says whether two twins may stand in the innermost object: both are declared as they stand, or the object is a
// map and neither can be taken for what is declared.
func legalTwins(of *argumentSchema, open []*openValue, a, b string) bool {
	p, in := of.top(), open[len(open)-1]
	for _, o := range open[:len(open)-1] {
		if in.place != nil {
			break
		}
		if o.list {
			p = p.item()
		} else {
			p = p.member(o.member)
		}
	}
	if in.place == nil {
		in.place, in.isMap, in.known = &p, p.isMap(), map[string]bool{}
		for name := range p.names() {
			in.known[name], in.known["\x00"+fold(name)] = true, true
		}
	}
	return in.known[a] && in.known[b] || in.isMap && !in.known["\x00"+fold(a)]
}

func unquoted(raw jsontext.Value) string {
	name, _ := jsontext.AppendUnquote(nil, raw)
	return string(name)
}

// fold gives all spellings of a name that differ only by letter case or normal form one form.
func fold(name string) string { return norm.NFD.String(strings.Map(foldLetter, norm.NFD.String(name))) }

// foldLetter is the smallest of the letters that differ only by case, as package encoding/json has it.
func foldLetter(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
