package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestMalformedArguments(t *testing.T) {
	t.Parallel()
	w := wire(t)
	h := single(t, w, host.Options{})
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	many := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}` }
	cases := map[string]struct {
		arguments string
		message   string
		offset    int // -1: not told
	}{
		"a word":              {`hello`, "are not valid JSON: invalid character 'h' at start of value (at byte 0)", 0},
		"an array":            {` [{}]`, "must be a JSON object, not an array", -1},
		"a string":            {`"{}"`, "must be a JSON object, not a string", -1},
		"a number":            {`-1`, "must be a JSON object, not a number", -1},
		"true":                {`true`, "must be a JSON object, not a boolean", -1},
		"null":                {`null`, "must be a JSON object, not null", -1},
		"cut off":             {`{"path":"a`, "end too early: the object is not closed (at byte 10, after `{\"path\":\"a`)", 10},
		"only begun":          {`{`, "end too early: the object is not closed (at byte 1, after `{`)", 1},
		"line break":          {"{\"a\":\"x\ny\"}", "are not valid JSON: invalid character '\\n' in string (expecting non-control character) (at byte 7, after `{\"a\":\"x`)", 7},
		"single quotes":       {`{'a':1}`, "are not valid JSON: invalid character '\\'' at start of value (at byte 1, after `{`)", 1},
		"trailing comma":      {`{"a":1,}`, "are not valid JSON: invalid character ',' at start of value (at byte 6, after `{\"a\":1`)", 6},
		"a comment":           {`{"a":1/*x*/}`, "are not valid JSON: invalid character '/' after object value (expecting ',' or '}') (at byte 6, after `{\"a\":1`)", 6},
		"NaN":                 {`{"a":NaN}`, "are not valid JSON: invalid character 'N' at start of value (at byte 5, after `{\"a\":`)", 5},
		"leading zero":        {`{"a":01}`, "are not valid JSON: invalid character '1' after object value (expecting ',' or '}') (at byte 6, after `{\"a\":0`)", 6},
		"a byte order mark":   {"\ufeff{}", "are not valid JSON: invalid character '\\ufeff' at start of value (at byte 0)", 0},
		"doubled":             {`{"a":1,"a":2}`, "have two properties named \"a\" in one object (at byte 7, after `{\"a\":1,`)", 7},
		"doubled, escaped":    {`{"a":1,"\u0061":2}`, "have two properties named \"a\" in one object (at byte 7, after `{\"a\":1,`)", 7},
		"doubled inside":      {`{"a":[{"b":1,"b":2}]}`, "have two properties named \"b\" in one object (at byte 13, after `{\"a\":[{\"b\":1,`)", 13},
		"not UTF-8":           {"{\"a\":\"\xff\"}", "are not valid JSON: invalid UTF-8 (at byte 6, after `{\"a\":\"`)", 6},
		"name not UTF-8":      {"{\"\xff\":1}", "are not valid JSON: invalid UTF-8 (at byte 2, after `{\"`)", 2},
		"half a surrogate":    {`{"a":"\ud800"}`, "are not valid JSON: invalid surrogate pair `\\ud800\"}` in string (at byte 6, after `{\"a\":\"`)", 6},
		"the other half":      {`{"a":"\udc00"}`, "are not valid JSON: invalid surrogate pair", 6},
		"two objects":         {`{} {}`, "go on after the object has ended (at byte 2, after `{}`)", 2},
		"a brace too many":    {`{"a":{}}}`, "go on after the object has ended (at byte 8, after `{\"a\":{}}`)", 8},
		"a strange blank":     {"{}\u00a0", "go on after the object has ended (at byte 2, after `{}`)", 2},
		"a NUL":               {"{}\x00", "go on after the object has ended (at byte 2, after `{}`)", 2},
		"only strange blanks": {"\u00a0", "are not valid JSON: invalid character '\\u00a0' at start of value (at byte 0)", 0},
		"depth 65":            {deep(65), "are nested more than 64 deep (at byte 69, after `[[[[[[[[[[[[[[[[[[[[`)", 69},
		"100001 nodes":        {many(100_000 - 1), "have more than 100000 names and values", 200_001},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), call("test__echo", c.arguments))
			e := failed(t, r, sdk.CodeInvalidArgs)
			if !strings.HasPrefix(e.Message, "the arguments "+c.message) || !strings.HasSuffix(e.Message, "; nothing was run") {
				t.Errorf("message %q\nwant    the arguments %s...; nothing was run", e.Message, c.message)
			}
			want := ""
			if c.offset >= 0 {
				want = fmt.Sprintf(`{"offset":%d}`, c.offset)
			}
			if string(e.Details) != want {
				t.Errorf("details %s, want %s", e.Details, want)
			}
			if e.Name != "MalformedArguments" || !strings.Contains(e.Suggestion, `a line break as \n`) || r.Plugin != "test" || r.Attempts != 0 {
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
	w := wire(t)
	h := single(t, w, host.Options{MaxResultBytes: 2 * sdk.MaxArguments})
	sized := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	r := h.Call(t.Context(), call("test__echo", sized(sdk.MaxArguments)))
	succeeded(t, r)
	if got := len(r.Text()); got != sdk.MaxArguments {
		t.Errorf("the plugin got %d bytes, want %d", got, sdk.MaxArguments)
	}
	e := failed(t, h.Call(t.Context(), call("test__echo", sized(sdk.MaxArguments+1))), sdk.CodeInvalidArgs)
	diff(t, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "MalformedArguments",
		Message:    "the arguments have 1048577 bytes, at most 1048576 are allowed; nothing was run",
		Suggestion: "Pass less at once, or the path of a file."}, e)
	if n := w.ran.Load(); n != 1 {
		t.Errorf("%d tools were run, want 1", n)
	}
}

// The plugin gets the bytes that were given, whatever JSON would let one write in their place.
func TestArgumentsAreUntouched(t *testing.T) {
	t.Parallel()
	h := single(t, wire(t), host.Options{MaxResultBytes: 1 << 20})
	cases := map[string]string{
		"numbers":         `{"a":1e400,"b":12345678901234567890,"c":-0,"d":1.0,"e":1E+2,"f":0.1000}`,
		"blanks":          " \t\r\n{ \"a\" :\t[ 1 , 2 ]\r\n} \n",
		"escapes":         `{"\u0061":"\u00e9\/\ud83d\ude00"}`,
		"order":           `{"z":1,"a":2,"m":3}`,
		"angle brackets":  `{"a":"<&>"}`,
		"line separators": "{\"a\":\"\u2028\u2029\"}",
		"an empty name":   `{"":0}`,
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

func TestBlankArguments(t *testing.T) {
	t.Parallel()
	h := single(t, wire(t), host.Options{})
	for _, blank := range []json.RawMessage{nil, {}, json.RawMessage(" \t\r\n ")} {
		r := h.Call(t.Context(), host.Call{Tool: "test__echo", Arguments: blank})
		succeeded(t, r)
		if r.Text() != "{}" {
			t.Errorf("%q: the plugin got %q", blank, r.Text())
		}
	}
}
