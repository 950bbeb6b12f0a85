package host_test

import (
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func TestPluginThatIsNotBelieved(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil, toolWith("run", func(d *sdk.Tool) { d.Category, d.CostTier = "edit", sdk.Free }))
	h := single(t, p, host.Options{Mode: host.ModeAutoEdit, Plugins: map[string]host.PluginOptions{"test": {IgnoreHints: true}}})
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
	tools, _ := h.Tools(t.Context())
	if got := tools[0]; got.Hints != (sdk.Hints{}) || got.Category != "" || got.CostTier != "" {
		t.Errorf("%+v", got)
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	rules := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "no-runs", Source: "config.hcl:7", Effect: policy.Deny, Reason: "it is late"}}}))
	p := echoing()
	e := failed(t, single(t, p, host.Options{Policy: rules}).Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
	diff(t, `test__run was denied by rule "no-runs" of the user layer (config.hcl:7): it is late; nothing was run`, e.Message)
	diff(t, `{"layer":"user","reason":"it is late","rule":"no-runs","source":"config.hcl:7"}`, string(e.Details))
	if p.called.Load() != 0 {
		t.Error("it ran")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := echoing(tool("look"), writes("run"))
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool)}}
	h := single(t, p, host.Options{Approver: a})
	for _, want := range []policy.Effect{policy.Ask, policy.Allow} { // before and after the answer
		d, err := h.Explain(t.Context(), call("test__run", ""))
		if err != nil || d.Effect != want || len(d.Trace) == 0 {
			t.Errorf("%+v, %v", d, err)
		}
		succeeded(t, h.Call(t.Context(), call("test__run", "")))
	}
	c := catalog(t, h, host.Filter{Tools: []string{"test__look"}})
	if _, err := c.Explain(t.Context(), call("test__run", "")); sdk.CodeOf(err) != sdk.CodeNotInCatalog {
		t.Error(err)
	}
	if _, err := h.Explain(t.Context(), call("test__run", `{"a":`)); sdk.CodeOf(err) != sdk.CodeInvalidArgs {
		t.Error(err)
	}
	if p.called.Load() != 2 {
		t.Errorf("%d calls", p.called.Load())
	}
}

func TestDeniedToolsAreNotListed(t *testing.T) {
	t.Parallel()
	sometimes := policy.Rule{Name: "sometimes", Tools: []string{"test__b"}, Effect: policy.Deny, When: func(*policy.Query) (policy.Truth, error) { return policy.Yes, nil }}
	h := single(t, echoing(tool("a"), tool("b"), tool("c"), tool("d"), tool("e")), host.Options{Policy: must(policy.New(
		policy.Layer{Name: "user", Rules: []policy.Rule{
			{Name: "a", Tools: []string{"test__a"}, Effect: policy.Deny}, sometimes, {Name: "strangers", Callers: []string{"x"}, Tools: []string{"test__c"}, Effect: policy.Allow},
			{Name: "c", Tools: []string{"test__c"}, Effect: policy.Deny}, {Name: "not-a-reader", Hints: policy.Hints{ReadOnly: sdk.No}, Effect: policy.Deny},
		}},
		policy.Layer{Name: "session", Rules: []policy.Rule{{Name: "e", Tools: []string{"test__e"}, Effect: policy.Deny}}}))})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"test__b", "test__c", "test__d"}, names(tools))
	if len(problems) > 0 {
		t.Error(problems)
	}
	failed(t, h.Call(t.Context(), call("test__a", "")), sdk.CodeDenied)
	c := catalog(t, h, host.Filter{Tools: []string{"*__a", "*__d"}})
	tools, _ = c.Tools(t.Context())
	diff(t, []string{"test__d"}, names(tools))
}
