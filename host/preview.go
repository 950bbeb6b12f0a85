package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Previewer is a Plugin that can tell what a call would do. An error of Preview is an *sdk.Error with a code.
type Previewer interface {
	Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error)
}

// maxPreviewing bounds how long a plugin may take to say what a call would do. The time counts against the call's timeout.
const maxPreviewing = 30 * time.Second

// maxReason is how many characters of a plugin's reason are kept.
const maxReason = 1000

// preview lets the plugin of a tool that has previews tell what the call would do, and be stricter about it than the
// policy. When it cannot tell, because the call would fail, the call ends here: nobody is asked about what cannot run.
func (h *snapshot) preview(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		p, able := c.Definition.plugin.(Previewer)
		if !able || !c.Definition.Previews {
			return next(ctx, c)
		}
		c.leave() // it joins the queues again when it may run
		shown, err := h.previewed(ctx, c, p)
		if err != nil {
			return readBesides(shown), err
		}
		c.preview = shown
		said := previewStep(c.Definition.Plugin, shown)
		if shown.UnlessAllowed && allowedByRule(c.Decision) {
			said = policy.Step{Layer: said.Layer, Rule: said.Rule, Note: "a rule allows the call, else: " + said.Reason}
		}
		c.doubted = said.Effect.Asks()
		c.Decision = c.Decision.Tighten(said)
		if c.Decision.Effect == policy.Deny {
			return nil, denied(c)
		}
		return next(ctx, c)
	}
}

// allowedByRule says whether a rule allows a call, not its hints or a mode.
func allowedByRule(d policy.Decision) bool {
	return d.Effect == policy.Allow && d.Layer != policy.ByHints && d.Layer != modeLayer
}

func (h *snapshot) previewed(ctx context.Context, c *Call, p Previewer) (*sdk.Preview, error) {
	r, err := h.toRequest(c)
	if err != nil {
		return nil, err
	}
	limit := min(h.timeout(c), maxPreviewing)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	shown, err := p.Preview(limited, r)
	c.looked = time.Since(begun)
	switch e := asError(err); {
	case e == nil && shown == nil:
		return &sdk.Preview{}, nil
	case e != nil && e.Code == sdk.CodeTimeout && over(limited) && ctx.Err() == nil:
		return nil, fail(sdk.CodeTimeout, "PreviewTimeout", "%s did not tell within %s what the call would do; nothing was run", c.Tool, limit)
	case e != nil && e.Code == sdk.CodeCanceled && ctx.Err() != nil:
		return nil, fail(sdk.CodeCanceled, "Canceled", "the call was canceled while its plugin told what it would do; nothing was run")
	case e != nil:
		return shown, previewFailed(e)
	}
	return shown, nil
}

// previewFailed is the error of a call that ends with its preview: whatever became of that, the call was not made.
func previewFailed(e *sdk.Error) *sdk.Error {
	e = new(*e)
	e.Outcome = sdk.OutcomeNotSent
	if e.Code == "" || e.Code == sdk.CodeRejected { // only people reject
		e.Code = sdk.CodeTool
	}
	return e
}

// readBesides is the result of a call that ends with its preview: what the plugin gave to read with the error.
func readBesides(p *sdk.Preview) *sdk.Result {
	if p == nil {
		return nil
	}
	return &sdk.Result{Content: p.Content}
}

// previewStep is what the plugin says of its own call. A word that is no effect counts as ask.
func previewStep(plugin string, p *sdk.Preview) policy.Step {
	s := policy.Step{Layer: "preview", Rule: plugin, Effect: policy.Effect(p.Effect), Reason: cutText(p.Reason, maxReason)}
	switch s.Effect {
	case "", policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny:
	default:
		s.Effect, s.Note = policy.Ask, "the plugin said "+cutText(p.Effect, 40)
	}
	s.Matched = s.Effect != ""
	return s
}
