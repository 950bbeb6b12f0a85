package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	w := overWire(t)
	h := single(t, w, host.Options{})
	const usage = "test__strict takes path (string, required), count (integer), mode (string), edits (array)."
	cases := map[string]struct {
		arguments string
		message   []string
		paths     []string
		more      int
	}{
		"missing": {`{}`, []string{`required property "path" is missing`}, []string{""}, 0},
		"unknown": {`{"path":"a","pth":"b"}`, []string{`unknown property "pth"`, "allowed: path, count, mode, edits"},
			[]string{""}, 0},
		"other case":   {`{"Path":"a"}`, []string{`unknown property "Path"`, `(did you mean "path"?)`}, []string{"", ""}, 0},
		"wrong type":   {`{"path":7}`, []string{"path: must be a string"}, []string{"path"}, 0},
		"out of range": {`{"path":"a","count":10}`, []string{"count: must be", "9"}, []string{"count"}, 0},
		"not in enum":  {`{"path":"a","mode":"fats"}`, []string{"mode: must be", `"fast"`, `"slow"`}, []string{"mode"}, 0},
		"inside a list": {`{"path":"a","edits":[{"old":"x","new":"y"},{"old":"x"}]}`,
			[]string{`edits[1]: required property "new" is missing`}, []string{"edits[1]"}, 0},
		"many": {`{"path":1,"count":0,"mode":1,"edits":[{"old":1,"new":2},{"old":3,"new":4}]}`,
			[]string{"and 2 more problems"},
			[]string{"count", "edits[0].new", "edits[0].old", "edits[1].new", "edits[1].old"}, 2},
		"null for value": {`{"path":null}`, []string{"path: must be a string, got null"}, []string{"path"}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), host.Call{Tool: "test__strict", Arguments: json.RawMessage(c.arguments), SessionID: name})
			e := failed(t, r, sdk.CodeInvalidArgs)
			for _, words := range append(c.message, "the arguments of test__strict do not fit: ", "; nothing was run") {
				if !strings.Contains(e.Message, words) {
					t.Errorf("message %q lacks %q", e.Message, words)
				}
			}
			if e.Name != "InvalidArguments" || e.Suggestion != usage || r.Attempts != 0 {
				t.Errorf("error %+v", e)
			}
			var details struct {
				Problems []struct{ Path, Message string }
				More     int
				Schema   struct{ Required []string }
			}
			if err := json.Unmarshal(e.Details, &details); err != nil {
				t.Fatal(err)
			}
			diff(t, []string{"path"}, details.Schema.Required)
			got := map[string]bool{}
			for _, p := range details.Problems {
				got[p.Path] = p.Message != ""
			}
			for _, path := range c.paths {
				if !got[path] {
					t.Errorf("details %s lack a problem at %q", e.Details, path)
				}
			}
			if len(details.Problems) != len(c.paths) || details.More != c.more {
				t.Errorf("details %s, want %d problems and %d more", e.Details, len(c.paths), c.more)
			}
		})
	}
	t.Cleanup(func() {
		if n := w.ran.Load(); n != 0 {
			t.Errorf("%d tools were run", n)
		}
	})
}

func TestUsageFollowsTheSchema(t *testing.T) {
	t.Parallel()
	var wide []string
	for i := range 100 {
		wide = append(wide, fmt.Sprintf(`"property_%02d":{"type":"string"}`, i))
	}
	cases := map[string]struct{ schema, want string }{
		"order": {`{"type":"object","required":["b"],"properties":{"z":{"type":"integer"},"b":{"type":"string"},` +
			`"a":true}}`, "test__run takes z (integer), b (string, required), a."},
		"union": {`{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"]}}}`,
			"test__run takes a (string or null, required)."},
		"references": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"anyOf":[{"type":"integer"},` +
			`{"enum":["x","y"]}]}},"allOf":[{"required":["c"],"properties":{"c":{"type":"array"}}}],` +
			`"$defs":{"a":{"type":["number","boolean"]}}}`,
			"test__run takes a (number or boolean), b (string or integer), c (array)."},
		"nothing": {`{"type":"object","additionalProperties":false,"maxProperties":0}`,
			"test__run takes no arguments: send {}."},
		"branches":   {`{"type":"object","additionalProperties":false,"anyOf":[{"properties":{"c":{}}}]}`, ""},
		"a map":      {`{"type":"object","additionalProperties":false,"propertyNames":{"maxLength":9}}`, ""},
		"not listed": {`{"type":"object","maxProperties":0}`, ""},
		"wide": {`{"type":"object","required":["property_99"],"properties":{` + strings.Join(wide, ",") + `}}`,
			"test__run takes property_00 (string), property_01 (string), property_02 (string), property_03 (string), " +
				"property_04 (string), " +
				"property_05 (string), property_06 (string), property_07 (string), property_08 (string), property_09 (string), " +
				"property_10 (string), " +
				"property_11 (string), property_12 (string), property_13 (string), property_14 (string), property_15 (string), " +
				"property_16 (string), " +
				"property_17 (string), and 82 more."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, answering(sdk.Text(""), nil, definition), host.Options{})
			e := failed(t, h.Call(t.Context(), call("test__run", `{"a":[],"b":[],"property_00":0}`)), sdk.CodeInvalidArgs)
			if e.Suggestion != c.want {
				t.Errorf("suggestion %q\nwant       %q", e.Suggestion, c.want)
			}
		})
	}
}

// A plugin in Go would take "Path" for "path", whatever the schema allows besides.
func TestNamesInOtherCase(t *testing.T) {
	t.Parallel()
	const open = `"type":"object","properties":{"path":{"type":"string"},"filePath":{},"Path2":{},"path2":{}}`
	cases := map[string]struct{ schema, arguments, problem string }{
		"open schema": {`{` + open + `}`, `{"x":{"Path":1},"Path":"a"}`,
			`the arguments have the unknown property "Path" (did you mean "path"?) (at byte 16,`},
		"small for camel": {`{` + open + `}`, `{"filepath":"a"}`, `unknown property "filepath" (did you mean "filePath"?)`},
		"escaped":         {`{` + open + `}`, `{"\u0050ath":"a"}`, `unknown property "Path"`},
		"a schema's own":  {`{` + open + `}`, `{"path2":1}`, ""},
		"escaped, itself": {`{` + open + `}`, `{"\u0070ath":"a"}`, ""},
		"another name":    {`{` + open + `}`, `{"paths":"a","":{"PATH":1}}`, ""},
		"closed schema":   {`{` + open + `,"additionalProperties":false}`, `{"PATH":"a"}`, `(did you mean "path"?)`},
		"any object":      {`{"type":"object"}`, `{"Path":"a"}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			p := answering(sdk.Text(""), nil, definition)
			r := single(t, p, host.Options{}).Call(t.Context(), call("test__run", c.arguments))
			if c.problem == "" {
				succeeded(t, r)
				return
			}
			e := failed(t, r, sdk.CodeInvalidArgs)
			if !strings.Contains(e.Message, c.problem) || e.Name != "InvalidArguments" || p.called.Load() != 0 {
				t.Errorf("error %+v, want %q in it", e, c.problem)
			}
		})
	}
}

// misses makes calls of one session and returns what their errors say of the count, "" for nothing and "ok" for no
// error.
func misses(t *testing.T, h *host.Host, session string, calls ...string) (rows []string) {
	t.Helper()
	for _, c := range calls {
		name, arguments, _ := strings.Cut(c, " ")
		r := h.Call(t.Context(), host.Call{Tool: name, Arguments: json.RawMessage(arguments), SessionID: session})
		if r.Error == nil {
			rows = append(rows, "ok")
			continue
		}
		before, _, reported := strings.Cut(failed(t, r, sdk.CodeInvalidArgs).Message,
			" in a row whose arguments cannot be used, so stop and think: ")
		if !reported {
			before = ""
		}
		rows = append(rows, strings.TrimPrefix(before, "this is the "))
	}
	return rows
}

func TestMissesInARow(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ calls, want []string }{
		"malformed": {[]string{"test__strict {", "test__strict {", "test__strict {", "test__strict {"},
			[]string{"", "", "3rd call of test__strict", "4th call of test__strict"}},
		"unfit": {[]string{"test__strict {}", "test__strict {}", "test__strict {}"},
			[]string{"", "", "3rd call of test__strict"}},
		"both": {[]string{"test__strict {", "test__strict {}", "test__strict ["},
			[]string{"", "", "3rd call of test__strict"}},
		"a good one": {[]string{"test__echo {", "test__echo {", "test__echo {}", "test__echo {", "test__echo {"},
			[]string{"", "", "ok", "", ""}},
		"other tools": {[]string{"test__echo {", "test__strict {", "test__echo {", "test__strict {", "test__echo {"},
			[]string{"", "", "", "", "3rd call of test__echo"}},
		"another succeeds": {[]string{"test__echo {", "test__echo {", `test__strict {"path":"a"}`, "test__echo {"},
			[]string{"", "", "ok", "3rd call of test__echo"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, overWire(t), host.Options{})
			diff(t, c.want, misses(t, h, "s", c.calls...))
			diff(t, []string{""}, misses(t, h, "another session", c.calls[0]))
		})
	}
}

func TestManyMissesInARow(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text(""), nil), host.Options{})
	for i := range 23 {
		row := misses(t, h, "s", "test__run {")[0]
		want, ok := map[int]string{3: "3rd", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st", 22: "22nd",
			23: "23rd"}[i+1]
		if ok && row != want+" call of test__run" {
			t.Errorf("the answer speaks of the %q, want the %s", row, want)
		}
	}
}

// Memory is bounded, however many sessions there are and however long their names: old counts restart.
func TestMissesAreForgotten(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text(""), nil), host.Options{})
	misses(t, h, "s", "test__run {", "test__run {")
	for i := range 1023 {
		misses(t, h, fmt.Sprint(i, strings.Repeat("x", 200)), "test__run {")
	}
	diff(t, []string{"3rd call of test__run"}, misses(t, h, "s", "test__run {"))
	misses(t, h, "one more", "test__run {")
	diff(t, []string{""}, misses(t, h, "s", "test__run {"))
}

func TestThirdMissShowsAnExample(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ schema, example string }{
		"nothing required": {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		"types": {`{"type":"object","required":["s","i","n","b","a","o","z","u"],"properties":{"s":{"type":"string"},"i":{"type":"integer"},
			"n":{"type":"number","minimum":2.5},"b":{"type":"boolean"},"a":{"type":"array"},"o":{"type":"object"},"z":{"type":"null"},"u":{"type":["null","integer"]}}}`,
			`{"s":"<s>","i":1,"n":2.5,"b":true,"a":[],"o":{},"z":null,"u":1}`},
		"in the schema's order": {`{"type":"object","required":["z","a"],"properties":{"a":{},"z":{}}}`,
			`{"z":"<z>","a":"<a>"}`},
		"values of its own": {`{"type":"object","required":["c","e","d","x"],"properties":{"c":{"const":7},` +
			`"e":{"enum":["fast","slow"]},"d":{"default":{"k":[1]}},"x":{"type":"string","examples":["<&>"]}}}`,
			`{"c":7,"e":"fast","d":{"k":[1]},"x":"<&>"}`},
		"long numbers": {`{"type":"object","required":["c","m"],"properties":{"c":{"const":12345678901234567891},` +
			`"m":{"type":"integer","minimum":9007199254740993}}}`,
			`{"c":12345678901234567891,"m":9007199254740993}`},
		"bounds": {`{"type":"object","required":["a","b","l"],"properties":{"a":{"type":"integer","exclusiveMinimum":4},"b":{"type":"integer","maximum":-3},
			"l":{"type":"array","minItems":1,"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string","format":"date"}}}}}}`,
			`{"a":5,"b":-3,"l":[{"k":"2026-01-31"}]}`},
		"an exclusive flag": {`{"type":"object","required":["a"],"properties":{"a":{"type":"number","minimum":0,` +
			`"exclusiveMinimum":true}},"$schema":"http://json-schema.org/draft-04/schema#"}`, `{"a":1}`},
		"references": {`{"type":"object","required":["a","b"],"$defs":{"x/y":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			"properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"anyOf":[{"$ref":"#/$defs/x~1y"},{"type":"null"}]}}}`, `{"a":{"n":1},"b":{"n":1}}`},
		"a choice at the top": {`{"type":"object","required":["b"],"anyOf":[{"required":["a"]},{"required":["b"]}],` +
			`"properties":{"b":{"type":"string"}}}`, `{"b":"<b>"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, answering(sdk.Text(""), nil, definition), host.Options{})
			misses(t, h, "s", "test__run {", "test__run {")
			e := failed(t, h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: []byte("{"), SessionID: "s"}),
				sdk.CodeInvalidArgs)
			var details struct {
				InARow          int `json:"in_a_row"`
				Offset          int
				Example, Schema json.RawMessage
			}
			if err := json.Unmarshal(e.Details, &details); err != nil || details.InARow != 3 || details.Offset != 1 ||
				len(details.Schema) == 0 {
				t.Errorf("%v, details %s", err, e.Details)
			}
			if want := "Send one JSON object such as " + c.example +
				", with your own values. "; !strings.HasPrefix(e.Suggestion, want) ||
				strings.Count(e.Suggestion, "Send one JSON object") > 1 {
				t.Errorf("suggestion %s\nwant       %s", e.Suggestion, want)
			}
			var got, want any
			if json.Unmarshal(details.Example, &got) != nil || json.Unmarshal([]byte(c.example), &want) != nil {
				t.Fatalf("example %s", details.Example)
			}
			diff(t, want, got)
			succeeded(t, h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: details.Example}))
		})
	}
}

// A schema may refer to itself without end; the example ends.
func TestExampleOfAnEndlessSchema(t *testing.T) {
	t.Parallel()
	definition := tool("run")
	definition.InputSchema = json.RawMessage(`{"type":"object","$defs":{"t":{"type":"object","required":["l","r"],"properties":{"l":{"$ref":"#/$defs/t"},"r":{"$ref":"#/$defs/t"}}}},
		"required":["l"],"properties":{"l":{"$ref":"#/$defs/t"}}}`)
	h := single(t, answering(sdk.Text(""), nil, definition), host.Options{})
	misses(t, h, "", "test__run {", "test__run {")
	e := failed(t, h.Call(t.Context(), call("test__run", "{")), sdk.CodeInvalidArgs)
	if !json.Valid(e.Details) || len(e.Details) > 4000 || strings.Contains(e.Suggestion, "such as") {
		t.Errorf("%d bytes of details, suggestion %s", len(e.Details), e.Suggestion)
	}
}
