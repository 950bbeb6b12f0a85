package modelapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// errored gives the error that a state must have.
func errored(t *testing.T, states []modelapi.CallState, name string) {
	t.Helper()
	if len(states) != 1 || states[0].Status != host.Errored || states[0].Err == nil || states[0].Err.Name != name || states[0].Err.Code != sdk.CodeInvalidArgs {
		t.Errorf("states %.300v, want one error %s", states, name)
	}
}

func TestTooManyCallsInAStream(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	for i := range 128 {
		add(t, a, chat(i, fmt.Sprint("call_", i), "a__b", "{}"))
	}
	errored(t, add(t, a, chat(128, "call_128", "a__b", "{}")), "TooManyCalls")
	for i := range 1000 {
		if states := add(t, a, chat(129+i, fmt.Sprint("call_", 129+i), "a__b", "{}")); len(states) > 0 {
			t.Fatalf("call %d changed %+v", 129+i, states)
		}
	}
	add(t, a, []byte(chatStop))
	if n := len(a.Calls()); n != 128 {
		t.Errorf("%d calls, want 128", n)
	}
}

func TestArgumentsInAStreamAreBounded(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	half := strings.Repeat("x", sdk.MaxArguments/2)
	add(t, a, chat(0, "call_a", "a__b", `{"t":"`), chat(0, "", "", half), chat(1, "call_b", "a__b", "{}"))
	errored(t, add(t, a, chat(0, "", "", half)), "ArgumentsTooLarge")
	if states := add(t, a, chat(0, "", "", `{}`), chat(0, "", "", `"}`)); len(states) > 0 {
		t.Errorf("it went on: %+v", states)
	}
	add(t, a, []byte(chatStop))
	if calls := a.Calls(); len(calls) != 1 || calls[0].ID != "call_b" {
		t.Errorf("calls %.300v, want call_b alone", calls)
	}
}

// A stream that repeats itself may send much more than the arguments have.
func TestRepeatingStreamCountsOnce(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	text := `{"t":"` + strings.Repeat("x", 200_000)
	for n := 6; n <= len(text); n += 9_999 {
		add(t, a, chat(0, "call_a", "a__b", text[:n]))
	}
	add(t, a, chat(0, "call_a", "a__b", text+`"}`), []byte(chatStop))
	if calls := a.Calls(); len(calls) != 1 || string(calls[0].Arguments) != text+`"}` {
		t.Errorf("calls %.300v", calls)
	}
	a = assembler(t, modelapi.FormatOpenAI)
	add(t, a, chat(0, "call_a", "a__b", text), chat(0, "", "", text+text))
	var states []modelapi.CallState
	for range 3 {
		states = add(t, a, chat(0, "", "", text+text+strings.Repeat("y", 700_000)))
		if len(states) == 1 && states[0].Status == host.Errored {
			break
		}
	}
	errored(t, states, "ArgumentsTooLarge")
}

func TestLabelsInAStreamAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1025)
	errored(t, add(t, assembler(t, modelapi.FormatOpenAI), chat(0, long, "a__b", "{}")), "LabelTooLong")
	errored(t, add(t, assembler(t, modelapi.FormatOpenAI), chat(0, "call_a", long, "{}")), "LabelTooLong")
}

func TestChunksAreBounded(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatAnthropic)
	add(t, a, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"a__b","input":{}}}`))
	if _, err := a.Add([]byte(`{"type":"ping","x":"` + strings.Repeat("x", 8<<20-23) + `"}`)); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	states, err := a.Add([]byte(`{"type":"ping","x":"` + strings.Repeat("x", 8<<20) + `"}`))
	if err == nil || !strings.Contains(err.Error(), "at most 8388608 are read") {
		t.Errorf("error %v", err)
	}
	errored(t, states, "StreamBroken")
}

// A state that was given stays as it was.
func TestStatesDoNotChange(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"pieces": false, "the whole again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assembler(t, modelapi.FormatOpenAI)
			text := `{"list":[{"name":"one"},{"name":"two"}],"more":{"x":true}}`
			var states []modelapi.CallState
			for i := range text {
				piece := text[i : i+1]
				if whole {
					piece = text[:i+1]
				}
				states = append(states, add(t, a, chat(0, "call_a", "a__b", piece))...)
			}
			for i, s := range states {
				if string(s.Arguments) != text[:i+1] || !json.Valid([]byte(s.Partial.String())) {
					t.Errorf("after %d bytes: %s, shown %s", i+1, s.Arguments, s.Partial)
				}
			}
		})
	}
}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"nothing":             {` `, ``},
		"no object":           {`[1`, ``},
		"begun":               {` {`, ` {}`},
		"half a name":         {`{"a":1,"b`, `{"a":1}`},
		"a name":              {`{"a":1,"b"`, `{"a":1}`},
		"a colon":             {`{"a":1,"b": `, `{"a":1}`},
		"half a string":       {`{"a":"x y`, `{"a":"x y"}`},
		"an empty string":     {`{"a":"`, `{"a":""}`},
		"half an escape":      {`{"a":"x\`, `{"a":"x"}`},
		"half a \\u":          {`{"a":"x\u00e`, `{"a":"x"}`},
		"half a pair":         {`{"a":"x\ud83d\ude0`, `{"a":"x"}`},
		"half of a pair lost": {`{"a":"x\ud83dy","b":1}`, `{"a":"x"}`},
		"half a number":       {`{"a":[1,23`, `{"a":[1]}`},
		"a number":            {`{"a":[1,23,`, `{"a":[1,23]}`},
		"half a literal":      {`{"a":true,"b":fals`, `{"a":true}`},
		"no literal":          {`{"a":True,"b":1}`, `{}`},
		"a bad number":        {`{"a":1,"b":01,"c":2}`, `{"a":1}`},
		"a trailing comma":    {`{"a":[1,],"b":2}`, `{"a":[1]}`},
		"a line break":        {"{\"a\":\"x\ny\"}", `{"a":"x"}`},
		"nested":              {`{"a":[{"b":[[1],{"c":"`, `{"a":[{"b":[[1],{"c":""}]}]}`},
		"closed":              {`{"a":1} `, `{"a":1}`},
		"more behind it":      {`{"a":1} x`, `{"a":1}`},
		"wrong bracket":       {`{"a":[1}`, `{"a":[1]}`},
		"too deep":            {`{"a":` + strings.Repeat("[", 70), `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, split := range []int{len(c.text), 1} {
				a := assembler(t, modelapi.FormatAnthropic)
				add(t, a, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"a__b","input":{}}}`))
				var shown string
				for i := 0; i < len(c.text); i += split {
					shown = add(t, a, jsonOf(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": c.text[i : i+split]}}))[0].Partial.String()
				}
				if shown != c.want {
					t.Errorf("in pieces of %d: %s\nwant %s", split, shown, c.want)
				}
			}
		})
	}
}

func TestStateAsJSON(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	states := append(add(t, a, chat(0, "call_a", "a__b", "")), add(t, a, chat(0, "", "", `{"a":"x`))...)
	states = append(states, a.End()...)
	out, err := json.Marshal(states)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, `[{"index":0,"id":"call_a","tool":"a__b","status":"generating","arguments":""},`+
		`{"index":0,"id":"call_a","tool":"a__b","status":"generating","arguments":"{\"a\":\"x","partial":{"a":"x"}},`+
		`{"index":0,"id":"call_a","tool":"a__b","status":"errored","arguments":"{\"a\":\"x","partial":{"a":"x"},`+
		`"error":{"code":"E_TOOL_INVALID_ARGS","name":"TruncatedCall","message":"the call of \"a__b\" is not complete, its arguments end after 7 bytes: the stream ended; nothing was run",`+
		`"suggestion":"Make the call again, in smaller parts if it was long.","retryable":false}}]`, string(out))
}
