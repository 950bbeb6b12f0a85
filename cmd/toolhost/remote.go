package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	rpc "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/sdk"
)

// cancelGrace is how long the running host may take to answer a call that was interrupted.
const cancelGrace = 10 * time.Second

// errNoHost means that no running host has taken a call, so that the command makes it as a host of its own.
var errNoHost = errors.New("no host has taken the call")

// maxStops is how often one process may refuse a call since it stops.
const maxStops = 2

// callRunning makes the call on a running host. A host that stops just then is tried again, and so is each one that
// takes its place, however many follow while the call waits for a person.
func (g *options) callRunning(ctx context.Context, tool string, arguments json.RawMessage, person io.Reader,
	f callFlags) error {
	if !utf8.Valid(arguments) { // a message cannot have them; what is said of them is the same everywhere
		return errNoHost
	}
	for stops := map[int32]int{}; ; {
		r, err := g.hostFor(ctx, f.profile)
		if err != nil {
			return err
		}
		if r == nil {
			return errNoHost
		}
		if f.approve != "" && r.info.Mode != string(host.ModeAsk) && r.info.Mode != string(host.ModePlan) {
			r.close()
			g.explain("a host of its own, since --approve does not change the approval mode of the running one, " + r.info.Mode)
			return errNoHost
		}
		watch := g.eventPrinter(f)
		result, err := makeCall(ctx, &runningCall{g, r, tool, person, f}, arguments, f, watch)
		r.close()
		switch {
		case err == nil:
			return g.print(result, watch, f)
		case !errors.Is(err, errNoHost):
			return err
		}
		if stops[r.info.Pid]++; stops[r.info.Pid] == maxStops {
			g.explain("a host of its own, since the running one is stopping")
			return errNoHost
		}
	}
}

// A runningCall is a call on a running host.
type runningCall struct {
	g      *options
	r      *runningHost
	tool   string
	person io.Reader // nil without a terminal
	f      callFlags
}

func (c *runningCall) describe(ctx context.Context) (string, json.RawMessage, error) {
	described, err := c.r.host.DescribeTool(ctx, &apiv1.DescribeToolRequest{Tool: convert.Text(c.tool)})
	switch {
	case err == nil:
		return described.Tool.Name, json.RawMessage(described.Tool.InputSchema), nil
	case ctx.Err() != nil:
		return "", nil, errInterrupted
	case errorDetail(err).GetCode() != "":
		return "", nil, errUndescribed
	case disconnected(err):
		return "", nil, errNoHost // nothing was called
	}
	return "", nil, remoteError(err)
}

func (c *runningCall) call(ctx context.Context, arguments json.RawMessage, watch *eventPrinter) (*host.Result, error) {
	in := &apiv1.CallRequest{Tool: convert.Text(c.tool), Arguments: string(arguments), CallId: rand.Text(),
		Caller: callerName, SessionId: convert.Text(c.f.session)}
	if c.f.timeout > 0 {
		in.Timeout = durationpb.New(c.f.timeout)
	}
	waiting := c.g.waiting(watch)
	if c.person != nil || c.f.approve != "" {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		here := answerer{approve: bootstrap.Approve(c.f.approve), unanswered: waiting}
		if c.person != nil {
			here.prompter = newPrompter(c.g, c.person)
		}
		if err := c.g.approveHere(asking, c.r, here, in.CallId); err != nil {
			c.g.printError(err)
		} else {
			waiting = func() {} // the question is shown, or answered
		}
	}
	result, err := c.r.call(ctx, in, watch.event, waiting)
	if err != nil {
		return nil, remoteError(err) // errNoHost as it is
	}
	if e := result.Error; e != nil && e.Name == approvals.StoppedName {
		return nil, errNoHost // another host asks
	}
	return result, nil
}

// waiting returns what is called when the call waits for a person: it says where the call can be approved.
func (g *options) waiting(w *eventPrinter) func() {
	if w.stream {
		return func() {} // the status is printed
	}
	return func() {
		fmt.Fprintln(g.err, "toolhost: the call waits for a person's approval: answer it in the console, or with "+
			"`toolhost approvals watch`")
	}
}

// call runs a call with its events. When ctx ends it cancels the call, and waits for the result. It calls waiting each
// time the call begins to wait for a person.
func (r *runningHost) call(ctx context.Context, in *apiv1.CallRequest, event func(sdk.Event), waiting func()) (
	*host.Result, error) {
	lasting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(lasting, cancelGrace)
		defer cancel()
		_, err := r.host.CancelCall(limited, &apiv1.CancelCallRequest{CallId: in.CallId})
		if err == nil {
			<-limited.Done() // the result comes, and ends lasting
		}
		cut()
	})()
	stream, err := r.host.Call(lasting, in)
	if disconnected(err) || errors.Is(err, io.EOF) { // the request was not sent
		return nil, errNoHost
	}
	if err != nil {
		return nil, err
	}
	accepted := false
	for {
		reply, err := stream.Recv()
		if err != nil {
			return nil, lostCall(ctx, err, accepted, in.CallId)
		}
		switch m := reply.Message.(type) {
		case *apiv1.CallResponse_Accepted:
			accepted = true
		case *apiv1.CallResponse_Event:
			e := convert.ToEvent(m.Event)
			event(e)
			if e.Type == sdk.EventStatus && e.Message == string(host.AwaitingApproval) {
				waiting()
			}
		case *apiv1.CallResponse_Result:
			return convert.ToResult(m.Result), nil
		}
	}
}

// lostCall is the error of a call whose stream ended without a result. The record has it under its id.
func lostCall(ctx context.Context, err error, accepted bool, id string) error {
	s, _ := status.FromError(err)
	var e *sdk.Error
	switch {
	case ctx.Err() != nil && !accepted:
		return errInterrupted
	case ctx.Err() != nil:
		e = &sdk.Error{Code: sdk.CodeCanceled, Name: "Interrupted", Message: "interrupted", Outcome: sdk.OutcomeUnknown,
			Suggestion: "The running host was asked to cancel it, and did not say how it ended: check what it has done."}
	case s.Code() != rpc.Unavailable:
		return err
	case !accepted && len(s.Details()) > 0: // the host said so itself: it is stopping
		return errNoHost
	default:
		e = &sdk.Error{Code: sdk.CodePluginCrashed, Name: "HostLost", Message: "the running host was lost during the call",
			Suggestion: "It is not known whether the call has done its work, or a part: check before you repeat it.",
			Outcome:    sdk.OutcomeUnknown}
	}
	return &refusal{exitError: &exitError{codeFor(e), e.Message + "\n  " + e.Suggestion}, is: e, call: id}
}
