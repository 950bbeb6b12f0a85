package toolschema

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
)

// What OpenAI's structured outputs accept, from
// https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas as of November 2026.
var (
	strictKeywords = []string{"type", "title", "description", "properties", "required", "additionalProperties", "items",
		"enum", "const", "anyOf", "$ref", "$defs", "definitions", "pattern", "format", "multipleOf", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

// strictRef matches references to the root and its definitions: the API refuses all others.
// https://github.com/dotnet/extensions/issues/6918
var strictRef = lazy.Regexp(`^#(/(\$defs|definitions)/[^/]+)?$`)

const (
	strictLevels     = 10
	strictProperties = 5000
	strictCharacters = 120_000 // of names, enum and const values
	strictValues     = 1000    // of all enums
	strictLongEnum   = 250     // values; above, the texts of one enum may have
	strictEnumText   = 15_000  // characters
)

// isStrict reports whether the schema meets all those requirements. A schema that does not is never changed until it
// does: of an optional property made nullable the model would send null, and the plugin would receive it.
func (s *schema) isStrict() bool {
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
	for _, keyword := range []string{"$defs", "definitions"} {
		if defs := o.object(keyword); defs != nil && !c.members(defs, 0) {
			return false
		}
	}
	if o.has("$ref") {
		return len(o.names) == 1 && strictRef().MatchString(o.text("$ref"))
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

// closed checks that objects require all their properties and permit no others.
func (c *strictCheck) closed(o *object, level int) bool {
	if !slices.Contains(typeNames(o), "object") {
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
	if !slices.Contains(typeNames(o), "array") {
		return !o.has("items")
	}
	return c.any(o.members["items"], level+1)
}

// choices checks anyOf, of which no two objects may begin with the same property.
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

// text checks formats, and that patterns have no look-around, which Go does not support either.
func (c *strictCheck) text(o *object) bool {
	if o.has("format") && !slices.Contains(strictFormats, o.text("format")) {
		return false
	}
	_, err := regexp.Compile(o.text("pattern"))
	return err == nil
}

// enum counts the values, each of which must have a type of the schema.
func (c *strictCheck) enum(o *object) bool {
	values := o.list("enum")
	c.values += len(values)
	if constant, ok := o.members["const"]; ok {
		values = append(slices.Clone(values), constant)
	}
	total, types := 0, typeNames(o)
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
