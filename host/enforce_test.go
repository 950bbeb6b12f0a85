package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func TestPluginWithoutTrustedHints(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil, toolWith("run", func(d *sdk.Tool) { d.Category, d.CostTier = "edit", sdk.Free }))
	h := single(t, p, host.Options{Mode: host.ModeAutoEdit,
		Plugins: map[string]host.PluginOptions{"test": {IgnoreHints: true}}})
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
	tools, _ := h.Tools(t.Context())
	if got := tools[0]; got.Hints != (sdk.Hints{}) || got.Category != "" || got.CostTier != "" {
		t.Errorf("%+v", got)
	}
}

// An MCP server's hints neither loosen a decision nor select the tools of a read-only profile, unless the operator
// trusts them; those of the plugin itself always count.
func TestForeignHints(t *testing.T) {
	t.Parallel()
	foreign := toolWith("look", func(d *sdk.Tool) { d.Hints.ReadOnly, d.ForeignHints = sdk.Yes, true })
	own := toolWith("own", func(d *sdk.Tool) { d.Hints.ReadOnly = sdk.Yes })
	readOnly := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{
		{Name: "reads", Hints: policy.Hints{ReadOnly: sdk.Yes}, Effect: policy.Allow}}}))
	for name, c := range map[string]struct {
		o      host.Options
		trust  bool
		effect policy.Effect
		why    string
	}{
		"by hints":         {host.Options{}, false, policy.Ask, "marked read-only by a server that is not trusted"},
		"by a rule":        {host.Options{Policy: readOnly}, false, policy.Ask, "those of a server that is not trusted"},
		"in plan mode":     {host.Options{Mode: host.ModePlan}, false, policy.Deny, "only calls that read are allowed"},
		"trusted by hints": {host.Options{}, true, policy.Allow, "marked read-only"},
		"trusted by rule":  {host.Options{Policy: readOnly}, true, policy.Allow, ""},
		"trusted in plan":  {host.Options{Mode: host.ModePlan}, true, policy.Allow, "marked read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Plugins = map[string]host.PluginOptions{"test": {TrustForeignHints: c.trust}}
			h := single(t, echoing(foreign, own), c.o)
			d, err := h.Explain(t.Context(), call("test__look", ""))
			trace := fmt.Sprint(d.Trace)
			if err != nil || d.Effect != c.effect || !strings.Contains(trace, c.why) {
				t.Errorf("%s, %v; want %s because %q; trace %s", d.Effect, err, c.effect, c.why, trace)
			}
			if d, err := h.Explain(t.Context(), call("test__own", "")); err != nil || d.Effect != policy.Allow {
				t.Errorf("the plugin's own hint is not believed: %+v, %v", d, err)
			}
			reading, _ := catalog(t, h, host.Filter{ReadOnly: true}).Tools(t.Context())
			if got := len(reading) == 2; got != c.trust {
				t.Errorf("%d tools only read", len(reading))
			}
			tools, _ := h.Tools(t.Context())
			at := slices.IndexFunc(tools, func(d *host.Tool) bool { return d.Name == "test__look" })
			if c.effect == policy.Deny { // what is always denied is not listed
				if at >= 0 {
					t.Error("a tool is listed that is always denied")
				}
				return
			}
			look := tools[at]
			if c.trust && look.Hints.ReadOnly == nil || !c.trust && look.Unbelieved.ReadOnly == nil {
				t.Errorf("its hints are lost: %+v, unbelieved %+v", look.Hints, look.Unbelieved)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	rules := must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "no-runs", Source: "config.hcl:7", Effect: policy.Deny, Reason: "it is late"}}}))
	p := echoing()
	e := failed(t, single(t, p, host.Options{Policy: rules}).Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
	diff(t, `test__run was denied by rule "no-runs" of the user layer (config.hcl:7): it is late; nothing was run`,
		e.Message)
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
	sometimes := policy.Rule{Name: "sometimes", Tools: []string{"test__b"}, Effect: policy.Deny,
		When: func(*policy.Query) (policy.Truth, error) { return policy.Yes, nil }}
	h := single(t, echoing(tool("a"), tool("b"), tool("c"), tool("d"), tool("e")), host.Options{Policy: must(policy.New(
		policy.Layer{Name: "user", Rules: []policy.Rule{
			{Name: "a", Tools: []string{"test__a"}, Effect: policy.Deny}, sometimes,
			{Name: "strangers", Callers: []string{"x"}, Tools: []string{"test__c"}, Effect: policy.Allow},
			{Name: "c", Tools: []string{"test__c"}, Effect: policy.Deny},
			{Name: "not-a-reader", Hints: policy.Hints{ReadOnly: sdk.No}, Effect: policy.Deny},
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

// Plan mode denies what does not read. A shell stays listed: its commands may read.
func TestToolsAreListedByMode(t *testing.T) {
	t.Parallel()
	shell := toolWith("exec", func(d *sdk.Tool) { d.Category = "shell" })
	foreign := toolWith("fetch", func(d *sdk.Tool) { d.Hints.ReadOnly, d.ForeignHints = sdk.Yes, true })
	look := toolWith("look", func(d *sdk.Tool) { d.Hints.ReadOnly = sdk.Yes })
	all := []string{"test__exec", "test__fetch", "test__look", "test__run"}
	for mode, want := range map[host.Mode][]string{host.ModeAsk: all, host.ModeAutoEdit: all, host.ModeNeverAsk: all,
		host.ModePlan: {"test__exec", "test__look"}} {
		h := single(t, echoing(shell, foreign, look, writes("run")), host.Options{Mode: mode})
		tools, problems := h.Tools(t.Context())
		if got := names(tools); !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("in mode %s: %v, %v; want %v", mode, got, problems, want)
		}
		if mode == host.ModePlan {
			failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
		}
	}
}

// Catastrophic commands are denied whatever rules, modes and people allow, in every argument that holds a command.
func TestFloor(t *testing.T) {
	t.Parallel()
	allows := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))
	tools := func() *fake {
		shell, other, reader := writes("exec"), writes("run"), tool("explain")
		shell.Category, other.Category = "shell", "terminal"
		reader.Hints = sdk.Hints{ReadOnly: sdk.Yes}
		for _, x := range []*sdk.Tool{&shell, &other, &reader} {
			x.InputSchema = []byte(`{"type":"object"}`)
		}
		return echoing(shell, other, reader)
	}
	for name, c := range map[string]struct {
		tool, arguments string
		denied          bool
	}{
		"a shell":                    {"exec", `{"command":"rm -rf /"}`, true},
		"behind sudo":                {"exec", `{"command":"cd /tmp && sudo rm -rf --no-preserve-root /"}`, true},
		"in a folder":                {"exec", `{"command":"rm -rf *","workdir":"/"}`, true},
		"typed into a shell":         {"exec", `{"command":"bash","stdin":"rm -rf ~"}`, true},
		"typed into another program": {"exec", `{"command":"cat","stdin":"rm -rf ~"}`, false},
		"a script in a language": {"exec", `{"command":"import os\nos.system('rm -rf /')","interpreter":"python3"}`,
			true},
		"a script that prints it":       {"exec", `{"command":"print('rm -rf /')","interpreter":"python3"}`, false},
		"another tool":                  {"run", `{"command":"mkfs.ext4 /dev/sda1"}`, true},
		"another tool, by other names":  {"run", `{"cmd":":(){ :|:& };:"}`, true},
		"another tool, a list of words": {"run", `{"command":["rm","-rf","/"]}`, true},
		"words that are one word":       {"run", `{"command":["echo","rm -rf /"]}`, false},
		"one that only reads":           {"explain", `{"command":"rm -rf /"}`, false},
		"everyday":                      {"exec", `{"command":"rm -rf ./build && echo 'rm -rf /'"}`, false},
		"no command":                    {"run", `{"command":7}`, false},
		"a variable that is given":      {"exec", `{"command":"rm -rf \"$BUILD\"/*"}`, false},
		"one that is not":               {"exec", `{"command":"rm -rf \"$OTHER\"/*"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []host.Mode{host.ModeAsk, host.ModeAutoEdit} {
				a := &asked{answers: []host.Answer{host.Yes(), host.Yes()}}
				given := map[string]host.PluginOptions{"test": {Env: map[string]string{"BUILD": "/tmp/build"}}}
				r := single(t, tools(), host.Options{Policy: allows, Mode: mode, Approver: a, Plugins: given}).Call(t.Context(),
					call("test__"+c.tool, c.arguments))
				if !c.denied {
					succeeded(t, r)
					continue
				}
				e := failed(t, r, sdk.CodeDenied)
				if !strings.Contains(e.Message, `toolhost's own rule "catastrophe"`) || len(a.questions) > 0 {
					t.Errorf("mode %s: asked %d times: %s", mode, len(a.questions), e.Message)
				}
			}
			succeeded(t, single(t, tools(), host.Options{Policy: allows, WithoutFloor: true}).Call(t.Context(),
				call("test__"+c.tool, c.arguments)))
		})
	}
}

func TestReadOnlyLayer(t *testing.T) {
	p, err := policy.New(host.ReadOnlyLayer("plan"))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := new(true), new(false)
	for name, x := range map[string]struct {
		readOnly            *bool
		category, arguments string
		want                policy.Effect
	}{
		"a reader":               {yes, "", `{}`, policy.Allow},
		"a writer":               {no, "", `{}`, policy.Deny},
		"nothing reported":       {nil, "", `{}`, policy.Deny},
		"reading command":        {no, "shell", `{"command":"ls"}`, policy.Allow},
		"other command":          {no, "shell", `{"command":"rm x"}`, policy.Deny},
		"both":                   {no, "shell", `{"command":"ls && rm x"}`, policy.Deny},
		"shell without command":  {no, "shell", `{"script":"ls"}`, policy.Deny},
		"command in another":     {no, "", `{"command":"ls"}`, policy.Deny},
		"command is not a text":  {no, "shell", `{"command":{"a":"ls"}}`, policy.Deny},
		"environment is a list":  {no, "shell", `{"command":"ls","env":["A=b"]}`, policy.Deny},
		"null stands for absent": {no, "shell", `{"command":"ls","env":null,"workdir":null,"stdin":null}`, policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			q := &policy.Query{Tool: "p__t", Plugin: "p", Category: x.category, Hints: policy.Hints{ReadOnly: x.readOnly},
				Arguments: []byte(x.arguments), Workdir: "/project"}
			if d := p.Decide(q); d.Effect != x.want || d.Layer != "plan" {
				t.Errorf("%s by %s/%s: %s", d.Effect, d.Layer, d.Rule, d.Reason)
			}
		})
	}
}

// A mode that asks no one denies what another would ask about.
func TestExplainMode(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"shell": answering(sdk.Text("done"), nil, writes("exec"))},
		host.Options{Approver: agreeing})
	for mode, want := range map[host.Mode]policy.Effect{host.ModeAsk: policy.Ask, host.ModeNeverAsk: policy.Deny,
		host.ModePlan: policy.Deny} {
		check := func(how string, d policy.Decision, err error) {
			if err != nil || d.Effect != want || d.Effect == policy.Deny && !strings.Contains(d.Why(), "asks no one") &&
				mode == host.ModeNeverAsk {
				t.Errorf("%s: in mode %s it is %s (%s), %v", how, mode, d.Effect, d.Why(), err)
			}
		}
		c := host.Call{Tool: "shell__exec"}
		d, err := catalog(t, h, host.Filter{}).ExplainMode(t.Context(), c, mode)
		check("as if", d, err)
		own := catalog(t, newHost(t, map[string]host.Plugin{"shell": answering(sdk.Text("done"), nil, writes("exec"))},
			host.Options{Mode: mode}), host.Filter{})
		d, err = own.Explain(t.Context(), c)
		check("explained", d, err)
		d, _, err = own.Preview(t.Context(), c)
		check("previewed", d, err)
	}
}
