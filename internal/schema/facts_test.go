package schema

import (
	"slices"
	"strings"
	"testing"
)

// fact is what JSON Schema says about one schema.
type fact struct {
	name, schema   string
	valid, invalid []string
	fast           bool     // accept takes all of valid, but for:
	slow           []string // valid, and left to the library
}

// facts covers each keyword that accept knows, and the ways in which they are easily got wrong.
var facts = []fact{
	{name: "type", schema: `{"type":"string"}`, fast: true, valid: []string{`""`, `"a"`, `"\u00e9\n"`}, invalid: []string{`1`, `null`, `[]`, `{}`, `true`}},
	{name: "type integer", schema: `{"type":"integer"}`, fast: true, valid: []string{`0`, `-0`, `-12`, `123456789012345678901234567890`, `1.0`, `1e2`, `12.50e1`},
		invalid: []string{`1.5`, `"1"`, `1e-1`}, slow: []string{`1.0`, `1e2`, `12.50e1`}},
	{name: "type number", schema: `{"type":"number"}`, fast: true, valid: []string{`0`, `-1.5e-3`, `1E+2`, `0.0`}, invalid: []string{`"1"`, `null`, `false`}},
	{name: "type boolean", schema: `{"type":"boolean"}`, fast: true, valid: []string{`true`, ` false `}, invalid: []string{`0`, `"true"`, `null`}},
	{name: "type null", schema: `{"type":"null"}`, fast: true, valid: []string{`null`}, invalid: []string{`0`, `false`, `""`, `[]`}},
	{name: "types", schema: `{"type":["integer","object","null"]}`, fast: true, valid: []string{`1`, `{}`, `null`}, invalid: []string{`1.5`, `[]`, `""`}},
	{name: "properties", schema: `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, fast: true,
		valid: []string{`{}`, `{"a":"x"}`, `{"b":1,"a":"x"}`, `{"c":[{"d":1}],"a":"x"}`, `[]`, `1`, `"s"`, `{"\u0061":"x"}`}, invalid: []string{`{"a":1}`, `{"\u0061":1}`, `{"b":1,"a":null}`},
		slow: []string{`{"\u0061":"x"}`}},
	{name: "required", schema: `{"required":["a","b"],"properties":{"a":{}}}`, fast: true, valid: []string{`{"a":1,"b":null}`, `{"b":1,"c":2,"a":3}`, `[]`}, invalid: []string{`{}`, `{"a":1}`, `{"b":1}`}},
	{name: "required, closed", schema: `{"required":["a"],"additionalProperties":false}`, invalid: []string{`{}`, `{"a":1}`}, valid: []string{`1`}},
	{name: "required, typed extras", schema: `{"required":["a"],"additionalProperties":{"type":"string"}}`, valid: []string{`{"a":"x"}`}, invalid: []string{`{}`, `{"a":1}`, `{"a":"x","b":1}`}},
	{name: "additionalProperties", schema: `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, fast: true, valid: []string{`{"a":"x","b":1}`}, invalid: []string{`{"b":"x"}`}},
	{name: "additionalProperties false", schema: `{"properties":{"a":{}},"additionalProperties":false}`, fast: true, valid: []string{`{}`, `{"a":null}`}, invalid: []string{`{"b":1}`, `{"A":1}`, `{"a":1,"":1}`}},
	{name: "additionalProperties sees its own properties only", schema: `{"allOf":[{"properties":{"a":{}}}],"additionalProperties":false}`, fast: true, valid: []string{`{}`}, invalid: []string{`{"a":1}`}},
	{name: "enum", schema: `{"enum":["a","é",1,-2.50,true,null,{"x":[1]},1e3]}`, fast: true, valid: []string{`"a"`, `"é"`, `"\u0061"`, `1`, `1.0`, `-2.5`, `true`, `null`, `{"x":[1.0]}`, `1000`},
		invalid: []string{`"b"`, `""`, `2`, `false`, `{}`, `{"x":1}`, `"1"`, `10000`}, slow: []string{`"\u0061"`, `1.0`, `-2.5`, `{"x":[1.0]}`}},
	{name: "const", schema: `{"const":0}`, fast: true, valid: []string{`0`, `-0`, `0.0`, `0e5`}, invalid: []string{`false`, `""`, `null`, `1`}, slow: []string{`0.0`, `0e5`}},
	{name: "const false", schema: `{"const":false}`, fast: true, valid: []string{`false`}, invalid: []string{`0`, `null`, `[false]`}},
	{name: "minimum", schema: `{"minimum":1.1}`, fast: true, valid: []string{`1.1`, `1.10`, `2`, `"x"`, `11e-1`}, invalid: []string{`1.09999999999999`, `0`, `-5`}, slow: []string{`11e-1`}},
	{name: "maximum", schema: `{"maximum":-2}`, fast: true, valid: []string{`-2`, `-2.0`, `-2.0001`, `-99999999999999999999`}, invalid: []string{`-1.9999999999`, `0`}, slow: []string{`-99999999999999999999`}},
	{name: "exclusive bounds", schema: `{"exclusiveMinimum":0,"exclusiveMaximum":10}`, fast: true, valid: []string{`0.1`, `9.999999`}, invalid: []string{`0`, `-0.0`, `10`, `10.0`}},
	{name: "both lower bounds", schema: `{"minimum":1,"exclusiveMinimum":1}`, valid: []string{`1.5`}, invalid: []string{`1`}},
	{name: "a bound finer than a float", schema: `{"maximum":0.3}`, fast: true, valid: []string{`0.3`, `0.29999999999999999`}, invalid: []string{`0.30000000000000001`}, slow: []string{`0.29999999999999999`}},
	{name: "a long bound", schema: `{"minimum":0.1000000000000000055511151231257827}`, valid: []string{`0.2`}, invalid: []string{`0.1`}},
	{name: "a large bound", schema: `{"maximum":9007199254740993}`, fast: true, valid: []string{`9007199254740993`, `999999999999999`}, invalid: []string{`9007199254740994`}, slow: []string{`9007199254740993`}},
	{name: "lengths", schema: `{"minLength":2,"maxLength":3}`, fast: true, valid: []string{`"ab"`, `"日本語"`, `"\ud83d\ude00x"`, `"\n\u0000"`, `"💩💩"`, `5`}, invalid: []string{`"a"`, `"💩"`, `"\ud83d\ude00"`, `"abcd"`, `"日本語!"`}},
	{name: "pattern", schema: `{"pattern":"a+é"}`, fast: true, valid: []string{`"xaaéx"`, `"aé"`, `"\u0061é"`, `1`}, invalid: []string{`"é"`, `"xa"`}, slow: []string{`"\u0061é"`}},
	{name: "items", schema: `{"items":{"type":"integer"}}`, fast: true, valid: []string{`[]`, `[1, 2 ,3]`, `{"a":"b"}`}, invalid: []string{`["a"]`, `[1,null]`}},
	{name: "items counted", schema: `{"minItems":1,"maxItems":2}`, fast: true, valid: []string{`[1]`, `[[],{}]`, `{}`}, invalid: []string{`[]`, `[1,2,3]`}},
	{name: "items false", schema: `{"items":false}`, valid: []string{`[]`, `1`}, invalid: []string{`[1]`}},
	{name: "allOf", schema: `{"allOf":[{"minimum":1},{"maximum":5},{"type":"integer"}]}`, fast: true, valid: []string{`1`, `5`}, invalid: []string{`0`, `6`, `2.5`, `"a"`}},
	{name: "anyOf", schema: `{"anyOf":[{"type":"integer"},{"minimum":2},{"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}]}`, fast: true,
		valid: []string{`1`, `2.5`, `"any text is not less than 2"`, `{"a":null}`, `{"a":1}`}, invalid: []string{`1.5`}},
	{name: "anyOf after an open object", schema: `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["zz"]},{"required":["b"]}],"type":"object"}`, fast: true,
		valid: []string{`{"a":1,"b":2,"c":{"d":3}}`, `{"zz":1}`}, invalid: []string{`{"a":1}`, `{}`}},
	{name: "anyOf and own keywords", schema: `{"type":"object","properties":{"n":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, fast: true,
		valid: []string{`{"a":1}`, `{"b":1,"n":1}`}, invalid: []string{`{"n":1}`, `{"a":1,"n":"x"}`}},
	{name: "what a failed alternative read is forgotten", schema: `{"properties":{"v":{"anyOf":[{"type":"object","required":["zz"],"properties":{"w":{"type":"null"}}},{"type":"object"}]}}}`, fast: true,
		valid: []string{`{"v":{"x":1,"w":2},"x":3}`}, invalid: []string{`{"v":1}`}},
	{name: "how deep a failed alternative was is forgotten", schema: `{"items":{"anyOf":[{"items":{"type":"string"}},{}]}}`, fast: true,
		valid: []string{"[" + strings.Repeat("[1],", 100) + "[2]]"}},
	{name: "$ref and its siblings", schema: `{"$ref":"#/$defs/a","maxLength":2,"$defs":{"a":{"minLength":1}}}`, fast: true, valid: []string{`"x"`}, invalid: []string{`""`, `"xxx"`}},
	{name: "$ref beside what accept does not know", schema: `{"$ref":"#/$defs/a","uniqueItems":true,"$defs":{"a":{"type":"array"}}}`, valid: []string{`[1,2]`}, invalid: []string{`[1,1]`, `1`}},
	{name: "recursion", schema: `{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]}`, fast: true,
		valid: []string{`{"v":1,"next":{"v":2,"next":{"v":3}}}`}, invalid: []string{`{"v":1,"next":{"v":"2"}}`, `{"next":{"v":1}}`}},
	{name: "annotations", schema: `{"title":"t","description":"d","default":{"a":[1]},"examples":[1],"format":"date","deprecated":true,"readOnly":true,"$comment":"c","x-own":{"type":7},"type":"string"}`,
		fast: true, valid: []string{`"no date"`}, invalid: []string{`1`}},
	{name: "false", schema: `false`, invalid: []string{`1`, `{}`, `null`}},
	{name: "a false property", schema: `{"properties":{"a":false}}`, valid: []string{`{}`, `{"b":1}`}, invalid: []string{`{"a":1}`}},

	// These are not for accept.
	{name: "oneOf", schema: `{"oneOf":[{"type":"integer"},{"minimum":2}]}`, valid: []string{`1`, `2.5`}, invalid: []string{`3`, `1.5`}},
	{name: "not", schema: `{"not":{"type":"integer"}}`, valid: []string{`1.5`, `"a"`}, invalid: []string{`1`}},
	{name: "if", schema: `{"if":{"maximum":0},"then":{"minimum":-10},"else":{"multipleOf":2}}`, valid: []string{`-1`, `4`, `"a"`}, invalid: []string{`-100`, `3`}},
	{name: "patternProperties", schema: `{"patternProperties":{"^f.*o$":{"type":"integer"}},"properties":{"fo":{"minimum":2}}}`, valid: []string{`{"foo":1}`, `{"bar":"x"}`, `{"fo":2}`}, invalid: []string{`{"foo":"x"}`, `{"fo":1}`, `{"fo":2.5}`}},
	{name: "propertyNames", schema: `{"propertyNames":{"maxLength":3}}`, valid: []string{`{"foo":1}`, `{}`, `[]`}, invalid: []string{`{"fooo":1}`}},
	{name: "property counts", schema: `{"minProperties":1,"maxProperties":2}`, valid: []string{`{"a":1}`, `{"a":1,"b":2}`, `[]`}, invalid: []string{`{}`, `{"a":1,"b":2,"c":3}`}},
	{name: "prefixItems", schema: `{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"}}`, valid: []string{`[]`, `[1]`, `[1,"a",null]`}, invalid: []string{`["a"]`, `[1,"a",1]`}},
	{name: "contains", schema: `{"contains":{"const":1},"minContains":2,"maxContains":3}`, valid: []string{`[1,1]`, `[1,2,1,1]`, `{}`}, invalid: []string{`[]`, `[1,2]`, `[1,1,1,1]`}},
	{name: "contains none", schema: `{"contains":{"const":1},"minContains":0,"maxContains":1}`, valid: []string{`[]`, `[2]`, `[1]`}, invalid: []string{`[1,1]`}},
	{name: "uniqueItems", schema: `{"uniqueItems":true}`, valid: []string{`[1,true,"1",[1],null]`, `[{"a":1},{"a":2}]`, `[0,false]`}, invalid: []string{`[1,1.0]`, `[{"a":1,"b":2},{"b":2,"a":1}]`, `[[1],[1]]`}},
	{name: "multipleOf", schema: `{"multipleOf":0.01}`, valid: []string{`4.02`, `0`, `1e2`}, invalid: []string{`4.021`}},
	{name: "dependentSchemas", schema: `{"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"c":["d"]}}`, valid: []string{`{"a":1,"b":2}`, `{"b":1}`, `{"c":1,"d":1}`}, invalid: []string{`{"a":1}`, `{"c":1}`}},
	{name: "unevaluatedProperties", schema: `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false}`,
		valid: []string{`{"a":"x"}`, `{"b":1}`, `{"a":"x","b":1}`}, invalid: []string{`{"a":1,"b":1}`, `{"a":"x","c":1}`}},
	{name: "unevaluatedProperties of a schema", schema: `{"$ref":"#/$defs/base","unevaluatedProperties":{"type":"integer"},"$defs":{"base":{"patternProperties":{"^x":{}}}}}`,
		valid: []string{`{"x1":"s","n":1}`}, invalid: []string{`{"n":"s"}`}},
	{name: "unevaluatedProperties after a condition", schema: `{"properties":{"k":{}},"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"properties":{"one":{}}},"else":{"properties":{"two":{}}},"dependentSchemas":{"two":{"properties":{"three":{}}}},"unevaluatedProperties":false}`,
		valid: []string{`{"k":1,"one":1}`, `{"k":2,"two":1,"three":1}`}, invalid: []string{`{"k":1,"two":1}`, `{"k":2,"one":1}`, `{"k":2,"three":1}`}},
	{name: "unevaluatedItems", schema: `{"prefixItems":[{}],"if":{"contains":{"const":"end"}},"then":{},"unevaluatedItems":{"type":"integer"}}`, valid: []string{`["a",1]`, `["a","end",2]`}, invalid: []string{`["a","b"]`}},
}

func TestFacts(t *testing.T) {
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			s := mustCompile(t, f.schema)
			if f.fast && s.fast == nil {
				t.Fatal("accept does not know this schema")
			}
			left := map[string]bool{}
			for _, doc := range f.slow {
				left[doc] = true
			}
			for _, doc := range slices.Concat(f.valid, f.invalid) {
				compareVerdicts(t, s, []byte(f.schema), []byte(doc))
			}
			for _, doc := range f.valid {
				if got := s.Validate([]byte(doc)); got != nil {
					t.Errorf("refuses %s: %v", doc, got)
				}
				if f.fast && s.fast.accepts([]byte(doc)) == left[doc] {
					t.Errorf("accept takes %s: %v", doc, left[doc])
				}
			}
			for _, doc := range f.invalid {
				if s.fast.accepts([]byte(doc)) {
					t.Errorf("accept takes the invalid %s", doc)
				}
				if s.Validate([]byte(doc)) == nil {
					t.Errorf("accepts %s", doc)
				}
			}
		})
	}
}
