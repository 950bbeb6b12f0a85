package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func request(call string) *host.ApprovalRequest {
	return &host.ApprovalRequest{CallID: call, Tool: &host.Tool{Tool: sdk.Tool{Name: "shell__exec",
		InputSchema: json.RawMessage(`{"type":"object"}`)}, Plugin: "shell"},
		Arguments: json.RawMessage(`{"command":"date"}`)}
}

type reply struct {
	host.Answer
	err error
}

// ask has a question wait in the background.
func ask(ctx context.Context, q *Queue, r *host.ApprovalRequest) <-chan reply {
	out := make(chan reply, 1)
	go func() {
		a, err := q.Approve(ctx, r)
		out <- reply{a, err}
	}()
	return out
}

func TestTheFirstAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		got := ask(t.Context(), q, request("c"))
		synctest.Wait()
		w := q.List()[0]
		var won, lost atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				_, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, By: fmt.Sprint(i), Call: host.No(fmt.Sprint(i))})
				if e, is := errors.AsType[*AnsweredError](err); is && e.Outcome.Result == Rejected {
					lost.Add(1)
				} else if err == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if r := <-got; won.Load() != 1 || lost.Load() != 49 || r.err != nil || r.Approved || r.Reason == "" {
			t.Errorf("%d answers counted and %d were late: %+v", won.Load(), lost.Load(), r)
		}
		if len(q.List()) != 0 {
			t.Error("it still waits")
		}
	})
}

func TestAnswersThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		got := ask(t.Context(), q, request("c"))
		synctest.Wait()
		w := q.List()[0]
		for name, a := range map[string]Answer{
			"of other bytes":       {ID: w.ID, Hash: "another", Call: host.Yes()},
			"of no bytes":          {ID: w.ID, Call: host.Yes()},
			"of another question":  {ID: "another", Hash: w.Hash, Call: host.Yes()},
			"an unknown scope":     {ID: w.ID, Hash: w.Hash, Call: host.Always("everything")},
			"a prefix of nothing":  {ID: w.ID, Hash: w.Hash, Call: host.Always(host.ScopePrefix)},
			"arguments as text":    {ID: w.ID, Hash: w.Hash, Call: host.Answer{Arguments: json.RawMessage("{")}},
			"a rejection for ever": {ID: w.ID, Hash: w.Hash, Call: host.Answer{Scope: host.ScopeTool}},
		} {
			if _, err := q.Answer(a); err == nil {
				t.Errorf("an answer with %s counts", name)
			}
		}
		if _, err := q.Answer(Answer{ID: w.ID, Hash: "another"}); !errors.Is(err, ErrChanged) {
			t.Errorf("the error is %v", err)
		}
		if _, err := q.Answer(Answer{ID: "another"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("the error is %v", err)
		}
		if o, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, By: "console", Call: host.Always(host.ScopeTool)}); err != nil ||
			o.Result != Approved || o.By != "console" || o.Scope != host.ScopeTool {
			t.Errorf("%+v, %v", o, err)
		}
		if r := <-got; !r.Approved || r.Scope != host.ScopeTool {
			t.Errorf("%+v", r)
		}
	})
}

// What an answer says is kept, shown to all who watch and given to the model: it is short.
func TestAnswersAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		got := ask(t.Context(), q, request("c"))
		synctest.Wait()
		w := q.List()[0]
		for name, a := range map[string]host.Answer{
			"reason":    host.No(strings.Repeat("r", maxReason+1)),
			"arguments": {Arguments: json.RawMessage(`"` + strings.Repeat("a", sdk.MaxArguments) + `"`)},
		} {
			if _, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, Call: a}); err == nil || !strings.Contains(err.Error(), "limit") {
				t.Errorf("an answer with a long %s: %v", name, err)
			}
		}
		if len(q.List()) != 1 {
			t.Fatal("the question no longer waits")
		}
		reason := strings.Repeat("r", maxReason)
		o, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, By: strings.Repeat("b", 1<<20), Call: host.No(reason)})
		if err != nil || len(o.By) != maxBy || o.Reason != reason {
			t.Errorf("by has %d characters, the reason %d bytes: %v", len(o.By), len(o.Reason), err)
		}
		if r := <-got; r.Reason != reason {
			t.Errorf("the reason has %d bytes", len(r.Reason))
		}
	})
	if o := Elsewhere(KindCall, Answer{Call: host.No(strings.Repeat("\u00e9", maxReason))}).Outcome; len(o.Reason) != maxReason {
		t.Errorf("the reason of an answer elsewhere has %d bytes", len(o.Reason))
	}
}

// What a person decides on is in the hash, and a repeat of the same question has the same one.
func TestHash(t *testing.T) {
	hash := func(change func(*host.ApprovalRequest)) string {
		r := request("c")
		change(r)
		h, _, err := hashOf(&Question{Call: r})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same := hash(func(*host.ApprovalRequest) {})
	if hash(func(r *host.ApprovalRequest) { r.Expires = time.Now() }) != same {
		t.Error("the hash depends on the time")
	}
	for name, change := range map[string]func(*host.ApprovalRequest){
		"arguments":   func(r *host.ApprovalRequest) { r.Arguments = json.RawMessage(`{"command":"rm x"}`) },
		"tool":        func(r *host.ApprovalRequest) { r.Tool.Name = "shell__script" },
		"description": func(r *host.ApprovalRequest) { r.Tool.Description = "other" },
		"preview":     func(r *host.ApprovalRequest) { r.Preview = &sdk.Preview{Reason: "x"} },
		"folder":      func(r *host.ApprovalRequest) { r.Workdir = "/" },
		"caller":      func(r *host.ApprovalRequest) { r.Caller = "x" },
		"rule":        func(r *host.ApprovalRequest) { r.Decision.Rule = "x" },
		"prefix":      func(r *host.ApprovalRequest) { r.Prefix = []string{"git"} },
		"plugin":      func(r *host.ApprovalRequest) { r.Via = &host.Via{Tool: "a__b"} },
	} {
		if hash(change) == same {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

func TestQuestionsEndWithTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		w := q.Watch()
		defer w.End()
		canceled, cancel := context.WithCancel(t.Context())
		limited, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		first, second := ask(canceled, q, request("canceled")), ask(limited, q, request("late"))
		synctest.Wait()
		ids := map[string]*Question{}
		for _, one := range q.List() {
			ids[one.CallID()] = one
		}
		cancel()
		if r := <-first; !errors.Is(r.err, context.Canceled) {
			t.Errorf("%+v", r)
		}
		if r := <-second; !errors.Is(r.err, context.DeadlineExceeded) {
			t.Errorf("%+v", r)
		}
		for call, want := range map[string]Result{"canceled": Withdrawn, "late": Expired} {
			_, err := q.Answer(Answer{ID: ids[call].ID, Hash: ids[call].Hash, Call: host.Yes()})
			if e, is := errors.AsType[*AnsweredError](err); !is || e.Outcome.Result != want {
				t.Errorf("%s: %v, want it to be %s", call, err, want)
			}
		}
		if c, err := w.Next(t.Context()); err != nil || !c.Snapshot || len(c.Questions) != 0 {
			t.Errorf("%+v, %v", c, err)
		}
		c, err := w.Next(t.Context())
		if err != nil || c.Snapshot || len(c.Questions) != 4 || c.Questions[2].Outcome == nil ||
			c.Questions[0].Outcome != nil {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A question that was answered by another way ends with that answer.
func TestAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		got := ask(ctx, q, request("c"))
		synctest.Wait()
		w := q.List()[0]
		cancel(Elsewhere(KindCall, Answer{By: "the MCP client", Call: host.Yes()}))
		if r := <-got; r.err == nil {
			t.Error("it has an answer of its own")
		}
		_, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, Call: host.No("")})
		if e, is := errors.AsType[*AnsweredError](err); !is || e.Outcome.Result != Approved ||
			e.Outcome.By != "the MCP client" {
			t.Errorf("%v", err)
		}
	})
}

// A thousand questions wait; one more is refused at once, and whoever watches too slowly gets all that wait.
func TestManyQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		q := New(Options{Notify: func(*Question) { told++ }})
		w := q.Watch()
		defer w.End()
		if c, err := w.Next(t.Context()); err != nil || !c.Snapshot {
			t.Fatalf("%+v, %v", c, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan reply
		for i := range defaultWaiting {
			all = append(all, ask(ctx, q, request(fmt.Sprint(i))))
		}
		synctest.Wait()
		if r := <-ask(ctx, q, request("one more")); r.err == nil {
			t.Error("one more waits")
		}
		one := q.List()[0]
		if _, err := q.Answer(Answer{ID: one.ID, Hash: one.Hash}); err != nil {
			t.Fatal(err)
		}
		if c, err := w.Next(t.Context()); err != nil || !c.Snapshot || c.Lost == 0 || len(c.Questions) != defaultWaiting-1 {
			t.Errorf("%v, %d lost, %d questions, %v", c.Snapshot, c.Lost, len(c.Questions), err)
		}
		cancel()
		for _, r := range all {
			<-r
		}
		if told != 2*defaultWaiting {
			t.Errorf("%d notices of %d questions", told, defaultWaiting)
		}
	})
}

// Questions whose bytes would be too many together are refused, until others have ended.
func TestManyBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{MaxBytes: 10_000})
		large := request("large")
		large.Arguments = json.RawMessage(`"` + strings.Repeat("x", 6000) + `"`)
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(ctx, q, large)
		synctest.Wait()
		if r := <-ask(t.Context(), q, large); r.err == nil || !strings.Contains(r.err.Error(), "the limit is 10000") {
			t.Errorf("a second one: %v", r.err)
		}
		cancel()
		<-first
		ctx, cancel = context.WithCancel(t.Context())
		again := ask(ctx, q, large)
		synctest.Wait()
		if len(q.List()) != 1 {
			t.Error("the place of one that has ended is not free")
		}
		cancel()
		<-again
	})
}

// Notify may use the queue, and its panics harm nothing: each question is reported as it begins to wait and as it ends.
func TestNotifyUsesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var told []string
		var q *Queue
		q = New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Notify: func(one *Question) {
			told = append(told, fmt.Sprint(one.CallID(), one.Outcome != nil, len(q.List())))
			if one.CallID() == "yes" && one.Outcome == nil {
				if _, err := q.Answer(Answer{ID: one.ID, Hash: one.Hash, Call: host.Yes()}); err != nil {
					t.Error(err)
				}
			}
			panic("broken")
		}})
		if r := <-ask(t.Context(), q, request("yes")); !r.Approved || r.err != nil {
			t.Errorf("%+v", r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := ask(ctx, q, request("canceled"))
		synctest.Wait()
		cancel()
		<-waits
		if got := fmt.Sprint(told); got != "[yesfalse 1 yestrue 0 canceledfalse 1 canceledtrue 0]" || len(q.List()) != 0 {
			t.Errorf("told %s; %d wait", got, len(q.List()))
		}
		if n := strings.Count(log.String(), "panic=broken"); n != 4 {
			t.Errorf("%d panics are logged:\n%s", n, log.String())
		}
	})
}

// Next ends with its watch, and with the queue once it has reported the end of every question.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		waiting := ask(t.Context(), q, request("first"))
		synctest.Wait()
		ended, stopped := q.Watch(), q.Watch()
		for _, w := range []*Watch{ended, stopped} {
			if c, err := w.Next(t.Context()); err != nil || len(c.Questions) != 1 {
				t.Fatal(c, err)
			}
		}
		next := make(chan error, 1)
		go func() {
			_, err := ended.Next(t.Context())
			next <- err
		}()
		synctest.Wait()
		ended.End()
		if err := <-next; !errors.Is(err, ErrWatchEnded) {
			t.Errorf("after End: %v", err)
		}
		q.Stop()
		<-waiting
		if c, err := stopped.Next(t.Context()); err != nil || len(c.Questions) != 1 || c.Questions[0].Outcome == nil {
			t.Errorf("the end of the question: %+v, %v", c, err)
		}
		for _, w := range []*Watch{stopped, ended} {
			if _, err := w.Next(t.Context()); !errors.Is(err, ErrWatchEnded) {
				t.Errorf("after Stop: %v", err)
			}
			w.End()
		}
	})
}

// When the host stops, calls that wait end at once, and no other waits.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last *Question
		q := New(Options{Notify: func(one *Question) { last = one }})
		waiting := ask(t.Context(), q, request("first"))
		synctest.Wait()
		q.Stop()
		for _, r := range []reply{<-waiting, <-ask(t.Context(), q, request("second"))} {
			if e, coded := errors.AsType[*sdk.Error](r.err); !coded || e.Name != StoppedName || !e.Retryable {
				t.Errorf("a call ends with %v", r.err)
			}
		}
		if o := last.Outcome; o == nil || o.Result != Withdrawn || o.Reason == "" || len(q.List()) != 0 {
			t.Errorf("the question ends as %+v, and %d wait", o, len(q.List()))
		}
	})
}

func TestAnswersToToolsAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{})
		got := make(chan map[string]json.RawMessage, 1)
		go func() {
			answers, _ := q.AnswerInput(t.Context(), &host.InputRequest{CallID: "c", Tool: request("c").Tool,
				Requests: map[string]json.RawMessage{"name": json.RawMessage(`{"method":"elicitation/create"}`)}})
			got <- answers
		}()
		synctest.Wait()
		w := q.List()[0]
		if _, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, Call: host.Yes()}); err == nil {
			t.Error("a yes answers a question for a name")
		}
		answer := map[string]json.RawMessage{"name": json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)}
		if o, err := q.Answer(Answer{ID: w.ID, Hash: w.Hash, Input: answer}); err != nil || o.Result != Answered {
			t.Errorf("%+v, %v", o, err)
		}
		if a := <-got; string(a["name"]) != string(answer["name"]) {
			t.Errorf("the tool gets %s", a)
		}
	})
}
