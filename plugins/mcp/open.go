package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/programpath"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/plugins/mcp/internal/httptransport"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// opener connects to the server for callers of a work folder.
func (s *settings) opener(workdir string) client.OpenFunc {
	return func(ctx context.Context) (client.Transport, error) {
		if s.url != nil {
			return httptransport.New(s.httpOptions())
		}
		return s.openCommand(ctx, workdir)
	}
}

// openCommand starts the server's program. It gets the environment of the plugin, which the host has bounded, and the
// variables of the configuration; and its folder in the PATH, since programs such as npx run others beside them.
func (s *settings) openCommand(ctx context.Context, workdir string) (client.Transport, error) {
	dir := workdir
	if s.cwd != "" {
		dir = s.cwd
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the folder %s, in which it starts, does not exist or is no folder", dir)
	}
	env := append(proctree.Environ(), "PWD="+dir)
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	program, err := programpath.Find(s.command[0], env)
	if err != nil {
		return nil, fmt.Errorf("%w. Fix: install it, or write its whole path in command", err)
	}
	c := &client.Command{Path: program.Path, Args: s.command[1:], Dir: dir, Env: append(env, "PATH="+program.PATH),
		Stderr: func(line string) { fmt.Fprintln(os.Stderr, line) }} // the host logs it with the plugin's own
	return c.Open(ctx)
}

func (s *settings) httpOptions() httptransport.Options {
	o := httptransport.Options{URL: s.url.String(), Header: s.headers, LegacySSE: s.transport == "sse",
		StreamableOnly: s.transport == "http", ProxyFromEnvironment: true}
	if s.tokens != nil {
		o.Authorizer = s.tokens
	}
	return o
}
