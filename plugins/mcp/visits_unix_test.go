//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

var visitsAddresses = json.RawMessage(`{"elicitation":{"url":{}}}`)

// acceptAll makes a call again, whose person has opened all addresses.
func acceptAll(f *fake, r *sdk.Result) sdk.Request {
	f.t.Helper()
	if r.Error != nil || r.InputRequired == nil || len(r.InputRequired.Requests) == 0 {
		f.t.Fatalf("no question: %+v %+v", r, r.Error)
	}
	out := sdk.Request{Tool: "visit", Capabilities: visitsAddresses, RequestState: r.InputRequired.State, Workdir: f.dir,
		InputResponses: map[string]json.RawMessage{}}
	for key := range r.InputRequired.Requests {
		out.InputResponses[key] = json.RawMessage(`{"action":"accept"}`)
	}
	return out
}

// complete has the server notify that a visit is completed.
func (f *fake) complete(id string) {
	f.t.Helper()
	f.text("complete", fmt.Sprintf(`{"elicitationId":%q}`, id))
}

// visitCalls is how often the server got the call.
func (f *fake) visitCalls() int {
	return len(slices.DeleteFunc(f.lines("calls"), func(name string) bool { return name != "visit" }))
}

func newVisited(t *testing.T, ids string) (*fake, *sdk.Result) {
	f := newFake(t, "visit", "complete")
	f.file("ids", ids)
	f.start("")
	return f, f.ask(sdk.Request{Tool: "visit", Capabilities: visitsAddresses})
}

// Servers of before input_required say with an error that a person has to visit an address first.
func TestAddressesToVisit(t *testing.T) {
	f, r := newVisited(t, "one")
	key, request, state := asked(t, r)
	if !strings.Contains(request, `"params":{"mode":"url","elicitationId":"one"`) {
		t.Error(request)
	}
	r = f.ask(sdk.Request{Tool: "visit", Capabilities: visitsAddresses, RequestState: state,
		InputResponses: answers(key, `{"action":"decline"}`)})
	if r.Error == nil || r.Error.Name != "QuestionDeclined" {
		t.Errorf("%+v", r)
	}
	if r := f.ask(sdk.Request{Tool: "visit"}); r.Error == nil || r.Error.Name != "MCPError" {
		t.Errorf("%+v", r)
	}
}

// A person accepts when the address is opened: the call waits until the server says that all is done there.
func TestCallWaitsForAllVisits(t *testing.T) {
	f, r := newVisited(t, "one two")
	waits, again := make(chan string, 100), acceptAll(f, r)
	again.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			waits <- e.Message
		}
	}
	result := make(chan *sdk.Result, 1)
	go func() {
		r, _ := f.Call(t.Context(), &again)
		result <- r
	}()
	select {
	case text := <-waits:
		if !strings.Contains(text, "finished in the browser") {
			t.Error(text)
		}
	case r := <-result:
		t.Fatalf("it does not wait: %+v", r)
	}
	f.complete("two")
	f.complete("other")
	if n := f.visitCalls(); n != 1 {
		t.Errorf("called %d times before all is done", n)
	}
	f.file("visited", "")
	f.complete("one")
	if r := <-result; r == nil || r.Error != nil || r.Content[0].Text != "done" || f.visitCalls() != 2 {
		t.Errorf("%+v after %d calls", r, f.visitCalls())
	}
}

// A server may be faster than the answer of the person, and may then ask for something else, but not for the same.
func TestVisitsCompletedBeforeTheAnswer(t *testing.T) {
	f, r := newVisited(t, "one")
	f.complete("one")
	f.file("ids", "two")
	_, request, _ := asked(t, f.ask(acceptAll(f, r)))
	if !strings.Contains(request, `"elicitationId":"two"`) {
		t.Error(request)
	}
	f.file("ids", "one")
	if r := f.ask(acceptAll(f, r)); r.Error == nil || r.Error.Name != "VisitNotCompleted" || !r.Error.Retryable {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// Servers need not notify of completed visits. A call that still needs them fails, and no one is asked again.
func TestVisitsThatAreNeverCompleted(t *testing.T) {
	for visited, want := range map[bool]string{false: "VisitNotCompleted", true: ""} {
		f := newFake(t, "visit")
		f.file("ids", "one")
		f.start(`,"idle_timeout":"1s"`)
		r := f.ask(sdk.Request{Tool: "visit", Capabilities: visitsAddresses})
		if visited {
			f.file("visited", "")
		}
		r = f.ask(acceptAll(f, r))
		if r.InputRequired != nil || f.visitCalls() != 2 || (want == "") != (r.Error == nil) ||
			r.Error != nil && r.Error.Name != want {
			t.Errorf("%+v %+v after %d calls", r, r.Error, f.visitCalls())
		}
	}
}

func TestCallThatIsCanceledDuringAVisit(t *testing.T) {
	f, r := newVisited(t, "one")
	ctx, cancel := context.WithCancel(t.Context())
	again := acceptAll(f, r)
	again.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			cancel()
		}
	}
	if r, err := f.Call(ctx, &again); err == nil && r.Error == nil || f.visitCalls() != 1 {
		t.Errorf("%+v, %v after %d calls", r, err, f.visitCalls())
	}
}
