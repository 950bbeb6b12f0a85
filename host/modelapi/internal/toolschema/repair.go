package toolschema

import (
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// types are those of JSON Schema.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// repair removes keywords that mean nothing, for which a vendor would refuse the whole list: the host does not check
// them either. Only foreign schemas have any.
func (s *schema) repair() {
	each(s.root, func(o *object) {
		for _, name := range slices.Clone(o.names) {
			if !s.meansSomething(o, name) {
				o.drop(name)
			}
		}
		for _, keyword := range mapKeywords {
			if members := o.object(keyword); members != nil {
				for _, name := range members.names {
					sub := members.members[name]
					if !isSchema(sub) && (keyword != "dependencies" || !isNames(sub)) {
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

func isSchema(value any) bool {
	switch value.(type) {
	case *object, bool:
		return true
	}
	return false
}

// isNames reports a list of texts, each another.
func isNames(value any) bool {
	list, isList := value.([]any)
	for i, name := range list {
		if _, isText := name.(string); !isText || slices.Contains(list[:i], name) {
			return false
		}
	}
	return isList
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
	case "pattern", "format", "title", "description", "$ref", "$comment", "contentEncoding", "contentMediaType":
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
