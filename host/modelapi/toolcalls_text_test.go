package modelapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// What is read of a text is run or refused alike, whether it comes at once or as a stream.
func TestTextCalls(t *testing.T) {
	t.Parallel()
	h := doer(t)
	for name, c := range textMessages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			for i, call := range calls {
				r := h.Call(t.Context(), call)
				if bad := c.bad && i == len(calls)-1; bad != (r.Error != nil) || bad && r.Error.Code != sdk.CodeInvalidArgs {
					t.Errorf("call %d, %s: %v", i, call.Arguments, r.Error)
				}
			}
			diffCalls(t, c.want, calls)
			good, refused, _ := streamText(t, c.text)
			if want := len(c.want) - len(refused); len(good) != want || (len(refused) == 1) != c.bad {
				t.Errorf("of the stream %+v are run, and refused %+v", good, refused)
			}
		})
	}
}

func TestTextErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"no name":             {plainCall + fenced("tool_call", `{"arguments":{}}`), `block 2 of its calls has no tool's name: it must hold one JSON object with "name"`},
		"empty name":          {fenced("tool_call", `{"name":"","arguments":{}}`), "block 1 of its calls has no tool's name"},
		"name no text":        {fenced("tool_call", `{"name":["name","p__a"]}`), "has no tool's name"},
		"an array":            {fenced("tool_call", `["name","p__a"]`), "has no tool's name"},
		"nothing":             {fenced("tool_call", ``), "has no tool's name"},
		"cut before the name": {"```tool_call\n{\"na", "has no tool's name"},
		"listed, no name":     {fenced("tool", "BEGIN_ARG: x\na\nEND_ARG"), "it must hold a line TOOL_NAME: with it"},
		"half a name":         {"```tool\nTOOL_NAME: p__", "has no tool's name"},
		"not Unicode":         {"\xff" + plainCall, "the text message is not valid UTF-8"},
		"too large":           {strings.Repeat("a", 8<<20) + "\n", "the text message has 8388609 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || calls != nil {
				t.Errorf("%v, %v; want a word of %q", calls, err, c.want)
			}
		})
	}
}

// What a model writes by the text that Export gives is read, whatever the arguments are.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arguments, err := json.MarshalIndent(drawObject(t, 0), "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.StringMatching("([ -~]|`{3}|\n|é){0,40}").Filter(func(s string) bool { return !strings.Contains(s, "END_ARG") }).Draw(t, "value")
		text := fmt.Sprintf("```tool_call\n{\"name\": \"p__a\", \"arguments\": %s}\n```\n```tool\nTOOL_NAME: p__a\nBEGIN_ARG: x\n%s\nEND_ARG\n```", arguments, value)
		calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
		if err != nil || len(calls) != 2 || !bytes.Equal(calls[0].Arguments, arguments) {
			t.Fatalf("%+v, %v of\n%s", calls, err, text)
		}
		var x struct{ X string }
		unmarshal(t, calls[1].Arguments, &x)
		if x.X != value {
			t.Errorf("the value %q became %q", value, x.X)
		}
	})
}
