package sdk

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A schema is a JSON object of keywords, in order.
type schema struct{ keywords []keyword }

// A keyword has a schema, a list of schemas, or any other JSON as its value.
type keyword struct {
	name string
	json string
	sub  *schema
	list []*schema
}

func typed(name string) *schema {
	return &schema{[]keyword{{name: "type", json: quote(name)}}}
}

func refTo(definition string) *schema {
	return &schema{[]keyword{{name: "$ref", json: quote("#/$defs/" + definition)}}}
}

func (s *schema) get(name string) *keyword {
	if n := slices.IndexFunc(s.keywords, func(k keyword) bool { return k.name == name }); n >= 0 {
		return &s.keywords[n]
	}
	return nil
}

// add sets keywords: in place if they are there, otherwise at the end.
func (s *schema) add(keywords ...keyword) *schema {
	for _, k := range keywords {
		if there := s.get(k.name); there != nil {
			*there = k
		} else {
			s.keywords = append(s.keywords, k)
		}
	}
	return s
}

// is reports whether the schema has this one type, and perhaps null.
func (s *schema) is(name string) bool {
	k := s.get("type")
	return k != nil && (k.json == quote(name) || k.json == nullable(quote(name)))
}

// nullable is the value of a type keyword that allows null too.
func nullable(kind string) string { return "[" + kind + `,"null"]` }

// mayBeNull reports whether the schema of one type also allows null.
func (s *schema) mayBeNull() bool {
	k := s.get("type")
	return k != nil && strings.HasPrefix(k.json, "[")
}

// orNull returns the schema of a value that may also be null.
func (s *schema) orNull() *schema {
	kind, enum := s.get("type"), s.get("enum")
	switch {
	case len(s.keywords) == 0:
		return s
	case kind == nil:
		return &schema{[]keyword{{name: "anyOf", list: []*schema{s, typed("null")}}}}
	case s.mayBeNull():
		return s
	}
	kind.json = nullable(kind.json)
	if enum != nil {
		enum.json = strings.TrimSuffix(enum.json, "]") + ",null]"
	}
	return s
}

func (s *schema) text() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

func (s *schema) write(b *strings.Builder) {
	for n, k := range s.keywords {
		b.WriteString(separator(n, '{'))
		b.WriteString(quote(k.name))
		b.WriteByte(':')
		switch {
		case k.sub != nil:
			k.sub.write(b)
		case k.list != nil:
			for m, sub := range k.list {
				b.WriteString(separator(m, '['))
				sub.write(b)
			}
			b.WriteByte(']')
		default:
			b.WriteString(k.json)
		}
	}
	if len(s.keywords) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
}

// separator stands before member n.
func separator(n int, open byte) string {
	if n == 0 {
		return string(open)
	}
	return ","
}

// definition returns the index of t in defs, or -1.
func (i *inferrer) definition(t reflect.Type) int {
	return slices.IndexFunc(i.defs, func(d definition) bool { return d.of == t })
}

// nameFor returns a name for t in defs that no other has: without packages, in characters that all vendors take.
func (i *inferrer) nameFor(t reflect.Type) string {
	if t.Implements(choosesType) {
		t = reflect.Zero(t).Interface().(chooser).interfaceType()
	}
	var b strings.Builder
	word := ""
	for _, r := range t.Name() + "\x00" {
		switch {
		case r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			word += string(r)
		case r == '.' || r == '/' || r == '-':
			word = "" // of a package's path
		default:
			if b.Len() > 0 && word != "" {
				b.WriteByte('_')
			}
			b.WriteString(word)
			word = ""
		}
	}
	base := b.String()
	base = cmp.Or(base[:min(len(base), 50)], "type") // of a name without ASCII letters
	name := base
	for n := 2; slices.ContainsFunc(i.defs, func(d definition) bool { return d.name == name }); n++ {
		name = base + strconv.Itoa(n)
	}
	return name
}
