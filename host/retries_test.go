package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// misses makes calls of one session and gives what their errors say of the row, "" for nothing and "ok" for no error.
func misses(t *testing.T, h *host.Host, session string, calls ...string) (rows []string) {
	t.Helper()
	for _, c := range calls {
		name, arguments, _ := strings.Cut(c, " ")
		r := h.Call(t.Context(), host.Call{Tool: name, Arguments: json.RawMessage(arguments), SessionID: session})
		if r.Error == nil {
			rows = append(rows, "ok")
			continue
		}
		before, _, told := strings.Cut(failed(t, r, sdk.CodeInvalidArgs).Message, " in a row whose arguments cannot be used, so stop and think: ")
		if !told {
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
		"unfit":            {[]string{"test__strict {}", "test__strict {}", "test__strict {}"}, []string{"", "", "3rd call of test__strict"}},
		"both":             {[]string{"test__strict {", "test__strict {}", "test__strict ["}, []string{"", "", "3rd call of test__strict"}},
		"a good one":       {[]string{"test__echo {", "test__echo {", "test__echo {}", "test__echo {", "test__echo {"}, []string{"", "", "ok", "", ""}},
		"other tools":      {[]string{"test__echo {", "test__strict {", "test__echo {", "test__strict {", "test__echo {"}, []string{"", "", "", "", "3rd call of test__echo"}},
		"another succeeds": {[]string{"test__echo {", "test__echo {", `test__strict {"path":"a"}`, "test__echo {"}, []string{"", "", "ok", "3rd call of test__echo"}},
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
		want, ok := map[int]string{3: "3rd", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st", 22: "22nd", 23: "23rd"}[i+1]
		if ok && row != want+" call of test__run" {
			t.Errorf("the answer speaks of the %q, want the %s", row, want)
		}
	}
}

// Other sessions, however many and however long their names, leave the memory bounded: old rows begin anew.
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
		"in the schema's order": {`{"type":"object","required":["z","a"],"properties":{"a":{},"z":{}}}`, `{"z":"<z>","a":"<a>"}`},
		"values of its own": {`{"type":"object","required":["c","e","d","x"],"properties":{"c":{"const":7},"e":{"enum":["fast","slow"]},"d":{"default":{"k":[1]}},"x":{"type":"string","examples":["<&>"]}}}`,
			`{"c":7,"e":"fast","d":{"k":[1]},"x":"<&>"}`},
		"long numbers": {`{"type":"object","required":["c","m"],"properties":{"c":{"const":12345678901234567891},"m":{"type":"integer","minimum":9007199254740993}}}`,
			`{"c":12345678901234567891,"m":9007199254740993}`},
		"bounds": {`{"type":"object","required":["a","b","l"],"properties":{"a":{"type":"integer","exclusiveMinimum":4},"b":{"type":"integer","maximum":-3},
			"l":{"type":"array","minItems":1,"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string","format":"date"}}}}}}`,
			`{"a":5,"b":-3,"l":[{"k":"2026-01-31"}]}`},
		"references": {`{"type":"object","required":["a","b"],"$defs":{"x/y":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			"properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"anyOf":[{"$ref":"#/$defs/x~1y"},{"type":"null"}]}}}`, `{"a":{"n":1},"b":{"n":1}}`},
		"a choice at the top": {`{"type":"object","required":["b"],"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"b":{"type":"string"}}}`, `{"b":"<b>"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, answering(sdk.Text(""), nil, definition), host.Options{})
			misses(t, h, "s", "test__run {", "test__run {")
			e := failed(t, h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: []byte("{"), SessionID: "s"}), sdk.CodeInvalidArgs)
			var details struct {
				InARow          int `json:"in_a_row"`
				Offset          int
				Example, Schema json.RawMessage
			}
			if err := json.Unmarshal(e.Details, &details); err != nil || details.InARow != 3 || details.Offset != 1 || len(details.Schema) == 0 {
				t.Errorf("%v, details %s", err, e.Details)
			}
			if want := "Send one JSON object such as " + c.example + ", with your own values. "; !strings.HasPrefix(e.Suggestion, want) {
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
