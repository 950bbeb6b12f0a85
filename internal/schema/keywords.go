package schema

import "strings"

// dialect is a version of JSON Schema. All are read into the shape of the newest.
type dialect int

const (
	draft4 dialect = iota
	draft6
	draft7
	draft2019
	draft2020
)

var dialectNames = map[string]dialect{
	"json-schema.org/draft-04/schema":      draft4,
	"json-schema.org/draft-06/schema":      draft6,
	"json-schema.org/draft-07/schema":      draft7,
	"json-schema.org/draft/2019-09/schema": draft2019,
	"json-schema.org/draft/2020-12/schema": draft2020,
}

func dialectOf(uri string) (dialect, bool) {
	name := strings.TrimSuffix(uri, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	d, ok := dialectNames[name]
	return d, ok
}

// since and until say in which dialects a keyword means anything; elsewhere it is an unknown word and ignored.
// Keywords that are not listed are in all. Two of those are not by the letter: $defs is younger than some dialects but widely used
// in them, and dependencies is older than the newest, but servers that do not name their dialect still write it.
var (
	since = map[string]dialect{
		"const": draft6, "contains": draft6, "propertyNames": draft6, "examples": draft6, "$id": draft6,
		"if": draft7, "then": draft7, "else": draft7, "readOnly": draft7, "writeOnly": draft7, "$comment": draft7,
		"contentEncoding": draft7, "contentMediaType": draft7,
		"contentSchema": draft2019, "dependentRequired": draft2019, "dependentSchemas": draft2019,
		"minContains": draft2019, "maxContains": draft2019, "unevaluatedItems": draft2019, "unevaluatedProperties": draft2019,
		"$anchor": draft2019, "$recursiveRef": draft2019, "deprecated": draft2019, "$vocabulary": draft2019,
		"prefixItems": draft2020, "$dynamicRef": draft2020, "$dynamicAnchor": draft2020,
	}
	until = map[string]dialect{
		"id": draft4, "additionalItems": draft2019, "$recursiveRef": draft2019,
	}
)

func (d dialect) knows(keyword string) bool {
	last, limited := until[keyword]
	return d >= since[keyword] && (!limited || d <= last)
}

// The tables below say where a keyword's value is kept. Reading and writing out a schema both go by them.

// oneSchema are keywords that hold one schema.
var oneSchema = map[string]func(*node) **node{
	"not":                   func(n *node) **node { return &n.not },
	"if":                    func(n *node) **node { return &n.cond },
	"then":                  func(n *node) **node { return &n.then },
	"else":                  func(n *node) **node { return &n.otherwise },
	"items":                 func(n *node) **node { return &n.items },
	"contains":              func(n *node) **node { return &n.contains },
	"unevaluatedItems":      func(n *node) **node { return &n.unevaluatedItems },
	"additionalProperties":  func(n *node) **node { return &n.additional },
	"propertyNames":         func(n *node) **node { return &n.propertyNames },
	"unevaluatedProperties": func(n *node) **node { return &n.unevaluatedProperties },
}

// schemaLists are keywords that hold a list of schemas.
var schemaLists = map[string]func(*node) *[]*node{
	"allOf":       func(n *node) *[]*node { return &n.allOf },
	"anyOf":       func(n *node) *[]*node { return &n.anyOf },
	"oneOf":       func(n *node) *[]*node { return &n.oneOf },
	"prefixItems": func(n *node) *[]*node { return &n.prefixItems },
}

// namedSchemas are keywords that hold schemas by name.
var namedSchemas = map[string]func(*node) *[]member{
	"properties":        func(n *node) *[]member { return &n.properties },
	"patternProperties": func(n *node) *[]member { return &n.patternProperties },
	"dependentSchemas":  func(n *node) *[]member { return &n.dependentSchemas },
}

// counts are keywords that hold a number of things.
var counts = map[string]func(*node) **int{
	"minLength":     func(n *node) **int { return &n.minLength },
	"maxLength":     func(n *node) **int { return &n.maxLength },
	"minItems":      func(n *node) **int { return &n.minItems },
	"maxItems":      func(n *node) **int { return &n.maxItems },
	"minContains":   func(n *node) **int { return &n.minContains },
	"maxContains":   func(n *node) **int { return &n.maxContains },
	"minProperties": func(n *node) **int { return &n.minProperties },
	"maxProperties": func(n *node) **int { return &n.maxProperties },
}

// bounds are keywords that hold a number to compare with.
var bounds = map[string]func(*node) **bound{
	"minimum":          func(n *node) **bound { return &n.minimum },
	"maximum":          func(n *node) **bound { return &n.maximum },
	"exclusiveMinimum": func(n *node) **bound { return &n.exclusiveMinimum },
	"exclusiveMaximum": func(n *node) **bound { return &n.exclusiveMaximum },
	"multipleOf":       func(n *node) **bound { return &n.multipleOf },
}

// annotations are keywords that assert nothing, with the one type their value may have.
var annotations = map[string]kind{
	"title": kindString, "description": kindString, "$comment": kindString, "format": kindString,
	"contentEncoding": kindString, "contentMediaType": kindString, "$anchor": kindString, "$dynamicAnchor": kindString,
	"readOnly": kindBoolean, "writeOnly": kindBoolean, "deprecated": kindBoolean,
	"examples": kindArray, "$vocabulary": kindObject,
}
