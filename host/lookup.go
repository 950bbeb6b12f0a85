package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// lookup finds the tool of a call by its exact full name, if the call's catalog has it.
func (h *snapshot) lookup(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.check(); e != nil {
			return nil, e
		}
		f := c.failedLookup
		c.failedLookup = failedLookup{} // it may succeed when a middleware tries again
		if f.by == h && f.tool == c.Tool {
			return nil, f.err
		}
		tool, err := h.registry.find(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Definition = tool
		return next(ctx, c)
	}
}

// Limits of the names in a call, in bytes. The wire has the same.
const (
	maxCallName = 256
	maxWorkdir  = 4096
)

// check refuses overlong names, which would be kept, logged and sent, and a timeout that no call can keep.
func (c *Call) check() *sdk.Error {
	for _, n := range []struct {
		what, name string
		most       int
	}{{"call id", c.ID, maxCallName}, {"session id", c.SessionID, maxCallName}, {"caller", c.Caller, maxCallName},
		{"work folder", c.Workdir, maxWorkdir}} {
		if len(n.name) > n.most {
			return fail(sdk.CodeInvalidArgs, "NameTooLong", "the %s has %d bytes, at most %d are allowed; nothing was run",
				n.what, len(n.name), n.most)
		}
	}
	if c.Timeout < 0 {
		return fail(sdk.CodeInvalidArgs, "BadTimeout", "the timeout %s of the call is below zero; nothing was run", c.Timeout)
	}
	return nil
}

func (r *registry) find(ctx context.Context, c *Call) (*Tool, error) {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := r.plugins[plugin]
	if l == nil {
		return nil, r.notFound(ctx, c, toolList{})
	}
	own, err := r.toolsFor(ctx, c, l)
	if err != nil {
		return nil, err
	}
	if c.catalog.allowsName(c.Tool) {
		if own, err = r.await(ctx, c, l, own, func(list toolList) bool { return list.has(c.Tool) }); err != nil {
			return nil, err
		}
	}
	t := own.tools[c.Tool]
	switch {
	case t == nil:
		for _, p := range own.problems {
			out, ok := errors.AsType[*toolProblem](p)
			if ok && out.refusal != nil && out.name == c.Tool && c.catalog.allowsName(c.Tool) {
				return nil, new(*out.refusal)
			}
		}
		return nil, r.notFound(ctx, c, own)
	case !c.catalog.allows(t):
		return nil, r.notInCatalog(ctx, c, own)
	case r.singleCall && t.Stateful:
		return nil, advise(fail(sdk.CodeNotInCatalog, "NeedsLastingHost",
			"%s works with what earlier calls left in its plugin's process, and this host ends after one call; nothing was run",
			t.Name), "Reach the goal another way. Only a host that serves many calls, such as an agent's, has this tool.")
	}
	return t, nil
}

// toolsFor lists the plugin if necessary, within the caller's timeout, if there is one. It does not list the plugin
// for a name that the catalog refuses for any tool.
func (r *registry) toolsFor(ctx context.Context, c *Call, l *listing) (own toolList, err error) {
	own = l.load()
	switch {
	case own.tools != nil:
		return own, nil
	case !c.catalog.allowsName(c.Tool):
		return toolList{}, r.notInCatalog(ctx, c, toolList{})
	}
	ctx, starting := c.enterStart(ctx, l.name)
	defer func() { starting.end(asError(err), 0) }()
	return r.listFor(ctx, c, l)
}

// listFor lists the plugin within the caller's timeout.
func (r *registry) listFor(ctx context.Context, c *Call, l *listing) (toolList, error) {
	limited, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.timeout))
	defer cancel()
	slow := time.AfterFunc(slowListing, func() { c.reportProgress(fmt.Sprintf("plugin %q is starting", l.name)) })
	defer slow.Stop()
	return l.list(limited)
}

// slowListing is how long a plugin may take to list its tools until the caller learns what it waits for.
const slowListing = 2 * time.Second

// has reports whether the plugin has a tool, or had to leave it out.
func (l toolList) has(tool string) bool {
	return l.tools[tool] != nil || slices.ContainsFunc(l.problems, func(p error) bool { return concerns(p, tool) })
}

func (c *Call) reportProgress(text string) {
	c.forward(sdk.Event{Type: sdk.EventProgress, Message: text})
}
