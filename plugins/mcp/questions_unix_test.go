//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

var asksPeople = json.RawMessage(`{"elicitation":{}}`)

// asked is the only question of a result.
func asked(t *testing.T, r *sdk.Result) (key string, request string, state string) {
	t.Helper()
	if r.Error != nil || r.InputRequired == nil || len(r.InputRequired.Requests) != 1 {
		t.Fatalf("no question: %+v %+v", r, r.Error)
	}
	key = slices.Collect(maps.Keys(r.InputRequired.Requests))[0]
	return key, string(r.InputRequired.Requests[key]), r.InputRequired.State
}

func answers(key, answer string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage(answer)}
}

// A server with a handshake asks in the middle of a call: the caller gets the question as its result, and the rest of
// the same call with the answer.
func TestQuestionInTheMiddleOfACall(t *testing.T) {
	f := newFake(t, "elicit")
	f.start("")
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "s"})
	key, request, state := asked(t, r)
	if request != `{"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object"}}}` {
		t.Error(request)
	}
	const answer = `{"action":"accept","content":{"n": 9007199254740993}}`
	r = f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "s", RequestState: state,
		InputResponses: answers(key, answer)})
	if r.Error != nil || r.Content[0].Text != answer {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if calls := f.lines("calls"); len(calls) != 1 {
		t.Errorf("the server got %v", calls)
	}
	r = f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "s", RequestState: state,
		InputResponses: answers(key, answer)})
	if r.Error == nil || r.Error.Name != "QuestionExpired" {
		t.Errorf("a second repeat: %+v", r)
	}
}

func TestSeveralQuestionsOneAfterTheOther(t *testing.T) {
	f := newFake(t, "twice")
	f.start("")
	_, request, first := asked(t, f.ask(sdk.Request{Tool: "twice", Capabilities: asksPeople}))
	if !strings.Contains(request, "first") {
		t.Error(request)
	}
	// a repeat without an answer is asked again
	key, _, state := asked(t, f.ask(sdk.Request{Tool: "twice", Capabilities: asksPeople, RequestState: first,
		InputResponses: answers("another", `{}`)}))
	key, request, state = asked(t, f.ask(sdk.Request{Tool: "twice", Capabilities: asksPeople, RequestState: state,
		InputResponses: answers(key, `{"action":"accept","content":{"a":1}}`)}))
	if !strings.Contains(request, "second") {
		t.Error(request)
	}
	r := f.ask(sdk.Request{Tool: "twice", Capabilities: asksPeople, RequestState: state,
		InputResponses: answers(key, `{"action":"decline"}`)})
	if r.Error != nil || r.Content[0].Text != `{"action":"accept","content":{"a":1}}{"action":"decline"}` {
		t.Errorf("%+v", r)
	}
}

// The state of a call belongs to that call alone.
func TestStateOfAnotherCall(t *testing.T) {
	f := newFake(t, "elicit", "echo")
	f.start("")
	key, _, state := asked(t, f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "mine"}))
	for what, r := range map[string]sdk.Request{
		"another session":   {Tool: "elicit", SessionID: "other"},
		"another tool":      {Tool: "echo", SessionID: "mine"},
		"other arguments":   {Tool: "elicit", SessionID: "mine", Arguments: json.RawMessage(`{"a":1}`)},
		"another folder":    {Tool: "elicit", SessionID: "mine", Workdir: "/"},
		"an invented state": {Tool: "elicit", SessionID: "mine", RequestState: "call:x"},
		"no state of ours":  {Tool: "elicit", SessionID: "mine", RequestState: "x"},
	} {
		r.Capabilities, r.InputResponses = asksPeople, answers(key, `{"action":"accept"}`)
		if r.RequestState == "" {
			r.RequestState = state
		}
		if got := f.ask(r); got.Error == nil || got.Error.Name != "UnknownState" && got.Error.Name != "QuestionExpired" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "mine", RequestState: state,
		InputResponses: answers(key, `{"action":"accept"}`)})
	if r.Error != nil {
		t.Errorf("the call itself: %+v", r.Error)
	}
}

// Who answers no questions is not asked any: the server learns why.
func TestQuestionsOfACallerWithoutCapabilities(t *testing.T) {
	f := newFake(t, "elicit", "sample", "roots")
	f.start("")
	for tool, capabilities := range map[string]string{"elicit": "", "sample": `{"elicitation":{}}`} {
		r := f.ask(sdk.Request{Tool: tool, Capabilities: json.RawMessage(capabilities)})
		if r.Error != nil || !strings.Contains(r.Content[0].Text, "is refused: the caller of this tool") {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	r := f.ask(sdk.Request{Tool: "roots", Capabilities: asksPeople})
	if r.Error != nil || !strings.Contains(r.Content[0].Text, `{"roots":[{"name":`) {
		t.Errorf("%+v", r)
	}
}

// Callers of one work folder share a process, and so its roots: whatever roots a caller has, the server gets the work
// folder and nothing else, in both eras.
func TestRootsAreTheWorkFolderForEveryCaller(t *testing.T) {
	f := newFake(t, "roots")
	f.start("")
	want := string(roots(f.dir))
	for i, capabilities := range []string{"", `{"roots":{}}`, `{"roots":{"listChanged":true},"elicitation":{}}`} {
		r := f.ask(sdk.Request{Tool: "roots", SessionID: fmt.Sprint(i), Capabilities: json.RawMessage(capabilities)})
		if r.Error != nil || r.InputRequired != nil || r.Content[0].Text != want {
			t.Errorf("%s: %+v", capabilities, r)
		}
	}
	if n := len(f.lines("starts")); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	modern := newFake(t, "modern")
	modern.file("modern", "")
	modern.start("")
	both := json.RawMessage(`{"roots":{},"elicitation":{}}`)
	_, _, state := asked(t, modern.ask(sdk.Request{Tool: "modern", Arguments: json.RawMessage("{}"), Capabilities: both}))
	r := modern.ask(sdk.Request{Tool: "modern", Arguments: json.RawMessage("{}"), Capabilities: both, RequestState: state,
		InputResponses: answers("q", `{"action":"accept"}`)})
	if r.Error != nil || !strings.HasSuffix(r.Content[0].Text, `"r":`+string(roots(modern.dir))+"}") {
		t.Errorf("%+v", r)
	}
}

// The state of a server that asks by its result comes back to it exactly, and the roots are answered here.
func TestQuestionsOfTheModernEra(t *testing.T) {
	f := newFake(t, "modern")
	f.file("modern", "")
	f.start("")
	const arguments = `{"a":"é\n"}`
	r := f.ask(sdk.Request{Tool: "modern", Arguments: json.RawMessage(arguments), Capabilities: asksPeople})
	key, request, state := asked(t, r)
	if key != "q" || request != `{"method":"elicitation/create","params":{"message":"?"}}` {
		t.Errorf("%s: %s", key, request)
	}
	r = f.ask(sdk.Request{Tool: "modern", Arguments: json.RawMessage(arguments), Capabilities: asksPeople,
		RequestState: state, InputResponses: answers("q", `{"action":"accept", "content":{}}`)})
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	got := r.Content[0].Text
	if !strings.HasPrefix(got, `st"ate`+arguments+`{"q":{"action":"accept", "content":{}},"r":{"roots":[{`) {
		t.Error(got)
	}
}

// A person may take longer to answer than a server may be silent.
func TestQuestionsResetTheIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &toolRequest{bridge: &bridge{settings: &settings{idleTimeout: time.Minute}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer q.watch(ctx, cancel)()
		for range 10 {
			time.Sleep(50 * time.Second)
			q.active()
		}
		q.quiet(1)
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Errorf("the call ended: %v", context.Cause(ctx))
		}
		q.quiet(-1)
		time.Sleep(50 * time.Second)
		if ctx.Err() != nil {
			t.Errorf("the call ended: %v", context.Cause(ctx))
		}
		time.Sleep(11 * time.Second)
		if !errors.Is(context.Cause(ctx), errIdle) {
			t.Errorf("the call did not end: %v", context.Cause(ctx))
		}
	})
}

// The end of a server ends the calls that wait for answers.
func TestServerExitsDuringAQuestion(t *testing.T) {
	f := newFake(t, "elicit", "echo")
	f.start("")
	key, _, state := asked(t, f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople}))
	f.kill()
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, RequestState: state,
		InputResponses: answers(key, `{"action":"accept"}`)})
	if r.Error == nil || r.Error.Name != "ServerExited" {
		t.Errorf("%+v", r)
	}
	if got := f.text("echo", `{}`); got != "{}" {
		t.Error(got)
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	f := newFake(t, "hang")
	f.start("")
	for _, capabilities := range []json.RawMessage{nil, asksPeople} {
		before := len(f.lines("canceled"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := f.begin(ctx, sdk.Request{Tool: "hang", Capabilities: capabilities})
		cancel()
		<-ended
		eventually(t, "the server is notified", func() bool { return len(f.lines("canceled")) > before })
	}
}

// A call that waits for an answer keeps no other waiting.
func TestOtherCallsRunDuringAQuestion(t *testing.T) {
	f := newFake(t, "elicit", "echo", "hang")
	f.start("")
	ctx, cancel := context.WithCancel(t.Context())
	ended := f.begin(ctx, sdk.Request{Tool: "hang", Capabilities: asksPeople, SessionID: "a"})
	key, _, state := asked(t, f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "a"}))
	for _, session := range []string{"a", "b"} {
		r := f.ask(sdk.Request{Tool: "echo", Capabilities: asksPeople, SessionID: session})
		if r.Error != nil {
			t.Errorf("another call: %v", r.Error)
		}
	}
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "a", RequestState: state,
		InputResponses: answers(key, `{"action":"accept"}`)})
	if r.Error != nil {
		t.Errorf("%v", r.Error)
	}
	cancel()
	<-ended
}

// A question that may be for several callers waits until one is left, and reaches no other.
func TestQuestionsThatMayBeForSeveralCallers(t *testing.T) {
	f := newFake(t, "elicit", "hold", "hang")
	f.start("")
	held := f.begin(t.Context(), sdk.Request{Tool: "hold", Capabilities: asksPeople, SessionID: "a"})
	elicited := f.begin(t.Context(), sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "b"})
	f.file("go", "")
	if r := <-held; r == nil || r.Error != nil || r.InputRequired != nil {
		t.Errorf("%+v", r)
	}
	key, _, state := asked(t, <-elicited)
	r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "b", RequestState: state,
		InputResponses: answers(key, `{"action":"accept"}`)})
	if r.Error != nil {
		t.Error(r.Error)
	}
}

// A canceled call takes no questions from the next call of its caller, and gives none to that of another.
func TestQuestionsAfterACanceledCall(t *testing.T) {
	for session, asks := range map[string]bool{"a": true, "b": false} {
		f := newFake(t, "elicit", "hang")
		f.start("")
		ctx, cancel := context.WithCancel(t.Context())
		ended := f.begin(ctx, sdk.Request{Tool: "hang", Capabilities: asksPeople, SessionID: "a"})
		cancel()
		<-ended
		r := f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: session})
		if asks {
			asked(t, r)
			continue
		}
		if r.Error == nil && r.InputRequired == nil && strings.Contains(r.Content[0].Text, "ended without an answer") {
			r = f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: session}) // as the refusal says
		}
		asked(t, r)
	}
}

// A server that was started again asks nothing for the calls of the one before.
func TestQuestionsAfterTheServerEnded(t *testing.T) {
	f := newFake(t, "elicit", "hang")
	f.start("")
	ended := f.begin(t.Context(), sdk.Request{Tool: "hang", Capabilities: asksPeople, SessionID: "a"})
	f.kill()
	<-ended
	asked(t, f.ask(sdk.Request{Tool: "elicit", Capabilities: asksPeople, SessionID: "b"}))
}
