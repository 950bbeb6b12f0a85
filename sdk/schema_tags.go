package sdk

import (
	"encoding/json"
	"errors"
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

// A target is the kind of value that a keyword constrains. On a list or a map, keywords of strings, numbers or single
// values constrain the elements.
type target int

const (
	ofField target = iota
	ofValue
	ofString
	ofNumber
	ofArray
	ofMap
)

// schemaTags are in the order of their keywords in a schema.
var schemaTags = []schemaTag{
	{"title", "title", ofField, plainText},
	{"jsonschema", "description", ofField, plainText},
	{"minimum", "minimum", ofNumber, literalOf},
	{"maximum", "maximum", ofNumber, literalOf},
	{"exclusiveMinimum", "exclusiveMinimum", ofNumber, literalOf},
	{"exclusiveMaximum", "exclusiveMaximum", ofNumber, literalOf},
	{"multipleOf", "multipleOf", ofNumber, factorOf},
	{"minLength", "minLength", ofString, countOf},
	{"maxLength", "maxLength", ofString, countOf},
	{"pattern", "pattern", ofString, patternOf},
	{"format", "format", ofString, formatOf},
	{"minItems", "minItems", ofArray, countOf},
	{"maxItems", "maxItems", ofArray, countOf},
	{"uniqueItems", "uniqueItems", ofArray, truthOf},
	{"minProperties", "minProperties", ofMap, countOf},
	{"maxProperties", "maxProperties", ofMap, countOf},
	{"default", "default", ofField, literalOf},
	{"examples", "examples", ofField, listOf},
	{"enum", "enum", ofValue, listOf},
	{"deprecated", "deprecated", ofField, truthOf},
}

// tagged adds the keywords of the field's tags to its schema.
func (i *inferrer) tagged(s *schema, f reflect.StructField) *schema {
	if f.Tag == "" {
		return s
	}
	names, err := unknownTag(f)
	if err != nil {
		i.fault("%w", err)
		return s
	}
	t := pointed(f.Type)
	for _, k := range schemaTags {
		if !slices.Contains(names, k.tag) {
			continue
		}
		text := f.Tag.Get(k.tag)
		to, inner, err := k.of.in(t, s)
		if err == nil {
			var literal string
			if literal, err = k.literal(to, text); err == nil {
				if k.keyword == "enum" && inner.mayBeNull() {
					literal = strings.TrimSuffix(literal, "]") + ",null]"
				}
				inner.add(keyword{name: k.keyword, json: literal})
				i.toCheck(k, inner, literal)
			}
		}
		if err != nil {
			i.fault("tag %s: %w%s", k.tag, err, k.instead(t))
		}
	}
	if t == durationType {
		nanoseconds(s)
	}
	if len(names) > 1 {
		if err := contradiction(f); err != nil {
			i.fault("%w", err)
		}
	}
	return s
}

// nanoseconds adds what the number of a time.Duration is to a description that does not say so.
func nanoseconds(s *schema) {
	said := decoded(s.get("description").json).(string)
	if !strings.Contains(strings.ToLower(said), "nanosecond") {
		s.add(keyword{name: "description", json: quote(said + " (nanoseconds)")})
	}
}

// aboutStruct adds the tags of a field with the name _, which are about the struct.
func (i *inferrer) aboutStruct(s *schema, own reflect.StructField) {
	names, _ := tagNames(own.Tag)
	for _, name := range names {
		switch name {
		case "title":
			s.add(keyword{name: "title", json: quote(own.Tag.Get(name))})
		case "jsonschema":
			s.add(keyword{name: "description", json: quote(own.Tag.Get(name))})
		default:
			i.faultAt("_", fmt.Errorf("the tag %s is not one of title and jsonschema, which describe the struct", name))
		}
	}
}

// in returns the type that the keyword constrains, and its schema: the field's, or that of its elements.
func (of target) in(t reflect.Type, s *schema) (reflect.Type, *schema, error) {
	if of == ofField {
		return t, s, nil
	}
	if of != ofArray && of != ofMap {
		for holds := elements(s); holds != nil; holds = elements(s) {
			t, s = pointed(t.Elem()), holds
		}
	}
	fits := false
	switch of {
	case ofArray:
		fits = s.is("array")
	case ofMap:
		fits = s.is("object") && t.Kind() == reflect.Map
	case ofNumber:
		fits = s.is("integer") || s.is("number")
	case ofString:
		fits = s.is("string")
	case ofValue:
		fits = s.is("string") || s.is("integer") || s.is("number") || s.is("boolean") || len(s.keywords) == 0
	}
	if !fits {
		return nil, nil, fmt.Errorf("%v is not %s", t,
			[...]string{"", "a string, a number or a bool", "a string", "a number", "a list", "a map"}[of])
	}
	return t, s, nil
}

// elements returns the schema of the elements of a list or map, or nil.
func elements(s *schema) *schema {
	for _, name := range []string{"items", "additionalProperties"} {
		if k := s.get(name); k != nil && k.sub != nil {
			return k.sub
		}
	}
	return nil
}

func plainText(_ reflect.Type, text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("it has no text")
	}
	return quote(text), nil
}

func countOf(_ reflect.Type, text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 0 || strconv.Itoa(n) != text {
		return "", fmt.Errorf("%q is not a whole number of at least 0", text)
	}
	return text, nil
}

func truthOf(_ reflect.Type, text string) (string, error) {
	if text != "true" && text != "false" {
		return "", fmt.Errorf("%q is not true or false", text)
	}
	return text, nil
}

func factorOf(t reflect.Type, text string) (string, error) {
	literal, err := literalOf(t, text)
	if n, bad := strconv.ParseFloat(literal, 64); err == nil && (bad != nil || n <= 0) {
		return "", fmt.Errorf("%q is not more than 0", text)
	}
	return literal, err
}

// patternOf returns a pattern that hosts can compile: RE2, as in package regexp.
func patternOf(_ reflect.Type, text string) (string, error) {
	if _, err := regexp.Compile(text); err != nil {
		return "", err
	}
	return quote(text), nil
}

func formatOf(_ reflect.Type, text string) (string, error) {
	if !isFormatName(text) {
		return "", fmt.Errorf("%q is not the name of a format, such as date-time, email, uri or uuid", text)
	}
	return quote(text), nil
}

// listOf returns a list of values: those of a JSON list, or what stands between vertical bars.
func listOf(t reflect.Type, text string) (string, error) {
	values := strings.Split(text, "|")
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) == nil && fitAll(t, list) {
		values = values[:0]
		for _, v := range list {
			values = append(values, string(v))
		}
		return joinUnique(values, func(text string) (string, error) { return text, nil })
	}
	return joinUnique(values, func(text string) (string, error) { return literalOf(t, text) })
}

func fitAll(t reflect.Type, list []json.RawMessage) bool {
	for _, v := range list {
		if string(v) == "null" || json.Unmarshal(v, reflect.New(t).Interface()) != nil {
			return false
		}
	}
	return len(list) > 0
}

func joinUnique(values []string, literal func(string) (string, error)) (string, error) {
	var out []string
	for _, value := range values {
		text, err := literal(value)
		if err != nil {
			return "", err
		}
		if slices.Contains(out, text) {
			return "", fmt.Errorf("%q is there twice", value)
		}
		out = append(out, text)
	}
	return "[" + strings.Join(out, ",") + "]", nil
}

// instead suggests the tag for the bound of a type that this one is not for.
func (k schemaTag) instead(t reflect.Type) string {
	if fits := bound(t, k.tag[:min(3, len(k.tag))]); fits != "" && fits != k.tag {
		return "; did you mean " + fits + "?"
	}
	return ""
}

// contradiction returns an error for tags that no value can satisfy.
func contradiction(f reflect.StructField) error {
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}, {"exclusiveMinimum", "maximum"}, {"minimum", "exclusiveMaximum"},
		{"exclusiveMinimum", "exclusiveMaximum"}} {
		low, high := f.Tag.Get(pair[0]), f.Tag.Get(pair[1])
		if low == "" || high == "" {
			continue
		}
		least, err := strconv.ParseFloat(low, 64)
		most, failed := strconv.ParseFloat(high, 64)
		switch {
		case err != nil || failed != nil:
		case least > most:
			return fmt.Errorf("tag %s is %s, more than %s, which is %s", pair[0], low, pair[1], high)
		case least == most && strings.Contains(pair[0]+pair[1], "exclusive"):
			return fmt.Errorf("tags %s and %s are both %s, and leave no value", pair[0], pair[1], low)
		}
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

func quote(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return string(Encode(s))
		}
	}
	return `"` + s + `"`
}
