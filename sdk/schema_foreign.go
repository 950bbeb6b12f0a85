package sdk

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const describes = `jsonschema:"…"`

// otherTags are tags of other libraries, with what to write instead.
var otherTags = map[string]string{
	"description": describes, "desc": describes, "doc": describes, "help": describes, "jsonschema_description": describes,
	"jsonschema_extras": "tags with the names of the keywords",
	"required":          "no tag: a field is required unless it is a pointer or has omitempty or omitzero",
	"optional":          `omitempty in the json tag, as in json:"name,omitempty"`,
	"omitempty":         `omitempty in the json tag, as in json:"name,omitempty"`,
	"nullable":          `omitempty in the json tag, as in json:"name,omitempty"`,
	"example":           `examples:"…|…"`,
	"enums":             `enum:"…|…"`,
	"choices":           `enum:"…|…"`,
	"const":             `enum:"…" with one value`,
	"oneof":             `enum:"…|…", or the type sdk.OneOf for objects of several types`,
	"unique":            `uniqueItems:"true"`,
	"readonly":          `no tag: leave the field out of the arguments with json:"-"`,
	"writeonly":         `no tag: leave the field out of the result with json:"-"`,
}

// otherKeywords are keywords in a jsonschema tag of github.com/invopop/jsonschema, with the tags that mean the same
// here.
var otherKeywords = map[string]string{
	"title": "title", "description": "jsonschema", "minimum": "minimum", "maximum": "maximum",
	"exclusiveMinimum": "exclusiveMinimum", "exclusiveMaximum": "exclusiveMaximum", "multipleOf": "multipleOf",
	"minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern", "format": "format",
	"minItems": "minItems", "maxItems": "maxItems", "uniqueItems": "uniqueItems",
	"minProperties": "minProperties", "maxProperties": "maxProperties",
	"default": "default", "example": "examples", "examples": "examples", "enum": "enum", "deprecated": "deprecated",
	"nullable": "", "readOnly": "", "writeOnly": "", "type": "", "anchor": "", "oneof_type": "", "oneof_required": "",
	"oneof_ref": "", "anyof_type": "", "anyof_required": "", "anyof_ref": "",
}

// whenRequired ends the advice for a tag that said so too.
const whenRequired = "; a field without omitempty is required"

// unknownTag returns the names of a field's tags, or an error for one that would silently be ignored, though its name
// looks like a keyword.
func unknownTag(f reflect.StructField) ([]string, error) {
	names, ok := tagNames(f.Tag)
	if !ok {
		return nil, fmt.Errorf("the tag `%s` is malformed, so that Go ignores the rest of it; write key:\"value\" pairs "+
			"with one space between them", f.Tag)
	}
	if err := otherStyle(f.Tag.Get("jsonschema")); err != nil {
		return nil, err
	}
	for n, name := range names {
		if slices.Contains(names[:n], name) {
			return nil, fmt.Errorf("the tag %s is there twice, and Go ignores the second", name)
		}
		if err := unknownName(f, name, names); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// unknownName refuses one tag, unless the others of the field say the same: then it is for another library.
func unknownName(f reflect.StructField, name string, others []string) error {
	if name == "json" || slices.ContainsFunc(schemaTags, func(k schemaTag) bool { return k.tag == name }) {
		return nil
	}
	plain := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
	if name == "validate" || name == "binding" {
		return validatorStyle(f, name, others)
	}
	for _, lookup := range []string{name, plain} {
		instead, known := otherTags[lookup]
		if known && instead == describes && slices.Contains(others, "jsonschema") {
			return nil
		}
		if known {
			return fmt.Errorf("the tag %s is not used here; write %s", name, instead)
		}
	}
	if word := bound(f.Type, plain); word != "" {
		return fmt.Errorf("the tag %s is not used here; did you mean %s?", name, word)
	}
	for _, known := range schemaTags {
		if plain == strings.ToLower(known.tag) || plain == strings.ToLower(known.short()) {
			return fmt.Errorf("the tag %s is not used here; did you mean %s?", name, known.tag)
		}
	}
	return nil
}

// short is a common short form of a keyword, such as minLen and exclusiveMin.
func (k schemaTag) short() string {
	return strings.TrimSuffix(strings.TrimSuffix(k.tag, "gth"), "imum")
}

// bound returns the keyword for min or max that fits a type, or "".
func bound(t reflect.Type, word string) string {
	if word != "min" && word != "max" {
		return ""
	}
	switch pointed(t).Kind() {
	case reflect.String:
		return word + "Length"
	case reflect.Slice, reflect.Array:
		return word + "Items"
	case reflect.Map:
		return word + "Properties"
	case reflect.Struct, reflect.Interface, reflect.Bool:
		return ""
	}
	return word + "imum"
}

// tagNames returns the names of a field's tags, and whether all of them could be read.
func tagNames(tag reflect.StructTag) (out []string, ok bool) {
	for rest := strings.TrimSpace(string(tag)); rest != ""; rest = strings.TrimSpace(rest) {
		name, value, cut := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(value)
		if !cut || err != nil || name == "" || strings.ContainsAny(name, " \"") {
			return out, false
		}
		out = append(out, name)
		rest = value[len(quoted):]
	}
	return out, true
}

// otherStyle says how to replace a jsonschema tag that is a list of keywords, as in another library. A text that
// begins with none of those keywords is a description.
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
	var said tagAdvice
	for _, part := range parts {
		word, value, _ := strings.Cut(part, "=")
		if tag := otherKeywords[word]; keyed(part) && tag != "" {
			said.add(tag, value)
		}
	}
	return fmt.Errorf("tag jsonschema: %q is a list of keywords, but here the whole tag is the description; write %s"+
		whenRequired, text, said.text(`jsonschema:"what the field means"`))
}

// keyed reports whether a part of a tag is a known keyword with a value.
func keyed(part string) bool {
	word, _, ok := strings.Cut(part, "=")
	_, known := otherKeywords[word]
	return ok && known
}

// A tagAdvice is the values of tags to write.
type tagAdvice map[string][]string

func (a *tagAdvice) add(tag string, values ...string) {
	if *a == nil {
		*a = tagAdvice{}
	}
	(*a)[tag] = append((*a)[tag], values...)
}

// without leaves out the tags with these names.
func (a tagAdvice) without(names []string) tagAdvice {
	for _, name := range names {
		delete(a, name)
	}
	return a
}

// text returns the tags as they stand in a struct, or none.
func (a tagAdvice) text(none string) string {
	var out []string
	for _, k := range schemaTags {
		if values := a[k.tag]; len(values) > 0 {
			out = append(out, k.tag+":"+strconv.Quote(strings.Join(values, "|")))
		}
	}
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, " ")
}

// validatorStyle says how to replace a tag of github.com/go-playground/validator.
func validatorStyle(f reflect.StructField, name string, others []string) error {
	var said tagAdvice
	var rest []string
	t := pointed(f.Type)
	for rule := range strings.SplitSeq(f.Tag.Get(name), ",") {
		word, value, _ := strings.Cut(strings.TrimSpace(rule), "=")
		switch word {
		case "required", "omitempty", "":
		case "dive": // tags of single values hold for the elements anyway
			if t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
				t = pointed(t.Elem())
			}
		case "min", "gte":
			said.add(bound(t, "min"), value)
		case "max", "lte":
			said.add(bound(t, "max"), value)
		case "gt", "lt":
			said.add(map[string]string{"gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}[word], value)
		case "len":
			said.add(bound(t, "min"), value)
			said.add(bound(t, "max"), value)
		case "oneof":
			said.add("enum", strings.Fields(value)...)
		case "unique":
			said.add("uniqueItems", "true")
		case "email", "hostname", "ipv4", "ipv6", "uri", "uuid":
			said.add("format", word)
		case "url":
			said.add("format", "uri")
		default:
			rest = append(rest, word)
		}
	}
	said = said.without(others)
	if said != nil && len(said) == 0 {
		return nil
	}
	advice := fmt.Sprintf("the tag %s is of another library, and neither host nor sdk reads it; write %s"+whenRequired,
		name, said.text("no tag"))
	if len(rest) > 0 {
		advice += "; check " + strings.Join(rest, ", ") + " in the handler, or with pattern"
	}
	return errors.New(advice)
}
