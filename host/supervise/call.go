package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// Call runs one tool, once at most, and starts the plugin if it does not run. A tool that fails gives a result with an
// Error. The error of Call itself is an *sdk.Error with its Outcome: the plugin is not available, died in the call, broke
// the rules of the wire, or ctx ended. When the plugin dies, a call that provably never reached it, or whose tool the spec
// calls idempotent, is made once more, with the same id and in what is left of ctx's time. One whose tool turns out to be
// another than was listed, once the plugin runs, is not made.
func (p *Process) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	listed := p.description.Load()
	result, died, err := p.attempt(ctx, r, 1, listed)
	if died == nil || ctx.Err() != nil || isClosed(p.closing) || !p.mayRepeat(r, died) {
		return result, err
	}
	result, _, err = p.attempt(ctx, r, 2, listed)
	if e, ok := errors.AsType[*sdk.Error](err); ok && died.Delivered && e.Outcome == sdk.OutcomeNotSent {
		err = withOutcome(e, sdk.OutcomeUnknown) // of the first attempt
	}
	return result, err
}

// attempt makes the call of a tool as it was listed. Died is set when the plugin has died in it.
func (p *Process) attempt(ctx context.Context, r *sdk.Request, number int, listed *sdk.Description) (result *sdk.Result, died *client.BrokenError, err error) {
	v, err := p.enter(ctx)
	if err != nil {
		return nil, nil, p.notSent(err)
	}
	defer v.leave()
	g := v.generation
	if err := outdated(p.name, r, listed, g.description()); err != nil {
		return nil, nil, p.notSent(err)
	}
	r.Attempt, r.Generation = number, g.number
	result, err = g.client.Call(v.ctx, r)
	if err == nil {
		return p.explain(v, r, result), nil, nil
	}
	broken, ok := v.broken(err)
	if !ok {
		v.leave()
		g.leftOne(p)
		if sdk.CodeOf(err) != sdk.CodeResultTooLarge { // which is an answer
			g.suspect() // the call was left alone: find out whether the plugin still answers
		}
		return nil, nil, err
	}
	if !v.cut() && g.died() && isCut(broken) {
		died = broken
	}
	return nil, died, withOutcome(p.lost(g, r, broken), outcomeOf(broken))
}

// settle is how long the death of a process may take to show after its connection broke. Measured: 2 to 9 ms.
const settle = 500 * time.Millisecond

func (p *Process) mayRepeat(r *sdk.Request, broken *client.BrokenError) bool {
	return !broken.Delivered || slices.Contains(p.spec.Load().Idempotent, r.Tool)
}

// isCut tells a connection that was cut from a plugin that answered with something else than its result. It may be our end
// that was closed, when the plugin's death was known before its connection broke: that is Canceled.
func isCut(b *client.BrokenError) bool {
	code := status.Code(b.Err)
	return !b.Delivered || code == codes.Unavailable || code == codes.Canceled
}

func outcomeOf(b *client.BrokenError) sdk.Outcome {
	if b.Delivered {
		return sdk.OutcomeUnknown
	}
	return sdk.OutcomeNotSent
}

// withOutcome leaves e as it is: others may have it too.
func withOutcome(e *sdk.Error, o sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = o
	return e
}

// notSent says of a call that found no plugin to go to that nothing was run.
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

// explain says why a call was canceled whose plugin heard of its stop, and answered, before the host left the call alone,
// and what the sandbox may have had to do with a failure.
func (p *Process) explain(v *visit, r *sdk.Request, result *sdk.Result) *sdk.Result {
	switch e := result.Error; {
	case e == nil:
	case e.Code == sdk.CodeCanceled && v.cut():
		result.Error = withOutcome(p.lost(v.generation, r, &client.BrokenError{Delivered: true, Err: errCut}), e.Outcome)
	case e.Code == sdk.CodeTool && e.Suggestion == "":
		e.Suggestion = v.generation.advice(e.Message)
	}
	return result
}

// lost says how it came that a plugin or its connection broke in a call.
func (p *Process) lost(g *generation, r *sdk.Request, broken *client.BrokenError) *sdk.Error {
	facts := map[string]any{"plugin": p.name, "generation": g.number, "call_id": r.CallID, "delivered": broken.Delivered}
	switch {
	case isClosed(p.closing):
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Closed", Message: "the host was closed during the call", Details: sdk.Details(facts)}
	case g.visits.wereCut() && g.left.isStuck():
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Replaced", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q was restarted, since %s; the old process got no more time for the call", p.name, g.left.words())}
	case g.visits.wereCut():
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Replaced", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q was reloaded or removed, and the old process got no more time for the call", p.name)}
	case !isClosed(g.done()):
		g.child.killFor("it broke the rules of the wire")
		return &sdk.Error{Code: sdk.CodeProtocol, Name: "Protocol", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q broke the rules of the wire and is started anew: %v", p.name, broken)}
	}
	g.child.describeExit(facts)
	e := &sdk.Error{Code: sdk.CodePluginCrashed, Name: "PluginCrashed", Details: sdk.Details(facts),
		Message:    fmt.Sprintf("plugin %q died during the call: %s", p.name, g.end()),
		Suggestion: "A later call starts the plugin anew."}
	if !broken.Delivered {
		e.Message = fmt.Sprintf("plugin %q died before the call reached it: %s", p.name, g.end())
	}
	return e
}

// Preview asks what a call would do.
func (p *Process) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	v, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer v.leave()
	g := v.generation
	preview, err := g.client.Preview(v.ctx, r)
	if broken, ok := v.broken(err); ok {
		_ = v.cut() || g.died()
		return nil, p.lost(g, r, broken)
	}
	if ctx.Err() != nil {
		v.leave()
		g.leftOne(p)
		g.suspect()
	}
	return preview, err
}

// A visit is one call in a generation.
type visit struct {
	generation *generation
	ctx        context.Context // ends with the caller's, or when the generation gives the call no more time
	cancel     context.CancelCauseFunc
	process    *Process
}

// errCut ends the context of a call whose process is about to be stopped.
var errCut = errors.New("the plugin's process is being stopped")

// enter gives a call its place in a generation that takes calls, starting one if need be. Whoever enters leaves.
func (p *Process) enter(ctx context.Context) (*visit, error) {
	for {
		g, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if !g.awake(ctx) {
			continue // to the next generation, or to why there is none
		}
		v := &visit{generation: g, process: p}
		v.ctx, v.cancel = context.WithCancelCause(ctx)
		if g.visits.add(v) {
			p.calls.Add(1)
			return v, nil
		}
		v.cancel(nil) // it was replaced a moment ago
	}
}

// leave ends the visit; again, it does nothing.
func (v *visit) leave() {
	v.cancel(nil)
	if v.generation.visits.remove(v) {
		v.process.calls.Add(-1)
	}
}

// cut says whether the call was ended because its process is being stopped.
func (v *visit) cut() bool { return errors.Is(context.Cause(v.ctx), errCut) }

// broken tells a call that got no answer because its plugin, its connection or its time in the process ended.
func (v *visit) broken(err error) (*client.BrokenError, bool) {
	if b, ok := errors.AsType[*client.BrokenError](err); ok || err == nil || !v.cut() {
		return b, ok
	}
	switch e, _ := errors.AsType[*sdk.Error](err); {
	case e == nil || e.Outcome != sdk.OutcomeFailed:
		return &client.BrokenError{Delivered: e == nil || e.Outcome != sdk.OutcomeNotSent, Err: errCut}, true
	default: // the plugin was faster
		return nil, false
	}
}

// visits are the calls that run in a generation. The zero value has none and takes some.
type visits struct {
	mu    sync.Mutex
	in    map[*visit]struct{}
	last  time.Time     // when the process was last heard of
	shut  bool          // no more of them
	cut   bool          // those that ran were ended
	empty chan struct{} // made when shut, closed when the last has left
}

func (s *visits) add(v *visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	if s.in == nil {
		s.in = map[*visit]struct{}{}
	}
	s.in[v] = struct{}{}
	return true
}

// remove says whether the visit was there.
func (s *visits) remove(v *visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.in[v]; !there {
		return false
	}
	delete(s.in, v)
	s.last = time.Now()
	if s.shut && len(s.in) == 0 {
		close(s.empty)
	}
	return true
}

// heard notes that the process has given a sign of life.
func (s *visits) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// idle says how long the process has had nothing to do.
func (s *visits) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.in) > 0 || s.last.IsZero() {
		return 0
	}
	return time.Since(s.last)
}

// count gives how many there are.
func (s *visits) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.in)
}

// close lets no more calls in. It gives a channel that closes when the last has left, and when the last of their
// deadlines is, but not more than limit from now.
func (s *visits) close(limit time.Duration) (empty <-chan struct{}, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut, s.empty = true, make(chan struct{})
	if len(s.in) == 0 {
		close(s.empty)
	}
	for v := range s.in {
		if deadline, ok := v.ctx.Deadline(); ok {
			longest = max(longest, time.Until(deadline)+settle)
		} else {
			longest = limit
		}
	}
	return s.empty, min(longest, limit)
}

// end ends the calls that are left.
func (s *visits) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	for v := range s.in {
		v.cancel(errCut)
	}
}

func (s *visits) wereCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// outdated is the error of a call that was decided on by what its tool is not, or no longer. A caller that does not know
// what it decided by had listed, if anything.
func outdated(plugin string, r *sdk.Request, listed, is *sdk.Description) error {
	was := r.Listed
	if was == nil {
		if listed == nil || listed == is {
			return nil
		}
		was = definition(listed, r.Tool)
	}
	now := definition(is, r.Tool)
	if sameDefinition(was, now) {
		return nil
	}
	return listedOtherwise(plugin, r.Tool, now == nil)
}

// definition finds a tool, nil if there is none of that name.
func definition(d *sdk.Description, tool string) *sdk.Tool {
	i := slices.IndexFunc(d.Tools, func(t sdk.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}

// sameDefinition compares all that a tool is. It is part of every call, and allocates nothing.
func sameDefinition(a, b *sdk.Tool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.Category == b.Category &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) && sameHints(a.Hints, b.Hints) &&
		a.CostTier == b.CostTier && a.Timeout == b.Timeout && a.MaxResultBytes == b.MaxResultBytes &&
		a.OriginalName == b.OriginalName && a.Previews == b.Previews &&
		a.Stateful == b.Stateful && a.ForeignSchema == b.ForeignSchema && a.PathAware == b.PathAware
}

func sameHints(a, b sdk.Hints) bool {
	return sameHint(a.ReadOnly, b.ReadOnly) && sameHint(a.Destructive, b.Destructive) &&
		sameHint(a.Idempotent, b.Idempotent) && sameHint(a.OpenWorld, b.OpenWorld)
}

func sameHint(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
