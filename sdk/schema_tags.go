package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A schemaTag converts the text of a field's tag to a keyword of its schema. The tag has the name of the keyword,
// except jsonschema, which is the description.
type schemaTag struct {
	tag, keyword string
	of           target
	literal      func(t reflect.Type, text string) (string, error)
}

// A target is the kind of value that a keyword constrains. On an array, keywords of strings, numbers or single values
// constrain the items.
type target int

const (
	ofField target = iota
	ofValue
	ofString
	ofNumber
	ofArray
)

// schemaTags are in the order of their keywords in a schema.
var schemaTags = []schemaTag{
	{"jsonschema", "description", ofField, description},
	{"minimum", "minimum", ofNumber, literalOf},
	{"maximum", "maximum", ofNumber, literalOf},
	{"minLength", "minLength", ofString, countOf},
	{"maxLength", "maxLength", ofString, countOf},
	{"pattern", "pattern", ofString, patternOf},
	{"format", "format", ofString, formatOf},
	{"minItems", "minItems", ofArray, countOf},
	{"maxItems", "maxItems", ofArray, countOf},
	{"default", "default", ofField, literalOf},
	{"enum", "enum", ofValue, listOf},
}

// notNegative is in the schema of an unsigned number without a minimum tag.
const notNegative = `,"minimum":0`

// tagged adds the keywords of the field's tags to its schema, a JSON object.
func tagged(schema string, f reflect.StructField) (string, error) {
	if err := unknownTag(f); err != nil {
		return "", err
	}
	t := pointed(f.Type)
	own, items := "", ""
	for _, k := range schemaTags {
		text, ok := f.Tag.Lookup(k.tag)
		if !ok {
			continue
		}
		to, inner, err := k.of.in(t)
		if err == nil {
			var literal string
			if literal, err = k.literal(to, text); err == nil {
				member := "," + quote(k.keyword) + ":" + literal
				if k.tag == "minimum" {
					schema = strings.Replace(schema, notNegative, "", 1)
				}
				if inner {
					items += member
				} else {
					own += member
				}
			}
		}
		if err != nil {
			return "", fmt.Errorf("tag %s: %w", k.tag, err)
		}
	}
	if err := contradiction(f, t); err != nil {
		return "", err
	}
	if items != "" { // the schema of an array ends with that of its items
		schema = with(strings.TrimSuffix(schema, "}"), items) + "}"
	}
	return with(schema, own), nil
}

// with adds members, each with a comma before it, to a JSON object.
func with(schema, members string) string {
	if schema == "{}" {
		members = strings.TrimPrefix(members, ",")
	}
	return strings.TrimSuffix(schema, "}") + members + "}"
}

// in returns the type that the keyword constrains: the field's, or that of its items.
func (of target) in(t reflect.Type) (to reflect.Type, items bool, err error) {
	array := (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && knownSchema(t) == ""
	if array && of != ofField && of != ofArray {
		t, items = pointed(t.Elem()), true
	}
	known := knownSchema(t)
	fits := true
	switch of {
	case ofArray:
		fits = array
	case ofNumber:
		fits = t == numberType || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
	case ofString:
		fits = strings.HasPrefix(known, `{"type":"string"`)
	case ofValue:
		fits = known != ""
	}
	if !fits {
		return nil, false, fmt.Errorf(
			"%v is not %s",
			t,
			[...]string{"", "a string, a number or a bool", "a string", "a number", "a list"}[of],
		)
	}
	return t, items, nil
}

func description(_ reflect.Type, text string) (string, error) { return quote(text), nil }

// countOf returns a whole number.
func countOf(_ reflect.Type, text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 0 || strconv.Itoa(n) != text {
		return "", fmt.Errorf("%q is not a whole number of at least 0", text)
	}
	return text, nil
}

// patternOf returns a pattern that hosts can compile: RE2, as in package regexp.
func patternOf(_ reflect.Type, text string) (string, error) {
	if _, err := regexp.Compile(text); err != nil {
		return "", err
	}
	return quote(text), nil
}

var formatName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func formatOf(_ reflect.Type, text string) (string, error) {
	if !formatName.MatchString(text) {
		return "", fmt.Errorf("%q is not the name of a format, such as date-time, email, uri or uuid", text)
	}
	return quote(text), nil
}

func listOf(t reflect.Type, text string) (string, error) {
	var out []string
	for value := range strings.SplitSeq(text, "|") {
		literal, err := literalOf(t, value)
		if err != nil {
			return "", err
		}
		if slices.Contains(out, literal) {
			return "", fmt.Errorf("%q is there twice", value)
		}
		out = append(out, literal)
	}
	return "[" + strings.Join(out, ",") + "]", nil
}

// contradiction returns an error for tags that no value can satisfy.
func contradiction(f reflect.StructField, t reflect.Type) error {
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}} {
		least, err := strconv.ParseFloat(f.Tag.Get(pair[0]), 64)
		most, failed := strconv.ParseFloat(f.Tag.Get(pair[1]), 64)
		if err == nil && failed == nil && least > most {
			return fmt.Errorf(
				"tag %s is %s, more than %s, which is %s",
				pair[0],
				f.Tag.Get(pair[0]),
				pair[1],
				f.Tag.Get(pair[1]),
			)
		}
	}
	standard, hasDefault := f.Tag.Lookup("default")
	enum, hasEnum := f.Tag.Lookup("enum")
	if hasDefault && hasEnum && t.Kind() != reflect.Slice && t.Kind() != reflect.Array &&
		!slices.Contains(strings.Split(enum, "|"), standard) {
		return fmt.Errorf("tag default: %q is not one of the enum, %s", standard, strings.ReplaceAll(enum, "|", ", "))
	}
	return nil
}

// literalOf returns a tag's text as JSON that a field of type t can be decoded from: unchanged, or as a string.
func literalOf(t reflect.Type, text string) (string, error) {
	verbatim := t == numberType || t.Kind() != reflect.String
	if verbatim && text != "null" && json.Unmarshal([]byte(text), reflect.New(t).Interface()) == nil {
		return text, nil
	}
	if literal := quote(text); json.Unmarshal([]byte(literal), reflect.New(t).Interface()) == nil {
		return literal, nil
	}
	return "", fmt.Errorf("%q is not %v", text, t)
}

// quote returns a JSON string.
func quote(s string) string { return string(Encode(s)) }

// otherTags are tags of other libraries, with what to write instead.
var otherTags = map[string]string{
	"description": `jsonschema:"…"`, "desc": `jsonschema:"…"`, "doc": `jsonschema:"…"`,
	"jsonschema_description": `jsonschema:"…"`,
	"required":               "no tag: a field is required unless it is a pointer or has omitempty or omitzero",
	"jsonschema_extras":      "tags with the names of the keywords",
}

// otherKeywords are keywords in a jsonschema tag of github.com/invopop/jsonschema, with the tags that mean the same
// here.
var otherKeywords = map[string]string{
	"description": "jsonschema", "title": "jsonschema", "minimum": "minimum", "maximum": "maximum",
	"minLength": "minLength", "maxLength": "maxLength",
	"pattern": "pattern", "format": "format", "minItems": "minItems", "maxItems": "maxItems", "default": "default",
	"enum":             "enum",
	"exclusiveMinimum": "", "exclusiveMaximum": "", "multipleOf": "", "uniqueItems": "", "example": "", "examples": "",
	"nullable": "", "readOnly": "",
	"writeOnly": "", "type": "", "anchor": "", "oneof_type": "", "oneof_required": "", "oneof_ref": "", "anyof_type": "",
	"anyof_required": "",
}

// unknownTag returns an error for a tag that would silently be ignored, though its name looks like a keyword.
func unknownTag(f reflect.StructField) error {
	if err := otherStyle(f.Tag.Get("jsonschema")); err != nil {
		return err
	}
	for name, instead := range otherTags {
		if _, there := f.Tag.Lookup(name); there {
			return fmt.Errorf("the tag %s is not used here; write %s", name, instead)
		}
	}
	for _, name := range tagNames(f.Tag) {
		plain := strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", "")
		for _, known := range schemaTags {
			if name != known.tag && (strings.EqualFold(plain, known.tag) || strings.EqualFold(plain, known.short())) {
				return fmt.Errorf("the tag %s is not used here; did you mean %s?", name, known.tag)
			}
		}
	}
	return nil
}

// short is a common short form of a length keyword, such as minLen.
func (k schemaTag) short() string { return strings.TrimSuffix(k.tag, "gth") }

// tagNames returns the names of a field's tags.
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
	said := map[string][]string{}
	for _, part := range parts {
		word, value, _ := strings.Cut(part, "=")
		if tag := otherKeywords[word]; keyed(part) && tag != "" {
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
	return fmt.Errorf(
		"tag jsonschema: %q is a list of keywords, but here the whole tag is the description; write %s; a field without "+
			"omitempty is required",
		text,
		strings.Join(meant, " "),
	)
}

// keyed reports whether a part of a tag is a known keyword with a value.
func keyed(part string) bool {
	word, _, ok := strings.Cut(part, "=")
	_, known := otherKeywords[word]
	return ok && known
}
