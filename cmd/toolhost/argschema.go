package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
)

// An argSchema is the part of a value's schema that the command line needs: enough to parse words and to describe the
// value. The host validates.
type argSchema struct {
	root  *argSchema // for references
	raw   map[string]json.RawMessage
	names []string // of the properties, in the order of the schema
}

// readSchema reads a schema; an invalid one has no content.
func readSchema(raw json.RawMessage, root *argSchema) *argSchema {
	s := &argSchema{root: root}
	_ = json.Unmarshal(raw, &s.raw) // true and false are schemas too
	if s.root == nil {
		s.root = s
	}
	for _, m := range rawjson.ObjectOf(s.raw["properties"]) {
		if !slices.Contains(s.names, m.Name) {
			s.names = append(s.names, m.Name)
		}
	}
	return s
}

// get reads a keyword.
func (s *argSchema) get(keyword string, into any) bool {
	return s.raw[keyword] != nil && json.Unmarshal(s.raw[keyword], into) == nil
}

// follow follows a local reference, a few steps at most.
func (s *argSchema) follow() *argSchema {
	for range 8 {
		var ref string
		if !s.get("$ref", &ref) || !strings.HasPrefix(ref, "#/") {
			break
		}
		at, _ := json.Marshal(s.root.raw)
		for step := range strings.SplitSeq(ref[2:], "/") {
			var members map[string]json.RawMessage
			if json.Unmarshal(at, &members) != nil {
				return s
			}
			at = members[textutil.UnescapePointer(step)]
		}
		s = readSchema(at, s.root)
	}
	return s
}

// alternatives are the schemas one of which a value must match: the schema itself, when it has none, or describes the
// value beside them.
func (s *argSchema) alternatives() []*argSchema {
	s = s.follow()
	var kind string
	described := s.raw["type"] != nil && (!s.get("type", &kind) || kind != "object" || len(s.names) > 0)
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var all []json.RawMessage
		if s.get(keyword, &all) && len(all) > 0 && !described {
			var out []*argSchema
			for _, raw := range all {
				out = append(out, readSchema(raw, s.root).follow())
			}
			return out
		}
	}
	return []*argSchema{s}
}

// types are the types that the value may have, nil for any.
func (s *argSchema) types() (out []string) {
	for _, a := range s.alternatives() {
		var one string
		var several []string
		switch {
		case a.get("type", &one):
			out = append(out, one)
		case a.get("type", &several):
			out = append(out, several...)
		case len(a.names) > 0:
			out = append(out, "object")
		case a.raw["enum"] != nil || a.raw["const"] != nil:
			for _, v := range a.values() {
				kind := rawjson.Kind(v)
				out = append(out, kind[strings.LastIndexByte(kind, ' ')+1:]) // without an article
			}
		default:
			return nil
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values are those of enum or const, as JSON.
func (s *argSchema) values() (out []json.RawMessage) {
	if s.get("enum", &out) {
		return out
	}
	if one := s.raw["const"]; one != nil {
		return []json.RawMessage{one}
	}
	return nil
}

// takes reports whether the value may have a type.
func (s *argSchema) takes(kind string) bool {
	types := s.types()
	return types == nil || slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number")
}

// property is the schema of a member, nil when the object has none of that name and takes no others.
func (s *argSchema) property(name string) *argSchema {
	open := false
	for _, a := range s.alternatives() {
		var members map[string]json.RawMessage
		if a.get("properties", &members) && members[name] != nil {
			return readSchema(members[name], s.root)
		}
		var more bool
		switch {
		case a.raw["additionalProperties"] == nil:
			open = open || a.takes("object")
		case a.get("additionalProperties", &more):
			open = open || more
		default:
			return readSchema(a.raw["additionalProperties"], s.root)
		}
	}
	if !open {
		return nil
	}
	return readSchema(nil, s.root)
}

// properties are the names of the members that the schema lists.
func (s *argSchema) properties() (out []string) {
	for _, a := range s.alternatives() {
		out = append(out, a.names...)
	}
	return out
}

// items is the schema of the items of an array.
func (s *argSchema) items() *argSchema {
	for _, a := range s.alternatives() {
		if a.raw["items"] != nil {
			return readSchema(a.raw["items"], s.root)
		}
	}
	return readSchema(nil, s.root)
}

// required are the names of required members.
func (s *argSchema) required() (out []string) {
	s.follow().get("required", &out)
	return out
}

// describe describes the value in a few words, such as "list of strings" or "integer, 1 to 100".
func (s *argSchema) describe() string {
	var words []string
	for _, a := range s.alternatives() {
		words = append(words, a.describeOne())
	}
	words = slices.Compact(slices.DeleteFunc(words, func(w string) bool { return w == "null" && len(words) > 1 }))
	return strings.Join(words, " or ")
}

// facts describes a member, and whether it is required.
func (s *argSchema) facts(name string) string {
	facts := s.property(name).describe()
	if slices.Contains(s.required(), name) {
		facts += "; required"
	}
	return facts
}

// noun is describe for a sentence, such as "an integer, at least 1".
func (s *argSchema) noun() string {
	words := s.describe()
	switch {
	case len(s.alternatives()[0].values()) > 0, words == "", words == "anything", words == "null":
		return words
	case strings.ContainsAny(words[:1], "aio"):
		return "an " + words
	}
	return "a " + words
}

// limit chooses the words for a limit, which a flag makes exclusive in draft 4 and OpenAPI 3.0.
func (s *argSchema) limit(flag, inclusive, exclusive string) string {
	if string(s.raw[flag]) == "true" {
		return exclusive
	}
	return inclusive
}

func isFlag(raw json.RawMessage) bool { return string(raw) == "true" || string(raw) == "false" }

func (s *argSchema) describeOne() string {
	if values := s.values(); len(values) > 0 {
		var words []string
		for _, v := range values {
			words = append(words, string(v))
		}
		return textutil.List(words[:min(len(words), 12)], "or")
	}
	types := s.types()
	kind := textutil.List(slices.DeleteFunc(slices.Clone(types),
		func(t string) bool { return t == "null" && len(types) > 1 }), "or")
	if kind == "array" {
		kind = "list"
		if items := s.items().describe(); items != "anything" {
			kind = "list of " + items
		}
	}
	kind = cmp.Or(kind, "anything")
	for _, k := range []struct{ keyword, words string }{
		{"format", "as %s"}, {"minimum", s.limit("exclusiveMinimum", "at least %s", "more than %s")},
		{"exclusiveMinimum", "more than %s"}, {"maximum", s.limit("exclusiveMaximum", "at most %s", "less than %s")},
		{"exclusiveMaximum", "less than %s"}, {"minLength", "at least %s characters"}, {"maxLength",
			"at most %s characters"}, {"pattern", "matching %s"},
		{"minItems", "at least %s items"}, {"maxItems", "at most %s items"},
	} {
		if raw := s.raw[k.keyword]; raw != nil && !isFlag(raw) {
			words := ", " + fmt.Sprintf(k.words, strings.Trim(string(raw), `"`))
			if string(raw) == "1" {
				words = strings.TrimSuffix(words, "s") // 1 item, 1 character
			}
			kind += words
		}
	}
	return kind
}
