package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
			result.Error = withOutcome(p.handleLost(g, r, &client.BrokenError{Delivered: true, Err: errStopping}), e.Outcome)
		case e.Code == sdk.CodeCanceled && callctx.DeadlinePassed(ctx) && !errors.Is(ctx.Err(), context.Canceled):
			// a plugin without a kit knows only that it was canceled
			e.Code = sdk.CodeTimeout
		case e.Code == sdk.CodeTool && e.Suggestion == "":
			e.Suggestion = g.sandboxAdvice(e.Message)
		}
		return result, nil, nil
	}
	broken, ok := c.asBroken(err)
	if !ok {
		c.end()
		g.callAbandoned(p)
		if sdk.CodeOf(err) != sdk.CodeResultTooLarge { // a result that is too large is an answer too
			g.checkHealth()
		}
		return nil, nil, err
	}
	if !c.stopped() && g.awaitProgramEnd() && disconnected(broken) {
		died = broken
	}
	outcome := sdk.OutcomeNotSent
	if broken.Delivered {
		outcome = sdk.OutcomeUnknown
	}
	return nil, died, withOutcome(p.handleLost(g, r, broken), outcome)
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
	if broken, ok := c.asBroken(err); ok {
		if !c.stopped() {
			g.awaitProgramEnd() // handleLost tells a death from a violation
		}
		return nil, p.handleLost(g, r, &client.BrokenError{Err: broken.Err}) // the call itself was not made
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

// handleLost returns the error of a call whose plugin or connection ended. A process that runs on has violated the
// protocol, and is killed.
func (p *Process) handleLost(g *generation, r *sdk.Request, broken *client.BrokenError) *sdk.Error {
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
	if e.Name == "Replaced" && broken.Delivered {
		e.Suggestion = "Check what the call has done before you repeat it."
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
