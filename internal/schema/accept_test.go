package schema

import (
	"fmt"
	"strings"
	"testing"
)

// unionOfTypes are objects that a member tells apart.
const unionOfTypes = `{"type":"object","properties":{"shapes":{"type":"array","items":{"$ref":"#/$defs/shape"}}},"$defs":{` +
	`"shape":{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind"],` +
	`"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"box"},"size":{"type":"integer"}},"required":[` +
	`"kind"]},{"type":"object","properties":{"kind":{"const":"group"},"shapes":{"type":"array","items":{"$ref":"#/$defs/shape"}}},` +
	`"required":["kind","shapes"]}]}}}`

func TestAcceptAllocatesNothing(t *testing.T) {
	forty, valid, _ := fortyFields()
	for _, c := range []struct{ name, schema, doc string }{
		{"5 fields", fiveFields, fiveValid}, {"40 fields", forty, valid},
		{"a tree", `{"type":"object","properties":{"v":{"anyOf":[{"type":"string","pattern":"^[a-z]*$"},{"type":"null"}]},` +
			`"next":{"$ref":"#"}}}`, `{"v":"abc","next":{"v":null,"next":{}}}`},
		{"one of several types", unionOfTypes, `{"shapes":[{"kind":"box","size":2},{"kind":"group","shapes":[{"radius":1,` +
			`"kind":"circle"}]}]}`},
		{"a long enum", `{"enum":["a","` + strings.Repeat("b", 99) + `"]}`, `"` + strings.Repeat("b", 99) + `"`},
		{"free form", `{"type":"object"}`, `{"a":[1,2,{"b":"\u00e9\n"}],"c":{"d":null}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, doc := mustCompile(t, c.schema), []byte(c.doc)
			allocs := testing.AllocsPerRun(100, func() {
				if !s.fast.accepts(doc) {
					t.Fatal("a valid document is not accepted")
				}
			})
			if allocs > 0 {
				t.Fatalf("%v allocations", allocs)
			}
		})
	}
}

// TestAcceptIsNotCertain: what the library refuses for its form alone, accept must not take, wherever it stands.
func TestAcceptIsNotCertain(t *testing.T) {
	s := mustCompile(t, `{"type":["object","array","string","number"],"properties":{"a":{"type":"string"}},"items":{}}`)
	for _, doc := range []string{
		``, ` `, `{`, `{}}`, `{} 1`, `{"a"}`, `{"a":"x",}`, `{,}`, `{"a":"x" "b":1}`, `{a:1}`, `{'a':1}`, `[1,]`, `[1 2]`,
		`[,1]`, `[`, `[1`, "{}\x00",
		`{"a":"x","a":"y"}`, `{"b":1,"b":2}`, `[{"z":{"y":1,"y":1}}]`, `{"b":{"c":1},"\u0062":2}`,
		"\"\xff\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "{\"\xff\":1}", `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`,
		`"\ud800\ud800"`, `"\u12"`, `"\u12g4"`, `"\x41"`, `"\`, `"a`, "\"\n\"", "\"\t\"", "\"\x00\"",
		`01`, `-`, `-01`, `+1`, `1.`, `.5`, `1e`, `1e+`, `0x1`, `1_000`, `NaN`, `Infinity`, `-Infinity`, `1e401`, `1e1000000`,
		`1e99999999999999999999`, strings.Repeat("9", 401),
		`tru`, `trues`, `nul`, `"a"x`, `{"a":"x"}{}`, "\ufeff{}", `//c` + "\n{}",
		strings.Repeat("[", 65) + strings.Repeat("]", 65),
	} {
		if s.fast.accepts([]byte(doc)) {
			t.Errorf("accept takes %q", doc)
		}
	}
	if doc := strings.Repeat("[", 64) + strings.Repeat("]", 64); !s.fast.accepts([]byte(doc)) ||
		s.Validate([]byte(doc)) != nil {
		t.Error("64 levels are not accepted")
	}
}

// TestAcceptManyNames: up to 32 names outside properties are distinguished in place, more are left to the library.
func TestAcceptManyNames(t *testing.T) {
	s := mustCompile(t, `{"type":"object"}`)
	object := func(n int) []byte {
		return []byte("{" + list(n, func(i int) string { return fmt.Sprintf(`"name%d":{"inner":%d}`, i, i) }) + "}")
	}
	if !s.fast.accepts(object(31)) || s.fast.accepts(object(33)) {
		t.Error("the bound is elsewhere")
	}
	if got := s.Validate(object(500)); got != nil {
		t.Error(got)
	}
	wide := mustCompile(t, `{"properties":{`+
		list(256, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer"}`, i) })+`},"required":["p255"]}`)
	all := "{" + list(256, func(i int) string { return fmt.Sprintf(`"p%d":1`, 255-i) }) + "}"
	if !wide.fast.accepts([]byte(all)) {
		t.Error("256 properties are not accepted")
	}
	if mustCompile(t, `{"properties":{`+list(257, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) })+
		`}}`).fast != nil {
		t.Error("257 properties have a rule")
	}
}

// TestAcceptWorkIsBounded: a schema that multiplies with itself costs accept no more than a scan.
func TestAcceptWorkIsBounded(t *testing.T) {
	s := mustCompile(t, `{"allOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"c":{"$ref":"#"}}}]}`)
	doc := []byte(strings.Repeat(`{"c":`, 60) + `{}` + strings.Repeat(`}`, 60))
	within(t, func() {
		if s.fast.accepts(doc) {
			t.Error("2^60 steps fit the bound")
		}
	})
}

func TestAcceptKnows(t *testing.T) {
	for raw, want := range map[string]bool{
		`{}`: true, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"},"unused":{"oneOf":[{}]}}}`: true,
		`{"properties":{"a":{"oneOf":[{}]}}}`: false,
		`{"oneOf":[{"type":"object","properties":{"a":{"const":"x"}},"required":["a"]},` +
			`{"type":"object","properties":{"a":{"const":"y"}},"required":["a"]}]}`: true,
		`{"oneOf":[{"type":"object","properties":{"a":{"const":"x"}},"required":["a"]},` +
			`{"type":"object","properties":{"a":{"enum":["y","x"]}},"required":["a"]}]}`: false,
		`{"oneOf":[{"type":"object","properties":{"a":{"const":"x"}},"required":["a"]},` +
			`{"type":"object","properties":{"a":{"const":"y"}}}]}`: false,
		`{"oneOf":[{"properties":{"a":{"const":"x"}},"required":["a"]},` +
			`{"properties":{"a":{"const":"y"}},"required":["a"]}]}`: false,
		`{"items":{"uniqueItems":true}}`: false, `{"uniqueItems":false}`: true,
		`{"additionalProperties":{"not":{"type":"null"}}}`: false, `{"multipleOf":1}`: false,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","uniqueItems":true,` +
			`"definitions":{"a":{}}}`: true,
	} {
		if got := mustCompile(t, raw).fast != nil; got != want {
			t.Errorf("%s: got %v", raw, got)
		}
	}
}
