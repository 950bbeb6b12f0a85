package toolschema

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// What OpenAI's structured outputs take, from
// https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas as of November 2026.
var (
	strictKeywords = []string{"type", "title", "description", "properties", "required", "additionalProperties", "items",
		"enum",
		"const", "anyOf", "$ref", "$defs", "definitions", "pattern", "format", "multipleOf", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

// strictRef is for the root and what is defined there: the API refuses a reference to anything else.
// https://github.com/dotnet/extensions/issues/6918
var strictRef = regexp.MustCompile(`^#(/(\$defs|definitions)/[^/]+)?$`)

const (
	strictLevels     = 10
	strictProperties = 5000
	strictCharacters = 120_000 // of names, enum and const values
	strictValues     = 1000    // of all enums
	strictLongEnum   = 250     // values; above, the texts of one enum may have
	strictEnumText   = 15_000  // characters
)

// strict says that the schema keeps all those rules. A schema that does not is never rewritten until it does: an
// optional property made nullable would have the model send null, and the plugin receive it.
func (s *schema) strict() bool {
	c := strictCheck{schema: s}
	return c.object(s.root, 0) && c.properties <= strictProperties && c.values <= strictValues &&
		c.characters <= strictCharacters
}

type strictCheck struct {
	schema                         *schema
	properties, values, characters int
}

func (c *strictCheck) any(value any, level int) bool {
	o, ok := value.(*object)
	return ok && c.object(o, level)
}

func (c *strictCheck) object(o *object, level int) bool {
	if level > strictLevels ||
		slices.ContainsFunc(o.names, func(n string) bool { return !slices.Contains(strictKeywords, n) }) {
		return false
	}
	for _, shared := range []string{"$defs", "definitions"} {
		if defs := o.object(shared); defs != nil && !c.members(defs, 0) {
			return false
		}
	}
	if o.has("$ref") {
		return len(o.names) == 1 && strictRef.MatchString(o.text("$ref"))
	}
	if !o.has("anyOf") && !o.has("type") {
		return false
	}
	return c.closed(o, level) && c.array(o, level) && c.choices(o, level) && c.text(o) && c.enum(o)
}

// members checks the schemas of properties or definitions, and counts their names.
func (c *strictCheck) members(of *object, level int) bool {
	for _, name := range of.names {
		c.characters += utf8.RuneCountInString(name)
		if !c.any(of.members[name], level) {
			return false
		}
	}
	return true
}

// closed checks that objects require all their properties and take no others.
func (c *strictCheck) closed(o *object, level int) bool {
	if !slices.Contains(kinds(o.members["type"]), "object") {
		return !o.has("properties") && !o.has("required") && !o.has("additionalProperties")
	}
	properties, required := o.object("properties"), o.strings("required")
	if properties == nil || !o.has("required") || o.members["additionalProperties"] != false {
		return false
	}
	slices.Sort(required)
	if !slices.Equal(required, slices.Sorted(slices.Values(properties.names))) {
		return false
	}
	c.properties += len(required)
	return c.members(properties, level+1)
}

func (c *strictCheck) array(o *object, level int) bool {
	if !slices.Contains(kinds(o.members["type"]), "array") {
		return !o.has("items")
	}
	return c.any(o.members["items"], level+1)
}

// choices checks anyOf. Two objects of it must not begin with the same name.
func (c *strictCheck) choices(o *object, level int) bool {
	var first []string
	for _, choice := range o.list("anyOf") {
		if !c.any(choice, level+1) {
			return false
		}
		name := c.firstName(choice)
		if name != "" && slices.Contains(first, name) {
			return false
		}
		first = append(first, name)
	}
	return !o.has("anyOf") || len(first) > 0
}

func (c *strictCheck) firstName(choice any) string {
	o, ok := choice.(*object)
	if !ok {
		return ""
	}
	if ref, ok := o.members["$ref"].(string); ok {
		target, err := c.schema.target(ref)
		if o, ok = target.(*object); err != nil || !ok {
			return ""
		}
	}
	if properties := o.object("properties"); properties != nil && len(properties.names) > 0 {
		return properties.names[0]
	}
	return ""
}

// text checks formats, and that patterns are without the look-arounds that Go, too, does not know.
func (c *strictCheck) text(o *object) bool {
	if o.has("format") && !slices.Contains(strictFormats, o.text("format")) {
		return false
	}
	_, err := regexp.Compile(o.text("pattern"))
	return err == nil
}

// enum counts the values; each must be of a type that the schema has.
func (c *strictCheck) enum(o *object) bool {
	values := o.list("enum")
	c.values += len(values)
	if constant, ok := o.members["const"]; ok {
		values = append(slices.Clone(values), constant)
	}
	total, types := 0, kinds(o.members["type"])
	for _, v := range values {
		total += utf8.RuneCountInString(literal(v))
		kind := kindOf(v)
		if len(types) > 0 && !slices.Contains(types, kind) && !(kind == "integer" && slices.Contains(types, "number")) {
			return false
		}
	}
	c.characters += total
	return len(values) <= strictLongEnum || total <= strictEnumText
}

// literal is a string itself, or the JSON of another value.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := encode(v)
	if err != nil {
		return ""
	}
	return string(text)
}
