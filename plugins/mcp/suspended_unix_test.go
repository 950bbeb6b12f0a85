//go:build unix

package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// during makes the call of a host that asks meanwhile, and returns when the plugin has it.
func (f *fake) during(ctx context.Context, tool, state string) <-chan *sdk.Result {
	out, received := make(chan *sdk.Result, 1), make(chan struct{}, 1)
	r := sdk.Request{Tool: tool, Capabilities: asksPeople, RequestState: state, DuringQuestions: true, Workdir: f.dir,
		Events: func(e sdk.Event) {
			if e.Type == sdk.EventStarted {
				received <- struct{}{}
			}
		}}
	go func() {
		result, _ := f.Call(ctx, &r)
		out <- result
	}()
	<-received
	return out
}

func suspendedCall(t *testing.T, tool string) (f *fake, key, state string) {
	t.Helper()
	f = newFake(t, tool)
	f.start("")
	r := f.ask(sdk.Request{Tool: tool, Capabilities: asksPeople})
	key, _, state = asked(t, r)
	if !r.InputRequired.Suspended {
		t.Fatal("the call is not suspended")
	}
	return f, key, state
}

// A server may give up its question. The host learns that at once, and not when the person answers it.
func TestQuestionThatTheServerWithdraws(t *testing.T) {
	f, _, state := suspendedCall(t, "withdraw")
	waits := f.during(t.Context(), "withdraw", state)
	f.file("go", "")
	r, states := <-waits, []string{state}
	if r != nil && r.InputRequired != nil && len(r.InputRequired.Requests) == 0 { // before the result came
		states = append(states, r.InputRequired.State)
		r = f.ask(sdk.Request{Tool: "withdraw", Capabilities: asksPeople, RequestState: r.InputRequired.State})
	}
	if r == nil || r.Error != nil || r.InputRequired != nil || r.Content[0].Text != "done" {
		t.Errorf("%+v", r)
	}
	for _, state := range states {
		if f.suspended.Get(strings.TrimPrefix(state, callState)) != nil {
			t.Error("a call is suspended still")
		}
	}
}

func TestQuestionsThatChange(t *testing.T) {
	f, _, state := suspendedCall(t, "reconsider")
	waits := f.during(t.Context(), "reconsider", state)
	f.file("go", "")
	r := <-waits
	if r != nil && r.InputRequired != nil && len(r.InputRequired.Requests) == 0 { // between the questions
		r = f.ask(sdk.Request{Tool: "reconsider", Capabilities: asksPeople, RequestState: r.InputRequired.State})
	}
	_, request, state := asked(t, r)
	if !strings.Contains(request, "second") {
		t.Error(request)
	}
	waits = f.during(t.Context(), "reconsider", state)
	f.file("on", "")
	r = <-waits
	if r == nil || r.Error != nil || r.InputRequired == nil || len(r.InputRequired.Requests) > 0 {
		t.Fatalf("%+v", r)
	}
	f.file("end", "")
	r = f.ask(sdk.Request{Tool: "reconsider", Capabilities: asksPeople, RequestState: r.InputRequired.State})
	if r.Error != nil || r.InputRequired != nil || r.Content[0].Text != "done" {
		t.Errorf("%+v", r)
	}
}

// A host that gives up cancels its call beside the questions: the server learns that no answer comes.
func TestQuestionThatTheHostGivesUp(t *testing.T) {
	f, key, state := suspendedCall(t, "elicit")
	ctx, cancel := context.WithCancel(t.Context())
	waits := f.during(ctx, "elicit", state)
	cancel()
	<-waits
	eventually(t, "the server's call is canceled", func() bool { return len(f.lines("canceled")) == 1 })
	eventually(t, "the question has an answer", func() bool { return len(f.lines("answers")) == 1 })
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, RequestState: state,
		InputResponses: answers(key, `{"action":"accept"}`)})
	if r.Error == nil || r.Error.Name != "QuestionExpired" {
		t.Errorf("%+v", r)
	}
}

// The answers end the call beside the questions, whose end cancels nothing then.
func TestAnswerEndsTheCallBesideTheQuestion(t *testing.T) {
	f, key, state := suspendedCall(t, "elicit")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := f.during(ctx, "elicit", state)
	const answer = `{"action":"accept","content":{}}`
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, RequestState: state,
		InputResponses: answers(key, answer)})
	if r.Error != nil || r.Content[0].Text != answer {
		t.Errorf("%+v", r)
	}
	if r := <-waits; r == nil || r.Error == nil || r.Error.Name != "QuestionExpired" {
		t.Errorf("%+v", r)
	}
	if n := len(f.lines("canceled")); n > 0 {
		t.Errorf("%d calls were canceled", n)
	}
}

// A call beside questions never runs a tool.
func TestCallBesideNoQuestion(t *testing.T) {
	f := newFake(t, "echo")
	f.start("")
	for _, state := range []string{"", "server:{}", "again:[]", "call:x", "x"} {
		r := f.ask(sdk.Request{Tool: "echo", Arguments: json.RawMessage("{}"), RequestState: state, DuringQuestions: true})
		if r.Error == nil || r.Error.Name != "UnknownState" && r.Error.Name != "QuestionExpired" ||
			len(f.lines("calls")) > 0 {
			t.Errorf("%q: %+v", state, r)
		}
	}
}
