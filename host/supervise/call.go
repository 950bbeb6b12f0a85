package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
func (p *Process) attempt(ctx context.Context, r *sdk.Request, number int, listed *sdk.Description) (result *sdk.Result, died *sdk.BrokenError, err error) {
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

func (p *Process) mayRepeat(r *sdk.Request, broken *sdk.BrokenError) bool {
	return !broken.Delivered || slices.Contains(p.spec.Load().Idempotent, r.Tool)
}

// isCut tells a connection that was cut from a plugin that answered with something else than its result. It may be our end
// that was closed, when the plugin's death was known before its connection broke: that is Canceled.
func isCut(b *sdk.BrokenError) bool {
	code := status.Code(b.Err)
	return !b.Delivered || code == codes.Unavailable || code == codes.Canceled
}

func outcomeOf(b *sdk.BrokenError) sdk.Outcome {
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
		result.Error = withOutcome(p.lost(v.generation, r, &sdk.BrokenError{Delivered: true, Err: errCut}), e.Outcome)
	case e.Code == sdk.CodeTool && e.Suggestion == "":
		e.Suggestion = v.generation.advice(e.Message)
	}
	return result
}

// lost says how it came that a plugin or its connection broke in a call.
func (p *Process) lost(g *generation, r *sdk.Request, broken *sdk.BrokenError) *sdk.Error {
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
