package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/api/pluginstatus"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// statusOf shows the states of a running host's plugins.
func (g *globals) statusOf(ctx context.Context, r *runningHost, format string) error {
	reply, err := apiv1.NewPluginServiceClient(r.conn).List(ctx, &apiv1.ListPluginsRequest{})
	if err != nil {
		return remoteError(err)
	}
	for _, p := range reply.Problems {
		g.printError(errors.New(p))
	}
	all := []pluginStatus{}
	for _, p := range reply.Plugins {
		all = append(all, pluginStatus{Status: pluginstatus.Status(p), Lock: bootstrap.LockState(p.Lock),
			Memory: p.MemoryBytes, CPU: p.Cpu.AsDuration().Seconds()})
	}
	if err := g.printStatus(all, format); err != nil {
		return err
	}
	if format == "table" {
		g.printNotices(nil, all)
	}
	return statusCode(all, len(reply.Problems) > 0)
}

// plain reports whether a running host knows all that is asked for: what its catalog has now.
func (f discoverFlags) plain() bool {
	return len(f.plugins) == 0 && !f.searching && !f.tokens && !f.deferred && !f.refresh && !f.offline && f.model == "" &&
		f.format != string(modelapi.FormatGemini)
}

// discoverOn lists the tools of a running host.
func (g *globals) discoverOn(ctx context.Context, r *runningHost, f discoverFlags) error {
	var tools []*host.Tool
	var problems []error
	waiting := time.AfterFunc(time.Second, func() {
		fmt.Fprintln(g.err, "waiting for tools of the running host's plugins")
	})
	defer waiting.Stop()
	for token := ""; ; {
		reply, err := r.host.ListTools(ctx, &apiv1.ListToolsRequest{Schemas: true, PageToken: token, Await: token == ""})
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return remoteError(err)
		}
		for _, t := range reply.Tools {
			tool, err := convert.ToTool(t)
			if err != nil {
				return err
			}
			tools = append(tools, tool)
		}
		for _, p := range reply.Problems {
			if token == "" {
				problems = append(problems, errors.New(p))
			}
		}
		if token = reply.NextPageToken; token == "" {
			break
		}
	}
	waiting.Stop()
	g.printErrors(problems...)
	plugins, err := apiv1.NewPluginServiceClient(r.conn).List(ctx, &apiv1.ListPluginsRequest{})
	if err != nil {
		return remoteError(err)
	}
	for _, p := range plugins.Plugins {
		told, failed := statusNotices(pluginstatus.Status(p))
		g.printErrors(told...)
		problems = append(problems, failed...)
	}
	g.printErrors(uncheckedNotices(tools)...)
	for _, p := range r.info.Problems {
		problems = append(problems, errors.New(p))
		g.printError(errors.New(p))
	}
	if err := g.printTools(tools, nil, problems, f); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

// toolCallRunning makes the call of toolhost-call on a running host.
func (g *globals) toolCallRunning(ctx context.Context, tool string, arguments json.RawMessage, profile,
	session string) error {
	if !utf8.Valid(arguments) { // a message cannot have them, as for call
		return errNoHost
	}
	tool, session = convert.Text(tool), convert.Text(session)
	r, err := g.hostFor(ctx, profile)
	if err != nil {
		return err
	} else if r == nil {
		return errNoHost
	}
	defer r.close()
	if bytes.Contains(arguments, []byte(waitForPrevious)) {
		described, err := r.host.DescribeTool(ctx, &apiv1.DescribeToolRequest{Tool: tool})
		if err == nil && !describes(json.RawMessage(described.Tool.InputSchema), waitForPrevious) {
			arguments = without(arguments, waitForPrevious)
		}
	}
	result, err := r.call(ctx, &apiv1.CallRequest{Tool: tool, Arguments: string(arguments), CallId: rand.Text(),
		Caller: callerName, SessionId: session}, func(sdk.Event) {}, func() {})
	if errors.Is(err, errNoHost) {
		return err
	} else if err != nil {
		return remoteError(err)
	}
	return g.printToolCall(result, "")
}
