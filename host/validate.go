package host

import (
	"context"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// validate checks the arguments against the tool's input schema. What does not fit never reaches the plugin.
func (h *Host) validate(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if invalid := c.Definition.input.Validate(c.Arguments); invalid != nil {
			return nil, h.refuse(c, unfit(c, invalid))
		}
		if e := c.Definition.spelling.misspelt(c.Arguments); e != nil {
			e.Name, e.Suggestion = "InvalidArguments", usage(c.Definition)
			return nil, h.refuse(c, e)
		}
		h.misses.reset(c)
		return next(ctx, c)
	}
}

// A problem is one thing wrong with the arguments, in an error's details.
type problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

func unfit(c *Call, invalid *schema.Invalid) *sdk.Error {
	e := fail(sdk.CodeInvalidArgs, "InvalidArguments", "the arguments of %s do not fit: %s; nothing was run", c.Tool, invalid)
	e.Suggestion = usage(c.Definition)
	problems := make([]problem, len(invalid.Problems))
	for i, p := range invalid.Problems {
		problems[i] = problem(p)
	}
	e.Details = sdk.Details(map[string]any{"problems": problems, "more": invalid.More})
	return e
}
