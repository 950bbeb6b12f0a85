package sdk

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// elsewhere are tags in which other libraries look for what is said by another tag here, or by none.
var elsewhere = map[string]string{
	"description": `jsonschema:"…"`, "desc": `jsonschema:"…"`, "doc": `jsonschema:"…"`, "jsonschema_description": `jsonschema:"…"`,
	"required": "no tag: a field without omitempty or omitzero that is no pointer is required", "jsonschema_extras": "tags that are called as the keywords",
}

// otherWords are the words of a jsonschema tag as github.com/invopop/jsonschema reads it, and the tags that say the same here.
var otherWords = map[string]string{
	"description": "jsonschema", "title": "jsonschema", "minimum": "minimum", "maximum": "maximum", "minLength": "minLength", "maxLength": "maxLength",
	"pattern": "pattern", "format": "format", "minItems": "minItems", "maxItems": "maxItems", "default": "default", "enum": "enum",
	"exclusiveMinimum": "", "exclusiveMaximum": "", "multipleOf": "", "uniqueItems": "", "example": "", "examples": "", "nullable": "", "readOnly": "",
	"writeOnly": "", "type": "", "anchor": "", "oneof_type": "", "oneof_required": "", "oneof_ref": "", "anyof_type": "", "anyof_required": "",
}

// strangeTag says which tag of a field would be left out without a word, though somebody has meant it.
func strangeTag(f reflect.StructField) error {
	if err := otherStyle(f.Tag.Get("jsonschema")); err != nil {
		return err
	}
	for name, instead := range elsewhere {
		if _, there := f.Tag.Lookup(name); there {
			return fmt.Errorf("the tag %s means nothing here; write %s", name, instead)
		}
	}
	for _, name := range tagNames(f.Tag) {
		for _, known := range schemaTags {
			plain := strings.NewReplacer("_", "", "-", "").Replace(name)
			if name != known.tag && (strings.EqualFold(plain, known.tag) || strings.EqualFold(plain, known.short())) {
				return fmt.Errorf("the tag %s means nothing here; did you mean %s?", name, known.tag)
			}
		}
	}
	return nil
}

// short is how a keyword of a length is often written.
func (k schemaTag) short() string { return strings.TrimSuffix(k.tag, "gth") }

// tagNames are the names of a field's tags.
func tagNames(tag reflect.StructTag) (out []string) {
	for rest := strings.TrimSpace(string(tag)); rest != ""; rest = strings.TrimSpace(rest) {
		name, value, ok := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(value)
		if !ok || err != nil {
			return out
		}
		out = append(out, name)
		rest = value[len(quoted):]
	}
	return out
}

// otherStyle says how to write a jsonschema tag that is a list of words, as another library has it. A text that begins with
// none of those words is a description.
func otherStyle(text string) error {
	parts := strings.Split(strings.ReplaceAll(text, `\,`, "\x00"), ",")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(part), "\x00", ",")
	}
	first := parts[0]
	bare := slices.Contains([]string{"required", "optional", "omitempty", "nullable", "-"}, first)
	if !keyed(first) && !(bare && (len(parts) == 1 || keyed(parts[1]))) {
		return nil
	}
	said := map[string][]string{}
	for _, part := range parts {
		word, value, _ := strings.Cut(part, "=")
		if tag := otherWords[word]; keyed(part) && tag != "" {
			said[tag] = append(said[tag], value)
		}
	}
	var meant []string
	for _, k := range schemaTags {
		if values := said[k.tag]; len(values) > 0 {
			meant = append(meant, k.tag+":"+strconv.Quote(strings.Join(values, "|")))
		}
	}
	if len(meant) == 0 {
		meant = []string{`jsonschema:"what the field means"`}
	}
	return fmt.Errorf("tag jsonschema: %q is a list of words, but here the whole tag is the description; write %s; a field without omitempty is required",
		text, strings.Join(meant, " "))
}

// keyed says whether a part of a tag is a known word with a value.
func keyed(part string) bool {
	word, _, ok := strings.Cut(part, "=")
	_, known := otherWords[word]
	return ok && known
}
