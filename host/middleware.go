package host

import (
	"bytes"
	"context"
	"reflect"
	"strings"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// An unlisted is why a first lookup found no tool, for a second one of the same name.
type unlisted struct {
	by   *snapshot
	tool string
	err  error
}

// survey gives middleware a Call of its own before anything is refused: with its tool if there is one, and arguments
// without what models put around them. A name that is unknown, and arguments that cannot be read, are left for the steps
// behind.
func (h *snapshot) survey(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.checkNames(); e != nil {
			return nil, e
		}
		given := *c
		given.Definition = h.peek(ctx, c)
		if object, e := arguments.Read(c.Arguments, nil); e == nil {
			given.Arguments = object
		}
		given.Arguments = bytes.Clone(given.Arguments)
		c.shown = given.Definition
		return next(context.WithValue(ctx, lifeKey{}, c.life), &given)
	}
}

type lifeKey struct{}

// peek finds the tool that middleware is shown, nil for none. A plugin that cannot be listed is not asked a second time by
// lookup.
func (h *snapshot) peek(ctx context.Context, c *Call) *Tool {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := h.registry.plugins[plugin]
	if l == nil || !c.catalog.allowsName(c.Tool) {
		return nil
	}
	own, err := h.registry.toolsFor(ctx, c, l)
	if err != nil {
		c.unlisted = unlisted{h, c.Tool, err}
		return nil
	}
	if t := own.tools[c.Tool]; t != nil && c.catalog.allows(t) {
		return t
	}
	return nil
}

// own gives the rest of the route a Call that no middleware holds, so that nothing of it changes once it has been looked
// at. What a middleware has set is honoured: another Tool is looked up, and catalog, rules and limits hold for that one.
// What would make the record untrue is refused.
func (h *snapshot) own(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := h.altered(ctx, c); e != nil {
			return nil, e
		}
		mine := *c
		mine.Definition, mine.Decision = nil, policy.Decision{}
		mine.keepArguments()
		h.fillIn(&mine)
		defer func() {
			c.ran, c.shown, c.decision = &mine, mine.Definition, mine.Decision
			c.Definition, c.Decision, c.Arguments = mine.Definition, mine.Decision, bytes.Clone(mine.Arguments)
		}()
		return next(ctx, &mine)
	}
}

// altered refuses what a middleware may not do to a call; nil when there is nothing.
func (h *snapshot) altered(ctx context.Context, c *Call) *sdk.Error {
	of, known := ctx.Value(lifeKey{}).(*life)
	switch {
	case c.life == nil || c.ended || known && of != c.life:
		return badMiddleware("passed on another Call than it was given, or one that has ended", "Change the fields of the Call that it is given.")
	case c.ID != c.id:
		return badMiddleware("changed the ID of a call, by which its caller knows the result", "Leave ID as it is.")
	case !reflect.DeepEqual(c.Decision, c.decision):
		return badMiddleware("set the Decision of a call, which is the policy's", "Return an error to refuse a call; to allow one, add a rule.")
	case c.Definition != nil && c.Definition != c.shown && c.Definition != h.peek(ctx, c):
		return badMiddleware("set the Definition of a call", "Set Tool: the host looks it up.")
	}
	return nil
}

func badMiddleware(what, suggestion string) *sdk.Error {
	e := fail(sdk.CodeInternal, "BadMiddleware", "a middleware of this host %s; nothing was run", what)
	e.Suggestion = suggestion
	return e
}
