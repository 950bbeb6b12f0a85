package modelapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

func fenced(word, body string) string { return "```" + word + "\n" + body + "\n```\n" }

func tagged(arguments string) string {
	return `<tool_call>{"name":"p__a","arguments":` + arguments + "}</tool_call>"
}

func wanted(arguments ...string) (out []host.Call) {
	for _, a := range arguments {
		out = append(out, host.Call{ID: "*", Tool: "p__a", Arguments: []byte(a)})
	}
	return out
}

// plainCall is a call with the arguments {}.
var plainCall = fenced("tool_call", `{"name":"p__a","arguments":{}}`)

// textMessages are texts, the calls that are read of each, and whether the last of those is refused.
var textMessages = map[string]struct {
	text string
	want []host.Call
	bad  bool
}{
	"no call":     {"Hello.\n```go\nfunc main() {}\n```\n", nil, false},
	"nothing":     {"", nil, false},
	"one":         {plainCall, wanted(`{}`), false},
	"text around": {"I look.\n\n" + plainCall + "That is it.", wanted(`{}`), false},
	"two": {plainCall + "and\n" + fenced("tool_call", `{"name":"p__a","arguments":{"x":1}}`),
		wanted(`{}`, `{"x":1}`), false},
	"exact": {fenced("tool_call", `{"arguments":`+exact+`,"name":"p__a"}`), wanted(exact), false},
	"many lines": {fenced("tool_call", "{\n \"name\": \"p__a\",\n \"arguments\": {\n  \"x\": \"```\"\n }\n}"),
		wanted("{\n  \"x\": \"```\"\n }"), false},
	"carriage returns":  {strings.ReplaceAll(plainCall, "\n", "\r\n"), wanted(`{}`), false},
	"no last line end":  {strings.TrimSpace(plainCall), wanted(`{}`), false},
	"a longer fence":    {"`````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n``````", wanted(`{}`), false},
	"three blanks":      {"   " + strings.ReplaceAll(plainCall, "\n```", "\n  ```"), wanted(`{}`), false},
	"no arguments":      {fenced("tool_call", `{"name":"p__a"}`), wanted(``), false},
	"null arguments":    {fenced("tool_call", `{"name":"p__a","arguments":null}`), wanted(``), false},
	"arguments as text": {fenced("tool_call", `{"name":"p__a","arguments":"{\"x\":1}"}`), wanted(`"{\"x\":1}"`), false},
	"another member":    {fenced("tool_call", `{"id":"7","name":"p__a","arguments":{}}`), wanted(`{}`), false},
	"the last brace":    {fenced("tool_call", `{"name":"p__a","arguments":{"x":1}`), wanted(`{"x":1}`), false},

	"in a longer fence":       {"````md\n" + plainCall + "````\n", nil, false},
	"in another fence":        {"~~~\n" + plainCall + "~~~\n", nil, false},
	"in a fence of its kind":  {"```md\n" + plainCall + "\n", nil, false},
	"in a fence that is open": {"~~~ text\n" + plainCall, nil, false},
	"after another fence":     {"````md\n" + plainCall + "````\n" + plainCall, wanted(`{}`), false},
	"indented as code":        {"    ```tool_call\n    {\"name\":\"p__a\"}\n    ```\n", nil, false},
	"quoted":                  {"> ```tool_call\n> {\"name\":\"p__a\"}\n> ```\n", nil, false},
	"in a line":               {"Write ```tool_call {\"name\":\"p__a\"}``` for it.\n", nil, false},
	"with tildes":             {"~~~tool_call\n{\"name\":\"p__a\"}\n~~~\n", nil, false},
	"another word":            {fenced("tool_calls", `{"name":"p__a"}`), nil, false},
	"a long line":             {strings.Repeat("x", 5000) + "\n" + plainCall, wanted(`{}`), false},
	"a long line of marks":    {strings.Repeat("`", 5000) + "tool_call\n" + plainCall, nil, false},

	"not closed": {plainCall + "```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":1}}\n",
		wanted(`{}`, `{"x":1}`), true},
	"a fence inside": {"````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n```\n````\n", wanted("{}}\n```"),
		true},
	"closed too short": {plainCall + "````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n```\n",
		wanted(`{}`, "{}}\n```"), true},
	"not closed, name last": {plainCall + "```tool_call\n{\"arguments\":{},\"name\":\"p__a\"}\n", wanted(`{}`, `{}`),
		true},
	"cut in the arguments":   {"```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":", wanted(`{"x":`), true},
	"no brace, no arguments": {fenced("tool_call", `{"name":"p__a"`), wanted("{\"name\":\"p__a\"\n"), true},
	"invalid schema":         {fenced("tool_call", `{"name":"p__a","arguments":{x:1}}`), wanted(`{x:1}}`), true},
	"two objects":            {fenced("tool_call", `{"name":"p__a","arguments":{}} {}`), wanted(`{}} {}`), true},
	"arguments twice": {fenced("tool_call", `{"name":"p__a","arguments":{},"arguments":{}}`),
		wanted(`{},"arguments":{}}`), true},
	"arguments by other names": {fenced("tool_call", `{"name":"p__a","parameters":{}}`), wanted("\"parameters\":{}}\n"),
		true},
	"an array": {fenced("tool_call", `{"name":"p__a","arguments":[]}`), wanted(`[]`), true},

	"on the line of the fence": {"```tool_call {\"name\":\"p__a\",\"arguments\":" + `{"x":1}}` + "\n```\n", wanted(`{"x":1}`), false},
	"right behind the fence":   {fenced("tool_call{", `"name":"p__a","arguments":{}}`), wanted(`{}`), false},
	"behind a tab":             {fenced("tool_call\t{", `"name":"p__a","arguments":{}}`), wanted(`{}`), false},
	"a word that begins so":    {fenced("tool_calls", `{"name":"p__a","arguments":{}}`), nil, false},

	"in a tag":             {"Well.\n<tool_call>\n{\"name\":\"p__a\",\n\"arguments\":{}}\n</tool_call>\nDone", wanted(`{}`), false},
	"in a tag on its line": {tagged(`{}`) + "\n" + tagged(`{"x":1}`), wanted(`{}`, `{"x":1}`), false},
	"in a tag with a long line": {" " + tagged(`{"x":"`+strings.Repeat("y", 3000)+`"}`) + "\r\n",
		wanted(`{"x":"` + strings.Repeat("y", 3000) + `"}`), false},
	"in a tag, and about tags": {tagged(`{"x":"</tool_call>"}`), wanted(`{"x":"</tool_call>"}`), false},
	"a tag and a fence":        {tagged(`{}`) + "\n" + plainCall, wanted(`{}`, `{}`), false},
	"a tag in a fence":         {"```\n" + tagged(`{}`) + "\n```\n", nil, false},
	"a tag in a line":          {"Write " + tagged(`{}`) + "\n", nil, false},
	"a tag not closed":         {"<tool_call>\n{\"name\":\"p__a\",\"arguments\":{}}\n", wanted(`{}`), true},
	"two tags on a line":       {tagged(`{}`) + " " + tagged(`{"x":1}`) + "\nDone.", wanted(`{}`, `{"x":1}`), false},
	"two tags on lines":        {strings.ReplaceAll(tagged(`{}`)+tagged(`{"x":1}`), "{\"", "\n{\"") + "\n", wanted(`{}`, "{\"x\":1}"), false},
	"a list in a tag":          {"<tool_call> [{\"name\":\"p__a\",\"arguments\":{}}]</tool_call>\nDone.", wanted(`{}`), false},
	"a list after a tag":       {"Well.\n<tool_call> [{\"name\":\"p__a\",\"arguments\":{}}]", wanted(`{}`), false},

	"backticks on the line of the fence": {"```tool_call {\"name\":\"p__a\",\"arguments\":" + "{\"x\":\"`y` ```\"}}\n```\n",
		wanted("{\"x\":\"`y` ```\"}"), false},
	"backticks on the first of lines": {"```tool_call {\"name\":\"p__a\",\"arguments\":{\"x\":\"`y`\",\n\"z\":1}}\n```\n",
		wanted("{\"x\":\"`y`\",\"z\":1}"), false},
	"a code span of no JSON":         {"```tool_call {x`}\n" + plainCall, wanted(`{}`), false},
	"a code span that begins a line": {"```tool_call {\"name\":\"p__a\"}``` is the form.\n" + plainCall, wanted(`{}`), false},
	"a tag that begins a sentence":   {"<tool_call> and </tool_call> are tags.\n" + plainCall, wanted(`{}`), false},
	"a call that begins a sentence":  {tagged(`{}`) + " is the form.\n" + plainCall, wanted(`{}`), false},

	"listed": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n5\nEND_ARG\nBEGIN_ARG: y: z\na \"b\"\n\n  c\nEND_ARG"),
		wanted(`{"x":"5","y: z":"a \"b\"\n\n  c"}`), false},
	"listed, no argument":    {fenced("tool", "TOOL_NAME: p__a"), wanted(`{}`), false},
	"listed, empty argument": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\nEND_ARG"), wanted(`{"x":""}`), false},
	"listed, carriage returns": {"```tool\r\nTOOL_NAME: p__a\r\nBEGIN_ARG: x\r\na\r\nb\r\nEND_ARG\r\n```\r\n",
		wanted(`{"x":"a\r\nb"}`), false},
	"listed, fences inside": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n```\nEND_ARGS\n"+plainCall+"END_ARG"),
		wanted(`{"x":"` + "```\\nEND_ARGS\\n```tool_call\\n{\\\"name\\\":\\\"p__a\\\",\\\"arguments\\\":{}}\\n```" + `"}`),
		false},
	"listed, what looks closed": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\nBEGIN_ARG: y\n\"}\nEND_ARG"),
		wanted(`{"x":"BEGIN_ARG: y\n\"}"}`), false},
	"listed, not closed":    {"```tool\nTOOL_NAME: p__a\nBEGIN_ARG: x\na\nEND_ARG\n", wanted(`{"x":"a"}`), true},
	"listed, argument open": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\na"), wanted(`{}`), true},
	"listed, an argument twice": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\na\nEND_ARG\nBEGIN_ARG: x\nb\nEND_ARG"),
		wanted(`{"x":"a","x":"b"}`), true},
	"listed, two names": {fenced("tool", "TOOL_NAME: p__a\nTOOL_NAME: p__b"),
		wanted(`{ not between BEGIN_ARG and END_ARG: TOOL_NAME: p__b}`), true},
	"listed, JSON between lines": {fenced("tool", "TOOL_NAME: p__a\n\"x\":1"),
		wanted(`{ not between BEGIN_ARG and END_ARG: "x":1}`), true},
}

// A text is read the same, run or refused, whether it arrives at once or as a stream.
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
			for _, call := range slices.Concat(calls, good) {
				if call.TextArguments != strings.HasPrefix(name, "listed") {
					t.Errorf("TextArguments is %t for %s", call.TextArguments, call.Arguments)
				}
			}
		})
	}
}

func TestTextErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"no name": {plainCall + fenced("tool_call", `{"arguments":{}}`),
			`block 2 of its calls has no tool's name: it must hold one JSON object with "name"`},
		"empty name":          {fenced("tool_call", `{"name":"","arguments":{}}`), "block 1 of its calls has no tool's name"},
		"name no text":        {fenced("tool_call", `{"name":["name","p__a"]}`), "has no tool's name"},
		"an array":            {fenced("tool_call", `["name","p__a"]`), "has no tool's name"},
		"nothing":             {fenced("tool_call", ``), "has no tool's name"},
		"a name alone":        {fenced("tool_call", "p__a"), "has no tool's name"},
		"a name, no key":      {fenced("tool", "p__a"), "has no tool's name"},
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
				t.Errorf("%v, %v; want text containing %q", calls, err, c.want)
			}
		})
	}
}

// A call in the form that Export describes is read, whatever the arguments are.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arguments, err := json.MarshalIndent(drawObject(t, 0), "",
			rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.StringMatching("([ -~]|`{3}|\n|é){0,40}").Filter(func(s string) bool {
			return !strings.Contains(s,
				"END_ARG")
		}).Draw(t, "value")
		text := fmt.Sprintf("```tool_call\n{\"name\": \"p__a\", \"arguments\": %s}\n```\n```tool\nTOOL_NAME: "+
			"p__a\nBEGIN_ARG: x\n%s\nEND_ARG\n```", arguments, value)
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

// streamText reads a text that comes in pieces; the states are the last ones of each call.
func streamText(t rapid.TB, pieces ...string) (calls []host.Call, refused []*host.Result,
	last map[int]modelapi.CallState) {
	t.Helper()
	a, last := assembler(t, modelapi.FormatText), map[int]modelapi.CallState{}
	for _, p := range pieces {
		states := add(t, a, []byte(p))
		checkStates(t, states)
		for _, s := range states {
			last[s.Index] = s
		}
	}
	for _, s := range a.End() {
		last[s.Index] = s
	}
	return a.Calls(), a.Refused(), last
}

// A stream answers blocks that are not calls.
func TestTextStreamErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"no name": {fenced("tool_call", `{"arguments":{}}`),
			`NameMissing: the call has no tool's name: its block must hold one JSON object with "name"`},
		"another format in a tag": {"<tool_call>p__a\n<key>x</key>\n<value>1</value>\n</tool_call>\n",
			"NameMissing: the call has no tool's name: its block must hold one JSON object"},
		"cut before the name": {"```tool_call\n{\"na", "TruncatedCall"},
		"cut off":             {strings.TrimSuffix(plainCall, "```\n"), "TruncatedCall"},
		"cut in a key":        {"<tool_call>p__a<arg_key>x", "TruncatedCall"},
		"a long name":         {fenced("tool_call", `{"name":"`+strings.Repeat("a", 2000)+`"}`), "LabelTooLong"},
		"large arguments": {fenced("tool_call", `{"name":"p__a","arguments":{"x":"`+strings.Repeat("a", 1<<20)+`"}}`),
			"ArgumentsTooLarge"},
		"a large block": {fenced("tool_call", strings.Repeat(" ", 9<<20)+`{"name":"p__a"}`), "ArgumentsTooLarge"},
		"a large listed block": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n"+strings.Repeat("a\n", 5<<20)+
			"```\nEND_ARG"), "ArgumentsTooLarge"},
		"not Unicode": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n\xff\nEND_ARG"), "MalformedArguments"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pieces := []string{c.text}
			if c.want != "TruncatedCall" {
				pieces = append(pieces, plainCall)
			}
			good, refused, _ := streamText(t, pieces...)
			if len(good) != len(pieces)-1 {
				t.Errorf("after it %+v are run", good)
			}
			if len(refused) != 1 || refused[0].CallID == "" ||
				!strings.HasPrefix(refused[0].Error.Name+": "+refused[0].Error.Message, c.want) {
				t.Errorf("refused %+v, want %s", refused, c.want)
			}
		})
	}
}

// A call that is being written is shown as far as it goes, without braces of its envelope.
func TestTextStreamShows(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatText)
	steps := []struct{ piece, want string }{
		{"I look.\n``", ""},
		{"`tool_call", ""},
		{"\n", "[0] generating (made) -"},
		{`{"name": "p__`, ""},
		{`a", "arguments"`, "[0] generating (made) p__a"},
		{` : {"x": "é` + "\xc3", `[0] generating (made) p__a "{\"x\": \"é" shows {"x": "é"}`},
		{"\xa9", `[0] generating (made) p__a "{\"x\": \"éé" shows {"x": "éé"}`},
		{`"}}`, `[0] generating (made) p__a "{\"x\": \"éé\"}" shows {"x": "éé"}`},
		{"\n```", ""},
		{"\n", `[0] generated (made) p__a "{\"x\": \"éé\"}"`},
		{"```tool\nTOOL_NAME: p__b\nBEGIN_ARG: x\na", "[1] generating (made) p__b \"{\" shows {}"},
		{"\nEND_ARG\n", `[1] generating (made) p__b "{\"x\":\"a\"" shows {"x":"a"}`},
		{"```\n", `[1] generated (made) p__b "{\"x\":\"a\"}"`},
	}
	for _, s := range steps {
		var got []string
		for _, state := range add(t, a, []byte(s.piece)) {
			got = append(got, strings.Replace(stateWords(state, nil), "generating - ", "generating (made) ", 1))
		}
		diff(t, s.want, strings.ReplaceAll(strings.Join(got, "\n"), " - p__", " (made) p__"))
	}
}

// A large piece is shown like small ones; names that follow the arguments are known at the end.
func TestTextStreamShowsLargePieces(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatText)
	long := strings.Repeat("a", 9000)
	states := add(t, a, []byte("```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":\""+long))
	if len(states) != 1 || states[0].Tool != "p__a" || states[0].Partial.String() != `{"x":"`+long+`"}` {
		t.Errorf("%.200v", states)
	}
	states = add(t, a, []byte("\"}}\n```\n```tool_call\n{\"arguments\":{\"x\":1},\"name\":\"p__b"))
	if len(states) != 2 || states[0].Status != host.Generated || states[1].Tool != "" ||
		states[1].Partial.String() != `{"x":1}` {
		t.Errorf("%.200v", states)
	}
	if states = add(t, a, []byte("\"}\n```\n")); len(states) != 1 || states[0].Tool != "p__b" ||
		states[0].Status != host.Generated {
		t.Errorf("%.200v", states)
	}
}

// Wherever a text is cut into pieces, its calls are the same.
func TestAnySplitOfATextGivesTheSameCalls(t *testing.T) {
	t.Parallel()
	bits := []string{"```tool_call\n", "```tool\n", "````md\n", "```\n", "````\n", "~~~\n", "text\n", "\n",
		`{"name":"p__a","arguments":{"x":"é`, `"}}` + "\n",
		`{"arguments":{},"name":"p__a"}` + "\n", "TOOL_NAME: p__a\n", "BEGIN_ARG: x\n", "END_ARG\n", "END_ARG", "```", "\xc3"}
	for _, c := range textMessages {
		if len(c.text) < 1000 {
			bits = append(bits, c.text)
		}
	}
	slicesOf := rapid.SliceOfN(rapid.SampledFrom(bits), 0, 8)
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(slicesOf.Draw(r, "text"), "")
		var pieces []string
		for left := text; left != ""; {
			n := rapid.IntRange(1, min(len(left), 20)).Draw(r, "cut")
			pieces, left = append(pieces, left[:n]), left[n:]
		}
		sameCalls(r, text, pieces)
	})
}

// sameCalls compares the calls of a text in pieces with those of the whole, and with ParseCalls.
func sameCalls(t rapid.TB, text string, pieces []string) {
	t.Helper()
	calls, refused, last := streamText(t, text)
	calls2, refused2, last2 := streamText(t, pieces...)
	ignore := cmp.Options{cmpopts.IgnoreFields(host.Call{}, "ID"), cmpopts.IgnoreUnexported(host.Call{}),
		cmpopts.IgnoreFields(host.Result{}, "CallID")}
	if d := cmp.Diff(calls, calls2, ignore) + cmp.Diff(refused, refused2, ignore); d != "" {
		t.Errorf("%q as %q: (-at once +in pieces):\n%s", text, pieces, d)
	}
	for i, s := range last {
		if s.Status != last2[i].Status || s.Partial.String() != last2[i].Partial.String() {
			t.Errorf("%q as %q: at last %+v, at once %+v", text, pieces, last2[i], s)
		}
	}
	parsed, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text))
	if err == nil && len(parsed) != len(calls)+len(refused) && len(calls) < 128 {
		t.Errorf("%q: %d calls, in a stream %d and %d", text, len(parsed), len(calls), len(refused))
	}
}

func FuzzText(f *testing.F) {
	for _, c := range textMessages {
		f.Add(c.text, len(c.text)/2)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut >= 0 && cut <= len(text) {
			sameCalls(t, text, []string{text[:cut], text[cut:]})
		}
	})
}

// textOf is the text that a JSON string holds.
func textOf(t rapid.TB, value json.RawMessage) (text string) {
	unmarshal(t, value, &text)
	return text
}

// listedText takes an exported text apart.
func listedText(t testing.TB, list json.RawMessage) (out []exported) {
	t.Helper()
	_, lines, _ := strings.Cut(textOf(t, list), "must fit.\n\n")
	for line := range strings.Lines(lines) {
		var tool map[string]any
		unmarshal(t, []byte(line), &tool)
		out = append(out, takeApart(modelapi.FormatText, tool))
	}
	return out
}

// framedIn reads the results of a rendered text as Markdown does.
func framedIn(text string) (out []string) {
	fence, inside := "", []string(nil)
	for line := range strings.SplitSeq(text, "\n") {
		marks, isResult := strings.CutSuffix(line, "tool_result")
		switch {
		case fence == "" && isResult && strings.Trim(marks, "`") == "":
			fence, inside = marks, nil
		case fence != "" && strings.HasPrefix(line, fence) && strings.Trim(line, "`") == "":
			out, fence = append(out, strings.Join(inside, "\n")), ""
		case fence != "":
			inside = append(inside, line)
		}
	}
	return out
}

func TestRenderResultsText(t *testing.T) {
	t.Parallel()
	strange := []*host.Result{textResult(host.Call{Tool: "a`b\n"}, "see\n```tool_result\nx\n````\n"),
		textResult(host.Call{Tool: "a__b"}, "")}
	cases := map[string]struct {
		results []*host.Result
		want    string
	}{
		"all kinds": {rendered, "Call 1 of 6, a__b, succeeded:\n```tool_result\n<one> text\n```\n\n" +
			"Call 2 of 6, a__c, failed:\n```tool_result\npartly\n" +
			"[image image/png, 1 byte, which cannot be shown here]\nIt broke.\nRepair it.\n```\n\n" +
			"Call 3 of 6, a__d, succeeded:\n```tool_result\nsee\n[image image/png, 3 bytes, which cannot be shown here]\nand\n" +
			"[image image/tiff, 4 bytes, which cannot be shown here]\n[audio audio/wav, 3 bytes, which cannot be shown " +
			"here]\n```\n\n" +
			"Call 4 of 6, a__e, succeeded:\n```tool_result\n{\"n\": 12345678901234567890}\n```\n\n" +
			"Call 5 of 6, a__f, succeeded:\n```tool_result\n```\n\n" +
			"Call 6 of 6, a__g, succeeded:\n```tool_result\n[file file:///a.txt text/plain]\nhello\n[link the log file:///log " +
			"text/plain]\n" +
			"[file file:///d/a.pdf application/pdf, 3 bytes, which cannot be shown here]\n{\"type\":\"new\",\"x\":1}\n```\n"},
		"strange": {strange, "Call 1 of 2, \"a`b\\n\", " +
			"succeeded:\n`````tool_result\nsee\n```tool_result\nx\n````\n`````\n\n" +
			"Call 2 of 2, a__b, succeeded:\n```tool_result\n```\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := modelapi.RenderResults(modelapi.FormatText, c.results)
			if err != nil || strings.Contains(string(got), `\u003c`) {
				t.Fatalf("%s, %v", got, err)
			}
			diff(t, c.want, textOf(t, got))
		})
	}
}

// No result can end its own block, or make a call by its text.
func TestResultStaysInItsFrame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inside := rapid.StringMatching("(`{1,6}|~{3}|tool_call|tool_result|\n| |a|END_ARG|Call 1 of 1){0,20}").Draw(t,
			"result")
		message, err := modelapi.RenderResults(modelapi.FormatText,
			[]*host.Result{textResult(host.Call{Tool: "a__b"}, inside)})
		if err != nil || !utf8.Valid(message) {
			t.Fatal(err)
		}
		text := textOf(t, message)
		if got := framedIn(text); len(got) != 1 || got[0] != strings.TrimSuffix(inside, "\n") {
			t.Errorf("%q became %q in\n%s", inside, got, text)
		}
		if calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte(text)); err != nil || len(calls) > 0 {
			t.Errorf("%+v, %v in\n%s", calls, err, text)
		}
	})
}
