package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// Call runs one tool, at most once, and starts the plugin if it is not running. A tool that fails returns a result
// with an Error. The error of Call itself is an *sdk.Error with its Outcome: the plugin is not available, died during
// the call, violated the protocol, or ctx ended. When the plugin dies, a call that provably never reached it, or
// whose tool is in Spec.Idempotent, is made once more, with the same id and the remaining time of ctx. A call of a
// tool whose definition is no longer the listed one is not made.
func (p *Process) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	listed := p.description.Load()
	result, died, err := p.attempt(ctx, r, 1, listed)
	if died == nil || ctx.Err() != nil || isClosed(p.closing) ||
		died.Delivered && !slices.Contains(p.spec.Load().Idempotent, r.Tool) {
		return result, err
	}
	result, _, err = p.attempt(ctx, r, 2, listed)
	if e, ok := errors.AsType[*sdk.Error](err); ok && died.Delivered && e.Outcome == sdk.OutcomeNotSent {
		err = withOutcome(e, sdk.OutcomeUnknown) // of the first attempt
	}
	return result, err
}

// LeavesArguments says that Call does not change the arguments.
func (p *Process) LeavesArguments() {}

// attempt calls a tool with its listed definition. Died is set when the plugin died during the call.
func (p *Process) attempt(ctx context.Context, r *sdk.Request, number int, listed *sdk.Description) (
	result *sdk.Result, died *client.BrokenError, err error) {
	c, err := p.beginCall(ctx, &r.StartTime)
	if err != nil {
		return nil, nil, p.notSent(err)
	}
	defer c.end()
	g := c.generation
	now, err := p.descriptionWith(ctx, g, r)
	if err == nil {
		err = p.checkDefinition(r, listed, now)
	}
	if err != nil {
		return nil, nil, p.notSent(err)
	}
	r.Attempt, r.Generation = number, g.number
	result, err = g.client.Call(ctx, r)
	if err == nil {
		switch e := result.Error; {
		case e == nil:
		case e.Code == sdk.CodeCanceled && c.stopped(): // the plugin answered before the host abandoned the call
			result.Error = withOutcome(p.lost(g, r, &client.BrokenError{Delivered: true, Err: errStopping}), e.Outcome)
		case e.Code == sdk.CodeCanceled && callctx.DeadlinePassed(ctx) && !errors.Is(ctx.Err(), context.Canceled):
			// a plugin without a kit knows only that it was canceled
			e.Code = sdk.CodeTimeout
		case e.Code == sdk.CodeTool && e.Suggestion == "":
			e.Suggestion = g.sandboxAdvice(e.Message)
		}
		return result, nil, nil
	}
	broken, ok := c.broken(err)
	if !ok {
		c.end()
		g.callAbandoned(p)
		if sdk.CodeOf(err) != sdk.CodeResultTooLarge { // a result that is too large is an answer too
			g.checkHealth()
		}
		return nil, nil, err
	}
	if !c.stopped() && g.programHasEnded() && disconnected(broken) {
		died = broken
	}
	outcome := sdk.OutcomeNotSent
	if broken.Delivered {
		outcome = sdk.OutcomeUnknown
	}
	return nil, died, withOutcome(p.lost(g, r, broken), outcome)
}

// Preview asks the plugin what a call would do.
func (p *Process) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	c, err := p.beginCall(ctx, &r.StartTime)
	if err != nil {
		return nil, err
	}
	defer c.end()
	g := c.generation
	preview, err := g.client.Preview(ctx, r)
	if broken, ok := c.broken(err); ok {
		_ = c.stopped() || g.programHasEnded()
		return nil, p.lost(g, r, &client.BrokenError{Err: broken.Err}) // the call itself was not made
	}
	if ctx.Err() != nil {
		c.end()
		g.callAbandoned(p)
		g.checkHealth()
	}
	return preview, err
}

// disconnected is true for a broken connection, and false when the plugin answered with anything but its result.
// Canceled means that the host closed its end, because it knew of the plugin's death first.
func disconnected(b *client.BrokenError) bool {
	code := status.Code(b.Err)
	return !b.Delivered || code == codes.Unavailable || code == codes.Canceled
}

// withOutcome returns a copy: the error may be shared.
func withOutcome(e *sdk.Error, o sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = o
	return e
}

// notSent completes the error of a call that reached no plugin.
func (p *Process) notSent(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	e = withOutcome(e, sdk.OutcomeNotSent)
	if e.Code == sdk.CodeTimeout || e.Code == sdk.CodeCanceled {
		e.Message = fmt.Sprintf("%s before plugin %q was ready; nothing was run", e.Message, p.name)
	}
	return e
}

// lost is the error of a call whose plugin or connection ended.
func (p *Process) lost(g *generation, r *sdk.Request, broken *client.BrokenError) *sdk.Error {
	facts := map[string]any{"plugin": p.name, "generation": g.number, "call_id": r.CallID, "delivered": broken.Delivered}
	e := &sdk.Error{Code: sdk.CodeCanceled, Name: "Replaced"}
	switch {
	case isClosed(p.closing):
		e.Name, e.Message = "Closed", "the host was closed during the call"
	case g.calls.wereCanceled() && g.abandoned.isStuck():
		e.Message = fmt.Sprintf("plugin %q was restarted, because %s; the call ran out of time in the old process",
			p.name, g.abandoned.describe())
	case g.calls.wereCanceled():
		e.Message = fmt.Sprintf("plugin %q was reloaded or removed; the call ran out of time in the old process", p.name)
	case !isClosed(g.child.programEnded):
		g.child.kill("it violated the protocol")
		e.Code, e.Name = sdk.CodeProtocol, "Protocol"
		e.Message = fmt.Sprintf("plugin %q violated the protocol and is restarted: %v", p.name, broken)
		e.Suggestion = "This is a bug in the plugin; other arguments may avoid it."
	default:
		g.child.addExitFacts(facts)
		e.Code, e.Name, e.Suggestion = sdk.CodePluginCrashed, "PluginCrashed", "The next call restarts the plugin."
		e.Message = fmt.Sprintf("plugin %q died during the call: %s", p.name, g.describeEnd())
		if !broken.Delivered {
			e.Message = fmt.Sprintf("plugin %q died before the call reached it: %s", p.name, g.describeEnd())
		}
	}
	e.Details = sdk.Details(facts)
	return e
}

// descriptionWith is the description of a generation, which is waited for while the tool may come. The error says why
// it does not.
func (p *Process) descriptionWith(ctx context.Context, g *generation, r *sdk.Request) (*sdk.Description, error) {
	now := g.description()
	if now.Missing == "" || definition(now, r.Tool) != nil {
		return now, nil
	}
	began := time.Now()
	err := p.AwaitTools(ctx, func(why string) {
		if r.Events != nil {
			text := fmt.Sprintf("waiting for plugin %q: %s", p.name, why)
			r.Events(sdk.Event{Type: sdk.EventProgress, Message: text})
		}
	})
	r.StartTime += time.Since(began)
	if e, coded := errors.AsType[*sdk.Error](err); coded && ctx.Err() != nil {
		ended := sdk.EndedError(ctx)
		ended.Message += ": " + e.Message
		return nil, ended
	}
	return g.description(), err
}

// checkDefinition fails if the tool is no longer the one that the caller saw: r.Listed, otherwise the one listed when
// the call began.
func (p *Process) checkDefinition(r *sdk.Request, listed, now *sdk.Description) error {
	seen := r.Listed
	if seen == nil {
		if listed == nil || listed == now {
			return nil
		}
		seen = definition(listed, r.Tool)
	}
	is := definition(now, r.Tool)
	if sameDefinition(seen, is) {
		return nil
	}
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: client.NameListedOtherwise, Retryable: true,
		Message:    fmt.Sprintf("tool %q of plugin %q has changed since it was listed; nothing was run", r.Tool, p.name),
		Suggestion: "Read the tool's definition again, then make a call that fits it.",
		Details:    sdk.Details(map[string]any{"plugin": p.name, "tool": r.Tool})}
	if is == nil {
		e.Code, e.Retryable, e.Suggestion = sdk.CodeToolNotFound, false, "List the tools again."
		e.Message = fmt.Sprintf("plugin %q has changed since it was listed, and no longer has the tool %q; nothing was run",
			p.name, r.Tool)
	}
	return e
}

func definition(d *sdk.Description, tool string) *sdk.Tool {
	i := slices.IndexFunc(d.Tools, func(t sdk.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}

// sameDefinition compares all fields. It is part of every call, and allocates nothing.
func sameDefinition(a, b *sdk.Tool) bool {
	if a == nil || b == nil {
		return a == b
	}
	sameHint := func(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.Category == b.Category &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) &&
		sameHint(a.Hints.ReadOnly, b.Hints.ReadOnly) && sameHint(a.Hints.Destructive, b.Hints.Destructive) &&
		sameHint(a.Hints.Idempotent, b.Hints.Idempotent) && sameHint(a.Hints.OpenWorld, b.Hints.OpenWorld) &&
		a.CostTier == b.CostTier && a.Timeout == b.Timeout && a.MaxResultBytes == b.MaxResultBytes &&
		a.OriginalName == b.OriginalName && a.Previews == b.Previews &&
		a.Stateful == b.Stateful && a.ForeignSchema == b.ForeignSchema && a.PathAware == b.PathAware &&
		a.ForeignHints == b.ForeignHints && a.TextIsJSON == b.TextIsJSON && bytes.Equal(a.Extra, b.Extra)
}

type inFlightCall struct {
	generation *generation
	ctx        context.Context // the caller's
	process    *Process
	cut        atomic.Bool // the process was stopped before ctx ended
}

// errStopping is why a call ends whose process is being stopped.
var errStopping = errors.New("the plugin's process is being stopped")

// beginCall registers a call in a generation that accepts calls, and starts one if necessary, which
// adds to starting. The caller calls end.
func (p *Process) beginCall(ctx context.Context, starting *time.Duration) (*inFlightCall, error) {
	for g := p.running(); ; g = nil {
		if g == nil {
			began := time.Now()
			next, err := p.acquire(ctx)
			*starting += time.Since(began)
			if err != nil {
				return nil, err
			}
			g = next
		}
		// the next generation starts when nothing of this one is left
		if g.child.killed.Load() || isClosed(g.child.programEnded) {
			select {
			case <-g.done():
			case <-g.replaced: // by one that ran already
			case <-ctx.Done():
				return nil, sdk.EndedError(ctx)
			case <-p.closing:
				return nil, p.closedError()
			}
			continue
		}
		if !g.takesCalls(ctx) {
			continue // with the next generation, or an error
		}
		c := &inFlightCall{generation: g, process: p, ctx: ctx}
		if added, watch := g.calls.add(c); added {
			if watch && !g.child.attached { // a person may have stopped that
				g.watchForStop(p.stopCheck, false)
			}
			p.calls.Add(1)
			return c, nil
		}
		// it has just been replaced
	}
}

// end may be called more than once.
func (c *inFlightCall) end() {
	if c.generation.calls.remove(c) {
		c.process.calls.Add(-1)
	}
}

// stopped reports whether the call ended because its process is being stopped.
func (c *inFlightCall) stopped() bool { return c.cut.Load() }

// broken reports whether the call got no answer because its plugin or connection ended, or its process is being
// stopped.
func (c *inFlightCall) broken(err error) (*client.BrokenError, bool) {
	if b, ok := errors.AsType[*client.BrokenError](err); ok || err == nil || !c.stopped() {
		return b, ok
	}
	e, _ := errors.AsType[*sdk.Error](err)
	if e != nil && e.Outcome == sdk.OutcomeFailed { // the plugin answered first
		return nil, false
	}
	return &client.BrokenError{Delivered: e == nil || e.Outcome != sdk.OutcomeNotSent, Err: errStopping}, true
}

type inFlightCalls struct {
	mu         sync.Mutex
	running    map[*inFlightCall]struct{}
	lastAnswer time.Time     // when the process last answered something
	watched    bool          // by watchForStop
	closed     bool          // accepts no more calls
	empty      chan struct{} // made by close; closed when the last call has ended

	life context.Context // of all running calls; one for each would be five allocations
	end  context.CancelFunc
}

func newInFlightCalls() *inFlightCalls {
	life, end := context.WithCancel(context.Background())
	return &inFlightCalls{life: life, end: end}
}

// add refuses calls after close. The caller begins to watch the process if nobody does.
func (s *inFlightCalls) add(c *inFlightCall) (added, watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, false
	}
	if s.running == nil {
		s.running = map[*inFlightCall]struct{}{}
	}
	s.running[c] = struct{}{}
	watch, s.watched = !s.watched, true
	return true, watch
}

// keepWatching is false, and the next call begins to watch the process again, if none runs.
func (s *inFlightCalls) keepWatching() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = len(s.running) > 0
	return s.watched
}

// remove reports whether the call was still registered.
func (s *inFlightCalls) remove(c *inFlightCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.running[c]; !there {
		return false
	}
	delete(s.running, c)
	if len(s.running) == 0 { // while others run, the process is not idle
		s.lastAnswer = time.Now()
		if s.closed {
			close(s.empty)
		}
	}
	return true
}

func (s *inFlightCalls) recordAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastAnswer = time.Now()
}

// idle is how long the process has had no calls.
func (s *inFlightCalls) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 || s.lastAnswer.IsZero() {
		return 0
	}
	return time.Since(s.lastAnswer)
}

func (s *inFlightCalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// close refuses further calls. It returns a channel that closes when the last call has ended, and the time until the
// last deadline, at most limit.
func (s *inFlightCalls) close(limit time.Duration) (empty <-chan struct{}, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.empty = true, make(chan struct{})
	if len(s.running) == 0 {
		close(s.empty)
	}
	for c := range s.running {
		if deadline, ok := c.ctx.Deadline(); ok {
			longest = max(longest, time.Until(deadline)+exitDelay)
		} else {
			longest = limit
		}
	}
	return s.empty, min(longest, limit)
}

func (s *inFlightCalls) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.running {
		c.cut.Store(c.ctx.Err() == nil)
	}
	s.end()
}

func (s *inFlightCalls) wereCanceled() bool { return s.life.Err() != nil }
