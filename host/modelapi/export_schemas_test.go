package modelapi_test

import (
	"strings"

	"github.com/toolhost/toolhost/host/modelapi"
)

// A hardSchema is a schema that is hard to export.
type hardSchema struct {
	schema string
	// fits are arguments that the schema accepts and every export of it must accept.
	fits []string
	// strict is what OpenAI's strict must be.
	strict bool
	// leftOut holds a part of the reason for each format that cannot express the tool.
	leftOut map[modelapi.Format]string
}

var openAPIOnly = func(why string) map[modelapi.Format]string {
	return map[modelapi.Format]string{modelapi.FormatGeminiOpenAPI: why}
}

// hardSchemas has plugins' schemas by the name of the tool.
var hardSchemas = map[string]hardSchema{
	"empty":        {schema: `{}`, fits: []string{`{}`, `{"a":1}`}},
	"only_type":    {schema: `{"type":"object"}`, fits: []string{`{}`, `{"a":[1]}`}},
	"closed_empty": {schema: `{"type":"object","additionalProperties":false}`, fits: []string{`{}`}, strict: true},
	"all_required": {
		schema: `{"type":"object","properties":{"a":{"type":"string","description":"<b> & co"},"n":{"type":["integer",
			"null"]}},
		"required":["n","a"],"additionalProperties":false}`,
		fits:   []string{`{"a":"x","n":null}`, `{"a":"","n":12345678901234567890}`},
		strict: true,
	},
	"optional": {schema: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],` +
		`"additionalProperties":false}`,
		fits: []string{`{"a":"x"}`, `{"a":"x","b":1}`}},
	"draft4": {
		schema: `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.org/x","type":"object",
			"properties":{
		"n":{"type":"number","minimum":1,"exclusiveMinimum":true},"m":{"type":"number","maximum":5,"exclusiveMaximum":false},
		"t":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`,
		fits: []string{`{"n":1.5,"m":5,"t":["a",1]}`},
	},
	"draft7_refs": {
		schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
			"properties":{"p":{"$ref":"#/definitions/point"}},
		"required":["p"],"additionalProperties":false,"definitions":{"point":{"type":"object",
			"properties":{"x":{"type":"number"}},"required":["x"],
		"additionalProperties":false}}}`,
		fits:   []string{`{"p":{"x":1e2}}`},
		strict: true,
	},
	"recursive": {schema: `{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#"}},"required":["v"]}`,
		fits: []string{`{"v":"a","next":{"v":"b"}}`}},
	"recursive_strict": {
		schema: `{"type":"object","properties":{"tree":{"$ref":"#/$defs/tree"}},"required":["tree"],
			"additionalProperties":false,"$defs":{
		"tree":{"type":"object","properties":{"name":{"type":"string"},"below":{"type":"array",
			"items":{"$ref":"#/$defs/tree"}}},
		"required":["name","below"],"additionalProperties":false}}}`,
		fits:    []string{`{"tree":{"name":"a","below":[{"name":"b","below":[]}]}}`},
		strict:  true,
		leftOut: openAPIOnly("leads back to itself"),
	},
	"root_ref": {schema: `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"type":"string"}},` +
		`"required":["x"]}}}`,
		fits: []string{`{"x":"a"}`}},
	"root_any_required": {schema: `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},
		"anyOf":[{"required":["id"]},{"required":["name"]}]}`, fits: []string{`{"id":"1"}`, `{"name":"n"}`}},
	"root_one_of_shapes": {
		schema: `{"oneOf":[{"type":"object","properties":{"kind":{"const":"file"},"path":{"type":"string"}},
			"required":["kind","path"]},
		{"type":"object","properties":{"kind":{"const":"url"},"url":{"type":"string","format":"uri"}},"required":["kind",
			"url"]}]}`,
		fits: []string{`{"kind":"file","path":"a"}`, `{"kind":"url","url":"http://a"}`},
	},
	"root_all_of": {schema: `{"type":"object","allOf":[{"properties":{"a":{"type":"integer","minimum":0}},` +
		`"required":["a"]},{"properties":{"a":{"type":"integer","maximum":9}}}]}`,
		fits: []string{`{"a":3}`}},
	"root_not": {schema: `{"type":"object","properties":{"a":{"type":"boolean"}},"not":{"required":["b"]}}`,
		fits: []string{`{"a":true}`}},
	"root_enum": {schema: `{"type":"object","properties":{"a":{"type":"integer"}},"enum":[{"a":1},{"a":2}]}`,
		fits: []string{`{"a":2}`}},
	"ref_into_all_of": {schema: `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],` +
		`"properties":{"b":{"$ref":"#/allOf/0/properties/a"}}}`,
		fits: []string{`{"a":"x","b":"y"}`}},
	"bad_argument_names": {schema: `{"type":"object","properties":{"$top":{"type":"integer"},"a b":{"type":"string"}}}`,
		fits: []string{`{"$top":1,"a b":"x"}`},
		leftOut: map[modelapi.Format]string{modelapi.FormatAnthropic: "does not match",
			modelapi.FormatBedrock: "does not match", modelapi.FormatGeminiOpenAPI: "does not match"}},
	"dashed_argument": {schema: `{"type":"object","properties":{"max-results":{"type":"integer"}}}`,
		fits:    []string{`{"max-results":1}`},
		leftOut: openAPIOnly("does not match")},
	"long_argument": {schema: `{"type":"object","properties":{"` + strings.Repeat("a", 65) + `":{"type":"string"}}}`,
		fits: []string{`{"` + strings.Repeat("a", 65) + `":"x"}`},
		leftOut: map[modelapi.Format]string{modelapi.FormatAnthropic: "does not match",
			modelapi.FormatBedrock: "does not match", modelapi.FormatGeminiOpenAPI: "does not match"}},
	"arrays_of_anything": {schema: `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array",` +
		`"items":true},"c":{"type":["array","null"]}}}`,
		fits: []string{`{"a":[1,"x"],"b":[{}],"c":null}`}},
	"array_required": {schema: `{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}`,
		fits:    []string{`{"a":[1,"x"]}`},
		leftOut: openAPIOnly("#/properties/a: an array of anything")},
	"any_value": {schema: `{"type":"object","properties":{"key":{"type":"string"},"value":{}},"required":["key","value"]}`,
		fits: []string{`{"key":"a","value":[null]}`}, leftOut: openAPIOnly("#/properties/value: a value of any type")},
	"optional_any_value": {schema: `{"type":"object","properties":{"key":{"type":"string"},"value":true,"never":false}}`,
		fits: []string{`{"key":"a"}`}},
	"string_map": {schema: `{"type":"object","properties":{"env":{"type":"object",` +
		`"additionalProperties":{"type":"string"}},"cmd":{"type":"string"}},"required":["cmd"]}`,
		fits: []string{`{"cmd":"ls"}`}},
	"required_map": {schema: `{"type":"object","properties":{"env":{"type":"object",` +
		`"additionalProperties":{"type":"string"}}},"required":["env"]}`,
		fits: []string{`{"env":{"A":"b"}}`}, leftOut: openAPIOnly("no named properties")},
	"patterns": {schema: `{"type":"object","patternProperties":{"^x-":{"type":"string"}},` +
		`"properties":{"a":{"type":"string","pattern":"^c","minLength":1}}}`,
		fits: []string{`{"x-a":"1","a":"c"}`}},
	"enums": {
		schema: `{"type":"object","properties":{"s":{"enum":["a","b"]},"blank":{"type":"string","enum":["","b"]},
			"n":{"type":"integer","enum":[1,2]},
		"mixed":{"enum":["a",1,null,true,2.5]},"c":{"const":"only"},"z":{"const":null}}}`,
		fits: []string{`{"s":"a","blank":"","n":2,"mixed":1,"c":"only","z":null}`, `{"mixed":null}`, `{"mixed":true}`,
			`{"mixed":2.5}`},
	},
	"unions": {schema: `{"type":"object","properties":{"a":{"type":["string","integer","null"],"description":"either"},
		"b":{"description":"one","oneOf":[{"type":"string"},{"type":"null"}]},"c":{"anyOf":[{"type":"string","maxLength":3},
			{"anyOf":[{"type":"integer"},{"type":"boolean"}]}]},
		"d":{"type":"null"}}}`, fits: []string{`{"a":null,"b":null,"c":1}`, `{"a":1,"b":"x","c":true}`, `{"a":"s","c":"abc",
			"d":null}`}},
	"formats": {
		schema: `{"type":"object","properties":{"u":{"type":"string","format":"uri"},"t":{"type":"string",
			"format":"date-time"},
		"f":{"type":"number","format":"float","exclusiveMinimum":0,"multipleOf":0.5},"i":{"type":"integer","format":"uint8",
			"minimum":0,"maximum":255}}}`,
		fits: []string{`{"u":"http://a","t":"2026-01-01T00:00:00Z","f":0.5,"i":7}`},
	},
	"nested_objects": {
		schema: `{"type":"object","properties":{"o":{"type":"object","title":"O","properties":{"list":{"type":"array",
			"minItems":1,"maxItems":3,
		"items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x","gone"]}}},"required":["list"]}},
			"required":["o"]}`,
		fits: []string{`{"o":{"list":[{"x":1,"gone":2}]}}`},
	},
	"all_of_inside": {
		schema: `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/base"},{"properties":{"y":{"type":"string"}},
			"required":["y"]}],"description":"both"}},
		"$defs":{"base":{"type":"object","description":"base","properties":{"x":{"type":"integer"}},"required":["x"]}}}`,
		fits: []string{`{"a":{"x":1,"y":"z"}}`},
	},
	"tuples": {schema: `{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"string"},` +
		`{"type":"number"}],"items":false}}}`,
		fits: []string{`{"t":["a",1]}`}},
	"conditions": {
		schema: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"if":{"required":["a"]},
			"then":{"required":["b"]},
		"dependentRequired":{"b":["a"]},"unevaluatedProperties":false}`,
		fits: []string{`{"a":"1","b":"2"}`},
	},
	"same_first_key": {
		schema: `{"type":"object","properties":{"v":{"anyOf":[{"type":"object","properties":{"k":{"type":"string"}},
			"required":["k"],"additionalProperties":false},
		{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"],"additionalProperties":false}]}},
			"required":["v"],"additionalProperties":false}`,
		fits: []string{`{"v":{"k":"a"}}`, `{"v":{"k":1}}`},
	},
	"other_first_key": {
		schema: `{"type":"object","properties":{"v":{"anyOf":[{"type":"object","properties":{"k":{"type":"string"}},
			"required":["k"],"additionalProperties":false},
		{"type":"object","properties":{"l":{"type":"integer"}},"required":["l"],"additionalProperties":false}]}},
			"required":["v"],"additionalProperties":false}`,
		fits:   []string{`{"v":{"k":"a"}}`, `{"v":{"l":1}}`},
		strict: true,
	},
	"ref_with_description": {
		schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/s","description":"mine"}},"required":["a"],
			"additionalProperties":false,
		"$defs":{"s":{"type":"string","description":"theirs"}}}`,
		fits: []string{`{"a":"x"}`},
	},
	"with_default": {schema: `{"type":"object","properties":{"a":{"type":"integer","default":3}},"required":["a"],` +
		`"additionalProperties":false}`, fits: []string{`{"a":1}`}},
	"deep":             {schema: nested(11), fits: []string{nestedArguments(11)}},
	"just_deep_enough": {schema: nested(10), fits: []string{nestedArguments(10)}, strict: true},
	"large_enum": {schema: `{"type":"object","properties":{"a":{"type":"string","enum":[` + manyTexts(251, 60) +
		`]}},"required":["a"],"additionalProperties":false}`},
	"many_enums": {schema: `{"type":"object","properties":{"a":{"type":"string","enum":[` + manyTexts(1001, 8) +
		`]}},"required":["a"],"additionalProperties":false}`},
	"constants_explained": {
		schema: `{"type":"object","properties":{"level":{"type":"string","oneOf":[{"const":"low","description":"Slow."},
			{"const":"high"}]},
		"bare":{"anyOf":[{"const":1},{"enum":[2,3]}]}}}`,
		fits: []string{`{"level":"low","bare":3}`},
	},
	"draft7_beside_a_ref": {
		schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/s",
			"type":"integer","description":"mine"}},"definitions":{"s":{"type":"string"}}}`,
		fits: []string{`{"a":"x"}`},
	},
	"root_or_null": {schema: `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, fits: []string{`{"a":"x"}`}},
	"excluded_in_a_branch": {schema: `{"type":"object","anyOf":[{"required":["b"]},{"required":["a"],"properties":{"b":false}}]}`,
		fits: []string{`{"b":1}`, `{"a":1}`}},
	"refs_with_escapes": {schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20z"}},"$defs":{"x/y ` +
		`z":{"type":"string"}}}`, fits: []string{`{"a":"x"}`}},
}

// nested is an object with so many levels of objects, each with one property.
func nested(levels int) string {
	schema := `{"type":"string"}`
	for range levels {
		schema = `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
	}
	return schema
}

func nestedArguments(levels int) string {
	return strings.Repeat(`{"a":`, levels) + `""` + strings.Repeat("}", levels)
}

func manyTexts(n, size int) string {
	var texts []string
	for i := range n {
		number := strings.Repeat("0", 5)[:5-len(itoa(i))] + itoa(i)
		texts = append(texts, `"`+number+strings.Repeat("x", size-5)+`"`)
	}
	return strings.Join(texts, ",")
}
