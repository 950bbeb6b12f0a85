package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

var formCaller = json.RawMessage(`{"elicitation":{"form":{}}}`)

type branchForm struct {
	Branch string `json:"branch" enum:"main|next"`
	Force  bool   `json:"force,omitempty"`
}

// asker serves a handler, and returns a function that calls it: with what a person answers, or the state of a question.
func asker(t *testing.T, handle sdk.Handler) (*client.Client, func(r *sdk.Request) (*sdk.Result, error)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c, _, ended := listening(t, ctx, with(handle))
	t.Cleanup(func() {
		stop()
		<-ended
	})
	runs := 0
	return c, func(r *sdk.Request) (*sdk.Result, error) {
		runs++
		r.RunID, r.Tool, r.Capabilities = fmt.Sprint("run-", runs), "x", formCaller
		return c.Call(t.Context(), r)
	}
}

// answer is the request that answers the question of a result.
func answer(q *sdk.Result, answer string) *sdk.Request {
	r := &sdk.Request{RequestState: q.InputRequired.State, InputResponses: map[string]json.RawMessage{}}
	for key := range q.InputRequired.Requests {
		r.InputResponses[key] = json.RawMessage(answer)
	}
	return r
}

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"accept":         {`{"action":"accept","content":{"branch":"next","force":true}}`, "accept next true"},
		"decline":        {`{"action":"decline"}`, "decline  false"},
		"cancel":         {`{"action":"cancel","content":{"branch":"next"}}`, "cancel  false"},
		"no choice":      {`{"action":"accept","content":{"branch":"other"}}`, "BadAnswer"},
		"nothing":        {`{"action":"accept"}`, "BadAnswer"},
		"no action":      {`{"branch":"next"}`, "BadAnswer"},
		"other fields":   {`{"action":"accept","content":{"branch":"main","x":1}}`, "accept main false"},
		"too large":      {`{"action":"accept","content":{"branch":"` + strings.Repeat("x", 1<<16) + `"}}`, "BadAnswer"},
		"no JSON at all": {`{`, "BadAnswer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				a, err := sdk.Ask[branchForm](ctx, r, "Which branch?")
				if e, ok := errors.AsType[*sdk.Error](err); ok {
					return sdk.Text(e.Name), nil
				}
				return sdk.Textf("%s %s %v", a.Action, a.Value.Branch, a.Value.Force), err
			})
			q, err := call(&sdk.Request{})
			if err != nil || q.InputRequired == nil {
				t.Fatalf("the call gives %+v, %v", q, err)
			}
			for _, question := range q.InputRequired.Requests {
				if want := `{"method":"elicitation/create","params":{"message":"Which branch?","mode":"form","requestedSchema":` +
					`{"type":"object","properties":{"branch":{"type":"string","enum":["main","next"]},"force":{"type":"boolean"}},` +
					`"required":["branch"]}}}`; string(question) != want {
					t.Errorf("the question is %s\nwant %s", question, want)
				}
			}
			r, err := call(answer(q, c.answer))
			if err != nil || r.Error != nil || r.Content[0].Text != c.want {
				t.Errorf("the handler has %+v, %v, want %s", r, err, c.want)
			}
		})
	}
}

// The handler's context survives the call that ended with the question, and ends with the one that brought the answer;
// events and calls of tools go to that one too.
func TestHandlerContinuesInTheCallWithTheAnswer(t *testing.T) {
	ended := make(chan error, 1)
	c, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		r.Progress(1, 3, "before")
		var reads sync.WaitGroup // beside the question, which waits for it
		reads.Go(func() { _, _ = r.CallTool(ctx, "t__read", nil) })
		if _, err := sdk.Ask[struct{}](ctx, r, "Go on?"); err != nil {
			return nil, err
		}
		reads.Wait()
		if ctx.Err() != nil || derived.Err() != nil {
			return nil, fmt.Errorf("its contexts have ended: %w, %w", ctx.Err(), derived.Err())
		}
		if result, err := r.CallTool(ctx, "t__read", nil); err != nil || result.Content[0].Text != "read" {
			return nil, fmt.Errorf("%+v, %w", result, err)
		}
		r.Progress(2, 3, "after")
		<-derived.Done()
		ended <- ctx.Err()
		return sdk.Text("done"), nil
	})
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	var first, second []string
	reads := readServices{}
	note := func(to *[]string) func(sdk.Event) {
		return func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				*to = append(*to, e.Message)
			}
		}
	}
	q, err := call(&sdk.Request{Events: note(&first), Services: reads})
	if err != nil || q.InputRequired == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	if handlers, late, err := c.Overdue(t.Context(), 0); handlers != 0 || late != 0 || err != nil {
		t.Errorf("%d handlers of ended calls run on, %d late, %v: one that waits for an answer is none", handlers, late, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := answer(q, `{"action":"accept"}`)
	r.RunID, r.Tool, r.Capabilities, r.Services = "again", "x", formCaller, reads
	r.Events = func(e sdk.Event) {
		note(&second)(e)
		if e.Message == "after" {
			cancel()
		}
	}
	if got, err := c.Call(ctx, r); sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Fatalf("the call gives %+v, %v", got, err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context ends with %v", err)
	}
	if fmt.Sprint(first, second) != "[before] [after]" {
		t.Errorf("the events are %v and %v", first, second)
	}
}

// readServices have a tool that reads.
type readServices struct{ noServices }

func (readServices) CallTool(context.Context, string, json.RawMessage) (*sdk.Result, error) {
	return sdk.Text("read"), nil
}

// The state of a question continues the call that asked, once, and no other.
func TestStateOfAQuestion(t *testing.T) {
	release := make(chan struct{})
	_, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		_, err := sdk.Ask[struct{}](ctx, r, "Go on?")
		<-release
		return sdk.Text("done"), err
	})
	ask := func() *sdk.Result {
		q, err := call(&sdk.Request{Arguments: json.RawMessage(`{"a":1}`), SessionID: "s"})
		if err != nil || q.InputRequired == nil {
			t.Fatalf("%+v, %v", q, err)
		}
		return q
	}
	q := ask()
	for name, change := range map[string]func(r *sdk.Request){
		"QuestionExpired": func(r *sdk.Request) { r.RequestState += "x" },
		"UnknownState":    func(r *sdk.Request) { r.Arguments = json.RawMessage(`{"a":2}`) },
		"UnknownState ":   func(r *sdk.Request) { r.SessionID = "other" },
		"UnknownState  ":  func(r *sdk.Request) { r.Workdir = "/other" },
	} {
		r := answer(q, `{"action":"accept"}`)
		r.Arguments, r.SessionID = json.RawMessage(`{"a":1}`), "s"
		change(r)
		if got, err := call(r); err != nil || got.Error == nil || got.Error.Name != strings.TrimSpace(name) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	close(release)
	right := func() *sdk.Request {
		r := answer(q, `{"action":"accept"}`)
		r.Arguments, r.SessionID = json.RawMessage(`{"a":1}`), "s"
		return r
	}
	if r, err := call(right()); err != nil || r.Error != nil || r.Content[0].Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := call(right()); err != nil || r.Error == nil || r.Error.Name != "QuestionExpired" ||
		r.Error.Outcome != sdk.OutcomeUnknown {
		t.Errorf("the same answer again gives %+v, %v", r, err)
	}
}

// However the handler ends after the answer, the call that brought it gets a result.
func TestHandlerEndsAfterTheAnswer(t *testing.T) {
	for name, end := range map[string]func() (*sdk.Result, error){
		"Panic":  func() (*sdk.Result, error) { panic("oh no") },
		"Exited": func() (*sdk.Result, error) { runtime.Goexit(); return nil, nil },
		"Own":    func() (*sdk.Result, error) { return nil, &sdk.Error{Name: "Own", Message: "no"} },
	} {
		t.Run(name, func(t *testing.T) {
			_, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				if _, err := sdk.Ask[struct{}](ctx, r, "Go on?"); err != nil {
					return nil, err
				}
				return end()
			})
			q, err := call(&sdk.Request{})
			if err != nil || q.InputRequired == nil {
				t.Fatalf("%+v, %v", q, err)
			}
			if r, err := call(answer(q, `{"action":"decline"}`)); err != nil || r.Error == nil || r.Error.Name != name {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A handler that returns while a goroutine of it has a question open leaves no one waiting: that goroutine learns that
// the call is over, and the call that brings the answer has the handler's result, for a minute.
func TestHandlerReturnsWithAQuestionOpen(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { handlerReturnsWithAQuestionOpen(t, late) })
	}
}

func handlerReturnsWithAQuestionOpen(t *testing.T, late bool) {
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	release, asked := make(chan struct{}), make(chan error, 1)
	c, _, served := listening(t, ctx, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		go func() {
			_, err := sdk.Ask[struct{}](ctx, r, "Go on?")
			asked <- err
		}()
		<-release
		return sdk.Text("done"), nil
	}))
	q, err := c.Call(ctx, &sdk.Request{Tool: "x", Capabilities: formCaller})
	if err != nil || q.InputRequired == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	close(release)
	synctest.Wait()
	r := answer(q, `{"action":"accept"}`)
	r.Tool, r.RunID, r.Capabilities = "x", "second", formCaller
	if late {
		time.Sleep(time.Minute + time.Second)
	}
	if got, err := c.Call(ctx, r); err != nil || (got.Error != nil) != late ||
		late && got.Error.Name != "QuestionExpired" || !late && got.Content[0].Text != "done" {
		t.Errorf("the call with the answer gives %+v, %v", got, err)
	}
	if err := <-asked; sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Errorf("the goroutine that asks has %v", err)
	}
	stop()
	<-served
}

// The same, when the answer comes at the moment at which the handler returns: its result, or that it is too late.
func TestAnswerWhileTheHandlerReturns(t *testing.T) {
	release := make(chan struct{})
	_, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		go func() { _, _ = sdk.Ask[struct{}](ctx, r, "Go on?") }()
		<-release
		return sdk.Text("done"), nil
	})
	for range 300 {
		q, err := call(&sdk.Request{})
		if err != nil || q.InputRequired == nil {
			t.Fatalf("%+v, %v", q, err)
		}
		go func() { release <- struct{}{} }()
		r, err := call(answer(q, `{"action":"accept"}`))
		if err != nil || r.Error == nil && r.Content[0].Text != "done" ||
			r.Error != nil && r.Error.Name != "QuestionExpired" {
			t.Fatalf("the call with the answer gives %+v, %v", r, err)
		}
	}
}

// Questions are bounded: in number, in size, and in how many wait.
func TestQuestionsAreBounded(t *testing.T) {
	_, call := asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		for _, q := range []sdk.Question{{}, {Message: " "}, {Message: strings.Repeat("x", 5000)},
			{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"object"}}}`)},
			{Message: "?", Schema: json.RawMessage(`[]`)}} {
			if _, err := r.Ask(ctx, q); nameOf(err) != "BadQuestion" {
				return nil, fmt.Errorf("%.20q gives %w", q.Message, err)
			}
		}
		for i := 0; ; i++ {
			if _, err := sdk.Ask[struct{}](ctx, r, "Again?"); err != nil {
				return sdk.Textf("%d %s", i, nameOf(err)), nil
			}
		}
	})
	r, err := call(&sdk.Request{})
	for err == nil && r.InputRequired != nil {
		r, err = call(answer(r, `{"action":"accept"}`))
	}
	if err != nil || r.Error != nil || r.Content[0].Text != "10 TooManyQuestions" {
		t.Errorf("%+v, %v", r, err)
	}
	_, call = asker(t, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		_, err := sdk.Ask[struct{}](ctx, r, "Go on?")
		return sdk.Text(nameOf(err)), nil
	})
	for i := range 65 {
		r, err := call(&sdk.Request{})
		if err != nil || (r.InputRequired == nil) != (i == 64) || i == 64 && r.Content[0].Text != "TooManyQuestions" {
			t.Errorf("question %d: %+v, %v", i, r, err)
		}
	}
}

// nameOf is the name of an error that says what to do.
func nameOf(err error) string {
	if e, ok := errors.AsType[*sdk.Error](err); ok && (e.Suggestion != "" || e.Code == sdk.CodeCanceled) {
		return e.Name
	}
	return fmt.Sprint(err)
}

// Without anyone to ask a handler learns it at once.
func TestNoOneToAsk(t *testing.T) {
	for _, capabilities := range []string{"", `{}`, `{"sampling":{}}`, `{"elicitation":{"url":{}}}`, `{"elicitation":1}`,
		`{`} {
		ctx, stop := context.WithCancel(t.Context())
		var err error
		c, _, ended := listening(t, ctx, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
			_, err = sdk.Ask[struct{}](ctx, r, "Go on?")
			return sdk.Text("done"), nil
		}))
		if r, err := c.Call(t.Context(), &sdk.Request{Tool: "x", Capabilities: json.RawMessage(capabilities)}); err != nil ||
			r.InputRequired != nil {
			t.Errorf("%s: %+v, %v", capabilities, r, err)
		}
		if nameOf(err) != "NoOneToAsk" {
			t.Errorf("%s gives %v", capabilities, err)
		}
		stop()
		<-ended
	}
}

// A handler whose question no one answers does not wait for ever; nor does it keep the plugin from ending.
func TestQuestionThatNoOneAnswers(t *testing.T) {
	for name, stops := range map[string]bool{"NoAnswer": false, "Canceled": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan string, 1)
				c, _, served := listening(t, ctx, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
					_, err := sdk.Ask[struct{}](ctx, r, "Go on?")
					ended <- nameOf(err)
					return nil, err
				}))
				began := time.Now()
				r, err := c.Call(ctx, &sdk.Request{Tool: "x", Capabilities: formCaller})
				if err != nil || r.InputRequired == nil {
					t.Fatalf("%+v, %v", r, err)
				}
				if stops {
					stop()
				}
				if got := <-ended; got != name {
					t.Errorf("the handler has %s after %v", got, time.Since(began))
				}
				stop()
				<-served
			})
		})
	}
}

// A call that could ask, and does not, costs a few allocations more, and one that cannot none.
func TestCallsThatDoNotAsk(t *testing.T) {
	c, _ := asker(t, func(context.Context, *sdk.Request) (*sdk.Result, error) { return sdk.Text("done"), nil })
	run := 0
	cost := func(capabilities json.RawMessage) float64 {
		return testing.AllocsPerRun(300, func() {
			run++
			r := &sdk.Request{Tool: "x", RunID: fmt.Sprint("cheap-", run), Capabilities: capabilities}
			if _, err := c.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		})
	}
	without, other, with := cost(nil), cost(json.RawMessage(`{"sampling":{}}`)), cost(formCaller)
	if other > without+3 || with > other+5 {
		t.Errorf("%v allocations without a person, %v with another capability, %v with one to ask", without, other, with)
	}
}
