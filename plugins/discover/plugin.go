package main

import (
	"context"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

func newPlugin() *sdk.Plugin {
	p := sdk.New("discover", version)
	p.Dynamic()
	sdk.Configure(p, func(ctx context.Context, r *sdk.Request, c config) error {
		return configure(ctx, p, r.Workdir, c)
	})
	return p
}

// configure runs the discovery command and offers the tools it printed. Only mistakes in the configuration are errors: a
// project whose discovery command is broken has no tools and a notice that says why, and its host starts all the same.
func configure(ctx context.Context, p *sdk.Plugin, workdir string, c config) error {
	s, err := c.settings(workdir)
	if err != nil {
		return err
	}
	if s.discovery.none() { // found in a plugin folder, and not configured
		return p.SetTools(nil)
	}
	printed, err := s.discover(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var found catalog
	if err == nil {
		err = found.read(printed, s)
	}
	if err != nil {
		found.note("no tools: discovery_command %s: %v", s.discovery, err)
	}
	if len(found.tools) > 0 && s.call.none() {
		return invalidConfig("call_command is missing: discovery_command found %d tools, and there is nothing to call them with", len(found.tools))
	}
	return p.SetTools(found.tools, found.notices()...)
}
