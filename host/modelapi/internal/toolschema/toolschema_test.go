package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// all are the rewritings, without what OpenAI has besides.
var all = map[string]func(json.RawMessage) (json.RawMessage, error){
	"MCP": MCP, "Gemini": Gemini, "Anthropic": Anthropic, "GeminiOpenAPI": GeminiOpenAPI, "Bedrock": Bedrock,
	"OpenAI": func(raw json.RawMessage) (json.RawMessage, error) {
		out, _, err := OpenAI(raw)
		return out, err
	},
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ schema, want string }{
		"nothing":     {``, "cannot be read"},
		"a list":      {`[]`, "not a JSON object"},
		"cut":         {`{"a":`, "cannot be read"},
		"cut in list": {`{"a":[1`, "cannot be read"},
		"too deep":    {strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat("}", 70), "nested more than 64 deep"},
		"too large":   {`{"description":"` + strings.Repeat("a", maxSize) + `"}`, "at most 262144 are allowed"},
	}
	for name, c := range cases {
		for format, rewrite := range all {
			if out, err := rewrite(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %s, %v; want text containing %q", format, name, out, err, c.want)
			}
		}
	}
}

// Numbers keep their digits, names their order, texts their characters.
func TestKept(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"z":{"type":"integer","maximum":123456789012345678901234567890},` +
		`"a":{"type":"number","minimum":1.50e-3}},"description":"<a> & \"b\"\né"}`
	out, err := Gemini(json.RawMessage("\n" + strings.ReplaceAll(schema, `,"`, `, "`)))
	if err != nil || string(out) != schema {
		t.Errorf("%v\n%s\n%s", err, schema, out)
	}
}

func TestStrictNot(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"a":%s},"required":["a"],"additionalProperties":false}`
	for _, property := range []string{
		`{}`, `true`, `{"type":"string","pattern":"(?=a)"}`, `{"type":"string","format":"uri"}`,
		`{"type":"string","minLength":1}`,
		`{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"array","items":{}}`, `{"type":"array"}`,
		`{"enum":["a"]}`,
		`{"oneOf":[{"type":"string"}]}`, `{"anyOf":[]}`, `{"anyOf":[true]}`, `{"type":"string","examples":["a"]}`,
		`{"type":"string","required":["b"]}`, `{"type":"string","items":{"type":"string"}}`,
		`{"type":"string","enum":[1]}`, `{"type":"string","const":null}`,
		`{"anyOf":[{"type":"string"},{"$ref":"#/properties/a/anyOf/0"}]}`,
	} {
		if _, strict, err := OpenAI(fmt.Appendf(nil, object, property)); strict || err != nil {
			t.Errorf("strict %t for %s, %v", strict, property, err)
		}
	}
	for _, property := range []string{
		`{"type":"string","pattern":"^a+$"}`, `{"type":"string","format":"uuid"}`,
		`{"type":["number","null"],"multipleOf":0.1}`,
		`{"type":["number","null"],"enum":[1,1.5,null]}`, `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`,
		`{"type":"array","items":{"type":"string"},"minItems":1}`, `{"type":"string","const":"a"}`,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
	} {
		if _, strict, err := OpenAI(fmt.Appendf(nil, object, property)); !strict || err != nil {
			t.Errorf("strict %t for %s, %v", strict, property, err)
		}
	}
}

func TestStrictLimits(t *testing.T) {
	t.Parallel()
	members := func(n, size int) string {
		var names, properties []string
		for i := range n {
			name := fmt.Sprintf("%0*d", size, i)
			names, properties = append(names, `"`+name+`"`), append(properties, `"`+name+`":{"type":"null"}`)
		}
		return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` +
			strings.Join(names, ",") + `],"additionalProperties":false}`
	}
	cases := map[string]struct {
		schema string
		want   bool
	}{
		"5000 properties":   {members(5000, 4), true},
		"5001 properties":   {members(5001, 4), false},
		"120000 characters": {members(480, 250), true},
		"120250 characters": {members(481, 250), false},
	}
	for name, c := range cases {
		if _, strict, err := OpenAI(json.RawMessage(c.schema)); strict != c.want || err != nil {
			t.Errorf("%s: strict %t, %v", name, strict, err)
		}
	}
}

// References multiply; work and output stay bounded.
func TestHostile(t *testing.T) {
	t.Parallel()
	doubling := `{"type":"object","$ref":"#/$defs/d0","$defs":{`
	for i := range 30 {
		doubling += fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/`+
			`d%d"}}},`, i, i+1, i+1)
	}
	doubling += `"d30":{"type":"string"}}}`
	inPlace := strings.ReplaceAll(strings.ReplaceAll(doubling, `"properties":{"a":`, `"anyOf":[`), `,"b":{`, `,{`)
	inPlace = strings.ReplaceAll(inPlace, `}}}`, `}]}`)
	inPlace = strings.TrimSuffix(inPlace, `}]}`) + `}}}`
	fat := `{"type":"object","properties":{`
	for i := range 900 {
		fat += fmt.Sprintf(`"p%d":{"$ref":"#/$defs/fat"},`, i)
	}
	fat += `"z":{"type":"string"}},"$defs":{"fat":{"type":"string","description":"` + strings.Repeat("x", 40<<10) + `"}}}`
	fatNames := strings.ReplaceAll(fat, `{"type":"string","description":"`+strings.Repeat("x", 40<<10)+`"}`,
		`{"properties":{"`+strings.Repeat("x", 40<<10)+`":{}}}`)
	for name, schema := range map[string]string{
		"fat names": fatNames,
		"doubling":  doubling, "doubling in place": inPlace, "fat": fat,
		"itself": `{"type":"object","$ref":"#"}`, "itself in place": `{"type":"object","anyOf":[{"$ref":"#"}]}`,
		"two for each other": `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],` +
			`"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"allOf":[{"$ref":"#/$defs/x"}]}}}`,
	} {
		if !json.Valid([]byte(schema)) {
			t.Fatalf("%s is no JSON: %s", name, schema)
		}
		for format, rewrite := range all {
			start := time.Now()
			out, err := rewrite(json.RawMessage(schema))
			if took := time.Since(start); took > 5*time.Second || len(out) > 4*maxSize {
				t.Errorf("%s, %s: took %s for %d bytes", format, name, took, len(out))
			}
			if format == "GeminiOpenAPI" && err == nil {
				t.Errorf("%s: inlined: %.200s", name, out)
			}
		}
	}
}

// What the meta-schema of the draft refuses, a vendor refuses with the whole list: no keyword of a foreign schema is
// left with such a value.
func TestKeywordsHaveValuesOfTheirForm(t *testing.T) {
	t.Parallel()
	keywords := slices.Concat(schemaKeywords, listKeywords, mapKeywords, []string{"type", "enum", "const", "required",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "pattern", "format",
		"title", "description", "default", "examples", "$ref", "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor",
		"$id", "id", "$schema", "$comment", "$vocabulary", "dependentRequired", "contentEncoding", "contentMediaType",
		"deprecated", "readOnly", "writeOnly", "nullable", "example"})
	for _, keyword := range keywords {
		for _, value := range []string{`-1`, `0`, `1.5`, `2.0`, `1e400`, `"x"`, `true`, `null`, `[]`, `["a","a"]`, `["a",1]`,
			`["string","string"]`, `[1]`, `{}`, `{"a":1}`, `{"a":"b"}`, `{"a":["b","b"]}`, `{"a":["b"]}`} {
			in := fmt.Sprintf(`{"type":"object","properties":{"p":{%q:%s}}}`, keyword, value)
			out, err := Anthropic(json.RawMessage(in))
			if err != nil {
				t.Fatalf("%s: %v", in, err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
			if err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("mem:///schema.json", doc); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Compile("mem:///schema.json"); err != nil {
				t.Errorf("%s becomes %s: %v", in, out, err)
			}
		}
	}
}

// For any input nothing panics, and the output is JSON that a second conversion does not change.
func FuzzShapes(f *testing.F) {
	for _, seed := range []string{`{}`,
		`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["a",null]}},"required":["a"],` +
			`"additionalProperties":false}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"properties":{"x":{"$ref":"#"}}},{"items":[{}]}]}}}`,
		`{"allOf":[{"oneOf":[true,{"const":1}]}],"exclusiveMinimum":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		for format, rewrite := range all {
			out, err := rewrite(schema)
			if err != nil || out == nil {
				continue
			}
			if !json.Valid(out) {
				t.Fatalf("%s of %q is no JSON: %q", format, schema, out)
			}
			if format == "GeminiOpenAPI" {
				continue
			}
			again, err := rewrite(out)
			if err != nil || format == "MCP" && !bytes.Equal(out, again) {
				t.Errorf("%s: %q becomes %q, %v", format, out, again, err)
			}
		}
	})
}

// A definition may be used more than once, beside itself and in parts of one value.
func TestInlinedTwice(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/s"},
		"c":{"allOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/s"},{"maxLength":3}]}},"$defs":{"s":{"type":"string",
			"minLength":1}}}`
	const want = `{"type":"OBJECT","properties":{"a":{"type":"STRING","minLength":1},"b":{"type":"STRING",` +
		`"minLength":1},` +
		`"c":{"type":"STRING","minLength":1,"maxLength":3}},"propertyOrdering":["a","b","c"]}`
	if out, err := GeminiOpenAPI(json.RawMessage(schema)); err != nil || string(out) != want {
		t.Errorf("%v\n%s\n%s", err, out, want)
	}
}

// Some generators write the largest number they have for an absent limit.
func TestCountsBeyondInt64AreLeftOut(t *testing.T) {
	t.Parallel()
	out, err := GeminiOpenAPI(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":1,` +
		`"maxLength":18446744073709551615}}}`))
	if want := `{"type":"OBJECT","properties":{"a":{"type":"STRING","minLength":1}}}`; err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}

// The Gemini API refuses other keywords beside a reference.
func TestGeminiRefsStandAlone(t *testing.T) {
	t.Parallel()
	const defs = `"$defs":{"s":{"type":"string"},"o":{"type":"object","properties":{"x":{"type":"string"}},` +
		`"required":["x"]}}`
	cases := map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/s","title":"A","description":"d","maxLength":3}},` + defs +
			`}`: `{"type":"object","properties":{"a":{"$ref":"#/$defs/s","description":"d"}},` + defs + `}`,
		`{"type":"object","$ref":"#/$defs/o",` + defs +
			`}`: `{"type":"object",` + defs + `,"properties":{"x":{"type":"string"}},"required":["x"]}`,
	}
	for schema, want := range cases {
		if out, err := Gemini(json.RawMessage(schema)); err != nil || string(out) != want {
			t.Errorf("%v\n%s\n%s", err, out, want)
		}
	}
}

func TestMCPPropertiesAreObjects(t *testing.T) {
	t.Parallel()
	out, err := MCP(json.RawMessage(`{"properties":{"a":true,"b":false,"c":{"items":true}}}`))
	if want := `{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"items":true}}}`; err != nil ||
		string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}

// Amazon Nova takes no definitions, so references are inlined; one that leads back to itself permits anything.
func TestBedrockInlines(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"properties":{"a":{"$ref":"#/$defs/s","description":"mine"},"l":{"type":"array","items":{"$ref":"#/$defs/s"}},
			"m":{"additionalProperties":{"anyOf":[{"$ref":"#/$defs/s"},{"enum":[{"$ref":"#/x"}]}]}}},"title":"T",
			"additionalProperties":false,"$defs":{"s":{"type":"string","description":"theirs"}}}`: `{"type":"object","properties":{` +
			`"a":{"description":"mine","type":"string"},` +
			`"l":{"type":"array","items":{"type":"string","description":"theirs"}},"m":{"additionalProperties":{"anyOf":[` +
			`{"type":"string","description":"theirs"},{"enum":[{"$ref":"#/x"}]}]}}}}`,
		`{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"required":["t"],"$defs":{"t":{"properties":{
			"v":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/t","description":"more"}}}}}}`: `{"type":"object",` +
			`"properties":{"t":{"properties":{"v":{"type":"string"},"kids":{"type":"array","items":{"description":"more"}}}}},` +
			`"required":["t"]}`,
	} {
		if out, err := Bedrock(json.RawMessage(schema)); err != nil || string(out) != want {
			t.Errorf("%v\n%s\n%s", err, out, want)
		}
	}
	for name, width := range map[string]int{"references that multiply": 20, "texts that multiply": 3} {
		defs := `"d0":{"type":"string","description":"` + strings.Repeat("x", 100_000/width) + `"}`
		for i := range 6 {
			var uses []string
			for j := range width {
				uses = append(uses, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, j, i))
			}
			defs += fmt.Sprintf(`,"d%d":{"properties":{%s}}`, i+1, strings.Join(uses, ","))
		}
		if _, err := Bedrock(json.RawMessage(`{"properties":{"a":{"$ref":"#/$defs/d6"}},"$defs":{` + defs + `}}`)); err == nil ||
			!strings.Contains(err.Error(), "with its references") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Vendors refuse a whole list for a pattern that is none. What may be right in ECMAScript stays, whatever Go makes
// of it.
func TestMalformedPatterns(t *testing.T) {
	t.Parallel()
	converted := func(schema string) string {
		out, err := Gemini(json.RawMessage(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		return string(out)
	}
	for _, pattern := range []string{"[", "a[b", "[a\\]", "(", "(a", "((a)", "(?:a", ")", "a)", "(a))", "*", "+a", "?",
		"a|*", "(*a)", "a**", "a*+", "a+*", "a??*", "a*??", "\\", "a\\", "[\\", "(?<n>a"} {
		quoted, _ := json.Marshal(pattern)
		if out := converted(fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","pattern":%s}}}`, quoted)); out !=
			`{"type":"object","properties":{"a":{"type":"string"}}}` {
			t.Errorf("%s: %s", quoted, out)
		}
		if out := converted(fmt.Sprintf(`{"type":"object","patternProperties":{%s:{"type":"string"},"^b":{}},`+
			`"additionalProperties":false}`, quoted)); out != `{"type":"object","patternProperties":{"^b":{}}}` {
			t.Errorf("%s: %s", quoted, out)
		}
	}
	for _, pattern := range []string{"", "^a+$", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", `(a)\1`, `(?<n>a)\k<n>`, "[^]", "[]",
		"[]]", "a]", "a{", "a}", "a{,2}", "{", `\u0041`, `\cA`, `[\d-x]`, "a{1001}", `\p{Script=Greek}`, `\/`, `\-`, "a*?", "a??",
		"a+?", "a{2}?", "[(]", "[*+?]", `\(`, `\[`, `[\]]`, "(?:a)*", "()*", "(|a)*", "[[]", "[[:alpha:]", "[]a]", "(?=[)(])", `[\\]`, "(?i)a"} {
		quoted, _ := json.Marshal(pattern)
		schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","pattern":%s}}}`, quoted)
		if out := converted(schema); !equalJSON(out, schema) {
			t.Errorf("%s: %s", schema, out)
		}
	}
}

func equalJSON(a, b string) bool {
	x, err := read([]byte(a))
	y, err2 := read([]byte(b))
	return err == nil && err2 == nil && equal(x, y)
}

// The host checks what is listed twice as if it were there once, and of members with one name the last.
func TestListedTwice(t *testing.T) {
	t.Parallel()
	out, err := Gemini(json.RawMessage(`{"type":"object","properties":{"a":1,"a":{"type":["null","string","null"]}},` +
		`"required":["a","b","a"],"dependentRequired":{"a":["b","b"]}}`))
	if want := `{"type":"object","properties":{"a":{"type":["null","string"]}},"required":["a","b"],` +
		`"dependentRequired":{"a":["b"]}}`; err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}
