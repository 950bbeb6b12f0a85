package host

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A CallFunc runs a call, or the rest of its chain. Its error has a code: see sdk.CodeOf. A tool's own failure is a
// result, whose Error is set, and no error.
type CallFunc func(ctx context.Context, c *Call) (*sdk.Result, error)

// A Middleware wraps the rest of a call's chain. Those of Options see calls before lookup: also calls of unknown
// tools, whose Definition is nil, and calls whose arguments are not JSON. They do not see calls after Close, calls
// with IDs over their limits, and calls of a batch that are refused before they start. Fields that a middleware sets
// before it calls next take effect: another Tool is looked up and is subject to its own catalog, rules and limits;
// Arguments are checked. A middleware may not set ID, Definition or Decision, nor pass on another Call: such a call
// is refused. What it sets afterwards changes neither the result nor the record. If it calls next again, an approval of
// the first time holds only if nothing ran and nothing that a person was shown has changed. One next of a call runs at
// a time. When the outermost middleware returns, next is canceled in other goroutines, whatever context it was given,
// and the host waits for its end: no call runs on after its result.
type Middleware func(next CallFunc) CallFunc

// wrap puts the middlewares around f, the first outermost.
func wrap(f CallFunc, around ...Middleware) CallFunc {
	for i := len(around) - 1; i >= 0; i-- {
		f = around[i](f)
	}
	return f
}

// buildChain builds the chain of a call, outermost step first. No step after approve may change the arguments. Only a
// call of a batch that is refused before it starts passes telemetry, audit and outcome alone, see batch.go.
func (h *snapshot) buildChain() {
	outside := []Middleware{h.telemetry, h.audit, h.outcome, h.recoverPanics, h.admitEarly, h.accept, h.truncate}
	if len(h.options.Middleware) > 0 {
		outside = slices.Concat(outside, []Middleware{h.beforeMiddleware}, h.options.Middleware,
			[]Middleware{h.afterMiddleware})
	}
	known := []Middleware{h.nested, h.lookup, h.admit}
	inside := []Middleware{h.refresh, h.parse, h.validate, h.budget, h.enforce, h.preview, h.approve, h.limit,
		h.recordDecision, h.input, h.start, h.deadline}
	h.chain = wrap(h.dispatch, slices.Concat(outside, known, inside)...)
	h.chainFromNested = wrap(h.dispatch, slices.Concat(known, inside)...)
	h.chainFromRefresh = wrap(h.dispatch, inside...)
	h.checkArgs = wrap(func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }, h.parse, h.validate)
}

// explainChain is the part of the chain that decides in mode m: nothing runs, and nobody is asked.
func (h *snapshot) explainChain(m Mode) CallFunc {
	decide := func(_ context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = m.unasked(h.applyApprovals(c, h.decideIn(m, c, false)))
		return nil, nil
	}
	return wrap(decide, h.recoverPanics, h.accept, h.lookup, h.parse, h.validate)
}

// previewChain is the part of the chain that decides and makes the preview: the call does not run, and nobody is asked.
func (h *snapshot) previewChain() CallFunc {
	decide := func(next CallFunc) CallFunc {
		return func(ctx context.Context, c *Call) (*sdk.Result, error) {
			c.Decision = h.decide(c, false)
			if c.Decision.Effect == policy.Deny {
				return nil, nil
			}
			return next(ctx, c)
		}
	}
	decided := func(_ context.Context, c *Call) (*sdk.Result, error) {
		// after the preview, as for a call
		c.Decision = h.options.Mode.unasked(h.applyApprovals(c, c.Decision))
		return nil, nil
	}
	return wrap(decided, h.recoverPanics, h.accept, h.lookup, h.parse, h.validate, decide, h.preview)
}
