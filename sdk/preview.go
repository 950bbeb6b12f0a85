package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// A PreviewHandler tells what a call would do, without doing it. An error says that the call would fail, and ends it; a
// preview that comes with the error is what the model reads besides, as the result that comes with an error of a Handler.
type PreviewHandler func(ctx context.Context, r *Request) (*Preview, error)

// A Preview is shown to whoever decides whether a call may run.
type Preview struct {
	// Content is what the call would do, such as a diff.
	Content []Content
	// Effect is "", "allow", "ask", "always_ask" or "deny". It can make the host's decision stricter, never looser.
	Effect string
	// UnlessAllowed makes Effect count only where no rule of the operator allows the call: a mode, or the tool's hints, do not.
	UnlessAllowed bool
	// Reason goes with Effect.
	Reason string
	// Structured is the same as JSON, for programs that show it in their own way; nil when there is none. It is an object whose
	// "kind" says what else is in it.
	Structured json.RawMessage
}

// AddPreview gives a tool that was added a preview. It panics when there is no such tool.
func AddPreview[In any](p *Plugin, tool string, f func(ctx context.Context, r *Request, in In) (*Preview, error)) {
	p.addPreview(tool, func(ctx context.Context, r *Request) (*Preview, error) {
		in, err := decode[In](r.Arguments, "the arguments do not fit")
		if err != nil {
			return nil, err
		}
		return f(ctx, r, in)
	})
}

func (p *Plugin) addPreview(tool string, f PreviewHandler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := index(p.tools, tool)
	if i < 0 {
		panic(fmt.Sprintf("sdk: AddPreview: there is no tool %q", tool))
	}
	e := *p.tools[i]
	e.Previews, e.preview = true, f
	tools := slices.Clone(p.tools) // a call may hold the old one
	tools[i] = &e
	p.set(tools)
}
