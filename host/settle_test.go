package host_test

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// An approval for later calls is stored before the next question is asked, however long saving takes.
func TestAlwaysSparesTheNextQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := &asked{answers: []host.Answer{{Approved: true, Scope: host.ScopeTool, Saved: true}}}
		h := single(t, echoing(writes("run")), host.Options{Approver: a, SaveAnswer: func(host.Remembered) error {
			<-time.After(time.Second)
			return nil
		}})
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { succeeded(t, h.Call(t.Context(), call("test__run", ""))) })
		}
		calls.Wait()
		if len(a.questions) != 1 {
			t.Errorf("%d questions", len(a.questions))
		}
	})
}

func TestSavingThatPanics(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{{Approved: true, Scope: host.ScopeTool, Saved: true}}}
	p := echoing(writes("run"))
	h := single(t, p, host.Options{Approver: a, SaveAnswer: func(host.Remembered) error { panic("no disk") }})
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
	if p.called.Load() != 0 {
		t.Error("it ran")
	}
}

// After a rejection that covers later calls too, none of them is asked about, not even briefly.
func TestNoMoreQuestionsAfterANo(t *testing.T) {
	ask := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Ask}}}))
	bubble(t, func(t *testing.T) {
		var order []int
		a := approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
			<-time.After(time.Second) // all others are waiting by now
			n, err := strconv.Atoi(r.CallID)
			order = append(order, n)
			return host.Answer{CancelRest: true}, err
		})
		h := single(t, answering(sdk.Text("done"), nil, tool("read")), host.Options{Approver: a, Policy: ask})
		h.CallAll(t.Context(), batchOf("rrrrrrrr"), host.BatchOptions{})
		for i := range order[1:] {
			if order[i+1] > order[i] {
				t.Fatalf("call %d was asked about after the no to call %d", order[i+1], order[i])
			}
		}
	})
}

// A decides is a Policy that always gives the same effect.
type decides policy.Effect

func (d decides) Decide(*policy.Query) policy.Decision {
	return policy.Decision{Effect: policy.Effect(d), Layer: "own", Rule: "own"}
}

// The zero decision asks, whatever the plugin says of its call, and an unknown effect denies.
func TestPolicyWithoutAnEffect(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]sdk.Code{"": sdk.CodeApprovalUnavailable, "Deny": sdk.CodeDenied,
		"block": sdk.CodeDenied} {
		for _, hint := range []policy.Effect{"", policy.Allow} {
			p := previewing(t, tool("run"), func(context.Context) (*sdk.Preview, error) {
				return &sdk.Preview{Effect: string(hint)}, nil
			})
			h := single(t, p, host.Options{Policy: decides(said)})
			failed(t, h.Call(t.Context(), call("test__run", `{"path":"a"}`)), want)
		}
	}
}

// A saved approval keeps its meaning, not its bytes, and may be for one folder.
func TestSavedMeaning(t *testing.T) {
	t.Parallel()
	var saved host.Remembered
	a := &asked{answers: []host.Answer{{Approved: true, Scope: host.ScopeArguments, Saved: true}}}
	first := single(t, echoing(writes("run")),
		host.Options{Approver: a, SaveAnswer: func(r host.Remembered) error { saved = r; return nil }})
	succeeded(t, first.Call(t.Context(),
		host.Call{Tool: "test__run", Arguments: []byte(`{ "a": "é", "n": 1.0 }`), Workdir: "/w"}))
	saved.Arguments = json.RawMessage(`{"a":"\u00e9","n":1.0}`)
	inFolder := host.Remembered{ID: "f", Tool: "test__run", Definition: saved.Definition, Scope: host.ScopeTool,
		Workdir: "/w", Saved: true}
	cases := map[string]struct {
		r         host.Remembered
		arguments string
		workdir   string
		ok        bool
	}{
		"as it was":      {saved, `{ "a": "é", "n": 1.0 }`, "/w", true},
		"another text":   {saved, `{"a":"e","n":1.0}`, "/w", false},
		"another number": {saved, `{"a":"é","n":1}`, "/w", false},
		"another folder": {saved, `{"a":"é","n":1.0}`, "/v", false},
		"its folder":     {inFolder, `{}`, "/w", true},
		"not its folder": {inFolder, `{}`, "/v", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, echoing(writes("run")), host.Options{Remembered: []host.Remembered{c.r}})
			r := h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: []byte(c.arguments), Workdir: c.workdir})
			if (r.Error == nil) != c.ok {
				t.Errorf("%+v", r.Error)
			}
		})
	}
}

// The approvals that an embedder gives a host remain the embedder's.
func TestRememberedIsCopied(t *testing.T) {
	t.Parallel()
	answers := []host.Remembered{{ID: "a"}, {ID: "b"}}
	h := single(t, echoing(), host.Options{Remembered: answers})
	if !h.Revoke("a") || answers[0].ID != "a" || answers[1].ID != "b" {
		t.Errorf("%+v", answers)
	}
}

type brokenRecorder struct{}

func (brokenRecorder) Append(audit.Record) error { panic("no disk") }

func TestRecorderThatPanics(t *testing.T) {
	t.Parallel()
	h := single(t, echoing(tool("read"), writes("run")),
		host.Options{Audit: brokenRecorder{}, Approver: &asked{answers: []host.Answer{host.Yes()}}})
	succeeded(t, h.Call(t.Context(), call("test__read", "")))
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
}

// A previewer rejects its preview.
type previewer struct{ *fake }

func (previewer) Preview(context.Context, *sdk.Request) (*sdk.Preview, error) {
	return nil, &sdk.Error{Code: sdk.CodeRejected, Message: "no", Details: json.RawMessage(`{"cancel_rest":true}`)}
}

func TestPreviewsCannotReject(t *testing.T) {
	t.Parallel()
	d := toolWith("run", func(d *sdk.Tool) { d.Previews = true })
	h := single(t, previewer{echoing(d)}, host.Options{})
	for _, r := range h.CallAll(t.Context(), []host.Call{call("test__run", ""), call("test__run", "")},
		host.BatchOptions{StopOnRejection: true}) {
		failed(t, r, sdk.CodeTool)
	}
}
