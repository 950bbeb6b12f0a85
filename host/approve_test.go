package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// asked is an Approver that gives the answers one after the other, repeats the last, and records the questions.
type asked struct {
	answers []host.Answer
	err     error

	mu        sync.Mutex
	questions []*host.ApprovalRequest
}

func (a *asked) Approve(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions = append(a.questions, r)
	if len(a.answers) == 0 {
		return host.Answer{}, a.err
	}
	return a.answers[min(len(a.questions), len(a.answers))-1], a.err
}

type approveFunc func(context.Context, *host.ApprovalRequest) (host.Answer, error)

func (f approveFunc) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	return f(ctx, r)
}

// writes is the definition of a tool that needs approval.
func writes(name string) sdk.Tool {
	t := tool(name)
	t.Hints = sdk.Hints{}
	return t
}

func echoing(tools ...sdk.Tool) *fake {
	return calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(string(r.Arguments)), nil
	}, tools...)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer host.Answer
		err    error
		code   sdk.Code
		words  []string
	}{
		"yes": {answer: host.Yes()},
		"no": {answer: host.Answer{}, code: sdk.CodeRejected,
			words: []string{"the user rejected test__run; nothing was run"}},
		"no with a reason": {answer: host.No("use the other file"), code: sdk.CodeRejected,
			words: []string{"rejected test__run: use the other file;"}},
		"an error": {answer: host.Yes(), err: errors.New("the window was closed"),
			code: sdk.CodeApprovalUnavailable, words: []string{"the window was closed", "nothing was run"}},
		"a coded error": {err: &sdk.Error{Code: sdk.CodeApprovalTimeout, Message: "too late"},
			code: sdk.CodeApprovalTimeout, words: []string{"too late"}},
		"a foreign code": {answer: host.Yes(), err: &sdk.Error{Code: sdk.CodeTool, Message: "odd"},
			code: sdk.CodeApprovalUnavailable, words: []string{"odd"}},
		"an unknown scope": {answer: host.Always("everything"), code: sdk.CodeApprovalUnavailable,
			words: []string{`scope "everything"`}},
		"a missing prefix": {answer: host.Always(host.ScopePrefix), code: sdk.CodeApprovalUnavailable,
			words: []string{`scope "prefix"`}},
		"nowhere to save": {answer: host.Answer{Approved: true, Scope: host.ScopeTool, Saved: true},
			code: sdk.CodeApprovalUnavailable, words: []string{"no place to save"}},
		"arguments that were shown": {answer: host.Answer{Approved: true, Arguments: json.RawMessage(`{"a":1}`)}},
		"arguments, then yes":       {answer: host.Answer{Approved: true, Arguments: json.RawMessage(`{"a":2}`)}},
		"arguments without yes": {answer: host.Answer{Arguments: json.RawMessage(`{"a":2}`)}, code: sdk.CodeRejected,
			words: []string{"changed 20 times"}},
		"arguments of no use": {answer: host.Answer{Arguments: json.RawMessage(`[]`)}, code: sdk.CodeRejected,
			words: []string{"changed 20 times"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := echoing(writes("run"))
			h := single(t, p, host.Options{Approver: &asked{answers: []host.Answer{c.answer}, err: c.err}})
			r := h.Call(t.Context(), call("test__run", `{"a":1}`))
			if c.code == "" {
				succeeded(t, r)
				return
			}
			e := failed(t, r, c.code)
			for _, w := range c.words {
				if !strings.Contains(e.Message, w) {
					t.Errorf("%q lacks %q", e.Message, w)
				}
			}
			if n := p.called.Load(); n != 0 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

func TestNoApprover(t *testing.T) {
	t.Parallel()
	p := echoing(writes("run"))
	e := failed(t, single(t, p, host.Options{}).Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
	if e.Suggestion == "" || p.called.Load() != 0 {
		t.Errorf("suggestion %q, %d calls", e.Suggestion, p.called.Load())
	}
}

// Where the plugin itself asks, no one is advised to write a rule, which would not help.
func TestNoApproverForAPreview(t *testing.T) {
	t.Parallel()
	allows := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "r", Effect: policy.Allow}}}))
	for rule, p := range map[bool]host.Policy{true: nil, false: allows} {
		plugin := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
			return &sdk.Preview{Effect: "ask", Reason: "it is far away", UnlessAllowed: rule}, nil
		})
		e := failed(t, single(t, plugin, host.Options{Policy: p}).Call(t.Context(), call("test__run", "")),
			sdk.CodeApprovalUnavailable)
		if strings.Contains(e.Suggestion, "by a rule") != rule || strings.Contains(e.Suggestion, "its README") == rule {
			t.Errorf("unless allowed %t: %s", rule, e.Suggestion)
		}
	}
}

func TestApproverSeesWhatRuns(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{host.Yes()}}
	h := single(t, echoing(writes("run")), host.Options{Approver: a})
	c := call("test__run", `{"b" : 1e400, "a":"\u00e9é"}`)
	c.Caller, c.SessionID = "agent-1", "s"
	r := h.Call(t.Context(), c)
	succeeded(t, r)
	q := a.questions[0]
	if string(q.Arguments) != r.Text() || q.Caller != "agent-1" || q.SessionID != "s" || q.Tool.Name != "test__run" ||
		q.CallID != r.CallID {
		t.Errorf("asked about %s of %+v, ran %s", q.Arguments, q, r.Text())
	}
	if q.Decision.Effect != policy.Ask || q.Decision.Layer != policy.ByHints || q.Expires.Before(time.Now()) {
		t.Errorf("decision %+v, expires %s", q.Decision, q.Expires)
	}
}

// The approver has a copy: changing it changes nothing that runs.
func TestApproverCannotChangeBytes(t *testing.T) {
	t.Parallel()
	h := single(t, echoing(writes("run")),
		host.Options{Approver: approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
			copy(r.Arguments, `{"a":9}`)
			return host.Yes(), nil
		})})
	if r := h.Call(t.Context(), call("test__run", `{"a":1}`)); r.Text() != `{"a":1}` {
		t.Errorf("ran %s", r.Text())
	}
}

func FuzzApprovedBytes(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a" : 1.0e+5}`, `{"a":"\ud83d\ude00\u0000"}`, `{"é":"é"}`, "\t{\"a\":[1,{}]}\n",
		``} {
		f.Add([]byte(seed))
	}
	a := &asked{answers: []host.Answer{host.Yes()}}
	p := sdk.New("echo", "1.0.0")
	p.AddRawTool(writes("echo"), handlers["echo"])
	h := single(f, startIn(f, p), host.Options{Approver: a, MaxResultBytes: sdk.MaxResult})
	f.Fuzz(func(t *testing.T, arguments []byte) {
		a.questions = nil
		r := h.Call(t.Context(), host.Call{Tool: "test__echo", Arguments: arguments})
		switch {
		case r.Error == nil && (len(a.questions) != 1 || string(a.questions[0].Arguments) != r.Text()):
			t.Errorf("asked about %+v, ran %q", a.questions, r.Text())
		case r.Error != nil && r.Error.Code != sdk.CodeInvalidArgs:
			t.Error(r.Error)
		}
	})
}

func TestEditedArgumentsAreCheckedAndAskedAgain(t *testing.T) {
	t.Parallel()
	strict := writes("strict")
	strict.InputSchema = json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`)
	edit := func(s string) host.Answer { return host.Answer{Arguments: json.RawMessage(s)} }
	deny := must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "no-secrets", Effect: policy.Deny, Reason: "it is secret",
			When: func(q *policy.Query) (policy.Truth, error) {
				if strings.Contains(string(q.Argument("path")), "secret") {
					return policy.Yes, nil
				}
				return policy.No, nil
			}}}}))
	cases := map[string]struct {
		answers []host.Answer
		code    sdk.Code
		asked   int
		ran     string
	}{
		"then yes":       {[]host.Answer{edit(`{"path":"b"}`), host.Yes()}, "", 2, `{"path":"b"}`},
		"then no":        {[]host.Answer{edit(`{"path":"b"}`), host.No("")}, sdk.CodeRejected, 2, ""},
		"does not fit":   {[]host.Answer{edit(`{"path":7}`), host.Yes()}, "", 2, `{"path":"a"}`},
		"is not JSON":    {[]host.Answer{edit(`{"path":`), edit(`{"path":"b"}`), host.Yes()}, "", 3, `{"path":"b"}`},
		"denied by rule": {[]host.Answer{edit(`{"path":"secret"}`), host.Yes()}, sdk.CodeDenied, 1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{answers: c.answers}
			r := single(t, echoing(strict), host.Options{Approver: a, Policy: deny}).Call(t.Context(),
				call("test__strict", `{"path":"a"}`))
			if c.code != "" {
				failed(t, r, c.code)
			}
			if r.Text() != c.ran && c.code == "" || len(a.questions) != c.asked {
				t.Errorf("ran %s, asked %d times", r.Text(), len(a.questions))
			}
			if name == "does not fit" && !strings.Contains(a.questions[1].Problem, "path: must be a string") {
				t.Errorf("the person sees %q", a.questions[1].Problem)
			}
		})
	}
}

func TestApproverWhoNeverAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := single(t, echoing(writes("run")),
			host.Options{ApprovalTimeout: time.Minute,
				Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
					<-release // ignores its context
					return host.Yes(), nil
				})})
		began := time.Now()
		e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalTimeout)
		if took := time.Since(began); took != time.Minute+time.Second || !e.Retryable {
			t.Errorf("after %s: %+v", took, e)
		}
		// it has not returned from the first question
		failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalTimeout)
		close(release)
		synctest.Wait()
		succeeded(t, h.Call(t.Context(), call("test__run", "")))
	})
}

func TestApproverWhoDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("oh") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := single(t, echoing(writes("run")),
					host.Options{Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
						end()
						return host.Yes(), nil
					})})
				began := time.Now()
				failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable)
				failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeApprovalUnavailable) // the turn was released
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// At the end of its time a question has one end: either the answer counts, for the call and later ones, or for nothing.
func TestAnswersAtTheLastMoment(t *testing.T) {
	for late, counts := range map[time.Duration]bool{-time.Second: true, 0: true, 500 * time.Millisecond: true,
		2 * time.Second: false} {
		t.Run(late.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := single(t, echoing(writes("run")),
					host.Options{ApprovalTimeout: time.Minute,
						Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
							time.Sleep(time.Minute + late)
							return host.Always(host.ScopeTool), nil
						})})
				r := h.Call(t.Context(), call("test__run", ""))
				time.Sleep(time.Minute)
				if counts {
					succeeded(t, r)
				} else {
					failed(t, r, sdk.CodeApprovalTimeout)
				}
				if n := len(h.Remembered()); (n == 1) != counts {
					t.Errorf("%d approvals are remembered", n)
				}
			})
		})
	}
}

func TestCallerGivesUpWhileAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := single(t, echoing(writes("run")),
		host.Options{Approver: approveFunc(func(asking context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
			cancel()
			<-asking.Done()
			return host.Yes(), nil // too late
		})})
	if e := failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled); !strings.Contains(e.Message, "while a person") {
		t.Error(e.Message)
	}
	if e := failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled); !strings.Contains(e.Message, "before a person") {
		t.Error("of a call that had ended before: " + e.Message)
	}
}

func TestWaitingForAPersonIsNotTheToolsTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := single(t, calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			deadline, _ := ctx.Deadline()
			return sdk.Text(time.Until(deadline).String()), nil
		}, writes("run")), host.Options{Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer,
			error) {
			time.Sleep(5 * time.Minute)
			return host.Yes(), nil
		})})
		c := call("test__run", "")
		c.Timeout = time.Second
		if r := h.Call(t.Context(), c); r.Text() != "1s" {
			t.Errorf("the tool had %s", r.Text())
		}
	})
}

func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int64
	h := single(t, echoing(writes("run")),
		host.Options{Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			return host.Yes(), nil
		})})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { succeeded(t, h.Call(t.Context(), call("test__run", fmt.Sprintf(`{"i":%d}`, i)))) })
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d questions were open at once", most.Load())
	}
}

// An automatic approver answers calls of one session at the same time, and leaves the others to a person.
func TestAutomaticApprover(t *testing.T) {
	t.Parallel()
	const calls = 8
	var together sync.WaitGroup
	together.Add(calls)
	a := &automatic{atOnce: func() { together.Done(); together.Wait() }}
	h := single(t, echoing(writes("run")), host.Options{Approver: a})
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() { succeeded(t, h.Call(t.Context(), call("test__run", fmt.Sprintf(`{"i":%d}`, i)))) })
	}
	all.Wait()
	if len(a.questions) != 0 {
		t.Errorf("a person was asked %d times", len(a.questions))
	}
	a.atOnce = func() { panic("oh") }
	failed(t, h.Call(t.Context(), call("test__run", "{}")), sdk.CodeApprovalUnavailable)
	a.answers = []host.Answer{host.No("not this one")}
	r := single(t, echoing(writes("run")), host.Options{Approver: a, Policy: alwaysAsking(t)}).Call(t.Context(),
		call("test__run", `{}`))
	failed(t, r, sdk.CodeRejected)
	if len(a.questions) != 1 {
		t.Errorf("a person was asked %d times, want once", len(a.questions))
	}
}

type automatic struct {
	asked
	atOnce func()
}

func (a *automatic) ApproveAtOnce(r *host.ApprovalRequest) (host.Answer, bool) {
	if r.Fresh() {
		return host.Answer{}, false
	}
	a.atOnce()
	return host.Yes(), true
}

func TestModes(t *testing.T) {
	t.Parallel()
	reads, edits := tool("look"), writes("change")
	edits.Category = "edit"
	askAlways := policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "careful", Effect: policy.Ask, Reason: "be careful"}}}
	allowAll := policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}
	cases := []struct {
		mode  host.Mode
		layer policy.Layer
		tool  string
		code  sdk.Code
		asked int
	}{
		{host.ModeAsk, policy.Layer{}, "look", "", 0},
		{host.ModeAsk, policy.Layer{}, "change", "", 1},
		{host.ModeAutoEdit, policy.Layer{}, "change", "", 0},
		{host.ModeAutoEdit, askAlways, "change", "", 1},
		{host.ModeAutoEdit, policy.Layer{}, "other", "", 1},
		{host.ModePlan, policy.Layer{}, "look", "", 0},
		{host.ModePlan, policy.Layer{}, "change", sdk.CodeDenied, 0},
		{host.ModePlan, allowAll, "change", sdk.CodeDenied, 0},
		{host.ModePlan, askAlways, "look", sdk.CodeDenied, 0},
		{host.ModeNeverAsk, policy.Layer{}, "look", "", 0},
		{host.ModeNeverAsk, policy.Layer{}, "change", sdk.CodeDenied, 0},
		{host.ModeNeverAsk, allowAll, "change", "", 0},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.mode, " ", c.layer.Name, " ", c.tool), func(t *testing.T) {
			t.Parallel()
			a := &asked{answers: []host.Answer{host.Yes()}}
			h := single(t, echoing(reads, edits, writes("other")),
				host.Options{Mode: c.mode, Policy: must(policy.New(c.layer)), Approver: a})
			r := h.Call(t.Context(), call("test__"+c.tool, ""))
			if c.code != "" {
				failed(t, r, c.code)
			} else {
				succeeded(t, r)
			}
			if len(a.questions) != c.asked {
				t.Errorf("asked %d times", len(a.questions))
			}
		})
	}
	if _, err := host.New(nil, host.Options{Mode: "yolo"}); err == nil || !strings.Contains(err.Error(), "auto_edit") {
		t.Errorf("an unknown mode: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// agreeing approves everything.
var agreeing = approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) { return host.Yes(), nil })

func TestMapApprover(t *testing.T) {
	t.Parallel()
	yes := host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) { return host.Yes(), nil })
	no := host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) { return host.No(""), nil })
	for name, c := range map[string]struct {
		approvers host.MapApprover
		code      sdk.Code
	}{
		"by tool":   {host.MapApprover{"test__run": yes, "test": no, "*": no}, ""},
		"by plugin": {host.MapApprover{"other__run": no, "test": yes, "*": no}, ""},
		"by star":   {host.MapApprover{"other": no, "*": yes}, ""},
		"at once":   {host.MapApprover{"test": &automatic{atOnce: func() {}}}, ""},
		"by nobody": {host.MapApprover{"other": yes}, sdk.CodeApprovalUnavailable},
	} {
		r := single(t, echoing(writes("run")), host.Options{Approver: c.approvers}).Call(t.Context(), call("test__run", ""))
		if sdk.CodeOf(asError(r)) != c.code {
			t.Errorf("%s: %v", name, r.Error)
		}
	}
}

// asError is the error of a result, nil when it has none.
func asError(r *host.Result) error {
	if r.Error == nil {
		return nil
	}
	return r.Error
}

// A receiver of events that panics during a question releases the turn.
func TestPanicBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	h := single(t, echoing(writes("run")), host.Options{Approver: agreeing})
	c := call("test__run", "")
	c.Events = func(sdk.Event) { panic("oh") }
	failed(t, h.Call(t.Context(), c), sdk.CodeInternal)
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
}

// An approval expires: a call that waited too long for its slot does not run on it.
func TestYesExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for wait, code := range map[time.Duration]sdk.Code{time.Minute: "", 3 * time.Minute: sdk.CodeApprovalTimeout} {
			p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				time.Sleep(wait)
				return sdk.Text(""), nil
			}, writes("run"))
			o := onTool(host.Limits{Concurrency: 1})
			o.Approver, o.DefaultTimeout = agreeing, time.Hour
			h := single(t, p, o)
			var first sync.WaitGroup
			first.Go(func() { succeeded(t, h.Call(t.Context(), call("test__run", ""))) })
			synctest.Wait()
			if r := h.Call(t.Context(), call("test__run", "")); sdk.CodeOf(asError(r)) != code {
				t.Errorf("after %s: %v", wait, r.Error)
			}
			first.Wait()
		}
	})
}

type swapped func(*policy.Query) policy.Decision

func (s swapped) Decide(q *policy.Query) policy.Decision { return s(q) }

func alwaysAsking(t *testing.T) host.Policy {
	t.Helper()
	p, err := policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "fresh", Effect: policy.AlwaysAsk, Reason: "a person decides each time"}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In every mode, and with every approver, the call runs only if a person approves it.
func TestAlwaysAskIsAskedEachTime(t *testing.T) {
	t.Parallel()
	edit := writes("run")
	edit.Category = "edit"
	for mode, code := range map[host.Mode]sdk.Code{host.ModeAsk: "", host.ModeAutoEdit: "", host.ModePlan: sdk.CodeDenied,
		host.ModeNeverAsk: sdk.CodeDenied} {
		for _, answer := range []host.Answer{host.Yes(), host.Always(host.ScopeTool), host.Always(host.ScopeArguments),
			host.Always(host.ScopePrefix)} {
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
				t.Errorf("mode %s, answer %+v: asked %d times, want %d; remembered %v", mode, answer, len(a.questions), want,
					h.Remembered())
			}
			if len(a.questions) > 0 && !a.questions[0].Fresh() {
				t.Errorf("mode %s: the request does not say that it is always asked", mode)
			}
		}
	}
}

// Approvals remembered earlier do not cover it.
func TestRememberedAnswersDoNotStandForAlwaysAsk(t *testing.T) {
	t.Parallel()
	shell := writes("exec")
	shell.Category = "shell"
	var rules host.Policy = must(policy.New())
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool), host.Always(host.ScopePrefix),
		host.Always(host.ScopeArguments)}}
	decide := swapped(func(q *policy.Query) policy.Decision { return rules.Decide(q) })
	h := single(t, echoing(shell), host.Options{Approver: a, Policy: decide})
	push := call("test__exec", `{"command":"git push"}`)
	succeeded(t, h.Call(t.Context(), push))
	succeeded(t, h.Call(t.Context(), push))
	if len(a.questions) != 1 {
		t.Fatalf("asked %d times before the rule", len(a.questions))
	}
	rules = alwaysAsking(t)
	a.answers = nil // which is a rejection
	failed(t, h.Call(t.Context(), push), sdk.CodeRejected)
	if len(a.questions) != 2 || a.questions[1].Prefix != nil {
		t.Errorf("asked %d times, the last time with the prefix %q", len(a.questions), a.questions[len(a.questions)-1].Prefix)
	}
}

// A preview may require it too, and a client that cannot ask a person gets an error that says so.
func TestAlwaysAskOfAPreviewAndWithoutAPerson(t *testing.T) {
	t.Parallel()
	allows := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))
	for name, approver := range map[string]host.Approver{
		"no approver": nil,
		"one that cannot reach a person": host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer,
			error) {
			return host.Answer{}, host.ErrNoApprover
		}),
	} {
		p := previewing(t, writes("run"), func(context.Context) (*sdk.Preview, error) {
			return &sdk.Preview{Effect: "always_ask", Reason: "it deletes a table"}, nil
		})
		h := single(t, p, host.Options{Policy: allows, Approver: approver,
			Remembered: []host.Remembered{{ID: "1", Tool: "test__run", Scope: host.ScopeTool, Saved: true}}})
		e := failed(t, h.Call(t.Context(), call("test__run", `{}`)), sdk.CodeApprovalUnavailable)
		if !strings.Contains(e.Message, "it deletes a table") || !strings.Contains(e.Message, "no one can be asked here") {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}
