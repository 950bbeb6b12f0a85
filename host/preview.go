package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/sdk"
)

// A Previewer is a Plugin that can describe the effect of a call in advance. An error of Preview is an *sdk.Error
// with a code.
type Previewer interface {
	Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error)
}

// Limits of a preview. Its time counts against the call's timeout.
const (
	maxPreviewTime   = 30 * time.Second
	maxPreviewReason = 1000 // characters
)

// preview asks the plugin of a tool with previews what the call would do; the plugin can only make the decision
// stricter. A call whose preview fails ends here: no person is asked about a call that cannot run.
func (h *snapshot) preview(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.preview, c.previewAsks, c.previewTime = nil, false, 0 // of another tool, or of other arguments
		p, able := c.Definition.plugin.(Previewer)
		if !able || !c.Definition.Previews {
			return next(ctx, c)
		}
		c.leaveQueues() // the call joins the queues again before it runs
		shown, err := h.callPreview(ctx, c, p)
		if err != nil {
			if shown == nil {
				return nil, err
			}
			return &sdk.Result{Content: shown.Content}, err
		}
		c.preview = shown
		step := previewStep(c.Definition.Plugin, shown)
		byRule := c.Decision.Effect == policy.Allow && c.Decision.Layer != policy.ByHints && c.Decision.Layer != modeLayer
		if shown.UnlessAllowed && byRule {
			step = policy.Step{Layer: step.Layer, Rule: step.Rule, Note: "a rule allows the call, else: " + step.Reason}
		}
		c.previewAsks = step.Effect.Asks()
		c.Decision = c.Decision.Tighten(step)
		if c.Decision.Effect == policy.Deny {
			return nil, denied(c)
		}
		return next(ctx, c)
	}
}

func (h *snapshot) callPreview(ctx context.Context, c *Call, p Previewer) (*sdk.Preview, error) {
	r, err := h.toRequest(c)
	if err != nil {
		return nil, err
	}
	limit := min(h.timeout(c), maxPreviewTime)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	staged, previewing := c.enter(limited, stagePreview)
	shown, err := p.Preview(staged, r)
	e := asError(err)
	previewing.end(e, r.StartTime)
	c.previewTime = time.Since(begun)
	switch {
	case e == nil && shown == nil:
		return &sdk.Preview{}, nil
	case e == nil:
		return shown, nil
	case e.Code == sdk.CodeTimeout && callctx.DeadlinePassed(limited) && ctx.Err() == nil:
		return nil, fail(sdk.CodeTimeout, "PreviewTimeout", "the preview of %s took longer than %s; nothing was run", c.Tool,
			shownLimit(limit))
	case e.Code == sdk.CodeTimeout && ctx.Err() == nil: // a timeout of the plugin's own
		return nil, fail(sdk.CodeTimeout, "PreviewTimeout", "the preview of %s timed out: %s; nothing was run", c.Tool,
			e.Message)
	case e.Code == sdk.CodeCanceled && ctx.Err() != nil:
		return nil, fail(sdk.CodeCanceled, "Canceled", "the call was canceled during its preview; nothing was run")
	default: // whatever the preview returned, the call was not made
		e = new(*e)
		e.Outcome = sdk.OutcomeNotSent
		if e.Code == "" || e.Code == sdk.CodeRejected { // only people reject
			e.Code = sdk.CodeTool
		}
		return shown, e
	}
}

// previewStep is the plugin's step in the decision. An unknown effect counts as ask.
func previewStep(plugin string, p *sdk.Preview) policy.Step {
	s := policy.Step{Layer: "preview", Rule: plugin, Effect: policy.Effect(p.Effect),
		Reason: cutText(p.Reason, maxPreviewReason)}
	switch s.Effect {
	case "", policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny:
	default:
		s.Effect, s.Note = policy.Ask, "the plugin said "+cutText(p.Effect, 40)
	}
	s.Matched = s.Effect != ""
	return s
}
