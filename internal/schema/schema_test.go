package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		t.Fatalf("Compile(%.300s): %v", raw, err)
	}
	libraryOf(t, s)
	return s
}

// libraryOf is the library's form of a schema, which Compile leaves for later. The guards let pass what it takes.
func libraryOf(t failer, s *Schema) *library {
	l, err := s.lib()
	if err != nil {
		t.Fatalf("the library refuses what compiles: %v", err)
	}
	return l
}

func longText(n int) string { return strings.Repeat("some words to read, one line\n", n/29+1)[:n] }

// TestRefused fixes the words for schemas that their author must fix.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"not JSON", `{"type":`, `#: not valid JSON: the text ends too early, at byte 8`},
		{"null", `null`, `#: must be a schema (an object or a boolean), got null`},
		{"a list", `[]`, `#: must be a schema (an object or a boolean), got an empty array`},
		{"null property", `{"properties":{"a":null}}`, `#/properties/a: must be a schema (an object or a boolean), got null`},
		{"doubled keyword", `{"properties":{"a":{"type":"string","type":"null"}}}`,
			`#/properties/a: property "type" is given twice`},
		{"required as a flag", `{"properties":{"a":{"type":"string","required":true}}}`,
			`#/properties/a/required: must be a list of property names, got true; write the name into "required" of the ` +
				`schema around it`},
		{"required twice", `{"required":["a","a"]}`, `#/required: property "a" is listed twice`},
		{"required of numbers", `{"required":[1]}`, `#/required: must be a list of property names, but has 1 in it`},
		{"type any", `{"type":"any"}`,
			`#/type: unknown type "any"; known: array, boolean, integer, null, number, object, string; leave "type" out to ` +
				`allow anything`},
		{"type number", `{"type":5}`,
			`#/type: unknown type 5; known: array, boolean, integer, null, number, object, string; leave "type" out to allow ` +
				`anything`},
		{"no types", `{"type":[]}`, `#/type: must name at least one type`},
		{"type twice", `{"type":["null","null"]}`, `#/type: type "null" is listed twice`},
		{"length as text", `{"minLength":"3"}`, `#/minLength: must be a whole number of at least 0, got "3"`},
		{"negative length", `{"minLength":-1}`, `#/minLength: must be a whole number of at least 0, got -1`},
		{"half an item", `{"maxItems":1.5}`, `#/maxItems: must be a whole number of at least 0, got 1.5`},
		{"bound as text", `{"minimum":"1"}`, `#/minimum: must be a number, got "1"`},
		{"draft-04 bound", `{"minimum":1,"exclusiveMinimum":true}`,
			`#/exclusiveMinimum: must be a number, got true; the boolean form is draft-04 and needs "$schema": ` +
				`"http://json-schema.org/draft-04/schema#"`},
		{"zero step", `{"multipleOf":0}`, `#/multipleOf: must be more than 0, got 0`},
		{"empty enum", `{"enum":[]}`, `#/enum: must be a list of at least one value, got an empty array`},
		{"enum of one value", `{"enum":"a"}`, `#/enum: must be a list of at least one value, got "a"`},
		{"empty allOf", `{"allOf":[]}`, `#/allOf: must be a list of at least one schema, got an empty array`},
		{"anyOf as an object", `{"anyOf":{}}`, `#/anyOf: must be a list of at least one schema, got object`},
		{"properties as a list", `{"properties":[]}`, `#/properties: must be an object of schemas, got an empty array`},
		{"items as a list", `{"items":[{}]}`,
			`#/items: must be one schema, got array; a list of schemas is "prefixItems" now, or declare an older "$schema"`},
		{"description of a number", `{"properties":{"a/b":{"description":1}}}`,
			`#/properties/a~1b/description: must be a string, got 1`},
		{"unknown dialect", `{"$schema":"https://example.com/mine"}`,
			`#/$schema: unknown dialect "https://example.com/mine"; known: json-schema.org/draft-04/schema, ` +
				`json-schema.org/draft-06/schema, ` +
				`json-schema.org/draft-07/schema, json-schema.org/draft/2019-09/schema, json-schema.org/draft/2020-12/schema`},
		{"dialect inside", `{"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`,
			`#/properties/a/$schema: an inner schema cannot be of another dialect; leave $schema out here`},
		{"missing reference", `{"properties":{"a":{"$ref":"#/$defs/missing"}}}`,
			`#/properties/a/$ref: "#/$defs/missing" points at no schema in here`},
		{"reference to a value", `{"default":{"type":"string"},"allOf":[{"$ref":"#/default"}]}`,
			`#/allOf/0/$ref: "#/default" points at no schema in here`},
		{"reference to no anchor", `{"$ref":"#name","$defs":{"a":{"$anchor":"other","const":{"$anchor":"name"}}}}`,
			`#/$ref: "#name" names an anchor that no schema in here has`},
		{"relative reference", `{"$ref":"other.json"}`,
			`#/$ref: "other.json" leads out of this schema; nothing is ever fetched, so refer to what is in it, as in ` +
				`"#/$defs/name"`},
		{"file reference", `{"$ref":"file:///etc/passwd"}`,
			`#/$ref: "file:///etc/passwd" leads out of this schema; nothing is ever fetched, so refer to what is in it, ` +
				`as in "#/$defs/name"`},
		{"dynamic reference", `{"$defs":{"a":{"$id":"a","$dynamicAnchor":"x","$dynamicRef":"#x"},` +
			`"b":{"$id":"b","$dynamicAnchor":"x"}}}`, `#/$defs/a/$dynamicRef: "#x" leads to one of several schemas, by ` +
			`how it is reached, which is not supported; use $ref`},
		{"two references", `{"$ref":"#/$defs/a","$dynamicRef":"#/$defs/a","$defs":{"a":{}}}`,
			`#/$dynamicRef: a schema cannot refer to two others; write each reference into a schema of "allOf"`},
		{"reference below an inner $id",
			`{"$defs":{"a":{"$id":"https://example.com/a","properties":{"x":{"$ref":"#/$defs/a"}}}}}`,
			`#/$defs/a/properties/x/$ref: "#/$defs/a" points at no schema in the inner one with an "$id" (#/$defs/a), from ` +
				`which it is read`},
		{"loop", `{"$ref":"#"}`, `#: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"loop of two", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`,
			`#/$defs/a: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"loop nobody uses", `{"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`,
			`#/$defs/a: this schema refers back to itself without a step into the value, so it has no meaning`},
		{"broken pattern", `{"pattern":"("}`, "#/pattern: pattern \"(\": error parsing regexp: missing closing ): `(`"},
		{"counts in the wrong order", `{"pattern":"a{3,2}"}`,
			"#/pattern: pattern \"a{3,2}\": error parsing regexp: invalid repeat count: `{3,2}`"},
		{"unclosed lookahead", `{"pattern":"(?=a"}`,
			"#/pattern: pattern \"(?=a\": error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{"broken pattern property", `{"patternProperties":{"[":{}}}`,
			"#/patternProperties/[: pattern \"[\": error parsing regexp: missing closing ]: `[`"},
		{"absurd bound", `{"minimum":1e1000000}`,
			`#/minimum: number 1e1000000 has too many digits or too large an exponent (limit 400)`},
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
		`^a(?!a)b$`:                       `(?!...) is not available in RE2`,
		`^(?!a)b|c$`:                      `(?!...) is not available in RE2`,
		`^(?!(?=a))b$`:                    `(?!...) is not available in RE2`,
		`^(?!a)*b$`:                       `(?!...) is not available in RE2`,
		`(?=.*[0-9])`:                     `(?=...) is not available in RE2`,
		`(?<=a)b`:                         `(?<=...) is not available in RE2`,
		`(?<!a)b`:                         `(?<!...) is not available in RE2`,
		`^(a)\\1$`:                        `the back reference \1 is not available in RE2`,
		`(?<x>a)\\k<x>`:                   `the back reference \k is not available in RE2`,
		`^.{0,5000}$`:                     `the repeat count {0,5000} is more than 1000, the limit of RE2`,
		`(?:a{1000}b){9}`:                 `the repeat count`,
		`^[a-z]{900}[^a]{900}[b-c]{900}$`: `repeats too much (`,
		strings.Repeat("a", 513):          `is 513 bytes long; the limit is 512`,
	} {
		s, err := Compile([]byte(`{"properties":{"a":{"type":"string","pattern":"` + pattern +
			`","maxLength":2}},"required":["a"]}`))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if len(s.Unchecked) != 1 || !strings.Contains(s.Unchecked[0], "#/properties/a/pattern: ") ||
			!strings.Contains(s.Unchecked[0], why) {
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

// Lookaheads at the start of a pattern are checked, in linear time.
func TestLookaheads(t *testing.T) {
	for _, c := range []struct{ pattern, fit, unfit string }{
		{`^(?!a)b`, `b bc`, `a ab c`},
		{`^(?!a|b)`, `c`, `a b`},
		{`^(?=.*[A-Z])(?=.*\\d)(?!.*[)|\\]]).{4,}$`, `Abc1 1abC`, `abc1 Abcd Ab1 Abc1| Abc1)`},
		{`^(?=.{1,5}$)(a|b)+$`, `ab ababa`, `ababab c`},
		// That of zod's email().
		{`^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`,
			`ada@example.org a.b+c@x-y.example.org`, `.ada@example.org a..b@example.org ada@example ada.@example.org`},
	} {
		raw := `{"anyOf":[{"type":"object"},{"pattern":"` + c.pattern + `"}]}`
		s := mustCompile(t, raw)
		if len(s.Unchecked) > 0 {
			t.Errorf("%s: %q", c.pattern, s.Unchecked)
		}
		check := func(texts string, fits bool) {
			for text := range strings.FieldsSeq(texts) {
				doc := []byte(strconv.Quote(text))
				valid, _ := s.verdict(text)
				if got := s.Validate(doc) == nil; got != fits || valid != fits {
					t.Errorf("%s: %s fits: %v, the library says %v", c.pattern, doc, got, valid)
				}
			}
		}
		check(c.fit, true)
		check(c.unfit, false)
		if invalid := s.Validate([]byte(`5`)); invalid != nil {
			t.Errorf("a number has to match: %v", invalid)
		}
	}
}

// Where a schema that accepts more would make the schema around it accept less, the keyword around it is not checked
// either.
func TestUncheckedPatternsRefuseNothing(t *testing.T) {
	for schema, docs := range map[string][]string{
		`{"not":{"pattern":"^(?:(?!a))"}}`: {`"a"`, `1`},
		`{"not":{"properties":{"x":{"$ref":"#/$defs/p"}},"required":["x"]},` +
			`"$defs":{"p":{"pattern":"^(?:(?!a))"}}}`: {`{"x":"a"}`,
			`{}`},
		`{"oneOf":[{"pattern":"^(?:(?!a))"},{"pattern":"^(?:(?=a))"}]}`: {`"a"`,
			`"b"`},
		`{"oneOf":[{"pattern":"^(?:(?!a))"},{"pattern":"^a"}],"anyOf":[{"type":"string"}]}`: {`"a"`,
			`"b"`},
		`{"if":{"pattern":"^(?:(?!a))"},"then":{"maxLength":1},"else":{"minLength":2}}`: {`"abc"`,
			`"b"`},
		`{"contains":{"pattern":"^(?:(?!a))"},"maxContains":1}`:                             {`["a","b","ab"]`},
		`{"patternProperties":{"^(?:(?!a))":{}},"additionalProperties":false}`:              {`{"b":1}`},
		`{"allOf":[{"patternProperties":{"^(?:(?!a))":{}}}],"unevaluatedProperties":false}`: {`{"b":1}`},
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
	for _, raw := range []json.RawMessage{nil, []byte(" \n"), []byte("{}"), []byte("true"),
		[]byte(`{"x-vendor":{"a":[1]},"title":"t"}`)} {
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
		{"root reference, draft-07",
			`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/Args",` +
				`"definitions":{"Args":{"type":"object","required":["a"]}}}`, `{"a":1}`, `{}`},
		{"siblings of $ref mean nothing in draft-07",
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},` +
				`"definitions":{"s":{"type":"string"}}}`, `{"a":"long"}`, `{"a":1}`},
		{"siblings of $ref count in 2020-12",
			`{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, `{"a":"l"}`,
			`{"a":"long"}`},
		{"tuple, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}],` +
			`"additionalItems":false}`, `["a"]`, `["a",1]`},
		{"dependencies, draft-07",
			`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"required":["d"]}}}`,
			`{"a":1,"b":1}`, `{"c":1}`},
		{"dependencies without a dialect", `{"dependencies":{"a":["b"],"c":false},"type":"object"}`, `{"a":1,"b":2}`,
			`{"a":1}`},
		{"exclusive flags, draft-04",
			`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"maximum":3,` +
				`"exclusiveMaximum":false}`, `3`, `1`},
		{"optional value", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`, `{"a":null}`,
			`{"a":1}`},
		{"unknown format", `{"type":"integer","format":"int64"}`, `5`, `"5"`},
		{"a format is not asserted", `{"type":"string","format":"email"}`, `"no address"`, `5`},
		{"content is not asserted", `{"type":"string","contentEncoding":"base64","contentMediaType":"application/json"}`,
			`"%%%"`, `5`},
		{"safe integers", `{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, `12`,
			`9007199254740992`},
		{"JavaScript escapes", `{"pattern":"^[\\u0041-\\u0043\\cJ\\/]$"}`, `"B"`, `"D"`},
		{"recursive tree", `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object",` +
			`"properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"additionalProperties":false}}}`,
			`{"children":[{"children":[]},{}]}`, `{"children":[{"children":[1]}]}`},
		{"recursive root", `{"type":"object","additionalProperties":{"$ref":"#"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"fragment $id, draft-07",
			`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://example.com/x.json",` +
				`"properties":{"a":{"$id":"#/properties/a","type":"string"}}}`, `{"a":"x"}`, `{"a":1}`},
		{"names as identifiers, as TypeBox writes them", `{"type":"object","required":["node"],"properties":{"node":` +
			`{"$id":"Node","type":"object","required":["nodes"],"properties":{"nodes":{"type":"array",` +
			`"items":{"$ref":"Node"}}}}}}`, `{"node":{"nodes":[{"nodes":[]}]}}`, `{"node":{"nodes":[{"nodes":[1]}]}}`},
		{"the same inner schema twice", `{"prefixItems":[{"$id":"A","$ref":"#/$defs/s","$defs":{"s":{"type":"string"}}},` +
			`{"$id":"A","$ref":"#/$defs/s","$defs":{"s":{"type":"integer"}}},{"$ref":"A"}]}`, `["a",1,"b"]`, `["a","b"]`},
		{"anchor", `{"items":{"$ref":"#positive"},"$defs":{"p":{"$anchor":"positive","minimum":1}}}`, `[1]`, `[0]`},
		{"anchor, draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"$ref":"#positive"},` +
			`"definitions":{"p":{"$id":"#positive","minimum":1}}}`, `[1]`, `[0]`},
		{"the root by its $id", `{"$id":"https://example.com/tree.json","additionalProperties":{"$ref":"tree.json#"},` +
			`"type":"object"}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"a URN", `{"$id":"urn:uuid:deadbeef-4321-ffff-ffff-1234feebdaed","items":` +
			`{"$ref":"urn:uuid:deadbeef-4321-ffff-ffff-1234feebdaed#/$defs/b"},"$defs":{"b":{"type":"string"}}}`,
			`["a"]`, `[1]`},
		{"dynamic reference that leads to one place", `{"$dynamicAnchor":"node","type":"object",` +
			`"additionalProperties":{"$dynamicRef":"#node"}}`, `{"a":{}}`, `{"a":1}`},
		{"the nearest $defs is not the root's",
			`{"$defs":{"t":{"type":"string"}},"properties":{"x":{"$defs":{"t":{"type":"integer"}},"$ref":"#/$defs/t"}}}`,
			`{"x":"s"}`, `{"x":1}`},
		{"escaped pointer", `{"$defs":{"a/b~c d":{"type":"string"}},"items":{"$ref":"#/$defs/a~1b~0c%20d"}}`, `["s"]`, `[1]`},
		{"reference into properties", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"b":"s"}`,
			`{"b":1}`},
		{"const and enum", `{"const":1,"enum":[1.0,2]}`, `1`, `2`},
		{"nothing is const and enum", `{"anyOf":[{"const":3,"enum":[1,2]},{"type":"null"}]}`, `null`, `3`},
		{"not anything", `{"properties":{"a":{}},"additionalProperties":{"not":{}}}`, `{"a":1}`, `{"b":1}`},
		{"true has looked at nothing", `{"$ref":"#/$defs/any","$defs":{"any":true},"unevaluatedProperties":false}`, `{}`,
			`{"a":1}`},
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

// RE2 folds the ranges of a class one character after the other, which must not take as long for each \S.
func TestPatternThatFoldsManyClasses(t *testing.T) {
	start := time.Now()
	for class, times := range map[string]int{`\\S`: 240, `\\u0100-\\ufefe`: 36} {
		part := `{"pattern":"(?i)[` + strings.Repeat(class, times) + `]"}`
		mustCompile(t, `{"allOf":[`+part+strings.Repeat(","+part, 100)+`]}`)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Errors show a pattern as it was written.
func TestErrorsOfRewrittenPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		".)": "unexpected ): `.)`", `(\u0041`: "missing closing ): `(\\u0041`", `\u{110000}`: "invalid escape sequence: `\\u`",
		`\p{sc=Foo}`: "invalid character class range: `\\p{sc=Foo}`",
	} {
		_, err := (&reader{}).compilePattern(pattern)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), `\x`) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// A schema without an $id is at no place that a path leads to.
func TestPathsLeadOut(t *testing.T) {
	for _, ref := range []string{".", "/", "./", "..", "a", "//"} {
		_, err := Compile([]byte(`{"properties":{"a":{"$ref":"` + ref + `"}}}`))
		if err == nil || !strings.Contains(err.Error(), "leads out of this schema") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestPatternsOfECMA are forms that RE2 spells or reads differently.
func TestPatternsOfECMA(t *testing.T) {
	for _, c := range []struct{ pattern, fits, unfit string }{
		{`^\s$`, "\u00a0\ufeff\u2028\v \n", "a\u200b\u0085"},
		{`^\S$`, "a\u200b\u0085", "\u00a0\ufeff\u2028\v \n"},
		{`^[^\S\n]$`, "\u3000\t", "\na"},
		{`^[\s\S]$`, "\u3000a", ""},
		{`^.$`, "a\u0085\x00", "\n\r\u2028\u2029"},
		{`^[^]$`, "a\n", ""},
		{`^[^]]$`, "", "a\n]"},
		{`^(?:[]|a)$`, "a", "]b"},
		{`^[[:alpha:]]$`, "aZ", "1[:"}, {`^[^[:^digit:]x]$`, "1", "xa"}, {`^[[:upper:][:digit:]]$`, "A1", "a"},
		{`^[[:alpha:]$`, "alph[:", "b]"},
		{`^[\b]$`, "\b", "b"},
		{`^\u{1F600}$`, "\U0001f600", "a"},
		{`^\uD83D\uDE00$`, "\U0001f600", "a"},
		{`^[\uD83D\uDE00-\uD83D\uDE4F]$`, "\U0001f600\U0001f610", "a"},
		{`^\p{Script=Greek}$`, "\u03b1", "a"},
		{`^\P{sc=Greek}$`, "a", "\u03b1"},
		{`^\\.$`, "", "a"},
		{`^\.$`, ".", "a"},
		{`^[.]$`, ".", "a"},
		{`^\cJ$`, "\n", "J"},
		{`^[\s-x]$`, "\u3000-x", "y\uff00"},
		{`^[\s-\uffff]$`, " -\uffff", "\uff00"},
		{`^(?s).$`, "a\n", ""},
		{`^(?is:.)$`, "a\n", ""},
		{`^(?i)[\Sa]$`, "aB", " "},
		{`^(?i)\S$`, "aB", " \u3000"},
	} {
		p, err := (&reader{}).compilePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, r := range c.fits {
			if !p.matches([]byte(string(r))) {
				t.Errorf("%s does not match %q", c.pattern, r)
			}
		}
		for _, r := range c.unfit {
			if p.matches([]byte(string(r))) {
				t.Errorf("%s matches %q", c.pattern, r)
			}
		}
	}
}

// TestNormalForm: the library never sees an annotation, an identifier or a keyword that it would misread.
func TestNormalForm(t *testing.T) {
	root, shared, err := (&reader{}).read([]byte(`{"$id":"http://x/y","$schema":"http://json-schema.org/draft-07/schema#","title":"T","format":"f",
		"properties":{"a":{"$ref":"#/definitions/d"},"b":true,"c":false},"definitions":{"d":{"contentEncoding":"base64","$comment":"c","x-y":1,"pattern":"\\u0041"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := emit(root, shared)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$defs":{"1":{"pattern":"\\x{41}"}},"properties":{"a":{"$ref":"#/$defs/1"},"b":{},"c":false}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatal(diff)
	}
	if strings.Contains(string(got), "http") {
		t.Error("an address reached the library")
	}
}

func TestForeignSchemas(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		notes        []string // words of each
		fit, unfit   []string
	}{
		{"formats", `{"properties":{"d":{"type":"string","format":"date"},"n":{"type":"integer","format":"int32"},` +
			`"x":{"format":"odd"}}}`, nil,
			[]string{`{"d":"2024-02-29"}`, `{"n":-2147483648}`, `{"x":"y"}`, `{}`},
			[]string{`{"d":"2025-02-29"}`, `{"n":2147483648}`}},
		{"a format of another type", `{"properties":{"d":{"format":"date"}}}`, nil, []string{`{"d":5}`, `{"d":null}`},
			[]string{`{"d":"no"}`}},
		{"a format in one of two",
			`{"properties":{"d":{"anyOf":[{"type":"string","format":"date"},{"type":"string","format":"ipv4"}]}}}`, nil,
			[]string{`{"d":"2026-11-22"}`, `{"d":"192.0.2.1"}`}, []string{`{"d":"192.0.2"}`}},
		{"a format that is refused", `{"properties":{"d":{"type":"string","not":{"format":"date"}}}}`, nil,
			[]string{`{"d":"x"}`}, []string{`{"d":"2026-11-22"}`}},
		{"lookahead", `{"properties":{"a":{"type":"string","pattern":"(?!x)","maxLength":2}},"required":["a"]}`,
			[]string{`#/properties/a/pattern: pattern "(?!x)"`},
			[]string{`{"a":"x"}`}, []string{`{"a":"abc"}`, `{}`}},
		{"no regular expression", `{"properties":{"a":{"pattern":"["}}}`, []string{`#/properties/a/pattern`},
			[]string{`{"a":"b"}`}, nil},
		{"lookahead for names", `{"patternProperties":{"^(?=a)":{"type":"string"},"^b":{"type":"string"}},` +
			`"additionalProperties":false}`,
			[]string{`#/patternProperties/`}, []string{`{"a":5}`, `{"b":"x"}`}, []string{`{"b":5}`}},
		{"a member twice", `{"properties":{"a":{"type":"string","type":"number"},"b":{"type":"string"},"a":{"type":"null"}},` +
			`"required":["b"],"required":["a"]}`,
			[]string{`#/properties/a: property "type" is given twice; of each that is, here or elsewhere, the last counts and ` +
				`what is before it means nothing; it`},
			[]string{`{"a":null}`, `{"a":null,"b":"x"}`}, []string{`{"a":1}`, `{"a":"x"}`, `{"b":"x"}`, `{"a":null,"b":1}`}},
		{"listed twice", `{"required":["a","b","a"],"dependentRequired":{"a":["c","c"]},"dependencies":{"b":["d","d"]},` +
			`"properties":{"a":{"type":["null","string","null"]}}}`,
			[]string{`#/required: property "a" is listed twice`, `#/dependentRequired/a: property "c" is listed twice`,
				`#/dependencies/b: property "d" is listed twice`, `#/properties/a/type: type "null" is listed twice`},
			[]string{`{"a":"x","b":1,"c":1,"d":1}`},
			[]string{`{"a":5,"b":1,"c":1,"d":1}`, `{"a":"x","c":1}`, `{"a":"x","b":1,"d":1}`, `{"a":"x","b":1,"c":1}`}},
		{"a loop", `{"$ref":"#","required":["a"]}`, []string{`#: this schema refers back to itself`}, []string{`{"a":1}`},
			[]string{`{}`}},
		{"a loop in a definition that nothing uses", `{"required":["a"],"$defs":{"l":{"$ref":"#/$defs/l"}}}`,
			[]string{`#/$defs/l: this schema refers back to itself`}, []string{`{"a":1}`}, []string{`{}`}},
		{"a loop of three, one under not", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"type":"string"},` +
			`"c":{"$ref":"#/$defs/y/not"}},"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"},{"type":"null"}]},` +
			`"y":{"not":{"type":"string","$ref":"#/$defs/x"}}}}`, []string{`this schema refers back to itself`},
			[]string{`{"a":null,"b":"x"}`, `{"a":1}`, `{"c":"x"}`}, []string{`{"b":1}`, `{"c":1}`}},
		{"a loop beside a use of the same schema", `{"properties":{"a":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string",` +
			`"allOf":[{"$ref":"#/$defs/y"}]}}}`, []string{`#/$defs/y: this schema refers back to itself`},
			[]string{`{"a":"x"}`}, []string{`{"a":1}`}},
		{"tuple", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`, nil,
			[]string{`{"a":["x",1]}`}, []string{`{"a":[1]}`}},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","nullable":true,` +
			`"enum":["x"]},"c":{"nullable":true,"type":["string","null"]},"d":{"type":"string","nullable":false}}}`,
			nil, []string{`{"a":null}`, `{"a":"x"}`, `{"c":null}`}, []string{`{"a":5}`, `{"b":null}`, `{"d":null}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileForeign([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			notes := s.Unchecked
			if len(notes) != len(c.notes) {
				t.Fatalf("notes %q", notes)
			}
			for i, note := range notes {
				if !strings.Contains(note, c.notes[i]) || !strings.HasSuffix(note, "; it is not checked") {
					t.Errorf("note %q", note)
				}
			}
			for _, doc := range c.fit {
				if invalid := s.Validate([]byte(doc)); invalid != nil {
					t.Errorf("%s: %v", doc, invalid)
				}
			}
			for _, doc := range c.unfit {
				if s.Validate([]byte(doc)) == nil {
					t.Errorf("%s fits", doc)
				}
			}
		})
	}
	for _, raw := range []string{`{"$schema":"https://example.org/dialect"}`, `[]`, `{`} {
		if s, err := CompileForeign([]byte(raw)); err == nil {
			t.Errorf("%s compiles, without %q", raw, s.Unchecked)
		}
	}
}

// In a schema of the caller's own a format says what is meant, and nothing more; nullable counts there too.
func TestOwnSchemasHaveNoFormats(t *testing.T) {
	s, err := Compile([]byte(`{"properties":{"d":{"type":"string","format":"date"},"a":{"type":"string",` +
		`"nullable":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{`{"d":"tomorrow"}`, `{"a":null}`} {
		if invalid := s.Validate([]byte(doc)); invalid != nil {
			t.Errorf("%s: %v", doc, invalid)
		}
	}
}

func TestFormatText(t *testing.T) {
	s, err := CompileForeign([]byte(`{"properties":{"d":{"type":"string","format":"date-time"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Invalid{Problems: []Problem{{Path: "d",
		Message: `must be a date and time with its zone such as 2026-11-22T09:30:00Z, got "tomorrow"`}}}
	if diff := cmp.Diff(want, s.Validate([]byte(`{"d":"tomorrow"}`))); diff != "" {
		t.Error(diff)
	}
}

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct{ fit, unfit []string }{
		"date": {[]string{"2026-11-22", "2024-02-29"},
			[]string{"2025-02-29", "2026-13-01", "2026-1-1", "26-01-01", "2026-11-22Z", ""}},
		"time": {[]string{"09:30:00Z", "09:30:00.5+01:00", "23:59:60Z", "00:59:60+01:00"},
			[]string{"09:30:00", "9:30:00Z", "24:00:00Z", "09:30:60Z", "09:30Z"}},
		"iso-time": {[]string{"09:30:00", "09:30:00Z"}, []string{"09:30"}},
		"date-time": {[]string{"2026-11-22T09:30:00Z", "2026-11-22t09:30:00z", "2026-11-22 09:30:00+01:00"},
			[]string{"2026-11-22T09:30:00", "2026-11-22", "2026-11-22X09:30:00Z"}},
		"iso-date-time": {[]string{"2026-11-22T09:30:00"}, []string{"2026-11-22T"}},
		"duration": {[]string{"P3D", "P1Y2M3DT4H5M6S", "PT1M", "P2W"},
			[]string{"P", "PT", "3D", "P3DT", "P1H", "P1W2D"}},
		"email": {[]string{"ada@example.org", "a.b+c@example.co.uk"},
			[]string{"ada", "ada@", "ada@localhost", "ädä@example.org", "@example.org", "a b@example.org",
				"Ada <ada@example.org>", "ada@exa mple.org"}},
		"hostname": {[]string{"example.org", "a", "xn--bcher-kva.example"},
			[]string{"", "-a", "a-", "a..b", "a b", strings.Repeat("a", 64)}},
		"ipv4": {[]string{"192.0.2.1"}, []string{"192.0.2", "256.0.0.1", "::1", "1.2.3.4.5"}},
		"ipv6": {[]string{"2001:db8::1", "::1", "::ffff:192.0.2.1"},
			[]string{"192.0.2.1", "::1%lo", "1::2::3"}},
		"uri": {[]string{"https://example.org/x?y#z", "mailto:ada@example.org", "urn:x:y"},
			[]string{"/x", "x y:z", "https://example.org/a b", "", "http://ü.example"}},
		"uri-reference": {[]string{"../x", "/x", "#y", "", "https://example.org", "09:30:00Z"},
			[]string{"a b", "a#b#c", "%zz"}},
		"uri-template": {[]string{"/users/{id}", "/x{?a,b*}", "plain", ""},
			[]string{"/users/{id", "/{}", "a b", "}"}},
		"url": {[]string{"https://example.org/x", "ftp://example.org"},
			[]string{"example.org", "mailto:ada@example.org", "http://", "http://a b", "http://localhost:3000",
				"http://127.0.0.1/x"}},
		"uuid": {[]string{"123e4567-e89b-12d3-a456-426614174000",
			"urn:uuid:123E4567-e89b-12d3-a456-426614174000"}, []string{"123e4567e89b12d3a456426614174000", ""}},
		"json-pointer":          {[]string{"", "/a/0", "/a~1b"}, []string{"a", "/a~2"}},
		"relative-json-pointer": {[]string{"1/a", "0#"}, []string{"/a", "01/a"}},
		"byte":                  {[]string{"", "YWJj", "YQ=="}, []string{"YQ", "Y Q=", "*"}},
	} {
		for _, s := range c.fit {
			if !formats()[name].holds(s) {
				t.Errorf("%s: %q does not fit", name, s)
			}
		}
		for _, s := range c.unfit {
			if formats()[name].holds(s) {
				t.Errorf("%s: %q fits", name, s)
			}
		}
	}
}

// fact is what JSON Schema says about one schema.
type fact struct {
	name, schema   string
	valid, invalid []string
	fast           bool     // accept takes all of valid, but for:
	slow           []string // valid, and left to the library
}

// facts covers each keyword that accept knows, and the ways in which they are easily got wrong.
var facts = []fact{
	{name: "type", schema: `{"type":"string"}`, fast: true, valid: []string{`""`, `"a"`, `"\u00e9\n"`},
		invalid: []string{`1`, `null`, `[]`, `{}`, `true`}},
	{name: "type integer", schema: `{"type":"integer"}`, fast: true,
		valid:   []string{`0`, `-0`, `-12`, `123456789012345678901234567890`, `1.0`, `1e2`, `12.50e1`},
		invalid: []string{`1.5`, `"1"`, `1e-1`}, slow: []string{`1.0`, `1e2`, `12.50e1`}},
	{name: "type number", schema: `{"type":"number"}`, fast: true, valid: []string{`0`, `-1.5e-3`, `1E+2`, `0.0`},
		invalid: []string{`"1"`, `null`, `false`}},
	{name: "type boolean", schema: `{"type":"boolean"}`, fast: true, valid: []string{`true`, ` false `},
		invalid: []string{`0`, `"true"`, `null`}},
	{name: "type null", schema: `{"type":"null"}`, fast: true, valid: []string{`null`},
		invalid: []string{`0`, `false`, `""`, `[]`}},
	{name: "types", schema: `{"type":["integer","object","null"]}`, fast: true, valid: []string{`1`, `{}`, `null`},
		invalid: []string{`1.5`, `[]`, `""`}},
	{name: "properties", schema: `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, fast: true,
		valid: []string{`{}`, `{"a":"x"}`, `{"b":1,"a":"x"}`, `{"c":[{"d":1}],"a":"x"}`, `[]`, `1`, `"s"`,
			`{"\u0061":"x"}`},
		invalid: []string{`{"a":1}`, `{"\u0061":1}`, `{"b":1,"a":null}`},
		slow:    []string{`{"\u0061":"x"}`}},
	{name: "required", schema: `{"required":["a","b"],"properties":{"a":{}}}`, fast: true,
		valid: []string{`{"a":1,"b":null}`, `{"b":1,"c":2,"a":3}`, `[]`}, invalid: []string{`{}`, `{"a":1}`, `{"b":1}`}},
	{name: "required, closed", schema: `{"required":["a"],"additionalProperties":false}`,
		invalid: []string{`{}`, `{"a":1}`}, valid: []string{`1`}},
	{name: "required, typed extras", schema: `{"required":["a"],"additionalProperties":{"type":"string"}}`,
		valid: []string{`{"a":"x"}`}, invalid: []string{`{}`, `{"a":1}`, `{"a":"x","b":1}`}},
	{name: "additionalProperties", schema: `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, fast: true,
		valid: []string{`{"a":"x","b":1}`}, invalid: []string{`{"b":"x"}`}},
	{name: "additionalProperties false", schema: `{"properties":{"a":{}},"additionalProperties":false}`, fast: true,
		valid: []string{`{}`, `{"a":null}`}, invalid: []string{`{"b":1}`, `{"A":1}`, `{"a":1,"":1}`}},
	{name: "additionalProperties sees its own properties only",
		schema: `{"allOf":[{"properties":{"a":{}}}],"additionalProperties":false}`, fast: true, valid: []string{`{}`},
		invalid: []string{`{"a":1}`}},
	{name: "enum", schema: `{"enum":["a","é",1,-2.50,true,null,{"x":[1]},1e3]}`, fast: true,
		valid:   []string{`"a"`, `"é"`, `"\u0061"`, `1`, `1.0`, `-2.5`, `true`, `null`, `{"x":[1.0]}`, `1000`},
		invalid: []string{`"b"`, `""`, `2`, `false`, `{}`, `{"x":1}`, `"1"`, `10000`},
		slow:    []string{`"\u0061"`, `1.0`, `-2.5`, `{"x":[1.0]}`}},
	{name: "const", schema: `{"const":0}`, fast: true, valid: []string{`0`, `-0`, `0.0`, `0e5`},
		invalid: []string{`false`, `""`, `null`, `1`}, slow: []string{`0.0`, `0e5`}},
	{name: "const false", schema: `{"const":false}`, fast: true, valid: []string{`false`},
		invalid: []string{`0`, `null`, `[false]`}},
	{name: "minimum", schema: `{"minimum":1.1}`, fast: true, valid: []string{`1.1`, `1.10`, `2`, `"x"`, `11e-1`},
		invalid: []string{`1.09999999999999`, `0`, `-5`}, slow: []string{`11e-1`}},
	{name: "maximum", schema: `{"maximum":-2}`, fast: true,
		valid: []string{`-2`, `-2.0`, `-2.0001`, `-99999999999999999999`}, invalid: []string{`-1.9999999999`, `0`},
		slow: []string{`-99999999999999999999`}},
	{name: "exclusive bounds", schema: `{"exclusiveMinimum":0,"exclusiveMaximum":10}`, fast: true,
		valid: []string{`0.1`, `9.999999`}, invalid: []string{`0`, `-0.0`, `10`, `10.0`}},
	{name: "both lower bounds", schema: `{"minimum":1,"exclusiveMinimum":1}`, valid: []string{`1.5`},
		invalid: []string{`1`}},
	{name: "a bound finer than a float", schema: `{"maximum":0.3}`, fast: true,
		valid: []string{`0.3`, `0.29999999999999999`}, invalid: []string{`0.30000000000000001`},
		slow: []string{`0.29999999999999999`}},
	{name: "a long bound", schema: `{"minimum":0.1000000000000000055511151231257827}`, valid: []string{`0.2`},
		invalid: []string{`0.1`}},
	{name: "a large bound", schema: `{"maximum":9007199254740993}`, fast: true,
		valid: []string{`9007199254740993`, `999999999999999`}, invalid: []string{`9007199254740994`},
		slow: []string{`9007199254740993`}},
	{name: "lengths", schema: `{"minLength":2,"maxLength":3}`, fast: true,
		valid:   []string{`"ab"`, `"日本語"`, `"\ud83d\ude00x"`, `"\n\u0000"`, `"💩💩"`, `5`},
		invalid: []string{`"a"`, `"💩"`, `"\ud83d\ude00"`, `"abcd"`, `"日本語!"`}},
	{name: "pattern", schema: `{"pattern":"a+é"}`, fast: true, valid: []string{`"xaaéx"`, `"aé"`, `"\u0061é"`, `1`},
		invalid: []string{`"é"`, `"xa"`}, slow: []string{`"\u0061é"`}},
	{name: "items", schema: `{"items":{"type":"integer"}}`, fast: true, valid: []string{`[]`, `[1, 2 ,3]`, `{"a":"b"}`},
		invalid: []string{`["a"]`, `[1,null]`}},
	{name: "items counted", schema: `{"minItems":1,"maxItems":2}`, fast: true, valid: []string{`[1]`, `[[],{}]`, `{}`},
		invalid: []string{`[]`, `[1,2,3]`}},
	{name: "items false", schema: `{"items":false}`, valid: []string{`[]`, `1`}, invalid: []string{`[1]`}},
	{name: "allOf", schema: `{"allOf":[{"minimum":1},{"maximum":5},{"type":"integer"}]}`, fast: true,
		valid: []string{`1`, `5`}, invalid: []string{`0`, `6`, `2.5`, `"a"`}},
	{name: "anyOf", schema: `{"anyOf":[{"type":"integer"},{"minimum":2},{"properties":{"a":{"type":"null"}},` +
		`"required":["a"],"type":"object"}]}`, fast: true,
		valid: []string{`1`, `2.5`, `"any text is not less than 2"`, `{"a":null}`, `{"a":1}`}, invalid: []string{`1.5`}},
	{name: "anyOf after an open object",
		schema: `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["zz"]},{"required":["b"]}],"type":"object"}`,
		fast:   true,
		valid:  []string{`{"a":1,"b":2,"c":{"d":3}}`, `{"zz":1}`}, invalid: []string{`{"a":1}`, `{}`}},
	{name: "anyOf and own keywords",
		schema: `{"type":"object","properties":{"n":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		fast:   true,
		valid:  []string{`{"a":1}`, `{"b":1,"n":1}`}, invalid: []string{`{"n":1}`, `{"a":1,"n":"x"}`}},
	{name: "what a failed alternative read is forgotten",
		schema: `{"properties":{"v":{"anyOf":[{"type":"object","required":["zz"],"properties":{"w":{"type":"null"}}},` +
			`{"type":"object"}]}}}`, fast: true,
		valid: []string{`{"v":{"x":1,"w":2},"x":3}`}, invalid: []string{`{"v":1}`}},
	{name: "how deep a failed alternative was is forgotten",
		schema: `{"items":{"anyOf":[{"items":{"type":"string"}},{}]}}`, fast: true,
		valid: []string{"[" + strings.Repeat("[1],", 100) + "[2]]"}},
	{name: "$ref and its siblings", schema: `{"$ref":"#/$defs/a","maxLength":2,"$defs":{"a":{"minLength":1}}}`, fast: true,
		valid: []string{`"x"`}, invalid: []string{`""`, `"xxx"`}},
	{name: "$ref beside what accept does not know",
		schema: `{"$ref":"#/$defs/a","uniqueItems":true,"$defs":{"a":{"type":"array"}}}`, valid: []string{`[1,2]`},
		invalid: []string{`[1,1]`, `1`}},
	{name: "recursion", schema: `{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},` +
		`"required":["v"]}`, fast: true,
		valid:   []string{`{"v":1,"next":{"v":2,"next":{"v":3}}}`},
		invalid: []string{`{"v":1,"next":{"v":"2"}}`, `{"next":{"v":1}}`}},
	{name: "annotations", schema: `{"title":"t","description":"d","default":{"a":[1]},"examples":[1],"format":"date",` +
		`"deprecated":true,"readOnly":true,"$comment":"c","x-own":{"type":7},"type":"string"}`,
		fast: true, valid: []string{`"no date"`}, invalid: []string{`1`}},
	{name: "false", schema: `false`, invalid: []string{`1`, `{}`, `null`}},
	{name: "a false property", schema: `{"properties":{"a":false}}`, valid: []string{`{}`, `{"b":1}`},
		invalid: []string{`{"a":1}`}},

	// These are not for accept.
	{name: "oneOf", schema: `{"oneOf":[{"type":"integer"},{"minimum":2}]}`, valid: []string{`1`, `2.5`},
		invalid: []string{`3`, `1.5`}},
	{name: "not", schema: `{"not":{"type":"integer"}}`, valid: []string{`1.5`, `"a"`}, invalid: []string{`1`}},
	{name: "if", schema: `{"if":{"maximum":0},"then":{"minimum":-10},"else":{"multipleOf":2}}`,
		valid: []string{`-1`, `4`, `"a"`}, invalid: []string{`-100`, `3`}},
	{name: "patternProperties",
		schema: `{"patternProperties":{"^f.*o$":{"type":"integer"}},"properties":{"fo":{"minimum":2}}}`,
		valid:  []string{`{"foo":1}`, `{"bar":"x"}`, `{"fo":2}`}, invalid: []string{`{"foo":"x"}`, `{"fo":1}`, `{"fo":2.5}`}},
	{name: "propertyNames", schema: `{"propertyNames":{"maxLength":3}}`, valid: []string{`{"foo":1}`, `{}`, `[]`},
		invalid: []string{`{"fooo":1}`}},
	{name: "property counts", schema: `{"minProperties":1,"maxProperties":2}`,
		valid: []string{`{"a":1}`, `{"a":1,"b":2}`, `[]`}, invalid: []string{`{}`, `{"a":1,"b":2,"c":3}`}},
	{name: "prefixItems", schema: `{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"}}`,
		valid: []string{`[]`, `[1]`, `[1,"a",null]`}, invalid: []string{`["a"]`, `[1,"a",1]`}},
	{name: "contains", schema: `{"contains":{"const":1},"minContains":2,"maxContains":3}`,
		valid: []string{`[1,1]`, `[1,2,1,1]`, `{}`}, invalid: []string{`[]`, `[1,2]`, `[1,1,1,1]`}},
	{name: "contains none", schema: `{"contains":{"const":1},"minContains":0,"maxContains":1}`,
		valid: []string{`[]`, `[2]`, `[1]`}, invalid: []string{`[1,1]`}},
	{name: "uniqueItems", schema: `{"uniqueItems":true}`,
		valid:   []string{`[1,true,"1",[1],null]`, `[{"a":1},{"a":2}]`, `[0,false]`},
		invalid: []string{`[1,1.0]`, `[{"a":1,"b":2},{"b":2,"a":1}]`, `[[1],[1]]`}},
	{name: "multipleOf", schema: `{"multipleOf":0.01}`, valid: []string{`4.02`, `0`, `1e2`}, invalid: []string{`4.021`}},
	{name: "dependentSchemas", schema: `{"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"c":["d"]}}`,
		valid: []string{`{"a":1,"b":2}`, `{"b":1}`, `{"c":1,"d":1}`}, invalid: []string{`{"a":1}`, `{"c":1}`}},
	{name: "unevaluatedProperties",
		schema: `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}},` +
			`"required":["b"]}],"unevaluatedProperties":false}`,
		valid: []string{`{"a":"x"}`, `{"b":1}`, `{"a":"x","b":1}`}, invalid: []string{`{"a":1,"b":1}`, `{"a":"x","c":1}`}},
	{name: "unevaluatedProperties of a schema",
		schema: `{"$ref":"#/$defs/base","unevaluatedProperties":{"type":"integer"},` +
			`"$defs":{"base":{"patternProperties":{"^x":{}}}}}`,
		valid: []string{`{"x1":"s","n":1}`}, invalid: []string{`{"n":"s"}`}},
	{name: "unevaluatedProperties after a condition",
		schema: `{"properties":{"k":{}},"if":{"properties":{"k":{"const":1}},"required":["k"]},` +
			`"then":{"properties":{"one":{}}},"else":{"properties":{"two":{}}},` +
			`"dependentSchemas":{"two":{"properties":{"three":{}}}},"unevaluatedProperties":false}`,
		valid:   []string{`{"k":1,"one":1}`, `{"k":2,"two":1,"three":1}`},
		invalid: []string{`{"k":1,"two":1}`, `{"k":2,"one":1}`, `{"k":2,"three":1}`}},
	{name: "unevaluatedItems",
		schema: `{"prefixItems":[{}],"if":{"contains":{"const":"end"}},"then":{},"unevaluatedItems":{"type":"integer"}}`,
		valid:  []string{`["a",1]`, `["a","end",2]`}, invalid: []string{`["a","b"]`}},
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

// Whatever is wrong with a value that is not to be shown, no message has it.
func TestValidateShowing(t *testing.T) {
	shown := map[string]string{"/key": "env.KEY"}
	for schema, document := range map[string]string{
		`{"properties":{"key":{"type":"integer"}}}`:                                               `{"key":"SECRET"}`,
		`{"properties":{"key":{"enum":["SECRETS","b"]}}}`:                                         `{"key":"SECRET"}`,
		`{"properties":{"key":{"const":"b"}}}`:                                                    `{"key":"SECRET"}`,
		`{"properties":{"key":{"pattern":"^b"}}}`:                                                 `{"key":"SECRET"}`,
		`{"properties":{"key":{"not":{"type":"string"}}}}`:                                        `{"key":"SECRET"}`,
		`{"properties":{"key":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`:                `{"key":"SECRET"}`,
		`{"properties":{"key":{"oneOf":[{"type":"object"},{"pattern":"^b"},{"pattern":"^c"}]}}}`:  `{"key":"SECRET"}`,
		`{"properties":{"key":{"minimum":5000}}}`:                                                 `{"key":4711}`,
		`{"properties":{"key":{"multipleOf":5}}}`:                                                 `{"key":4711}`,
		`{"properties":{"key":{"items":{"type":"integer"}}}}`:                                     `{"key":["SECRET"]}`,
		`{"properties":{"key":{"properties":{"a":{"type":"integer"}},"unevaluatedItems":false}}}`: `{"key":{"a":"SECRET"}}`,
		`{"properties":{"key":{"if":{"type":"string"},"then":{"maxLength":2}}}}`:                  `{"key":"SECRET"}`,
	} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(schema, err)
		}
		invalid := s.validateShowing([]byte(document), shown)
		if invalid == nil {
			t.Errorf("%s takes %s", schema, document)
		} else if text := strings.ReplaceAll(invalid.Error(), `"SECRETS"`, ""); strings.Contains(text, "SECRET") ||
			strings.Contains(text, "4711") {
			t.Errorf("%s says %s", schema, text)
		} else if !strings.Contains(text, "env.KEY") && !strings.Contains(text, "characters") {
			t.Errorf("%s does not name the reference: %s", schema, text)
		}
		if open := s.Validate([]byte(document)); (open == nil) != (invalid == nil) {
			t.Errorf("%s: the verdict differs: %v", schema, open)
		}
	}
}
