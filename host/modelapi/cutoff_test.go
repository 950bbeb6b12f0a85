package modelapi_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// A message that was cut off in a call may hold it with {} or less than was meant. Such a call is never run; the ones before
// it are.
func TestCutOffCallIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		format  modelapi.Format
		message string
		refused []bool
	}{
		"claude, in a call": {modelapi.FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}},
			{"type":"tool_use","id":"2","name":"p__a","input":{}}],"stop_reason":"max_tokens"}`, []bool{false, true}},
		"claude, in a text": {modelapi.FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}},
			{"type":"text","text":"Now I"}],"stop_reason":"max_tokens"}`, []bool{false}},
		"claude, good": {modelapi.FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}}],
			"stop_reason":"tool_use"}`, []bool{false}},
		"chat, before the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":""}},{"id":"2","function":{"name":"p__a","arguments":""}}]}}]}`, []bool{false, true}},
		"chat, in the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{\"a\":"}}]}}]}`, []bool{true}},
		"chat, behind the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{}"}}]}}]}`, []bool{false}},
		"chat, good": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":""}}]}}]}`, []bool{false}},
		"response item": {modelapi.FormatOpenAIResponses, `{"output":[{"type":"function_call","call_id":"1","name":"p__a","arguments":"","status":"completed"},
			{"type":"function_call","call_id":"2","name":"p__a","arguments":"","status":"incomplete"}]}`, []bool{false, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := doer(t)
			calls, err := modelapi.ParseCalls(c.format, []byte(c.message))
			if err != nil || len(calls) != len(c.refused) {
				t.Fatal(calls, err)
			}
			for i, call := range calls {
				r := h.Call(t.Context(), call)
				if refused := r.Error != nil; refused != c.refused[i] || refused && r.Error.Code != sdk.CodeInvalidArgs {
					t.Errorf("call %d: %v", i, r.Error)
				}
			}
		})
	}
}

// An id that was made is not sent where the vendor gave none, whichever way the call came.
func TestMadeIDOfAStreamIsNotSent(t *testing.T) {
	t.Parallel()
	a, err := modelapi.NewAssembler(modelapi.FormatGemini)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Add([]byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"p__a"}},{"functionCall":{"name":"p__a"}}]}}]}`)); err != nil {
		t.Fatal(err)
	}
	a.End()
	var results []*host.Result
	for _, c := range a.Calls() {
		results = append(results, textResult(c, "done"))
	}
	got, err := modelapi.RenderResults(modelapi.FormatGemini, results)
	if err != nil || len(results) != 2 || results[0].CallID == results[1].CallID {
		t.Fatal(results, err)
	}
	if strings.Contains(string(got), `"id"`) {
		t.Error(string(got))
	}
}

// Anthropic's API refuses a text of white space: https://github.com/anthropics/claude-code/issues/23440
func TestBlankTextIsNoBlock(t *testing.T) {
	t.Parallel()
	got, err := modelapi.RenderResults(modelapi.FormatAnthropic, []*host.Result{textResult(host.Call{ID: "1", Tool: "a__b"}, "\n")})
	if want := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
