package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A statusRecorder records the statuses of calls.
type statusRecorder struct {
	mu    sync.Mutex
	words map[int][]string // by the call's position in its batch
}

func (s *statusRecorder) of(i int) func(sdk.Event) {
	return func(e sdk.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		word := string(e.Type)
		if e.Type == sdk.EventStatus {
			word = e.Message
		}
		s.words[i] = append(s.words[i], word)
	}
}

// kinds are the possible outcomes of a call, each with its tool and arguments.
var kinds = map[string]host.Call{
	"reads":             {Tool: "test__read", Arguments: json.RawMessage(`{}`)},
	"writes":            {Tool: "test__write", Arguments: json.RawMessage(`{}`)},
	"fails":             {Tool: "test__read", Arguments: json.RawMessage(`{"do":"fail"}`)},
	"breaks":            {Tool: "test__write", Arguments: json.RawMessage(`{"do":"break"}`)},
	"panics":            {Tool: "test__read", Arguments: json.RawMessage(`{"do":"panic"}`)},
	"gives up":          {Tool: "test__read", Arguments: json.RawMessage(`{"do":"cancel"}`)},
	"claims to be done": {Tool: "test__read", Arguments: json.RawMessage(`{"do":"claim"}`)},
	"unknown tool":      {Tool: "test__none", Arguments: json.RawMessage(`{}`)},
	"unknown plugin":    {Tool: "none__none", Arguments: json.RawMessage(`{}`)},
	"no tool":           {},
	"no JSON":           {Tool: "test__read", Arguments: json.RawMessage(`{"do":`)},
	"does not fit":      {Tool: "test__strict", Arguments: json.RawMessage(`{"path":7}`)},
	"denied":            {Tool: "test__never", Arguments: json.RawMessage(`{}`)},
	"rejected":          {Tool: "test__write", Arguments: json.RawMessage(`{"ask":"no"}`)},
	"rejects the rest":  {Tool: "test__write", Arguments: json.RawMessage(`{"ask":"cancel rest"}`)},
	"edited":            {Tool: "test__write", Arguments: json.RawMessage(`{"ask":"edit"}`)},
	"asker panics":      {Tool: "test__write", Arguments: json.RawMessage(`{"ask":"panic"}`)},
	"same id":           {ID: "same", Tool: "test__read", Arguments: json.RawMessage(`{}`)},
	"too long a name":   {Tool: "test__read", SessionID: strings.Repeat("x", 1000)},
	"ends the batch":    {Tool: "test__read", Arguments: json.RawMessage(`{"do":"end"}`)},
}

// Whatever happens to the calls of a batch, the statuses of each are in the order of a call's life, and the final one
// comes once and matches its result.
func TestStatusesComeInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := slices.Sorted(func(yield func(string) bool) {
			for name := range kinds {
				if !yield(name) {
					return
				}
			}
		})
		plan := rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(rt, "batch")
		wrapped := rapid.SampledFrom([]string{"", "passes on", "twice", "answers itself"}).Draw(rt, "middleware")
		tell := &statusRecorder{words: map[int][]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h, err := host.New(map[string]host.Plugin{"test": argumentDriven(cancel)},
			host.Options{Approver: approveFunc(answerByArguments), Middleware: middlewareThat(wrapped),
				Policy: must(policy.New(policy.Layer{Name: "user",
					Rules: []policy.Rule{{Name: "never", Tools: []string{"*__never"}, Effect: policy.Deny}}}))})
		if err != nil {
			rt.Fatal(err)
		}
		defer h.Close()
		calls := make([]host.Call, len(plan))
		for i, kind := range plan {
			calls[i] = kinds[kind]
			calls[i].Events = tell.of(i)
		}
		results := h.CallAll(ctx, calls, host.BatchOptions{StopOnRejection: rapid.Bool().Draw(rt, "stop")})
		tell.mu.Lock()
		defer tell.mu.Unlock()
		for i, r := range results {
			if problem := wrongEvents(tell.words[i], r); problem != "" {
				rt.Fatalf("call %d (%s): %s: words %q, error %v", i, plan[i], problem, tell.words[i], r.Error)
			}
		}
	})
}

// wrongEvents says what is wrong with the events of a call, "" for nothing.
func wrongEvents(words []string, r *host.Result) string {
	order := []string{string(host.AwaitingApproval), string(host.Calling), "started"}
	last := string(host.Done)
	switch {
	case r.Error != nil && r.Error.Code == sdk.CodeCanceled:
		last = string(host.Canceled)
	case r.Error != nil:
		last = string(host.Errored)
	}
	if len(words) == 0 || words[len(words)-1] != last {
		return "it does not end with " + last
	}
	at, calling := 0, 0
	for _, w := range words[:len(words)-1] {
		place := slices.Index(order, w)
		if place < 0 || place < at && !(w == string(host.Calling) && at == 2) {
			return fmt.Sprintf("%s comes too late, or is the last word", w)
		}
		at = place
		if w == string(host.Calling) {
			calling++
		}
	}
	if ran := r.Attempts > 0; calling > 1 || ran && calling == 0 {
		return fmt.Sprintf("it says %d times that it is calling", calling)
	}
	return ""
}

// argumentDriven is a plugin whose calls end as their arguments say.
func argumentDriven(cancel func()) *fake {
	strict := tool("strict")
	strict.InputSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	return calling(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		var in struct{ Do string }
		_ = json.Unmarshal(r.Arguments, &in)
		r.Attempt = 1
		r.Events(sdk.Event{Type: sdk.EventStarted})
		switch in.Do {
		case "fail":
			return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Message: "no"}}, nil
		case "break":
			return nil, &client.BrokenError{Delivered: true, Err: context.DeadlineExceeded}
		case "panic":
			panic("a bug")
		case "cancel":
			return nil, &sdk.Error{Code: sdk.CodeCanceled, Message: "given up"}
		case "claim":
			r.Events(sdk.Event{Type: sdk.EventStatus, Message: string(host.Done)})
		case "end":
			cancel()
			<-ctx.Done()
			return nil, sdk.EndedError(ctx)
		}
		return sdk.Text("done"), nil
	}, tool("read"), writes("write"), strict, tool("never"))
}

// answerByArguments answers as the arguments say.
func answerByArguments(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	var in struct{ Ask string }
	_ = json.Unmarshal(r.Arguments, &in)
	switch in.Ask {
	case "no":
		return host.No("no"), nil
	case "cancel rest":
		return host.Answer{CancelRest: true}, nil
	case "edit":
		return host.Answer{Arguments: json.RawMessage(`{"ask":""}`)}, nil
	case "panic":
		panic("a bug")
	}
	return host.Yes(), nil
}

func middlewareThat(how string) []host.Middleware {
	switch how {
	case "passes on":
		return []host.Middleware{before(func(*host.Call) error { return nil })}
	case "twice":
		return []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
				_, _ = next(ctx, c)
				return next(ctx, c)
			}
		}}
	case "answers itself":
		return []host.Middleware{func(host.CallFunc) host.CallFunc {
			return func(context.Context, *host.Call) (*sdk.Result, error) { return sdk.Text("from a cache"), nil }
		}}
	}
	return nil
}

// A batch that is refused as a whole has a final status for each call.
func TestStatusesOfATooLargeBatch(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text("done"), nil), host.Options{})
	tell := &statusRecorder{words: map[int][]string{}}
	calls := make([]host.Call, 129)
	for i := range calls {
		calls[i] = host.Call{Tool: "test__run", Events: tell.of(i)}
	}
	for i := range h.CallAll(t.Context(), calls, host.BatchOptions{}) {
		diff(t, []string{string(host.Errored)}, tell.words[i])
	}
}

// Explain reports no events of a call.
func TestExplainReportsNoStatus(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text("done"), nil), host.Options{})
	c := call("test__run", "")
	c.Events = func(e sdk.Event) { t.Errorf("event %+v", e) }
	if _, err := h.Explain(t.Context(), c); err != nil {
		t.Error(err)
	}
}
