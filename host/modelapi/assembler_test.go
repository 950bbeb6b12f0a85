package modelapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// Each archive is a stream: its comment names the format and, after known:, tools; chunks has one chunk a line; states
// is what each of them changes, then what the end changes, then the calls. A new case is a new archive with chunks, and
// go test -update.
func TestAssembleStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(archive.Comment), archive.Files[0].Data)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "states", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			diff(t, string(archive.Files[1].Data), got)
		})
	}
}

// replay runs one stream and writes down what comes out.
func replay(t *testing.T, comment string, chunks []byte) string {
	t.Helper()
	first, tools, _ := strings.Cut(strings.Split(comment, "\n")[0], " known: ")
	a := assembler(t, modelapi.Format(strings.TrimSpace(first)), strings.Fields(tools)...)
	var out strings.Builder
	for i, chunk := range bytes.Split(bytes.TrimSpace(chunks), []byte("\n")) {
		states, err := a.Add(chunk)
		if err != nil {
			fmt.Fprintf(&out, "%d: error: %v\n", i+1, err)
		}
		for _, s := range states {
			fmt.Fprintf(&out, "%d: %s\n", i+1, stateWords(s, chunks))
		}
	}
	for _, s := range a.End() {
		fmt.Fprintf(&out, "end: %s\n", stateWords(s, chunks))
	}
	for _, c := range a.Calls() {
		fmt.Fprintf(&out, "call %s %s %s\n", given(c.ID, chunks), c.Tool, c.Arguments)
	}
	return out.String()
}

func assembler(t rapid.TB, f modelapi.Format, known ...string) *modelapi.Assembler {
	t.Helper()
	a, err := modelapi.NewAssembler(f, known...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func stateWords(s modelapi.CallState, chunks []byte) string {
	out := fmt.Sprintf("[%d] %s %s %s", s.Index, s.Status, given(s.ID, chunks), orDash(s.Tool))
	if len(s.Arguments) > 0 {
		out += " " + fmt.Sprintf("%q", s.Arguments)
	}
	if s.Status == host.Generating && !s.Partial.IsZero() {
		out += " shows " + s.Partial.String()
	}
	if s.Err != nil {
		out += fmt.Sprintf("\n    %s %s: %s", s.Err.Code, s.Err.Name, s.Err.Message)
	}
	return out
}

// given is an id, unless it was made here.
func given(id string, chunks []byte) string {
	if !bytes.Contains(chunks, []byte(id)) {
		return "(made)"
	}
	return orDash(id)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func TestAssemblerFormats(t *testing.T) {
	t.Parallel()
	for _, f := range []modelapi.Format{"mcp", "", "OpenAI"} {
		if _, err := modelapi.NewAssembler(f); err == nil ||
			!strings.Contains(err.Error(), "use openai, openai-responses, anthropic, bedrock, cohere, gemini or text") {
			t.Errorf("%q: error %v", f, err)
		}
	}
}

// A message that comes at once in a stream has the calls that ParseCalls reads in it, whatever they lack.
func TestWholeMessageInAStream(t *testing.T) {
	t.Parallel()
	var calls []object
	for _, arguments := range []any{`{"x":1}`, "{}", "", nil, object{"x": 1}, object{}} {
		for _, id := range []any{"", nil, "call_a"} {
			calls = append(calls, object{"id": id, "function": object{"name": "a__b", "arguments": arguments}})
		}
	}
	for _, first := range calls {
		for _, second := range calls {
			if first["id"] == "call_a" && second["id"] == "call_a" {
				continue
			}
			message := jsonOf(object{"choices": []any{object{"finish_reason": "tool_calls",
				"message": object{"tool_calls": []any{first, second}}}}})
			want, err := modelapi.ParseCalls(modelapi.FormatOpenAI, message)
			if err != nil {
				t.Fatal(err)
			}
			a := assembler(t, modelapi.FormatOpenAI, "a__b")
			add(t, a, message)
			a.End()
			if got := a.Calls(); len(got) != len(want) {
				t.Errorf("%s: %+v", message, got)
			}
		}
	}
}

// Both Gemini formats have the same streams.
func TestGeminiOpenAPIStream(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatGeminiOpenAPI)
	add(t, a, []byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a__b","args":{"x":1}}}]}}]}`))
	if calls := a.Calls(); len(calls) != 1 || string(calls[0].Arguments) != `{"x":1}` {
		t.Errorf("calls %+v", calls)
	}
}

func TestAssemblerIsForOneStream(t *testing.T) {
	t.Parallel()
	a := assembler(t, modelapi.FormatOpenAI)
	a.End()
	if _, err := a.Add([]byte(`{}`)); err == nil || a.End() != nil {
		t.Errorf("it went on after its end: %v", err)
	}
}

// chat is a chunk with one delta.
func chat(index int, id, name, arguments string) []byte {
	out, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0,
		"delta": map[string]any{"tool_calls": []any{
			map[string]any{"index": index, "id": id, "function": map[string]any{"name": name, "arguments": arguments}}}}}}})
	return out
}

// An error of the vendor is no answer without calls.
func TestVendorErrorInAStream(t *testing.T) {
	t.Parallel()
	cases := map[modelapi.Format]struct{ chunk, want string }{
		modelapi.FormatOpenAI:          {`{"error":{"message":"no quota"}}`, "no quota"},
		modelapi.FormatOpenAIResponses: {`{"type":"error","message":"no luck"}`, "no luck"},
		modelapi.FormatAnthropic:       {`{"type":"error","error":{"message":"Overloaded"}}`, "Overloaded"},
		modelapi.FormatGemini: {`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`,
			"MALFORMED_FUNCTION_CALL"},
	}
	for f, c := range cases {
		_, err := assembler(t, f).Add([]byte(c.chunk))
		if err == nil || !strings.Contains(err.Error(), `an error: "`+c.want) {
			t.Errorf("%s: %v", f, err)
		}
	}
	blocked := []byte(`{"promptFeedback":{"blockReason":"SAFETY"}}`)
	if _, err := assembler(t, modelapi.FormatGemini).Add(blocked); err == nil {
		t.Error("a blocked prompt is no error")
	}
}

// Some servers write white space around the end of the stream.
func TestEndOfAStreamMayHaveSpace(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"[DONE]", " [DONE]", "[DONE]\r\n"} {
		a := assembler(t, modelapi.FormatOpenAI)
		add(t, a, chat(0, "call_a", "a__b", `{"x":1}`), []byte(end))
		if a.End(); len(a.Calls()) != 1 {
			t.Errorf("%q: %d calls", end, len(a.Calls()))
		}
	}
}

const chatStop = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

func add(t rapid.TB, a *modelapi.Assembler, chunks ...[]byte) (last []modelapi.CallState) {
	t.Helper()
	for _, c := range chunks {
		states, err := a.Add(c)
		if err != nil {
			t.Fatal(err)
		}
		last = states
	}
	return last
}

// BenchmarkAssemble is one call whose arguments come in pieces of 16 bytes. The time for a byte must not grow with
// them.
func BenchmarkAssemble(b *testing.B) {
	for _, size := range []int{1 << 10, 32 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			piece := chat(0, "", "", strings.Repeat("x", 16))
			b.SetBytes(int64(size))
			for b.Loop() {
				a := assembler(b, modelapi.FormatOpenAI)
				add(b, a, chat(0, "call_a", "a__b", `{"text":"`))
				for range size/16 - 1 {
					add(b, a, piece)
				}
				add(b, a, chat(0, "", "", `"}`), []byte(chatStop))
				if len(a.Calls()) != 1 {
					b.Fatal("no call")
				}
			}
		})
	}
}

// errored checks the error of the only state.
func errored(t *testing.T, states []modelapi.CallState, name string) {
	t.Helper()
	if len(states) != 1 || states[0].Status != host.Errored || states[0].Err == nil || states[0].Err.Name != name ||
		states[0].Err.Code != sdk.CodeInvalidArgs {
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
	add(t, a, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"a__b",`+
		`"input":{}}}`))
	if _, err := a.Add([]byte(`{"type":"ping","x":"` + strings.Repeat("x", 8<<20-23) + `"}`)); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	states, err := a.Add([]byte(`{"type":"ping","x":"` + strings.Repeat("x", 8<<20) + `"}`))
	if err == nil || !strings.Contains(err.Error(), "at most 8388608 are read") {
		t.Errorf("error %v", err)
	}
	errored(t, states, "StreamBroken")
}

// Equal calls without an id and an index are as many as one chunk has; what a later chunk repeats is none.
func TestEqualCallsOfOneChunk(t *testing.T) {
	t.Parallel()
	const one, other = `{"id":"","function":{"name":"a__b","arguments":"{\"x\":1}"}}`, `{"function":{"name":"a__c","arguments":"{\"x\":1}"}}`
	for _, c := range []struct {
		chunks [][]string
		want   string
	}{{[][]string{{one, one}}, "bb"}, {[][]string{{one, one, one}}, "bbb"}, {[][]string{{one, other, one}}, "bcb"},
		{[][]string{{one}, {one}}, "b"}, {[][]string{{one, one}, {one, one}}, "bb"},
		{[][]string{{one, one}, {one, one, one}}, "bbb"}} {
		a := assembler(t, modelapi.FormatOpenAI)
		for _, calls := range c.chunks {
			add(t, a, []byte(`{"choices":[{"delta":{"tool_calls":[`+strings.Join(calls, ",")+`]}}]}`))
		}
		a.End()
		got := ""
		for _, call := range a.Calls() {
			got += strings.TrimPrefix(call.Tool, "a__")
		}
		if got != c.want || len(a.Refused()) > 0 {
			t.Errorf("%s: %q, want %q, and refused %+v", c.chunks, got, c.want, a.Refused())
		}
	}
}

// A returned state does not change later.
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

func TestShownArguments(t *testing.T) {
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
		"more after it":       {`{"a":1} x`, `{"a":1}`},
		"wrong bracket":       {`{"a":[1}`, `{"a":[1]}`},
		"too deep": {`{"a":` + strings.Repeat("[", 70), `{"a":` +
			strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, split := range []int{len(c.text), 1} {
				a := assembler(t, modelapi.FormatAnthropic)
				add(t, a, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t",`+
					`"name":"a__b","input":{}}}`))
				var shown string
				for i := 0; i < len(c.text); i += split {
					shown = add(t, a, jsonOf(object{"type": "content_block_delta", "index": 0,
						"delta": object{"type": "input_json_delta", "partial_json": c.text[i : i+split]}}))[0].Partial.String()
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
		`"error":{"code":"E_TOOL_INVALID_ARGS","name":"TruncatedCall","message":"the call of \"a__b\" is not complete, its `+
		`arguments end after 7 bytes: the stream ended; nothing was run",`+
		`"suggestion":"Make the call again, in smaller parts if it was long.","retryable":false}}]`, string(out))
}

// No stream makes the assembler panic, and complete calls have objects for arguments.
func FuzzAssemble(f *testing.F) {
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	formats := []modelapi.Format{modelapi.FormatOpenAI, modelapi.FormatOpenAIResponses, modelapi.FormatAnthropic,
		modelapi.FormatGemini, modelapi.FormatText, modelapi.FormatBedrock, modelapi.FormatCohere}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i := range formats {
			f.Add(byte(i), archive.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, format byte, chunks []byte) {
		a, split := assembler(t, formats[int(format)%len(formats)], "a", "aa"), bytes.SplitSeq
		if formats[int(format)%len(formats)] == modelapi.FormatText {
			split = bytes.SplitAfterSeq
		}
		for chunk := range split(chunks, []byte("\n")) {
			states, _ := a.Add(chunk)
			checkStates(t, states)
		}
		checkStates(t, a.End())
		ids := map[string]bool{}
		for _, c := range a.Calls() {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(c.Arguments, &object); err != nil || object == nil || c.Tool == "" || c.ID == "" ||
				ids[c.ID] {
				t.Errorf("call %+v, %v", c, err)
			}
			ids[c.ID] = true
		}
	})
}

func checkStates(t rapid.TB, states []modelapi.CallState) {
	t.Helper()
	for _, s := range states {
		if (s.Status == host.Errored) != (s.Err != nil) || !s.Partial.IsZero() && !json.Valid([]byte(s.Partial.String())) {
			t.Errorf("state %+v, shown %s", s, s.Partial)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("state %+v: %v", s, err)
		}
	}
}

// Arguments of a stream are treated like arguments that arrive at once, wherever they are cut in two: run alike, or
// refused.
func FuzzStreamedArguments(f *testing.F) {
	for _, text := range []string{`{"a":{"a":1}}`, `{"a":1}{"a":1}`, `"{}"`, "```json\n{}\n```", `{}{`,
		`{"a":"\ud83d\ude00"}`, `{"a":1,"A":2}`, ` `, `{"a":`} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if !utf8.ValidString(text) || cut < 0 || cut > len(text) || cut < len(text) && !utf8.RuneStart(text[cut]) {
			return
		}
		whole, halves := assembler(t, modelapi.FormatOpenAI), assembler(t, modelapi.FormatOpenAI)
		checkStates(t, add(t, whole, chat(0, "c", "t", text), []byte(chatStop)))
		checkStates(t, add(t, halves, chat(0, "c", "t", text[:cut]), chat(0, "c", "", text[cut:])))
		checkStates(t, add(t, halves, []byte(chatStop)))
		if a, b := whole.Calls(), halves.Calls(); len(a) == 1 &&
			(len(b) != 1 || !bytes.Equal(a[0].Arguments, b[0].Arguments)) {
			t.Errorf("at once %+v, in halves %+v", a, b)
		}
	})
}
