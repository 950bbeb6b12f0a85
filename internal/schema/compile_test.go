package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefused fixes the words for schemas that their author must mend.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"not JSON", `{"type":`, `#: not valid JSON: the text ends too early, at byte 8`},
		{"null", `null`, `#: must be a schema (an object or a boolean), got null`},
		{"a list", `[]`, `#: must be a schema (an object or a boolean), got an empty array`},
		{"null property", `{"properties":{"a":null}}`, `#/properties/a: must be a schema (an object or a boolean), got null`},
		{"doubled keyword", `{"properties":{"a":{"type":"string","type":"null"}}}`, `#/properties/a: property "type" is given twice`},
		{"required as a flag", `{"properties":{"a":{"type":"string","required":true}}}`,
			`#/properties/a/required: must be a list of property names, got true; write the name into "required" of the schema around it`},
		{"required twice", `{"required":["a","a"]}`, `#/required: property "a" is listed twice`},
		{"required of numbers", `{"required":[1]}`, `#/required: must be a list of property names, but has 1 in it`},
		{"type any", `{"type":"any"}`,
			`#/type: unknown type "any"; known: array, boolean, integer, null, number, object, string; leave "type" out to allow anything`},
		{"type number", `{"type":5}`, `#/type: unknown type 5; known: array, boolean, integer, null, number, object, string; leave "type" out to allow anything`},
		{"no types", `{"type":[]}`, `#/type: must name at least one type`},
		{"type twice", `{"type":["null","null"]}`, `#/type: type "null" is listed twice`},
		{"length as text", `{"minLength":"3"}`, `#/minLength: must be a whole number of at least 0, got "3"`},
		{"negative length", `{"minLength":-1}`, `#/minLength: must be a whole number of at least 0, got -1`},
		{"half an item", `{"maxItems":1.5}`, `#/maxItems: must be a whole number of at least 0, got 1.5`},
		{"bound as text", `{"minimum":"1"}`, `#/minimum: must be a number, got "1"`},
		{"draft-04 bound", `{"minimum":1,"exclusiveMinimum":true}`,
			`#/exclusiveMinimum: must be a number, got true; the boolean form is draft-04 and needs "$schema": "http://json-schema.org/draft-04/schema#"`},
		{"zero step", `{"multipleOf":0}`, `#/multipleOf: must be more than 0, got 0`},
		{"empty enum", `{"enum":[]}`, `#/enum: must be a list of at least one value, got an empty array`},
		{"enum of one value", `{"enum":"a"}`, `#/enum: must be a list of at least one value, got "a"`},
		{"empty allOf", `{"allOf":[]}`, `#/allOf: must be a list of at least one schema, got an empty array`},
		{"anyOf as an object", `{"anyOf":{}}`, `#/anyOf: must be a list of at least one schema, got object`},
		{"properties as a list", `{"properties":[]}`, `#/properties: must be an object of schemas, got an empty array`},
		{"items as a list", `{"items":[{}]}`, `#/items: must be one schema, got array; a list of schemas is "prefixItems" now, or declare an older "$schema"`},
		{"description of a number", `{"properties":{"a/b":{"description":1}}}`, `#/properties/a~1b/description: must be a string, got 1`},
		{"unknown dialect", `{"$schema":"https://example.com/mine"}`,
			`#/$schema: unknown dialect "https://example.com/mine"; known: json-schema.org/draft-04/schema, json-schema.org/draft-06/schema, ` +
				`json-schema.org/draft-07/schema, json-schema.org/draft/2019-09/schema, json-schema.org/draft/2020-12/schema`},
		{"dialect inside", `{"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`,
			`#/properties/a/$schema: an inner schema cannot be of another dialect; leave $schema out here`},
		{"missing reference", `{"properties":{"a":{"$ref":"#/$defs/missing"}}}`, `#/properties/a/$ref: "#/$defs/missing" points at no schema in here`},
		{"reference to a value", `{"default":{"type":"string"},"allOf":[{"$ref":"#/default"}]}`, `#/allOf/0/$ref: "#/default" points at no schema in here`},
		{"reference to an anchor", `{"$ref":"#name","$defs":{"a":{"$anchor":"name"}}}`, `#/$ref: "#name" names an anchor; write a pointer such as "#/$defs/name"`},
		{"relative reference", `{"$ref":"other.json"}`, `#/$ref: "other.json" leads out of this schema; only "#/..." is allowed, nothing is ever fetched`},
		{"file reference", `{"$ref":"file:///etc/passwd"}`, `#/$ref: "file:///etc/passwd" leads out of this schema; only "#/..." is allowed, nothing is ever fetched`},
		{"own $id as reference", `{"$id":"https://example.com/a","$ref":"https://example.com/a#/$defs/b","$defs":{"b":{}}}`,
			`#/$ref: "https://example.com/a#/$defs/b" leads out of this schema; only "#/..." is allowed, nothing is ever fetched`},
		{"dynamic reference", `{"$dynamicRef":"#a"}`, `#/$dynamicRef: dynamic references are not supported; use $ref`},
		{"reference below an inner $id", `{"$defs":{"a":{"$id":"https://example.com/a","properties":{"x":{"$ref":"#/$defs/a"}}}}}`,
			`#/$defs/a/properties/x/$ref: references below an inner "$id" (#/$defs/a) are not supported; remove that $id`},
		{"reference beside an inner $id", `{"$defs":{"a":{"$id":"https://example.com/a","$ref":"#/$defs/b"},"b":{}}}`,
			`#/$defs/a/$ref: references below an inner "$id" (#/$defs/a) are not supported; remove that $id`},
		{"loop", `{"$ref":"#"}`, `#: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"loop of two", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`,
			`#/$defs/a: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"loop nobody uses", `{"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`,
			`#/$defs/a: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"broken pattern", `{"pattern":"("}`, "#/pattern: pattern \"(\": error parsing regexp: missing closing ): `(`"},
		{"counts in the wrong order", `{"pattern":"a{3,2}"}`, "#/pattern: pattern \"a{3,2}\": error parsing regexp: invalid repeat count: `{3,2}`"},
		{"unclosed lookahead", `{"pattern":"(?=a"}`, "#/pattern: pattern \"(?=a\": error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{"broken pattern property", `{"patternProperties":{"[":{}}}`, "#/patternProperties/[: pattern \"[\": error parsing regexp: missing closing ]: `[`"},
		{"absurd bound", `{"minimum":1e1000000}`, `#/minimum: number 1e1000000 has too many digits or too large an exponent (limit 400)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile([]byte(c.schema))
			if err == nil {
				t.Fatal("compiled")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// A pattern of ECMA-262 that RE2 does not offer costs the check of that pattern, never the schema.
func TestUncheckedPatterns(t *testing.T) {
	for pattern, why := range map[string]string{
		`^(?!a)b$`:                        `(?!...) is not available in RE2`,
		`(?=.*[0-9])`:                     `(?=...) is not available in RE2`,
		`(?<=a)b`:                         `(?<=...) is not available in RE2`,
		`(?<!a)b`:                         `(?<!...) is not available in RE2`,
		`^(a)\\1$`:                        `the back reference \1 is not available in RE2`,
		`(?<x>a)\\k<x>`:                   `the back reference \k is not available in RE2`,
		`^.{0,5000}$`:                     `the repeat count {0,5000} is more than 1000, the limit of RE2`,
		`(?:a{1000}b){9}`:                 `the repeat count`,
		`^[a-z]{900}[^a]{900}[b-c]{900}$`: `repeats too much (`,
		strings.Repeat("a", 513):          `is 513 bytes long; the limit is 512`,
		// The pattern of zod's email().
		`^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`: `(?!...) is not available in RE2`,
	} {
		s, err := Compile([]byte(`{"properties":{"a":{"type":"string","pattern":"` + pattern + `","maxLength":2}},"required":["a"]}`))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if len(s.Unchecked) != 1 || !strings.Contains(s.Unchecked[0], "#/properties/a/pattern: ") || !strings.Contains(s.Unchecked[0], why) {
			t.Errorf("%s: unchecked %q", pattern, s.Unchecked)
		}
		if invalid := s.Validate([]byte(`{"a":"x"}`)); invalid != nil {
			t.Errorf("%s: %v", pattern, invalid)
		}
		if s.Validate([]byte(`{"a":"xyz"}`)) == nil || s.Validate([]byte(`{}`)) == nil {
			t.Errorf("%s: the other keywords are not checked", pattern)
		}
	}
}

// Where a schema that accepts more would make the schema around it accept less, the keyword around it is not checked either.
func TestUncheckedPatternsRefuseNothing(t *testing.T) {
	for schema, docs := range map[string][]string{
		`{"not":{"pattern":"^(?!a)"}}`: {`"a"`, `1`},
		`{"not":{"properties":{"x":{"$ref":"#/$defs/p"}},"required":["x"]},"$defs":{"p":{"pattern":"^(?!a)"}}}`: {`{"x":"a"}`, `{}`},
		`{"oneOf":[{"pattern":"^(?!a)"},{"pattern":"^(?=a)"}]}`:                                                 {`"a"`, `"b"`},
		`{"oneOf":[{"pattern":"^(?!a)"},{"pattern":"^a"}],"anyOf":[{"type":"string"}]}`:                         {`"a"`, `"b"`},
		`{"if":{"pattern":"^(?!a)"},"then":{"maxLength":1},"else":{"minLength":2}}`:                             {`"abc"`, `"b"`},
		`{"contains":{"pattern":"^(?!a)"},"maxContains":1}`:                                                     {`["a","b","ab"]`},
		`{"patternProperties":{"^(?!a)":{}},"additionalProperties":false}`:                                      {`{"b":1}`},
		`{"allOf":[{"patternProperties":{"^(?!a)":{}}}],"unevaluatedProperties":false}`:                         {`{"b":1}`},
	} {
		s := mustCompile(t, schema)
		for _, doc := range docs {
			if invalid := s.Validate([]byte(doc)); invalid != nil {
				t.Errorf("%s refuses %s: %v", schema, doc, invalid)
			}
		}
	}
}

func TestEmptySchemaAcceptsAnything(t *testing.T) {
	for _, raw := range []json.RawMessage{nil, []byte(" \n"), []byte("{}"), []byte("true"), []byte(`{"x-vendor":{"a":[1]},"title":"t"}`)} {
		s := mustCompile(t, string(raw))
		for _, doc := range []string{`null`, `[1,{"a":"b"}]`, ` 1e2 `, `{"a":{}}`} {
			if got := s.Validate([]byte(doc)); got != nil {
				t.Errorf("%q refuses %s: %v", raw, doc, got)
			}
		}
		for _, doc := range []string{``, `{`, `01`, `"`, `nul`, "\"\xff\"", `[1,]`, `{"a":1,}`, `{"a" 1}`} {
			if s.Validate([]byte(doc)) == nil {
				t.Errorf("%q accepts the malformed %s", raw, doc)
			}
		}
	}
}

// TestShapesFromTheField are forms that generators of several languages write.
func TestShapesFromTheField(t *testing.T) {
	for _, c := range []struct{ name, schema, valid, invalid string }{
		{"root reference, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","required":["a"]}}}`, `{"a":1}`, `{}`},
		{"siblings of $ref mean nothing in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, `{"a":"long"}`, `{"a":1}`},
		{"siblings of $ref count in 2020-12", `{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, `{"a":"l"}`, `{"a":"long"}`},
		{"tuple, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`},
		{"dependencies, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"c":1}`},
		{"dependencies without a dialect", `{"dependencies":{"a":["b"],"c":false},"type":"object"}`, `{"a":1,"b":2}`, `{"a":1}`},
		{"exclusive flags, draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`, `3`, `1`},
		{"optional value", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`, `{"a":null}`, `{"a":1}`},
		{"unknown format", `{"type":"integer","format":"int64"}`, `5`, `"5"`},
		{"a format is not asserted", `{"type":"string","format":"email"}`, `"no address"`, `5`},
		{"content is not asserted", `{"type":"string","contentEncoding":"base64","contentMediaType":"application/json"}`, `"%%%"`, `5`},
		{"safe integers", `{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, `12`, `9007199254740992`},
		{"JavaScript escapes", `{"pattern":"^[\\u0041-\\u0043\\cJ\\/]$"}`, `"B"`, `"D"`},
		{"recursive tree", `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"additionalProperties":false}}}`,
			`{"children":[{"children":[]},{}]}`, `{"children":[{"children":[1]}]}`},
		{"recursive root", `{"type":"object","additionalProperties":{"$ref":"#"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"fragment $id, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://example.com/x.json","properties":{"a":{"$id":"#/properties/a","type":"string"}}}`, `{"a":"x"}`, `{"a":1}`},
		{"the nearest $defs is not the root's", `{"$defs":{"t":{"type":"string"}},"properties":{"x":{"$defs":{"t":{"type":"integer"}},"$ref":"#/$defs/t"}}}`, `{"x":"s"}`, `{"x":1}`},
		{"escaped pointer", `{"$defs":{"a/b~c d":{"type":"string"}},"items":{"$ref":"#/$defs/a~1b~0c%20d"}}`, `["s"]`, `[1]`},
		{"reference into properties", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"b":"s"}`, `{"b":1}`},
		{"const and enum", `{"const":1,"enum":[1.0,2]}`, `1`, `2`},
		{"nothing is const and enum", `{"anyOf":[{"const":3,"enum":[1,2]},{"type":"null"}]}`, `null`, `3`},
		{"not anything", `{"properties":{"a":{}},"additionalProperties":{"not":{}}}`, `{"a":1}`, `{"b":1}`},
		{"true has looked at nothing", `{"$ref":"#/$defs/any","$defs":{"any":true},"unevaluatedProperties":false}`, `{}`, `{"a":1}`},
		{"then without if", `{"then":{"type":"string"},"type":"integer"}`, `1`, `"a"`},
		{"huge count", `{"maxLength":1e300,"minItems":0.0,"type":"string"}`, `"a"`, `1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			compareVerdicts(t, s, []byte(c.schema), []byte(c.valid))
			compareVerdicts(t, s, []byte(c.schema), []byte(c.invalid))
			if got := s.Validate([]byte(c.valid)); got != nil {
				t.Errorf("refuses %s: %v", c.valid, got)
			}
			if s.Validate([]byte(c.invalid)) == nil {
				t.Errorf("accepts %s", c.invalid)
			}
		})
	}
}

// TestNormalForm: the library never sees an annotation, an identifier or a keyword that it would misread.
func TestNormalForm(t *testing.T) {
	root, shared, err := (&reader{dialect: draft2020, index: map[string]*node{}}).read([]byte(`{"$id":"http://x/y","$schema":"http://json-schema.org/draft-07/schema#","title":"T","format":"f",
		"properties":{"a":{"$ref":"#/definitions/d"},"b":true,"c":false},"definitions":{"d":{"contentEncoding":"base64","$comment":"c","x-y":1,"pattern":"\\u0041"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := emit(root, shared)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$defs":{"1":{"pattern":"\\x{0041}"}},"properties":{"a":{"$ref":"#/$defs/1"},"b":{},"c":false}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatal(diff)
	}
	if strings.Contains(string(got), "http") {
		t.Error("an address reached the library")
	}
}
