package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func startIn(t testing.TB, p *sdk.Plugin) *sdktest.Plugin {
	t.Helper()
	return sdktest.Start(t, p)
}

// previewing is a plugin whose one tool returns this preview.
func previewing(t testing.TB, definition sdk.Tool, f func(context.Context) (*sdk.Preview, error)) *sdktest.Plugin {
	t.Helper()
	p := sdk.New("previewing", "1.0.0")
	type in struct {
		Path string `json:"path,omitempty"`
	}
	sdk.AddTool(p, definition, func(_ context.Context, r *sdk.Request, _ in) (*sdk.Result, error) {
		return sdk.Text(string(r.Arguments)), nil
	})
	sdk.AddPreview(p, definition.Name,
		func(ctx context.Context, _ *sdk.Request, _ in) (*sdk.Preview, error) { return f(ctx) })
	return startIn(t, p)
}

func TestPreviewOnlyTightens(t *testing.T) {
	t.Parallel()
	effects := []policy.Effect{policy.Allow, policy.Ask, policy.Deny}
	for _, rule := range effects {
		for _, said := range append(effects, "", "please") {
			t.Run(string(rule)+" and "+string(said), func(t *testing.T) {
				t.Parallel()
				least := said
				if said == "please" { // no effect counts as ask
					least = policy.Ask
				}
				want := policy.Strictest(rule, least)
				a := &asked{answers: []host.Answer{host.Yes()}}
				p := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
					return &sdk.Preview{Content: []sdk.Content{sdk.TextContent("what it would do")}, Effect: string(said),
						Reason: "the file is new"}, nil
				})
				h := single(t, p, host.Options{Approver: a,
					Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "r", Effect: rule}}}))})
				r := h.Call(t.Context(), call("test__run", ""))
				switch want {
				case policy.Deny:
					failed(t, r, sdk.CodeDenied)
				default:
					succeeded(t, r)
				}
				if got := len(a.questions); (want == policy.Ask) != (got == 1) {
					t.Fatalf("asked %d times", got)
				}
				if want == policy.Ask && a.questions[0].Preview.Content[0].Text != "what it would do" {
					t.Errorf("the approver saw %+v", a.questions[0].Preview)
				}
			})
		}
	}
}

// No person is asked about a call that cannot run.
func TestPreviewThatFails(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{host.Yes()}}
	p := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
		return nil, &sdk.Error{Name: "MatchNotFound", Message: "not there"}
	})
	e := failed(t, single(t, p, host.Options{Approver: a}).Call(t.Context(), call("test__run", "")), sdk.CodeTool)
	if e.Name != "MatchNotFound" || len(a.questions) != 0 {
		t.Errorf("%+v, asked %d times", e, len(a.questions))
	}
}

// The content that the plugin returns with the error reaches the model, as if the call had failed.
func TestPreviewThatFailsWithAText(t *testing.T) {
	t.Parallel()
	p := previewing(t, tool("run"), func(context.Context) (*sdk.Preview, error) {
		return &sdk.Preview{Content: sdk.Text("line 7 has another word").Content},
			&sdk.Error{Name: "MatchNotFound", Message: "not there"}
	})
	r := single(t, p, host.Options{}).Call(t.Context(), call("test__run", ""))
	if r.Error == nil || r.Error.Name != "MatchNotFound" || r.Text() != "line 7 has another word\nnot there" {
		t.Errorf("%+v reads %q", r.Error, r.Text())
	}
}

func TestPreviewThatTakesTooLong(t *testing.T) {
	t.Parallel()
	p := previewing(t, tool("run"), func(ctx context.Context) (*sdk.Preview, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := call("test__run", "")
	c.Timeout = 50 * time.Millisecond
	e := failed(t, single(t, p, host.Options{}).Call(t.Context(), c), sdk.CodeTimeout)
	if !strings.Contains(e.Message, "nothing was run") {
		t.Error(e.Message)
	}
}

// A slowPreviewer takes 20 seconds to say what a call would do.
type slowPreviewer struct{ *fake }

func (slowPreviewer) Preview(context.Context, *sdk.Request) (*sdk.Preview, error) {
	time.Sleep(20 * time.Second)
	return &sdk.Preview{}, nil
}

// Preview and call share one timeout, and a person's time is not counted.
func TestPreviewAndCallHaveOneTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			<-ctx.Done()
			return nil, sdk.EndedError(ctx)
		}, toolWith("run", func(d *sdk.Tool) { d.Previews = true }))
		slow := host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
			time.Sleep(time.Minute)
			return host.Yes(), nil
		})
		h := single(t, slowPreviewer{p},
			host.Options{DefaultTimeout: 30 * time.Second, Approver: slow,
				Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "r", Effect: policy.Ask}}}))})
		r := h.Call(t.Context(), call("test__run", ""))
		e := failed(t, r, sdk.CodeTimeout)
		if r.Duration != 90*time.Second || !strings.Contains(e.Message, "its limit of 30s") {
			t.Errorf("after %s: %s", r.Duration, e.Message)
		}
	})
}

// A caller who cancels during a preview knows that nothing was run.
func TestPreviewCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := previewing(t, writes("run"), func(ctx context.Context) (*sdk.Preview, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	h := single(t, p, host.Options{Approver: &asked{}})
	r := h.Call(ctx, call("test__run", ""))
	if e := failed(t, r, sdk.CodeCanceled); !strings.HasSuffix(e.Message, "nothing was run") {
		t.Errorf("%s", e.Message)
	}
}

// An effect of a preview that holds unless a rule allows the call applies under the hints and in auto_edit, and not
// where a rule allows it.
func TestPreviewUnlessAllowed(t *testing.T) {
	t.Parallel()
	edit := writes("run")
	edit.Category = "edit"
	rule := func(e policy.Effect) host.Policy {
		return must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "r", Effect: e}}}))
	}
	for name, c := range map[string]struct {
		mode   host.Mode
		policy host.Policy
		asked  bool
	}{
		"by hints":               {host.ModeAsk, nil, true},
		"in auto_edit":           {host.ModeAutoEdit, nil, true},
		"a rule allows":          {host.ModeAsk, rule(policy.Allow), false},
		"a rule allows, in auto": {host.ModeAutoEdit, rule(policy.Allow), false},
		"a rule asks":            {host.ModeAutoEdit, rule(policy.Ask), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := previewing(t, edit, func(context.Context) (*sdk.Preview, error) {
				return &sdk.Preview{Effect: "ask", Reason: "make runs it", UnlessAllowed: true}, nil
			})
			a := &asked{answers: []host.Answer{host.Yes()}}
			succeeded(t, single(t, p, host.Options{Approver: a, Mode: c.mode, Policy: c.policy}).Call(t.Context(),
				call("test__run", `{}`)))
			if (len(a.questions) == 1) != c.asked {
				t.Errorf("asked %d times", len(a.questions))
			}
		})
	}
}

// Catalog.Preview decides as a call would, also where an approval is remembered.
func TestPreviewDecidesAsACall(t *testing.T) {
	t.Parallel()
	for scope, want := range map[host.Scope]policy.Effect{host.ScopeArguments: policy.Allow, host.ScopeTool: policy.Ask} {
		for _, unlessAllowed := range []bool{false, true} {
			p := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
				return &sdk.Preview{Effect: "ask", Reason: "it is run by others", UnlessAllowed: unlessAllowed}, nil
			})
			a := &asked{answers: []host.Answer{host.Always(scope), host.No("")}}
			h := single(t, p, host.Options{Approver: a})
			succeeded(t, h.Call(t.Context(), call("test__run", `{}`)))
			d, _, err := catalog(t, h, host.Filter{}).Preview(t.Context(), call("test__run", `{}`))
			if r := h.Call(t.Context(), call("test__run", `{}`)); err != nil || d.Effect != want ||
				(r.Error == nil) != (want == policy.Allow) {
				t.Errorf("%s, unless allowed %t: the preview says %s, %v; the call %v", scope, unlessAllowed, d.Effect, err, r.Error)
			}
		}
	}
}
