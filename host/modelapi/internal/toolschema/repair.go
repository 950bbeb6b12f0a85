package toolschema

import (
	"errors"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// types are those of JSON Schema.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// repair removes keywords that mean nothing, for which a vendor would refuse the whole list: the host does not check
// them either. A name that is listed twice counts once, as there. Only foreign schemas have any.
func (s *schema) repair() {
	each(s.root, func(o *object) {
		o.unique("required", "type")
		for _, keyword := range []string{"dependentRequired", "dependencies"} {
			if lists := o.object(keyword); lists != nil {
				lists.unique(lists.names...)
			}
		}
		for _, name := range slices.Clone(o.names) {
			if !s.meansSomething(o, name) {
				o.drop(name)
			}
		}
		for _, keyword := range mapKeywords {
			if members := o.object(keyword); members != nil {
				for _, name := range slices.Clone(members.names) {
					sub := members.members[name]
					if keyword == "patternProperties" && malformed(name) { // what it would have named is not additional
						members.drop(name)
						o.drop("additionalProperties", "unevaluatedProperties")
					} else if !isSchema(sub) && (keyword != "dependencies" || !isNames(sub)) {
						members.members[name] = newObject()
					}
				}
			}
		}
	})
	s.dropOpenReferences()
}

// dropOpenReferences drops references that point at nothing.
func (s *schema) dropOpenReferences() {
	each(s.root, func(o *object) {
		if ref, ok := o.members["$ref"].(string); ok {
			if _, err := s.target(ref); err != nil {
				o.drop("$ref")
			}
		}
	})
}

// unique removes names from lists of names that stand there before.
func (o *object) unique(keywords ...string) {
	for _, keyword := range keywords {
		var once []string
		seen := map[string]bool{}
		for _, name := range o.strings(keyword) {
			if !seen[name] {
				seen[name], once = true, append(once, name)
			}
		}
		if isNames(o.members[keyword]) && len(once) < len(o.list(keyword)) {
			o.set(keyword, anys(once))
		}
	}
}

// malformed reports a regular expression that ECMAScript refuses, and Go too: half of a pair of brackets, nothing to
// repeat, or a backslash at the end. In doubt it is none: ECMAScript has much that Go has not, and [] and [[:] are
// classes there.
func malformed(pattern string) bool {
	_, err := syntax.Parse(pattern, syntax.Perl)
	e, refused := errors.AsType[*syntax.Error](err)
	return refused && slices.Contains([]syntax.ErrorCode{syntax.ErrMissingBracket, syntax.ErrMissingParen,
		syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp, syntax.ErrTrailingBackslash},
		e.Code) && !strings.Contains(pattern, "[]") && !strings.Contains(pattern, "[^]") && !strings.Contains(pattern, "[:")
}

func isSchema(value any) bool {
	switch value.(type) {
	case *object, bool:
		return true
	}
	return false
}

// isNames reports a list of texts.
func isNames(value any) bool {
	list, isList := value.([]any)
	return isList && !slices.ContainsFunc(list, func(v any) bool { _, isText := v.(string); return !isText })
}

// number is a number, or NaN for other values and what is beyond a float64.
func number(value any) float64 {
	text, _ := value.(jsontext.Value)
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// meansSomething reports whether a keyword has a value of its form. Unknown keywords do.
func (s *schema) meansSomething(o *object, keyword string) bool {
	value := o.members[keyword]
	list, isList := value.([]any)
	object, isObject := value.(*object)
	_, isText := value.(string)
	switch keyword {
	case "type":
		names := typeNames(o)
		return len(names) > 0 && (isText || isNames(value)) &&
			!slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(types, n) })
	case "enum":
		return len(list) > 0
	case "required":
		return isNames(value)
	case "examples":
		return isList // in OpenAPI it is an object
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { return !isSchema(v) })
	case "items":
		return isSchema(value) || len(list) > 0
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, isNumber := value.(jsontext.Value)
		return isNumber
	case "multipleOf":
		return number(value) > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return number(value) >= 0 && number(value) == math.Trunc(number(value))
	case "pattern":
		return isText && !malformed(o.text(keyword))
	case "format", "title", "description", "$ref", "$comment", "contentEncoding", "contentMediaType":
		return isText
	case "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$vocabulary":
		return false // nothing refers to it by pointer
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, isBool := value.(bool)
		return isBool
	case "dependentRequired":
		return isObject && !slices.ContainsFunc(object.names, func(n string) bool { return !isNames(object.members[n]) })
	}
	switch {
	case slices.Contains(schemaKeywords, keyword):
		return isSchema(value)
	case slices.Contains(mapKeywords, keyword):
		return isObject
	}
	return true
}
