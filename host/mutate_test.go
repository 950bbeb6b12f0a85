package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A recordingPlugin is a plugin that keeps what it was called with.
type recordingPlugin struct {
	*fake
	mu  sync.Mutex
	got []sdk.Request
}

func newRecordingPlugin(tools ...sdk.Tool) *recordingPlugin {
	w := &recordingPlugin{}
	w.fake = calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		r.Attempt, r.Generation = 1, 1
		kept := *r
		kept.Arguments = json.RawMessage(string(r.Arguments))
		w.got = append(w.got, kept)
		return sdk.Text(r.Tool), nil
	}, tools...)
	return w
}

// around is a middleware that changes the call before and after it has run.
func around(change, after func(c *host.Call)) host.Middleware {
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			change(c)
			r, err := next(ctx, c)
			after(c)
			return r, err
		}
	}
}

// Whatever a middleware sets, before and after: the call that ran is the one that was decided on, recorded and
// returned; or nothing ran.
func TestFieldsSetByMiddleware(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changes := map[string]struct {
		change  func(c *host.Call)
		refused string // by which check, otherwise "" and this was run:
		ran     string
	}{
		"nothing":                  {func(*host.Call) {}, "", "a {} cli s1"},
		"another tool":             {func(c *host.Call) { c.Tool = "test__b" }, "", "b {} cli s1"},
		"a tool from an alias":     {func(c *host.Call) { c.Tool, c.Definition = "test__b", nil }, "", "b {} cli s1"},
		"a denied tool":            {func(c *host.Call) { c.Tool = "test__never" }, "E_DENIED", ""},
		"a tool outside":           {func(c *host.Call) { c.Tool = "test__outside" }, "E_TOOL_NOT_IN_CATALOG", ""},
		"a tool that is not there": {func(c *host.Call) { c.Tool = "test__none" }, "E_TOOL_NOT_FOUND", ""},
		"a tool that is asked":     {func(c *host.Call) { c.Tool = "test__write" }, "E_REJECTED", ""},
		"no tool":                  {func(c *host.Call) { c.Tool = "" }, "E_TOOL_NOT_FOUND", ""},
		"no definition":            {func(c *host.Call) { c.Definition = nil }, "", "a {} cli s1"},
		"another definition":       {func(c *host.Call) { d := *c.Definition; c.Definition = &d }, "BadMiddleware", ""},
		"a decision": {func(c *host.Call) { c.Decision = policy.Decision{Effect: policy.Allow} },
			"BadMiddleware", ""},
		"an id": {func(c *host.Call) { c.ID = "other" }, "BadMiddleware", ""},
		"no id": {func(c *host.Call) { c.ID = "" }, "BadMiddleware", ""},
		"arguments": {func(c *host.Call) { c.Arguments = json.RawMessage(`{"x":1}`) }, "",
			`a {"x":1} cli s1`},
		"arguments in place":      {func(c *host.Call) { copy(c.Arguments, "[]") }, "E_TOOL_INVALID_ARGS", ""},
		"no arguments":            {func(c *host.Call) { c.Arguments = nil }, "", "a {} cli s1"},
		"a caller":                {func(c *host.Call) { c.Caller = "sub" }, "", "a {} sub s1"},
		"a caller that is denied": {func(c *host.Call) { c.Caller = "stranger" }, "E_DENIED", ""},
		"a session":               {func(c *host.Call) { c.SessionID = "s2" }, "", "a {} cli s2"},
		"a session of a long name": {func(c *host.Call) { c.SessionID = strings.Repeat("s", 300) }, "E_TOOL_INVALID_ARGS",
			""},
		"a work folder":             {func(c *host.Call) { c.Workdir = dir }, "", "a {} cli s1 in dir"},
		"no work folder":            {func(c *host.Call) { c.Workdir = "" }, "", "a {} cli s1"},
		"a work folder of no place": {func(c *host.Call) { c.Workdir = "x" }, "E_TOOL_INVALID_ARGS", ""},
		"a timeout":                 {func(c *host.Call) { c.Timeout = time.Minute }, "", "a {} cli s1"},
		"no receiver":               {func(c *host.Call) { c.Events = nil }, "", "a {} cli s1"},
		"another call": {func(c *host.Call) { *c = host.Call{ID: c.ID, Tool: "test__outside"} }, "BadMiddleware",
			""},
	}
	for name, c := range changes {
		for when, m := range map[string]host.Middleware{
			"before":    around(c.change, func(*host.Call) {}),
			"in a copy": inCopy(c.change),
			"after":     around(func(*host.Call) {}, c.change),
			"both": around(c.change,
				func(c *host.Call) { c.Tool, c.Arguments, c.ID = "test__lie", json.RawMessage(`"lie"`), "lie" }),
			"and scribble": around(c.change, func(c *host.Call) { copy(c.Arguments, "????????") }),
		} {
			t.Run(when+": "+name, func(t *testing.T) {
				t.Parallel()
				w, log := newRecordingPlugin(tool("a"), tool("b"), tool("never"), writes("write"), tool("outside")), &records{}
				h := single(t, w, host.Options{Audit: log, Middleware: []host.Middleware{m}, Workdir: "/",
					Approver: approveFunc(rejectWithoutReason),
					Policy: must(policy.New(policy.Layer{Name: "user",
						Rules: []policy.Rule{{Name: "never", Tools: []string{"*__never"}, Effect: policy.Deny},
							{Name: "known", Callers: []string{"stranger"}, Effect: policy.Deny}}}))})
				catalog := must(h.Catalog(host.Filter{Exclude: []string{"*__outside"}}))
				r := catalog.Call(t.Context(), host.Call{ID: "id", Tool: "test__a", Caller: "cli", SessionID: "s1"})
				ran, refused := c.ran, c.refused
				if when == "after" {
					ran, refused = "a {} cli s1", ""
				}
				if r.CallID != "id" || r.Tool != "test__a" {
					t.Errorf("the result is that of call %q of %q", r.CallID, r.Tool)
				}
				last := log.all[len(log.all)-1]
				if refused != "" {
					if len(w.got) > 0 || r.Error == nil || string(r.Error.Code) != refused && r.Error.Name != refused ||
						last.Status != "error" || last.Attempts > 0 {
						t.Errorf("ran %d times, error %+v, record %+v", len(w.got), r.Error, last)
					}
					return
				}
				succeeded(t, r)
				got := w.got[0]
				if said := strings.TrimSuffix(fmt.Sprintf("%s %s %s %s in dir", got.Tool, got.Arguments, last.Caller,
					got.SessionID), map[bool]string{false: " in dir"}[got.Workdir == dir]); said != ran || len(w.got) != 1 {
					t.Errorf("%d calls, the last was %q, want %q", len(w.got), said, ran)
				}
				for _, l := range log.all {
					if l.CallID != "id" || l.Tool != "test__"+got.Tool || string(l.Arguments) != string(got.Arguments) ||
						l.SessionID != got.SessionID || l.Workdir != got.Workdir || l.Plugin != "test" {
						t.Errorf("the record says %+v, and %+v ran", l, got)
					}
				}
				if last.Attempts != 1 || last.Effect != "allow" || r.Attempts != 1 || r.Plugin != "test" {
					t.Errorf("record %+v, result %+v", last, r)
				}
			})
		}
	}
}

func rejectWithoutReason(context.Context, *host.ApprovalRequest) (host.Answer, error) {
	return host.No(""), nil
}

// inCopy is a middleware that passes on a copy of its call.
func inCopy(change func(c *host.Call)) host.Middleware {
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			mine := *c
			mine.Arguments = append(json.RawMessage(nil), c.Arguments...)
			change(&mine)
			return next(ctx, &mine)
		}
	}
}

// A middleware that keeps a call and passes it on in place of a later one passes on neither its tool nor its catalog.
func TestMiddlewareCannotPassOnAnEarlierCall(t *testing.T) {
	t.Parallel()
	var kept *host.Call
	m := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if kept != nil {
				return next(ctx, kept)
			}
			earlier := *c
			kept = &earlier
			return next(ctx, c)
		}
	}
	w := newRecordingPlugin(tool("a"), tool("b"))
	h := single(t, w, host.Options{Middleware: []host.Middleware{m}})
	succeeded(t, h.Call(t.Context(), call("test__a", "")))
	catalog := must(h.Catalog(host.Filter{Tools: []string{"test__b"}}))
	if e := failed(t, catalog.Call(t.Context(), call("test__b", "")), sdk.CodeInternal); e.Name != "BadMiddleware" ||
		len(w.got) != 1 {
		t.Errorf("error %+v, %d calls ran", e, len(w.got))
	}
}

// A plugin that cannot be listed is listed once per call, with middleware as without.
func TestMiddlewareCostsNoSecondListing(t *testing.T) {
	t.Parallel()
	p := &fake{list: func(context.Context) ([]sdk.Tool, error) {
		return nil, &sdk.Error{Code: sdk.CodePluginUnavailable, Message: "down"}
	}}
	h := single(t, p, host.Options{Middleware: []host.Middleware{before(func(*host.Call) error { return nil })}})
	failed(t, h.Call(t.Context(), call("test__a", "")), sdk.CodePluginUnavailable)
	if n := p.listed.Load(); n != 1 {
		t.Errorf("listed %d times", n)
	}
}

// overwritten is an argument object whose holder writes into it.
const overwritten = `{"text":"approved"}`

func overwrite(b []byte) { copy(b, strings.Repeat("X", len(b))) }

// The arguments that a person approved run and are recorded byte for byte, also if the holder of a copy writes into it.
func TestApprovedIsWhatRuns(t *testing.T) {
	t.Parallel()
	writers := []string{"nobody", "the embedder", "the approver", "the middleware", "the preview", "the recorder",
		"the policy", "the plugin", "SaveAnswer"}
	for _, who := range writers {
		for _, batch := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in a batch: %t", who, batch), func(t *testing.T) {
				t.Parallel()
				writes := writes("write")
				writes.Previews = true
				given := []byte(overwritten)
				log := &overwritingRecorder{on: who == "the recorder"}
				shown, ran := "", ""
				p := &overwritingPreviewer{fake: calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
					ran = string(r.Arguments)
					if who == "the plugin" {
						overwrite(r.Arguments)
					}
					return sdk.Text("done"), nil
				}, writes), preview: func(r *sdk.Request) {
					if who == "the preview" {
						overwrite(r.Arguments)
					}
				}}
				o := host.Options{Audit: log, Policy: overwritingPolicy{who == "the policy"},
					SaveAnswer: func(r host.Remembered) error {
						if who == "SaveAnswer" {
							overwrite(r.Arguments)
						}
						return nil
					},
					Approver: approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
						shown = string(r.Arguments)
						switch who {
						case "the embedder":
							overwrite(given)
						case "the approver":
							overwrite(r.Arguments)
							overwrite(r.Tool.InputSchema)
							r.Preview.Content[0].Text = "another"
							r.Tool.Name = "test__other"
						}
						return host.Answer{Approved: true, Scope: host.ScopeArguments, Saved: true}, nil
					})}
				if who == "the middleware" {
					var held *host.Call
					o.Middleware = []host.Middleware{before(func(c *host.Call) error { held = c; return nil })}
					approve := o.Approver
					o.Approver = approveFunc(func(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
						a, err := approve.Approve(ctx, r)
						overwrite(held.Arguments)
						held.Tool, held.Arguments, held.Workdir = "test__other", json.RawMessage(`{}`), "/other"
						return a, err
					})
				}
				h := single(t, p, o)
				c := host.Call{Tool: "test__write", Arguments: given, Workdir: t.TempDir()}
				if batch {
					succeeded(t, h.CallAll(t.Context(), []host.Call{c}, host.BatchOptions{})[0])
				} else {
					succeeded(t, h.Call(t.Context(), c))
				}
				if shown != overwritten || ran != overwritten {
					t.Errorf("shown %s, ran %s", shown, ran)
				}
				for _, l := range log.all {
					if l.Tool != "test__write" || string(l.Arguments) != overwritten {
						t.Errorf("record %+v", l)
					}
				}
				if r := h.Remembered(); len(r) != 1 || string(r[0].Arguments) != overwritten {
					t.Errorf("remembered %+v", r)
				}
			})
		}
	}
}

// The later calls of a batch are those given at its start.
func TestBatchKeepsItsArguments(t *testing.T) {
	t.Parallel()
	later := []byte(overwritten)
	w := newRecordingPlugin(writes("write"))
	ran := w.call
	w.call = func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) { overwrite(later); return ran(ctx, r) }
	h := single(t, w, host.Options{Approver: agreeing})
	for _, r := range h.CallAll(t.Context(), []host.Call{{Tool: "test__write"}, {Tool: "test__write", Arguments: later}},
		host.BatchOptions{}) {
		succeeded(t, r)
	}
	diff(t, overwritten, string(w.got[1].Arguments))
}

// Settings are those given to New, and answers those returned, whatever the embedder does with its maps and slices.
func TestOptionsAreCopied(t *testing.T) {
	t.Parallel()
	o := host.Options{
		Tools:   map[string]host.ToolOptions{"test__run": {MaxResultBytes: 4}},
		Plugins: map[string]host.PluginOptions{"test": {Limits: host.Limits{MaxCalls: 2}}},
		Pins:    map[string]map[string]string{"test": nil},
		Remembered: []host.Remembered{{ID: "r", Tool: "test__run", Scope: host.ScopePrefix, Prefix: []string{"ls"},
			Arguments: []byte(overwritten)}},
		Middleware: []host.Middleware{before(func(*host.Call) error { return nil })},
	}
	h := single(t, answering(sdk.Text("longer than that"), nil), o)
	delete(o.Tools, "test__run")
	o.Plugins["test"] = host.PluginOptions{Limits: host.Limits{MaxCalls: 1000}}
	o.Pins["test"] = map[string]string{}
	o.Remembered[0].Prefix[0] = "rm"
	overwrite(o.Remembered[0].Arguments)
	o.Middleware[0] = before(func(*host.Call) error { panic("another") })
	h.Remembered()[0].Prefix[0] = "mv"
	overwrite(h.Remembered()[0].Arguments)
	for range 2 {
		if r := h.Call(t.Context(), call("test__run", "")); !r.Truncated {
			t.Errorf("result %+v", r)
		}
	}
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit)
	if r := h.Remembered()[0]; r.Prefix[0] != "ls" || string(r.Arguments) != overwritten {
		t.Errorf("remembered %+v", r)
	}
}

// An overwritingRecorder is a Recorder that writes into what it was given, such as one that redacts in place.
type overwritingRecorder struct {
	records
	on bool
}

func (s *overwritingRecorder) Append(r audit.Record) error {
	kept := r
	kept.Arguments = json.RawMessage(string(r.Arguments))
	if s.on {
		overwrite(r.Arguments)
	}
	return s.records.Append(kept)
}

type overwritingPolicy struct{ on bool }

func (p overwritingPolicy) Decide(q *policy.Query) policy.Decision {
	if p.on {
		overwrite(q.Arguments)
	}
	return policy.Decision{Effect: policy.Ask}
}

type overwritingPreviewer struct {
	*fake
	preview func(*sdk.Request)
}

func (p *overwritingPreviewer) Preview(_ context.Context, r *sdk.Request) (*sdk.Preview, error) {
	p.preview(r)
	return &sdk.Preview{Content: []sdk.Content{sdk.TextContent("a diff")}}, nil
}
