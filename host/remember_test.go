package host_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func TestRememberedAnswers(t *testing.T) {
	t.Parallel()
	first := host.Call{Tool: "test__run", Arguments: []byte(`{"a":1}`), SessionID: "s", Caller: "agent", Workdir: "/tmp"}
	with := func(change func(*host.Call)) host.Call { c := first; change(&c); return c }
	cases := map[string]struct {
		scope host.Scope
		next  host.Call
		asked bool
	}{
		"once": {host.ScopeOnce, first, true},
		"tool": {host.ScopeTool, with(func(c *host.Call) { c.Arguments = []byte(`{"a":2}`) }),
			false},
		"tool, another tool":           {host.ScopeTool, with(func(c *host.Call) { c.Tool = "test__other" }), true},
		"tool, another session":        {host.ScopeTool, with(func(c *host.Call) { c.SessionID = "t" }), true},
		"tool, another caller":         {host.ScopeTool, with(func(c *host.Call) { c.Caller = "stranger" }), true},
		"tool, another folder":         {host.ScopeTool, with(func(c *host.Call) { c.Workdir = "/" }), true},
		"tool, a folder in the folder": {host.ScopeTool, with(func(c *host.Call) { c.Workdir = "/tmp/a" }), true},
		"arguments":                    {host.ScopeArguments, first, false},
		"arguments, others": {host.ScopeArguments, with(func(c *host.Call) { c.Arguments = []byte(`{"a":2}`) }),
			true},
		"arguments, the same but a blank": {host.ScopeArguments,
			with(func(c *host.Call) { c.Arguments = []byte(`{"a": 1}`) }), true},
		"arguments, another folder": {host.ScopeArguments, with(func(c *host.Call) { c.Workdir = "/" }), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{answers: []host.Answer{host.Always(c.scope), host.Yes()}}
			h := single(t, echoing(writes("run"), writes("other")), host.Options{Approver: a})
			succeeded(t, h.Call(t.Context(), first))
			succeeded(t, h.Call(t.Context(), c.next))
			if got := len(a.questions) == 2; got != c.asked {
				t.Errorf("asked %d times", len(a.questions))
			}
		})
	}
}

func TestRememberedCommands(t *testing.T) {
	t.Parallel()
	shell := writes("exec")
	shell.Category = "shell"
	cases := map[string]struct {
		next  string
		asked bool
	}{
		"the same":               {`{"command":"git push"}`, false},
		"more of it":             {`{"command":"git push origin main"}`, false},
		"another word":           {`{"command":"git pushed"}`, true},
		"another command":        {`{"command":"git pull"}`, true},
		"and one more":           {`{"command":"git push && rm -rf ."}`, true},
		"twice":                  {`{"command":"git push; git push"}`, false},
		"with a substitution":    {`{"command":"git push $(rm x)"}`, true},
		"in a changed terrain":   {`{"command":"git push","env":{"PATH":"/tmp"}}`, true},
		"what no shell can read": {`{"command":"git push '"}`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{answers: []host.Answer{host.Always(host.ScopePrefix), host.Yes()}}
			h := single(t, echoing(shell), host.Options{Approver: a})
			succeeded(t, h.Call(t.Context(), call("test__exec", `{"command":"git push"}`)))
			succeeded(t, h.Call(t.Context(), call("test__exec", c.next)))
			if got := len(a.questions) == 2; got != c.asked {
				t.Errorf("asked %d times", len(a.questions))
			}
			diff(t, []string{"git", "push"}, a.questions[0].Prefix)
		})
	}
}

func TestRememberedNeverBeatsARule(t *testing.T) {
	t.Parallel()
	denying := false
	rules := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "r", Effect: policy.Deny,
		When: func(*policy.Query) (policy.Truth, error) {
			if denying {
				return policy.Yes, nil
			}
			return policy.No, nil
		}}}}))
	h := single(t, echoing(writes("run")),
		host.Options{Policy: rules, Approver: &asked{answers: []host.Answer{host.Always(host.ScopeTool)}}})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	denying = true
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
}

func TestChangedDefinitionIsAskedAgain(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool)}}
	before := single(t, echoing(writes("run")), host.Options{Approver: a})
	succeeded(t, before.Call(t.Context(), call("test__run", "")))
	changed := writes("run")
	changed.Description = "does something else now"
	for name, definition := range map[string]sdk.Tool{"same": writes("run"), "changed": changed} {
		answers := before.Remembered()
		answers[0].Saved = true
		after := single(t, echoing(definition), host.Options{Remembered: answers})
		if r := after.Call(t.Context(), call("test__run", "")); (r.Error == nil) != (name == "same") {
			t.Errorf("%s: %v", name, r.Error)
		}
	}
}

func TestListAndRevoke(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool), host.Always(host.ScopeArguments), host.No("")}}
	h := single(t, echoing(writes("run"), writes("other")), host.Options{Approver: a})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	succeeded(t, h.Call(t.Context(), call("test__other", "")))
	all := h.Remembered()
	if len(all) != 2 || all[0].Scope != host.ScopeTool || all[1].Tool != "test__other" {
		t.Fatalf("remembered %+v", all)
	}
	if !h.Revoke(all[0].ID) || h.Revoke(all[0].ID) || len(h.Remembered()) != 1 {
		t.Error("revoking")
	}
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeRejected)
	succeeded(t, h.Call(t.Context(), call("test__other", "")))
}

func TestSavedAnswers(t *testing.T) {
	t.Parallel()
	var saved []host.Remembered
	always := host.Answer{Approved: true, Scope: host.ScopeTool, Saved: true}
	options := host.Options{Approver: &asked{answers: []host.Answer{always}}, SaveAnswer: func(r host.Remembered) error {
		saved = append(saved, r)
		return nil
	}}
	succeeded(t, single(t, echoing(writes("run")), options).Call(t.Context(), call("test__run", "")))
	if len(saved) != 1 || !saved[0].Saved {
		t.Fatalf("saved %+v", saved)
	}
	succeeded(t, single(t, echoing(writes("run")), host.Options{Remembered: slices.Clone(saved)}).Call(t.Context(),
		call("test__run", "")))

	for want, save := range map[string]func(host.Remembered) error{
		"the disk is full":   func(host.Remembered) error { return errors.New("the disk is full") },
		"saving it panicked": func(host.Remembered) error { panic("no disk") },
	} {
		options.SaveAnswer = save
		p := echoing(writes("run"))
		e := failed(t, single(t, p, options).Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
		if p.called.Load() != 0 || !strings.Contains(e.Message, want) {
			t.Errorf("ran %d times although the answer could not be saved: %s", p.called.Load(), e.Message)
		}
	}
}

// An approval without a folder holds in none: the same path, and the same make build, mean something else elsewhere.
func TestAnswersWithoutAFolder(t *testing.T) {
	t.Parallel()
	for _, scope := range []host.Scope{host.ScopeArguments, host.ScopePrefix, host.ScopeTool} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			answersWithoutAFolder(t, scope)
		})
	}
}

func answersWithoutAFolder(t *testing.T, scope host.Scope) {
	var saved []host.Remembered
	shell := writes("run")
	shell.Category = "shell"
	always := host.Answer{Approved: true, Scope: scope, Saved: true}
	first := host.Call{Tool: "test__run", Arguments: []byte(`{"command":"make build"}`), Workdir: "/tmp"}
	options := host.Options{Approver: &asked{answers: []host.Answer{always}}, SaveAnswer: func(r host.Remembered) error {
		saved = append(saved, r)
		return nil
	}}
	succeeded(t, single(t, echoing(shell), options).Call(t.Context(), first))
	for folder, questions := range map[string]int{"/tmp": 0, "": 1, "/": 1, "/tmp/a": 1} {
		known, a := slices.Clone(saved), &asked{answers: []host.Answer{host.Yes()}}
		known[0].Workdir = folder
		succeeded(t, single(t, echoing(shell), host.Options{Approver: a, Remembered: known}).Call(t.Context(), first))
		if len(a.questions) != questions {
			t.Errorf("remembered for %q: asked %d times, want %d", folder, len(a.questions), questions)
		}
	}
}
