package schema

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const readTool = `{"type":"object","properties":{
	"path":{"type":"string"},"start_line":{"type":"integer","minimum":1},"end_line":{"type":"integer"},
	"mode":{"enum":["a","b"]}},"required":["path"],"additionalProperties":false}`

const editTool = `{"type":"object","properties":{"edits":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/edit"}}},"required":["edits"],
	"$defs":{"edit":{"type":"object","properties":{"old_string":{"type":"string","minLength":1},"new_string":{"type":"string"}},"required":["old_string","new_string"]}}}`

// TestWords fixes what a model reads when its arguments do not fit.
func TestWords(t *testing.T) {
	for _, c := range []struct{ name, schema, doc, want string }{
		{"wrong type", readTool, `{"path":"x","end_line":"five"}`, `end_line: must be an integer, got string "five"`},
		{"fraction for an integer", readTool, `{"path":"x","end_line":1.5}`, `end_line: must be an integer, got number 1.5`},
		{"null for a string", readTool, `{"path":null}`, `path: must be a string, got null`},
		{"root", readTool, `["x"]`, `must be an object, got array`},
		{"enum", readTool, `{"path":"x","mode":"c"}`, `mode: must be one of "a", "b"; got "c"`},
		{"enum with a near value", `{"enum":["replace","insert"]}`, `"Replace_"`,
			`must be one of "replace", "insert"; got "Replace_" (did you mean "replace"?)`},
		{"missing", readTool, `{}`, `required property "path" is missing`},
		{"unknown and missing", readTool, `{"file":"x"}`,
			`required property "path" is missing; unknown property "file"; allowed: path, start_line, end_line, mode (did you ` +
				`mean "path"?)`},
		{"unknown and near", readTool, `{"path":"x","startLine":3}`,
			`unknown property "startLine"; allowed: path, start_line, end_line, mode (did you mean "start_line"?)`},
		{"unknown and with a word more", readTool, `{"path":"x","mode":"a","file_path":"y"}`,
			`unknown property "file_path"; allowed: path, start_line, end_line, mode`}, // path is given
		{"unknown and with a word less", `{"properties":{"timeout_seconds":{},"id":{},"workdir":{}},` +
			`"additionalProperties":false}`, `{"timeout":1}`,
			`unknown property "timeout"; allowed: timeout_seconds, id, workdir (did you mean "timeout_seconds"?)`},
		{"unknown and in other words", `{"properties":{"timeout_seconds":{},"id":{},"workdir":{}},` +
			`"additionalProperties":false}`, `{"cwd":"/"}`,
			`unknown property "cwd"; allowed: timeout_seconds, id, workdir (did you mean "workdir"?)`},
		{"unknown and nothing near", readTool, `{"path":"x","verbose":true}`,
			`unknown property "verbose"; allowed: path, start_line, end_line, mode`},
		{"several unknown", readTool, `{"path":"x","startLine":3,"endLine":4,"quick":true}`,
			`unknown property "endLine"; allowed: path, start_line, end_line, mode (did you mean "end_line"?); unknown ` +
				`property "quick"; unknown property "startLine" (did you mean "start_line"?)`},
		{"unknown, of a type that the missing one cannot have", readTool, `{"quick":true}`,
			`required property "path" is missing; unknown property "quick"; allowed: path, start_line, end_line, mode`},
		{"unknown, of the type of the missing one", readTool, `{"target":"x"}`,
			`required property "path" is missing; unknown property "target"; allowed: path, start_line, end_line, mode (did ` +
				`you mean "path"?)`},
		{"wrapped", readTool, `{"arguments":{"path":"x","mode":"a"}}`,
			`required property "path" is missing (it is inside "arguments"; send it without that); unknown property ` +
				`"arguments"; allowed: path, start_line, end_line, mode`},
		{"wrapped by a name like the missing one", readTool, `{"file_path":{"path":"x"}}`,
			`required property "path" is missing (it is inside "file_path"; send it without that); unknown property ` +
				`"file_path"; allowed: path, start_line, end_line, mode`},
		{"wrapped, as text", readTool, `{"input":"{\"path\": \"x\"}"}`,
			`required property "path" is missing (it is inside "input"; send it without that); unknown property "input"; ` +
				`allowed: path, start_line, end_line, mode`},
		{"wrapped, where others are allowed", editTool, `{"args":{"edits":[]}}`,
			`required property "edits" is missing (it is inside "args"; send it without that)`},
		{"missing, where others are allowed", editTool, `{"edits":[{"oldString":"a","new_string":"b","x":1},{"old":"a"}]}`,
			`edits[0]: required property "old_string" is missing (got "oldString"); edits[1]: required property "new_string" ` +
				`is missing; edits[1]: required property "old_string" is missing (got "old")`},
		{"missing, and nothing like it", editTool, `{"changes":[]}`, `required property "edits" is missing`},
		{"missing, and a known one like it", `{"properties":{"a_b":{},"a_c":{}},"required":["a_b"]}`, `{"a_c":1}`,
			`required property "a_b" is missing`},
		{"null for an optional one", readTool, `{"path":"x","mode":null,"end_line":null}`,
			`end_line: must be an integer, got null; leave it out instead; mode: must be one of "a", "b"; got null; leave it ` +
				`out instead`},
		{"null in an alternative", `{"anyOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"null"}]}`,
			`{"n":null}`, `n: must be an integer, got null; leave it out instead`},
		{"no properties", `{"additionalProperties":false}`, `{"a":1}`,
			`unknown property "a"; no properties are allowed here`},
		{"pattern properties", `{"properties":{"id":{}},"patternProperties":{"^x-":{"type":"string"}},` +
			`"additionalProperties":false}`, `{"y":1,"x-a":2}`,
			`unknown property "y"; allowed: id, names that match ^x-; x-a: must be a string, got number 2`},
		{"minimum", readTool, `{"path":"x","start_line":0}`, `start_line: must be at least 1, got 0`},
		{"bounds", `{"maximum":10,"exclusiveMinimum":20,"exclusiveMaximum":5,"multipleOf":0.5}`, `11.25`,
			`must be a multiple of 0.5, got 11.25; must be at most 10, got 11.25; must be less than 5, got 11.25; must be ` +
				`more than 20, got 11.25`},
		{"nested", editTool, `{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"","new_string":3}]}`,
			`edits[1].new_string: must be a string, got number 3; edits[1].old_string: must not be empty`},
		{"nested missing", editTool, `{"edits":[{"old_string":"a"}]}`, `edits[0]: required property "new_string" is missing`},
		{"array as a string", editTool, `{"edits":"[{\"old_string\": \"a\"}]"}`,
			`edits: must be an array, got string "[{\"old_string\": \"a\"}]"; write the JSON itself, not a string with JSON ` +
				`in it`},
		{"lengths", `{"properties":{"a":{"minLength":3},"b":{"maxLength":2}}}`, `{"a":"äö","b":"äöü"}`,
			`a: must be at least 3 characters long, got 2; b: must be at most 2 characters long, got 3`},
		{"items", `{"properties":{"a":{"minItems":1},"b":{"maxItems":1},"c":{"uniqueItems":true}}}`,
			`{"a":[],"b":[1,2],"c":[1,"x",1.0]}`,
			`a: must have at least 1 item, got 0; b: must have at most 1 item, got 2; c: must not have equal items, but [0] ` +
				`and [2] are`},
		{"properties", `{"minProperties":2}`, `{"a":1}`, `must have at least 2 properties, got 1`},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"ABC"`, `must match the pattern ^[a-z]+$, got "ABC"`},
		{"const", `{"properties":{"v":{"const":"two"}}}`, `{"v":"one"}`, `v: must be "two", got "one"`},
		{"const of an object", `{"const":{"b":[1,2],"a":null}}`, `{"a":null}`, `must be {"a":null,"b":[1,2]}, got object`},
		{"union of types", `{"type":["string","null"]}`, `5`, `must be string or null, got number 5`},
		{"anyOf of types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, `must be string or null, got number 5`},
		{"anyOf, one alternative meant", `{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}`, `"ab"`,
			`must be at least 3 characters long, got 2`},
		{"oneOf by a constant", `{"oneOf":[
			{"properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
			{"properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]}`,
			`{"kind":"square"}`, `required property "side" is missing`},
		{"unknown in oneOf and beside it", `{"properties":{"kind":{"enum":["c","d"]},"r":{}},"additionalProperties":false,"oneOf":[
			{"properties":{"kind":{"const":"c"},"r":{}},"required":["r"],"additionalProperties":false},
			{"properties":{"kind":{"const":"d"}},"additionalProperties":false}]}`,
			`{"kind":"c","x":1}`, `required property "r" is missing; unknown property "x"; allowed: kind, r`},
		{"oneOf, none meant", `{"oneOf":[
			{"type":"object","properties":{"kind":{"const":"circle"}},"required":["kind","r"]},
			{"type":"array","items":{"type":"string"}}]}`,
			`7`, `must be one of: object with kind "circle", r; array of string; got number 7`},
		{"oneOf, a constant of none", `{"oneOf":[{"$ref":"#/$defs/circle"},
			{"type":"object","properties":{"kind":{"enum":["square","rect"]},"w":{}},"required":["kind","w"]},{"type":"null"}],
			"$defs":{"circle":{"type":"object","properties":{"kind":{"const":"circle"},"r":{}},"required":["kind","r"]}}}`,
			`{"kind":"Circle","r":1}`, `must be one of: object with kind "circle", r; object with kind, w; null; got object ` +
				`with kind "Circle", r (did you mean "circle"?)`},
		{"oneOf, constants of two properties", `{"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":1}}}]}`,
			`{"a":2,"b":2}`, `must be one of: object with a 1; object with b 1; got object with a 2, b 2`},
		{"oneOf, an object of none", `{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`,
			`{"c":1,"a b":2}`, `must be one of: object with a; object with b; got object with ["a b"], c`},
		{"anyOf, a value in another case", `{"anyOf":[{"enum":["daily","weekly"]},{"type":"object","required":["every"]}]}`,
			`"Daily"`, `must be one of: "daily" or "weekly"; object with every; got string "Daily" (did you mean "daily"?)`},
		{"anyOf, an object as a string", `{"anyOf":[{"enum":["daily"]},{"$ref":"#/$defs/o"}],"$defs":{"o":{"type":"object",` +
			`"required":["every"]}}}`, `"{\"every\":1}"`,
			`must be one of: "daily"; object with every; got string "{\"every\":1}"; write the JSON itself, not a string ` +
				`with JSON in it`},
		{"oneOf, two fit", `{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`,
			`must fit exactly one alternative, but fits numbers 1 and 2 of: integer; what the schema says at #/oneOf/1`},
		{"not", `{"not":{"enum":["root"]}}`, `"root"`, `must not be "root", got "root"`},
		{"false", `{"properties":{"secret":false}}`, `{"secret":1}`, `secret: is not allowed`},
		{"dependent", `{"dependentRequired":{"card":["name"]}}`, `{"card":1}`,
			`property "name" is required when "card" is given`},
		{"property names", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"Abc":1}`,
			`property name "Abc": must match the pattern ^[a-z]+$, got "Abc"`},
		{"tuple", `{"prefixItems":[{"type":"string"}],"items":false}`, `[1,2]`,
			`must have at most 1 item, got 2; [0]: must be a string, got number 1`},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, `must have at least 1 item that is string, got 0`},
		{"if then", `{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1}`,
			`required property "b" is missing`},
		{"allOf, one problem twice", `{"allOf":[{"type":"string"},{"type":"string"}]}`, `1`,
			`must be a string, got number 1`},
		{"unevaluated", `{"allOf":[{"properties":{"name":{}}}],"properties":{"age":{}},"unevaluatedProperties":false}`,
			`{"nane":1}`,
			`unknown property "nane"; allowed: age, name (did you mean "name"?)`},
		{"odd names", `{"properties":{"a b":{"properties":{"c.d":{"type":"string"}}}}}`, `{"a b":{"c.d":1}}`,
			`["a b"]["c.d"]: must be a string, got number 1`},
		{"item order", `{"allOf":[{"items":{"maxLength":1}},{"items":{"enum":["","long"]}}]}`,
			`["","","x","","","","","","","","long"]`,
			`[2]: must be one of "", "long"; got "x"; [10]: must be at most 1 character long, got 4`},
		{"an unknown property is said once",
			`{"properties":{"a":{}},"additionalProperties":false,"anyOf":[{"$ref":"#/$defs/o"},{"type":"null"}],"$defs":{"o":` +
				`{"type":"object","properties":{"a":{}},"additionalProperties":false}}}`,
			`{"b":1}`, `unknown property "b"; allowed: a`},
		{"a wrong type is said once",
			`{"type":"integer","minLength":3,"pattern":"b","anyOf":[{"type":"boolean"},{"enum":["x"]}]}`, `"a"`,
			`must be an integer, got string "a"`},
		{"many", `{"items":{"type":"string"}}`, `[1,2,3,4,5,6,7,8]`,
			`[0]: must be a string, got number 1; [1]: must be a string, got number 2; [2]: must be a string, got number 3; ` +
				`[3]: must be a string, got number 4; [4]: must be a string, got number 5; and 3 more problems`},
		{"not JSON", readTool, `{"path":`, `not valid JSON: the text ends too early, at byte 8`},
		{"more than JSON", readTool, `{"path":"x"} {}`, `not valid JSON: more text after the JSON value, at byte 13`},
		{"doubled name", readTool, `{"path":"x","path":"y"}`, `property "path" is given twice`},
		{"absurd number", editTool, `{"edits":[1e1000000]}`,
			`edits[0]: number 1e1000000 has too many digits or too large an exponent (limit 400)`},
		{"too deep", `{"items":{"items":{}}}`, strings.Repeat("[", 65) + strings.Repeat("]", 65),
			`nested more than 64 levels deep`},
		{"half a surrogate", readTool, `{"path":"\ud800"}`, `not valid JSON: half a surrogate pair in a string, at byte 15`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			for range 5 { // the library's own order is random
				got := s.Validate([]byte(c.doc))
				if got == nil {
					t.Fatal("accepted")
				}
				if diff := cmp.Diff(c.want, got.Error()); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func TestProblemsAreCapped(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"string"}}`)
	got := s.Validate([]byte("[" + strings.Repeat("1,", 4999) + "1]"))
	if got == nil || len(got.Problems) != maxProblems || got.More != 5000-maxProblems {
		t.Fatalf("got %v", got)
	}
	if want := (Problem{Path: "[4]", Message: "must be a string, got number 1"}); got.Problems[4] != want {
		t.Fatalf("got %v, want %v", got.Problems[4], want)
	}
}

// TestValuesAreShortened: whatever a model sent, a problem stays short and is valid text.
func TestValuesAreShortened(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", 500), strings.Repeat("\x01", 500), strings.Repeat("日本語", 200), `"` +
		strings.Repeat(`\`, 300)} {
		shown := quote(text)
		if n := utf8.RuneCountInString(shown); n > maxQuoted || n < maxQuoted-10 || !utf8.ValidString(shown) {
			t.Errorf("quote gives %d code points: %s", n, shown)
		}
	}
	if got, want := quote("short"), `"short"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := strings.Repeat("n", 3000)
	s := mustCompile(t, `{"additionalProperties":{"type":"integer"}}`)
	for _, doc := range []string{`{"a":"` + long + `"}`, `{"` + long + `":"a"}`, `{"a":1` + strings.Repeat("0", 300) +
		`.5}`} {
		if got := s.Validate([]byte(doc)).Error(); len(got) > 200 {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}

// Each of the alternatives that are named has words, also when those of one fill the message.
func TestLongAlternativesAreShortened(t *testing.T) {
	s := `{"type":"string"}`
	for range 7 {
		s = `{"anyOf":[` + s + `,` + s + `,` + s + `]}`
	}
	got := mustCompile(t, s).Validate([]byte(`1`)).Error()
	if len(got) > 600 || !strings.Contains(got, "must be one of: ") || strings.Contains(got, "of: ;") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestEnumListIsShortened(t *testing.T) {
	words := make([]string, 300)
	for i := range words {
		words[i] = fmt.Sprintf("%q", fmt.Sprintf("value-%d", i))
	}
	got := mustCompile(t, `{"enum":[`+strings.Join(words, ",")+`]}`).Validate([]byte(`"none"`)).Error()
	if len(got) > 600 || !strings.Contains(got, "… (300 in all)") {
		t.Fatalf("%d bytes: %s", len(got), got)
	}
}
