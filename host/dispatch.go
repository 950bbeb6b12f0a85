package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/idlemem"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// start is the last check before the plugin receives the call.
func (h *snapshot) start(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if h.base.Err() != nil { // Close ends calls one after the other, so this call may have got the slot of another
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host was closed before the call began; nothing was run")
		}
		if h.current.Load() != h {
			return nil, errReplaced
		}
		if ctx.Err() != nil {
			return nil, notBegun(ctx, "before it began")
		}
		if e := c.begin(); e != nil {
			return nil, e
		}
		return next(ctx, c)
	}
}

// timeout is the caller's, otherwise the user's setting, otherwise the tool's, otherwise the host's.
func (h *snapshot) timeout(c *Call) time.Duration {
	return min(MaxTimeout, firstPositive(c.Timeout, h.options.Tools[c.Tool].Timeout,
		h.options.Plugins[c.Definition.Plugin].Timeout, c.Definition.Timeout, h.options.DefaultTimeout))
}

// deadline sets the call's deadline, which starts here: its timeout, less the time of its preview and of what
// the caller did before.
func (h *snapshot) deadline(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		timeout := h.timeout(c)
		limited := &callctx.Context{}
		limited.Init(ctx, time.Now().Add(timeout-c.Waited-c.previewTime))
		defer limited.Cancel()
		result, err := next(limited, c)
		own := failure(result, err)
		if own == nil || own.Code != sdk.CodeTimeout || !callctx.DeadlinePassed(limited) || ctx.Err() != nil {
			return result, err
		}
		e, shown := sdk.EndedError(limited), shownLimit(timeout)
		if err == nil && own.Message != e.Message && own.Message != "the call was canceled" { // the tool knows more
			if !strings.Contains(own.Message, shown.String()) {
				result, own = new(*result), new(*own)
				own.Message += "; the limit of the call is " + shown.String()
				result.Error = own
			}
			return result, nil
		}
		e.Message = c.Tool + " took longer than its limit of " + shown.String() + " and was stopped"
		if c.outcome == sdk.OutcomeNotSent {
			e.Message = c.Tool + " could not begin within its limit of " + shown.String() + "; nothing was run"
		} else if err == nil { // a tool that was stopped has not said what it did
			c.outcome = sdk.OutcomeUnknown
		}
		e.Details = sdk.Details(map[string]int64{"timeout_ms": shown.Milliseconds()})
		if err == nil { // the tool noticed it first, and may have returned what it has so far
			result = new(*result)
			result.Error = e
			return result, nil
		}
		return result, e
	}
}

// shownLimit has four digits of a limit, three of one below a second: a caller may have taken some of the time that its
// user gave, such as to list the tools.
func shownLimit(limit time.Duration) time.Duration {
	digit, most := time.Duration(1), time.Duration(10_000)
	if limit < time.Second {
		most = 1000
	}
	for limit/digit >= most {
		digit *= 10
	}
	return limit.Round(digit)
}

// dispatch is the end of the chain: it calls the plugin.
func (h *snapshot) dispatch(ctx context.Context, c *Call) (*sdk.Result, error) {
	r, err := h.toRequest(c)
	if err := errors.Join(err, c.checkApprovalAge()); err != nil {
		return nil, err
	}
	r.RunID, r.Attempt, r.Events = h.newRunID(), 1, h.forwardEvents(ctx, c)
	c.request = r
	r.Services = (*services)(c)
	c.setStatus(Calling)
	if c.slots.plugin != nil {
		c.slots.plugin.Use() // of the rates
	}
	before := c.outcome
	c.outcome = sdk.OutcomeUnknown // in case the plugin panics
	if isBuiltIn(c.Definition.plugin) {
		ctx = context.WithValue(ctx, catalogKey{}, c.catalog)
	}
	ctx, calling := c.enter(ctx, stageCall)
	r.TraceParent, r.TraceState = traceParent(ctx)
	result, err := c.Definition.plugin.Call(ctx, r)
	if result == nil && asError(err) == nil {
		e := &sdk.Error{Code: sdk.CodeTool, Name: "NoResult", Outcome: sdk.OutcomeUnknown}
		e.Message, e.Suggestion = wire.NoResult(c.Tool)
		err = e
	}
	if calling.of != nil {
		calling.end(failure(result, err), r.StartTime)
	}
	// The event of the change may not have arrived yet.
	if e := asError(err); e != nil && e.Name == client.NameListedOtherwise {
		if l := h.current.Load().listing(c.Definition.Plugin); l != nil && l.load().tools[c.Tool] == c.Definition {
			l.drop()
			h.reportChanged(l.name)
		}
	}
	c.outcome = moreRestrictive(before, outcomeOf(result, err))
	return c.checkOutput(checkResult(result, err))
}

// newRunID returns a run id from a counter; that costs a tenth of generating a random id.
func (h *Host) newRunID() string {
	n := h.runs.Add(1)
	if n == ballastCalls {
		h.addBallast()
	}
	return h.runPrefix + strconv.FormatUint(n, 36)
}

// toRequest makes the plugin's request, with its own copy of the arguments if it might change them.
func (h *snapshot) toRequest(c *Call) (*sdk.Request, error) {
	if !filepath.IsAbs(c.Workdir) {
		return nil, fail(sdk.CodeInvalidArgs, "BadWorkdir", "the work folder %.100q is not an absolute path; nothing was run",
			c.Workdir)
	}
	return &sdk.Request{CallID: c.ID, SessionID: c.SessionID, Workdir: c.Workdir, SingleCall: h.options.SingleCall,
		Tool: c.Definition.declared.Name, Listed: c.Definition.declared,
		Arguments: argumentsFor(c.Definition.plugin, c.Arguments), LeaveOut: c.leaveOut, Roots: c.roots,
		Large: (*largeParts)(c), MaxLarge: max(h.options.MaxLargeResultBytes, 0), Meta: c.Meta,
		Capabilities: h.capabilities(c), InputResponses: c.InputResponses, RequestState: c.RequestState}, nil
}

// argumentsFor returns a copy of arguments for a Plugin or a Recorder that might change them.
func argumentsFor(user any, arguments json.RawMessage) json.RawMessage {
	if _, leaves := user.(interface{ LeavesArguments() }); leaves {
		return arguments
	}
	return bytes.Clone(arguments)
}

const (
	maxLogText = 4000     // characters kept of a plugin's log line, and of its attributes
	maxLogRate = 64 << 10 // bytes a second that reach the log, of each call; as many as of what its plugin prints
)

// forwardEvents returns the receiver of the plugin's events: they go to the caller, and log lines also to the log.
func (h *snapshot) forwardEvents(ctx context.Context, c *Call) func(sdk.Event) {
	return func(e sdk.Event) {
		if e.Type == sdk.EventLog {
			h.logEvent(ctx, c, e)
		}
		c.forward(e)
	}
}

// logEvent writes a plugin's line to the log, at level warn at most, unless there are too many.
func (h *snapshot) logEvent(ctx context.Context, c *Call, e sdk.Event) {
	text, attributes := cutText(e.Message, maxLogText), cutText(string(e.Attributes), maxLogText)
	log := h.log.With("plugin", c.Definition.Plugin)
	logged := c.countLogged(len(text) + len(attributes))
	switch {
	case logged <= maxLogRate:
		log.LogAttrs(ctx, min(e.Level, slog.LevelWarn), text, slog.String("call_id", c.ID), slog.String("tool", c.Tool),
			slog.String("attributes", attributes))
	case logged-len(text)-len(attributes) <= maxLogRate:
		log.Warn("the call logs more than 64 KiB a second; the lines over that are left out", "call_id", c.ID, "tool", c.Tool)
	}
}

// checkResult removes the invalid parts of a result and reports them: an empty success would hide the fault. For
// plugins behind the wire the sdk has already done so.
func checkResult(result *sdk.Result, err error) (*sdk.Result, error) {
	if result == nil || err != nil {
		return result, err
	}
	broken := client.CheckResult(result)
	if broken == nil {
		return result, nil
	}
	out := *result
	out.InputRequired = nil
	if client.CheckResult(&sdk.Result{Structured: out.Structured}) != nil {
		out.Structured = nil
	}
	if client.CheckResult(&sdk.Result{Extra: out.Extra}) != nil {
		out.Extra = nil
	}
	out.Content = nil
	for _, p := range result.Content {
		if client.CheckResult(&sdk.Result{Content: []sdk.Content{p}}) == nil {
			out.Content = append(out.Content, p)
		}
	}
	out.Error = client.WithFaults(result.Error, []string{broken.Error()})
	return &out, nil
}

// checkOutput validates a structured result against the tool's output schema. The call has run, so the model still
// reads the content; programs get no JSON that the schema forbids.
func (c *Call) checkOutput(result *sdk.Result, err error) (*sdk.Result, error) {
	output := c.Definition.schemas().output
	if output == nil || result == nil || result.Error != nil || result.Structured == nil || err != nil {
		return result, err
	}
	invalid := output.Validate(result.Structured)
	if invalid == nil {
		return result, nil
	}
	out := *result
	out.Structured = nil
	return &out, advise(fail(sdk.CodeProtocol, "InvalidOutput",
		"%s has run, but its structured result does not fit its output schema and is left out: %s", c.Tool, invalid),
		"Read the content instead. Check what the call has done before you repeat it.")
}

// ballast is the size of an idlemem.Ballast. Go's collector runs at four megabytes at the earliest: in a host with a
// small heap after 800 calls of 100 bytes, or 270 of 10 KB; collecting then takes a tenth and a seventh of their
// processor time. A host allocates it once it is busy.
const (
	ballast      = 16 << 20
	ballastCalls = 1000
)

// addBallast adds one unless the heap is large already, or the embedder has set how the collector runs.
func (h *Host) addBallast() {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	for i, most := range []uint64{100, math.MaxInt64, ballast} {
		at := samples[i].Value
		if at.Kind() != metrics.KindUint64 || i < 2 && at.Uint64() != most || at.Uint64() > most {
			return
		}
	}
	kept := idlemem.Ballast(ballast)
	h.ballast.Store(&kept)
}
