package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

func TestMalformedArguments(t *testing.T) {
	t.Parallel()
	w := overWire(t)
	h := single(t, w, host.Options{})
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	many := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}` }
	cases := map[string]struct {
		arguments string
		message   string
		offset    int // -1: not reported
	}{
		"a word":   {`hello`, "must be a JSON object, not text (at byte 0, before `hello`)", 0},
		"an array": {` [{}]`, "must be a JSON object, not an array", -1},
		"a string": {`"hello"`,
			"inside the string must be a JSON object, not text (at byte 0, before `hello`)", 0},
		"a string cut off":   {`"{\"a\":1}`, "end too early: the object is not closed (at byte 10", 10},
		"a string, and more": {`"{}" {}`, "continue after the object has ended (at byte 4, after `\"{}\"`, before ` {}`", 4},
		"cut off in a string": {`"{\"a\":"`,
			"inside the string end too early: the object is not closed (at byte 5, after `{\"a\":`", 5},
		"four strings": {quoted(quoted(quoted(quoted(`{}`)))),
			"inside the string inside the string inside the string must be a JSON object, not a string", -1},
		"a fence not closed": {"```json\n{\"a\":1}",
			"begin with a code fence that is not closed, as if they were cut off (at byte 15", 15},
		"a fence around half": {"```json\n{\"a\":1\n```", "inside the code fence end too early: the object is not closed", 8},
		"a fence in a fence": {"```\n```\n{}\n```\n```", "inside the code fence are not valid JSON: invalid character '`'",
			1},
		"an empty fence":      {"```json\n```", "inside the code fence end too early", 1},
		"words and a fence":   {"Here:\n```json\n{}\n```", "must be a JSON object, not text (at byte 0", 0},
		"fence of a language": {"```js\n{}\n```", "inside the code fence must be a JSON object, not text (at byte 0", 0},
		"duplicates by case": {`{"path":1,"Path":2}`,
			"have two properties in one object, \"path\" and \"Path\", that differ only by letter case or the like (at byte " +
				"10, after `{\"path\":1,`, before `\"Path\":2}`", 10},
		"duplicates inside": {`{"a":[{"bC":1,"c":[{}],"Bc":2}]}`, "have two properties in one object, \"bC\" and \"Bc\",",
			23},
		"duplicates by escape": {`{"a":1,"\u0041":2}`, "have two properties in one object, \"a\" and \"A\",", 7},
		"duplicates by a sign": {`{"kelvin":1,"Kelvin":2}`, "have two properties in one object,", 12},
		"duplicates by form":   {"{\"\u00e9\":1,\"e\u0301\":2}", "have two properties in one object,", 8},
		"a number":             {`-1`, "must be a JSON object, not a number", -1},
		"true":                 {`true`, "must be a JSON object, not a boolean", -1},
		"null":                 {`null`, "must be a JSON object, not null", -1},
		"no JSON":              {` name=x`, "must be a JSON object, not text (at byte 1, after ` `, before `name=x`)", 1},
		"cut off": {`{"path":"a`, "end too early: the object is not closed (at byte 10, after `{\"path\":\"a`",
			10},
		"only begun": {`{`, "end too early: the object is not closed (at byte 1, after `{`", 1},
		"line break": {"{\"a\":\"x\ny\"}",
			"are not valid JSON: invalid character '\\n' in string (expecting non-control character) (at byte 7, after " +
				"`{\"a\":\"x`", 7},
		"single quotes":  {`{'a':1}`, "have a single quote where JSON needs a double one (at byte 1, after `{`", 1},
		"trailing comma": {`{"a":1,}`, "have a comma with nothing behind it (at byte 6, after `{\"a\":1`", 6},
		"a comment":      {`{"a":1/*x*/}`, "have a comment, which JSON does not know (at byte 6, after `{\"a\":1`", 6},
		"comma in an array": {`{"a":[1, ]}`,
			"have a comma with nothing behind it (at byte 7, after `{\"a\":[1`, before `, ]}`", 7},
		"comment at the end": {"{\"a\":1 // x\n}",
			"have a comment, which JSON does not know (at byte 7, after `{\"a\":1 `, before \"// x\\n}\"", 7},
		"comment of a shell": {"{ # x\n}", "have a comment, which JSON does not know (at byte 2", 2},
		"NaN": {`{"a":NaN}`, "have the word NaN without quotes; JSON has only true, false and null (at byte 5, after " +
			"`{\"a\":`, before `NaN}`)", 5},
		"infinity":            {`{"a":-Infinity}`, "have the word Infinity without quotes", 6},
		"true of Python":      {`{"a":[1,True]}`, "have the word True without quotes", 8},
		"a word like true":    {`{"a":trust}`, "have the word trust without quotes", 5},
		"a word for a text":   {`{"a":hello_w0rld}`, "have the word hello_w0rld without quotes", 5},
		"a name like false":   {`{file_path:1}`, "have the word file_path without quotes", 1},
		"a name after others": {`{"a":1, été:2}`, "have the word été without quotes", 8},
		"typographic quotes":  {`{“a”:1}`, "have a typographic quote where JSON needs a plain one (at byte 1", 1},
		"a quote in a string": {`{"a":"say "hi""}`, "are not valid JSON: invalid character 'h' after object value", 11},
		"a number in groups":  {`{"a":1,000}`, "are not valid JSON: object member name must be a string (at byte 7", 7},
		"leading zero": {`{"a":01}`,
			"are not valid JSON: invalid character '1' after object value (expecting ',' or '}') (at byte 6, after `{\"a\":0`",
			6},
		"a byte order mark": {"\ufeff{}", "are not valid JSON: invalid character '\\ufeff' at start of value (at byte 0",
			0},
		"doubled": {`{"a":1,"a":2}`,
			"have two properties named \"a\" in one object (at byte 7, after `{\"a\":1,`", 7},
		"doubled, escaped": {`{"a":1,"\u0061":2}`,
			"have two properties named \"a\" in one object (at byte 7, after `{\"a\":1,`", 7},
		"doubled inside": {`{"a":[{"b":1,"b":2}]}`,
			"have two properties named \"b\" in one object (at byte 13, after `{\"a\":[{\"b\":1,`", 13},
		"not UTF-8":      {"{\"a\":\"\xff\"}", "are not valid JSON: invalid UTF-8 (at byte 6, after `{\"a\":\"`", 6},
		"name not UTF-8": {"{\"\xff\":1}", "are not valid JSON: invalid UTF-8 (at byte 2, after `{\"`", 2},
		"half a surrogate": {`{"a":"\ud800"}`,
			"are not valid JSON: invalid surrogate pair `\\ud800\"}` in string (at byte 6, after `{\"a\":\"`", 6},
		"the other half":      {`{"a":"\udc00"}`, "are not valid JSON: invalid surrogate pair", 6},
		"two objects":         {`{} {}`, "continue after the object has ended (at byte 2, after `{}`", 2},
		"a brace too many":    {`{"a":{}}}`, "continue after the object has ended (at byte 8, after `{\"a\":{}}`", 8},
		"a strange blank":     {"{}\u00a0", "continue after the object has ended (at byte 2, after `{}`", 2},
		"a NUL":               {"{}\x00", "continue after the object has ended (at byte 2, after `{}`", 2},
		"only strange blanks": {"\u00a0", "are not valid JSON: invalid character '\\u00a0' at start of value (at byte 0", 0},
		"depth 65":            {deep(65), "are nested more than 64 deep (at byte 69, after `[[[[[[[[[[[[[[[[[[[[`", 69},
		"100001 nodes":        {many(100_000 - 1), "have more than 100000 names and values", 200_001},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), host.Call{Tool: "test__echo", Arguments: json.RawMessage(c.arguments), SessionID: name})
			e := failed(t, r, sdk.CodeInvalidArgs)
			if !strings.HasPrefix(e.Message, "the arguments "+c.message) || !strings.HasSuffix(e.Message, "; nothing was run") {
				t.Errorf("message %q\nwant    the arguments %s...; nothing was run", e.Message, c.message)
			}
			want := `{"schema":{"type":"object"}}`
			if c.offset >= 0 {
				want = fmt.Sprintf(`{"offset":%d,"schema":{"type":"object"}}`, c.offset)
			}
			if string(e.Details) != want {
				t.Errorf("details %s, want %s", e.Details, want)
			}
			advice := arguments.OneObject
			if strings.Contains(c.message, "not valid JSON") || strings.Contains(c.message, "end too early") {
				advice += ` Inside strings write a quote as \", a backslash as \\ and a line break as \n.`
			}
			if name == "depth 65" || name == "100001 nodes" {
				advice = "Pass less at once, or the path of a file."
			}
			if e.Name != "MalformedArguments" || e.Suggestion != advice || r.Plugin != "test" ||
				r.Attempts != 0 {
				t.Errorf("result %+v, error %+v", r, e)
			}
		})
	}
	t.Cleanup(func() {
		if n := w.ran.Load(); n != 0 {
			t.Errorf("%d tools were run", n)
		}
	})
}

func TestArgumentsTooLarge(t *testing.T) {
	t.Parallel()
	w := overWire(t)
	h := single(t, w, host.Options{MaxResultBytes: 2 * sdk.MaxArguments})
	sized := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	r := h.Call(t.Context(), call("test__echo", sized(sdk.MaxArguments)))
	succeeded(t, r)
	if got := len(r.Text()); got != sdk.MaxArguments {
		t.Errorf("the plugin got %d bytes, want %d", got, sdk.MaxArguments)
	}
	e := failed(t, h.Call(t.Context(), call("test__echo", sized(sdk.MaxArguments+1))), sdk.CodeInvalidArgs)
	diff(t, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "MalformedArguments", Outcome: sdk.OutcomeNotSent,
		Message:    "the arguments have more than the 1048576 bytes that are allowed; nothing was run",
		Suggestion: "Pass less at once, or the path of a file.", Details: json.RawMessage(`{"schema":{"type":"object"}}`)}, e)
	if n := w.ran.Load(); n != 1 {
		t.Errorf("%d tools were run, want 1", n)
	}
}

// The plugin receives the original bytes, whatever equivalent forms JSON has.
func TestArgumentsAreUntouched(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{MaxResultBytes: 1 << 20})
	cases := map[string]string{
		"numbers":         `{"a":1e400,"b":12345678901234567890,"c":-0,"d":1.0,"e":1E+2,"f":0.1000}`,
		"blanks":          " \t\r\n{ \"a\" :\t[ 1 , 2 ]\r\n} \n",
		"escapes":         `{"\u0061":"\u00e9\/\ud83d\ude00"}`,
		"order":           `{"z":1,"a":2,"m":3}`,
		"angle brackets":  `{"a":"<&>"}`,
		"line separators": "{\"a\":\"\u2028\u2029\"}",
		"an empty name":   `{"":0}`,
		"case in another": `{"Path":{"path":1},"b":[{"B":1},{"b":2}]}`,
		"camel case":      `{"startLine":1,"endLine":2,"start":3}`,
		"same in another": `{"a":{"a":{"a":[{"a":1},{"a":2}]}}}`,
		"depth 64":        `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
		"100000 nodes":    `{"a":[` + strings.Repeat("0,", 99_996) + `0]}`,
	}
	for name, arguments := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), call("test__echo", arguments))
			succeeded(t, r)
			if r.Text() != arguments {
				t.Errorf("the plugin got %.200q", r.Text())
			}
		})
	}
}

// Strict modes of vendors require all properties: models then write null for one that they leave out.
func TestNullsThatDoNotFitAreLeftOut(t *testing.T) {
	t.Parallel()
	run := tool("run")
	run.InputSchema = json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},` +
		`"limit":{"type":"integer"},"edits":{"type":"array","minItems":1}},"additionalProperties":false}`)
	h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(string(r.Arguments)), nil
	}, run), host.Options{})
	for arguments, want := range map[string]string{
		`{"path":"x","limit":null,"edits":null}`: `{"path":"x"}`,
		`{"path":"x" , "limit":1.0}`:             `{"path":"x" , "limit":1.0}`,
	} {
		r := h.Call(t.Context(), call("test__run", arguments))
		succeeded(t, r)
		if r.Text() != want {
			t.Errorf("%s: the plugin got %s, want %s", arguments, r.Text(), want)
		}
	}
	for arguments, want := range map[string]string{
		`{"path":null,"limit":null}`:             "path: must be a string, got null",
		`{"path":"x","limit":null,"other":null}`: `unknown property "other"`,
	} {
		e := failed(t, h.Call(t.Context(), call("test__run", arguments)), sdk.CodeInvalidArgs)
		if !strings.Contains(e.Message, want) {
			t.Errorf("%s: %s", arguments, e.Message)
		}
	}
}

func TestBlankArguments(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{})
	for _, blank := range []json.RawMessage{nil, {}, json.RawMessage(" \t\r\n ")} {
		r := h.Call(t.Context(), host.Call{Tool: "test__echo", Arguments: blank})
		succeeded(t, r)
		if r.Text() != "{}" {
			t.Errorf("%q: the plugin got %q", blank, r.Text())
		}
	}
}

func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// Unambiguous wrappers are removed; the rest arrives byte for byte.
func TestWrappedArguments(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{})
	const object = `{"a" : 1.50, "b":"\u00e9 \"x\""}`
	cases := map[string]struct{ arguments, want string }{
		"a string":           {" " + quoted(object) + "\n", object},
		"two strings":        {quoted(quoted(object)), object},
		"three strings":      {quoted(quoted(quoted(object))), object},
		"blanks inside":      {quoted("\n " + object + " "), "\n " + object + " "},
		"an empty string":    {`""`, "{}"},
		"a fence":            {"```json\n" + object + "\n```", "\n" + object + "\n"},
		"a fence of letters": {"```JSON\r\n" + object + "\r\n```\n", "\r\n" + object + "\r\n"},
		"a bare fence":       {"\n```\n" + object + "\n```", "\n" + object + "\n"},
		"a fence on a line":  {"```" + object + "```", object},
		"a fence in strings": {quoted(quoted("```json\n" + object + "\n```")), "\n" + object + "\n"},
		"a string in one":    {"```\n" + quoted(object) + "\n```", object},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), call("test__echo", c.arguments))
			succeeded(t, r)
			if r.Text() != c.want {
				t.Errorf("the plugin got %q, want %q", r.Text(), c.want)
			}
		})
	}
}

// Names that differ only by case are two names in a map, and a duplicate where the schema declares names.
func TestDuplicateNamesInMaps(t *testing.T) {
	t.Parallel()
	const proxies = `{"http_proxy":"a","HTTP_PROXY":"b"}`
	inside := func(name, arguments string) string { return `{"` + name + `":` + arguments + `}` }
	object := func(properties string) string { return `{"type":"object","properties":` + properties + `}` }
	cases := map[string]struct {
		schema, arguments string
		legal             bool
	}{
		"a map of strings": {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`),
			inside("env", proxies), true},
		"a map of anything": {object(`{"env":{"type":"object","additionalProperties":true}}`),
			inside("env", proxies), true},
		"a map by pattern": {object(`{"env":{"type":"object","patternProperties":{"^.*$":{"type":"string"}}}}`),
			inside("env", proxies), true},
		"a map by the names' schema": {object(`{"env":{"type":"object","propertyNames":{"maxLength":20}}}`),
			inside("env", proxies), true},
		"an object of any names": {object(`{"env":{"type":"object"}}`), inside("env", proxies), true},
		"or null":                {object(`{"env":{"type":["object","null"]}}`), inside("env", proxies), true},
		"anyOf a map and null": {object(`{"env":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},` +
			`{"type":"null"}]}}`), inside("env", proxies), true},
		"a reference to a map": {`{"type":"object","properties":{"env":{"$ref":"#/$defs/env"}},` +
			`"$defs":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`, inside("env", proxies), true},
		"a map in a list": {object(`{"all":{"type":"array","items":{"type":"object",` +
			`"additionalProperties":{"type":"string"}}}}`), inside("all", "["+proxies+"]"), true},
		"a map in a map": {object(`{"all":{"type":"object","additionalProperties":{"type":"object",` +
			`"additionalProperties":{"type":"string"}}}}`), inside("all", inside("A", proxies)), true},
		"a map at the top": {`{"type":"object","additionalProperties":{"type":"string"}}`, proxies, true},
		"three of them": {`{"type":"object","additionalProperties":{"type":"string"}}`,
			`{"a":"1","A":"2","b":"3","B":"4"}`, true},
		"beside what is declared": {`{"type":"object","properties":{"path":{"type":"string"}},` +
			`"additionalProperties":{"type":"string"}}`, `{"path":"x","http_proxy":"a","HTTP_PROXY":"b"}`, true},
		"both are declared": {object(`{"a":{"type":"string"},"A":{"type":"string"}}`), `{"a":"1","A":"2"}`, true},
		"by form": {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`),
			"{\"env\":{\"\u00e9\":\"1\",\"e\u0301\":\"2\"}}", true},

		"what is declared": {object(`{"path":{"type":"string"}}`), `{"path":"1","Path":"2"}`, false},
		"what is declared, in a map": {`{"type":"object","properties":{"path":{"type":"string"}},` +
			`"additionalProperties":{"type":"string"}}`, `{"path":"1","Path":"2"}`, false},
		"other properties than declared": {`{"type":"object","properties":{"path":{"type":"string"}},` +
			`"additionalProperties":{"type":"string"}}`, `{"Path":"1","PATH":"2"}`, false},
		"declared by a branch": {object(`{"x":{"anyOf":[{"type":"object",` +
			`"properties":{"path":{"type":"string"}}},{"type":"object","additionalProperties":{"type":"string"}}]}}`),
			inside("x", `{"path":"1","Path":"2"}`), false},
		"declared by a reference": {`{"$ref":"#/$defs/in","$defs":{"in":{"type":"object",` +
			`"properties":{"path":{"type":"string"}}}}}`, `{"path":"1","Path":"2"}`, false},
		"required": {object(`{"x":{"type":"object","required":["path"],` +
			`"additionalProperties":{"type":"string"}}}`), inside("x", `{"path":"1","Path":"2"}`), false},
		"declared inside": {object(`{"x":{"type":"object","properties":{"path":{"type":"string"}}}}`),
			inside("x", `{"path":"1","Path":"2"}`), false},
		"declared in items": {object(`{"x":{"type":"array","items":{"type":"object",` +
			`"properties":{"path":{"type":"string"}}}}}`), inside("x", `[{"path":"1","Path":"2"}]`), false},
		"not declared, and no map": {object(`{"x":{"type":"object","properties":{"path":{"type":"string"}}}}`),
			inside("x", `{"a":"1","A":"2"}`), false},
		"nothing is known at the top": {`{"type":"object"}`, proxies, false},
		"nothing is known inside":     {object(`{"x":{}}`), inside("x", proxies), false},
		"nothing is known in a map": {object(`{"x":{"type":"object","additionalProperties":true}}`),
			inside("x", inside("y", proxies)), false},
		"the arguments of two maps": {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`),
			`{"env":{},"Env":{}}`, false},
		"the same name": {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":"1","a":"2"}`,
			false},
		"a reference that goes in rounds": {`{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`,
			inside("x", proxies), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, echoing(definition), host.Options{})
			r := h.Call(t.Context(), call("test__run", c.arguments))
			if r.Error != nil && r.Error.Code == sdk.CodeToolNotFound {
				t.Skip("the schema is refused as a whole")
			}
			if !c.legal {
				failed(t, r, sdk.CodeInvalidArgs)
				return
			}
			succeeded(t, r)
			diff(t, c.arguments, r.Text())
		})
	}
}

// Whatever names a call has, a plugin in Go reads the values of the exact ones, or the call is refused.
func TestPluginsReadTheExactNames(t *testing.T) {
	t.Parallel()
	definition := tool("run")
	definition.InputSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"integer"},` +
		`"sizeKind":{"type":"integer"}}}`)
	var got json.RawMessage
	h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r.Arguments
		return sdk.Text(""), nil
	}, definition), host.Options{})
	names := []string{"path", "Path", "PATH", `p\u0061th`, `p\u0041th`, "sizeKind", "sizekind", "SizeKind", "ſizeKind",
		"size\u212aind", "other", "Other"}
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names") {
			members = append(members, `"`+n+`":`+rapid.StringMatching(`[1-9]`).Draw(t, "value"))
		}
		got = nil
		r := h.Call(context.Background(),
			host.Call{Tool: "test__run", Arguments: []byte("{" + strings.Join(members, ",") + "}")})
		if r.Error != nil {
			return
		}
		ran++
		var exact map[string]int
		var plugin struct {
			Path     int `json:"path"`
			SizeKind int `json:"sizeKind"`
		}
		if json.Unmarshal(got, &exact) != nil || json.Unmarshal(got, &plugin) != nil || plugin.Path != exact["path"] ||
			plugin.SizeKind != exact["sizeKind"] {
			t.Errorf("of %s the plugin reads %+v", got, plugin)
		}
	})
	if ran == 0 {
		t.Error("nothing ran")
	}
}

// Arguments written as text are converted to the types in the tool's schema. Strings stay strings.
func TestTextArgumentsAreTyped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		property, text, want string // "" is refused
	}{
		"a string":                     {`{"type":"string"}`, `123`, `"123"`},
		"a string of JSON":             {`{"type":"string"}`, `{"a":1}`, `"{\"a\":1}"`},
		"a string true":                {`{"type":"string"}`, `true`, `"true"`},
		"a string with blanks":         {`{"type":"string"}`, ` a `, `" a "`},
		"anything":                     {`{}`, `5`, `"5"`},
		"anything at all":              {`true`, `[1]`, `"[1]"`},
		"an integer":                   {`{"type":"integer"}`, `5`, `5`},
		"an integer with blanks":       {`{"type":"integer"}`, ` 5 `, `5`},
		"a large integer":              {`{"type":"integer"}`, `12345678901234567890`, `12345678901234567890`},
		"a negative number":            {`{"type":"number"}`, `-1.50`, `-1.50`},
		"an integer for a number":      {`{"type":"number"}`, `2`, `2`},
		"a whole number in decimals":   {`{"type":"integer"}`, `5.0`, `5.0`},
		"a fraction for an integer":    {`{"type":"integer"}`, `5.5`, ``},
		"a word for an integer":        {`{"type":"integer"}`, `five`, ``},
		"a word that is no JSON":       {`{"type":"number"}`, `0x10`, ``},
		"too small":                    {`{"type":"integer","minimum":3}`, `2`, ``},
		"a boolean":                    {`{"type":"boolean"}`, `true`, `true`},
		"a boolean of Python":          {`{"type":"boolean"}`, `False`, `false`},
		"no boolean":                   {`{"type":"boolean"}`, `yes`, ``},
		"an array":                     {`{"type":"array","items":{"type":"string"}}`, `["a", "b"]`, `["a","b"]`},
		"an array over lines":          {`{"type":"array","items":{"type":"integer"}}`, "[\n 1,\n 2\n]", "[1,2]"},
		"an array of something else":   {`{"type":"array","items":{"type":"integer"}}`, `["a"]`, ``},
		"an object":                    {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, `{"a":1}`},
		"an object that lacks its end": {`{"type":"object"}`, `{"a":1`, ``},
		"an object with doubled names": {`{"type":"object"}`, `{"a":1,"a":2}`, ``},
		"null or an integer":           {`{"type":["integer","null"]}`, `null`, `null`},
		"null or an integer, 3":        {`{"type":["integer","null"]}`, `3`, `3`},
		"null or a string":             {`{"type":["string","null"]}`, `null`, `"null"`},
		"anyOf null":                   {`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `None`, `null`},
		"anyOf with a string":          {`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `3`, `"3"`},
		"oneOf":                        {`{"oneOf":[{"type":"boolean"},{"type":"integer"}]}`, `3`, `3`},
		"allOf":                        {`{"allOf":[{"type":"integer"},{"minimum":1}]}`, `3`, `3`},
		"a reference":                  {`{"$ref":"#/$defs/n"}`, `3`, `3`},
		"a reference to a reference":   {`{"$ref":"#/$defs/m"}`, `3`, `3`},
		"a reference to itself":        {`{"$ref":"#/$defs/tree"}`, `{"next":{"n":1}}`, `{"next":{"n":1}}`},
		"an enum of words":             {`{"enum":["1","2"]}`, `1`, `"1"`},
		"an enum of numbers":           {`{"enum":[1,2]}`, `1`, `1`},
		"an enum of both, a word":      {`{"enum":["auto",1]}`, `auto`, `"auto"`},
		"an enum of both, a number":    {`{"enum":["auto",1]}`, `1`, `1`},
		"none of an enum":              {`{"enum":[1,2]}`, `3`, ``},
		"a constant":                   {`{"const":true}`, `true`, `true`},
		"a string of an enum of words": {`{"type":"string","enum":["true","false"]}`, `true`, `"true"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":` + c.property +
				`,"text":{"type":"string"}},
				"$defs":{"n":{"type":"integer"},"m":{"$ref":"#/$defs/n"},"tree":{"type":"object","properties":{"n":{"type":"integer"},"next":{"$ref":"#/$defs/tree"}}}}}`)
			var got map[string]json.RawMessage
			h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text("done"), json.Unmarshal(r.Arguments, &got)
			}, definition), host.Options{})
			text, _ := json.Marshal(c.text)
			r := h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: fmt.Appendf(nil, `{"x":%s,"text":"7"}`, text),
				TextArguments: true})
			if c.want == "" {
				failed(t, r, sdk.CodeInvalidArgs)
				return
			}
			succeeded(t, r)
			if compact := strings.NewReplacer("\n", "", " ", ""); compact.Replace(string(got["x"])) != compact.Replace(c.want) ||
				string(got["text"]) != `"7"` {
				t.Errorf("the plugin got %s, want %s", got, c.want)
			}
		})
	}
}

// Arguments of a tool with a map, or with a combined schema, are converted too; those in JSON are not.
func TestTextArgumentsOfOtherSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, arguments string
		text              bool
		want              string
	}{
		"a map": {`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"1"}`, true, `{"a":1}`},
		"allOf": {`{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}},` +
			`{"properties":{"a":{"minimum":0}}}]}`, `{"a":"1"}`, true, `{"a":1}`},
		"a reference": {`{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"a":{"type":"integer"}}}}}`,
			`{"a":"1"}`, true, `{"a":1}`},
		"no arguments": {`{"type":"object"}`, `{}`, true, `{}`},
		"JSON": {`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, `{"a":"1"}`, false,
			`{"a":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, echoing(definition), host.Options{})
			r := h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: json.RawMessage(c.arguments),
				TextArguments: c.text})
			succeeded(t, r)
			diff(t, c.want, r.Text())
		})
	}
}

// A call that is known to be incomplete is refused, whatever its arguments look like.
func TestTruncatedCallIsRefused(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	c := call("test__run", `{}`)
	c.StopReason = "max_tokens"
	e := failed(t, single(t, p, host.Options{}).Call(t.Context(), c), sdk.CodeInvalidArgs)
	if e.Name != "TruncatedCall" || !strings.Contains(e.Message, "max_tokens") || p.called.Load() > 0 {
		t.Errorf("%+v, %d calls", e, p.called.Load())
	}
}
