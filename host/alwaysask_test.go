package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

type swapped func(*policy.Query) policy.Decision

func (s swapped) Decide(q *policy.Query) policy.Decision { return s(q) }

func alwaysAsking(t *testing.T) host.Policy {
	t.Helper()
	p, err := policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "fresh", Effect: policy.AlwaysAsk, Reason: "a person decides each time"}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever the mode, and whoever approves: only a yes of the approver to this very call runs it.
func TestAlwaysAskIsAskedEachTime(t *testing.T) {
	t.Parallel()
	edit := writes("run")
	edit.Category = "edit"
	for mode, code := range map[host.Mode]sdk.Code{host.ModeAsk: "", host.ModeAutoEdit: "", host.ModePlan: sdk.CodeDenied, host.ModeNeverAsk: sdk.CodeDenied} {
		for _, answer := range []host.Answer{host.Yes(), host.Always(host.ScopeTool), host.Always(host.ScopeArguments), host.Always(host.ScopePrefix)} {
			a := &asked{answers: []host.Answer{answer, host.Yes()}}
			h := single(t, echoing(edit), host.Options{Approver: a, Policy: alwaysAsking(t), Mode: mode})
			for range 2 {
				r := h.Call(t.Context(), call("test__run", `{}`))
				if code != "" {
					failed(t, r, code)
					continue
				}
				succeeded(t, r)
			}
			if want := map[bool]int{true: 2, false: 0}[code == ""]; len(a.questions) != want || len(h.Remembered()) != 0 {
				t.Errorf("mode %s, answer %+v: asked %d times, want %d; remembered %v", mode, answer, len(a.questions), want, h.Remembered())
			}
			if len(a.questions) > 0 && !a.questions[0].Fresh() {
				t.Errorf("mode %s: the request does not say that it is always asked", mode)
			}
		}
	}
}

// Answers to other questions, remembered before, do not stand for it.
func TestRememberedAnswersDoNotStandForAlwaysAsk(t *testing.T) {
	t.Parallel()
	shell := writes("exec")
	shell.Category = "shell"
	var rules host.Policy = must(policy.New())
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool), host.Always(host.ScopePrefix), host.Always(host.ScopeArguments)}}
	decide := swapped(func(q *policy.Query) policy.Decision { return rules.Decide(q) })
	h := single(t, echoing(shell), host.Options{Approver: a, Policy: decide})
	push := call("test__exec", `{"command":"git push"}`)
	succeeded(t, h.Call(t.Context(), push))
	succeeded(t, h.Call(t.Context(), push))
	if len(a.questions) != 1 {
		t.Fatalf("asked %d times before the rule", len(a.questions))
	}
	rules = alwaysAsking(t)
	a.answers = nil // which is a no
	failed(t, h.Call(t.Context(), push), sdk.CodeRejected)
	if len(a.questions) != 2 || a.questions[1].Prefix != nil {
		t.Errorf("asked %d times, the last time with the prefix %q", len(a.questions), a.questions[len(a.questions)-1].Prefix)
	}
}

// A preview may want it too, and who cannot ask a person says so.
func TestAlwaysAskOfAPreviewAndWithoutAPerson(t *testing.T) {
	t.Parallel()
	allows := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))
	for name, approver := range map[string]host.Approver{
		"no approver": nil,
		"one that cannot reach a person": host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{}, host.ErrNobodyToAsk
		}),
	} {
		p := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
			return &sdk.Preview{Effect: "always_ask", Reason: "it deletes a table"}, nil
		})
		h := single(t, p, host.Options{Policy: allows, Approver: approver, Remembered: []host.Remembered{{ID: "1", Tool: "test__run", Scope: host.ScopeTool, Saved: true}}})
		e := failed(t, h.Call(t.Context(), call("test__run", `{}`)), sdk.CodeApprovalUnavailable)
		if !strings.Contains(e.Message, "it deletes a table") || !strings.Contains(e.Message, "nobody can be asked here") {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}
