package plugincheck

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// unknown is a tool that no plugin has: calls of it change nothing.
const unknown = "toolhost-check-no-such-tool"

// call makes one call as a host does, and returns what goes wrong besides the tool's own failure.
func (c *checker) call(ctx context.Context, p *process, tool string, arguments json.RawMessage,
	events func(sdk.Event)) (
	*sdk.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	workdir, err := c.newWorkdir()
	if err != nil {
		return nil, err
	}
	id := rand.Text()
	return p.client.Call(ctx, &sdk.Request{CallID: id, RunID: id, Tool: tool, Arguments: arguments, Workdir: workdir,
		SessionID: "check", Attempt: 1, Events: events})
}

func (c *checker) unknownTool(ctx context.Context, p *process) *problem {
	const fix = "Answer with a result whose error has the code E_TOOL_NOT_FOUND."
	r, err := c.call(ctx, p, unknown, json.RawMessage("{}"), nil)
	switch {
	case err != nil:
		return failed(fix, "a call of a tool that it does not have: %v%s", err, p.stderr.quote())
	case r.Error == nil:
		return failed(fix, "a call of a tool that it does not have succeeds")
	case r.Error.Code != sdk.CodeToolNotFound:
		return warned(fix, "a call of a tool that it does not have fails with %q: %s", r.Error.Code, r.Error.Message)
	}
	return nil
}

func (c *checker) badArguments(ctx context.Context, p *process) *problem {
	const fix = "A host checks arguments first, but decode them with care all the same: answer with a result whose " +
		"error has the code E_TOOL_INVALID_ARGS."
	for _, t := range c.Examples { // a tool that ignores its arguments runs: no other may
		r, err := c.call(ctx, p, t.Tool, json.RawMessage(`{"`), nil)
		switch {
		case err != nil:
			return failed(fix, "tool %q with arguments that are not JSON: %v%s", t.Tool, err, p.stderr.quote())
		case r.Error == nil:
			return warned(fix, "tool %q succeeds with arguments that are not JSON", t.Tool)
		}
	}
	return nil
}

func (c *checker) unknownFields(ctx context.Context, p *process) *problem {
	r := &pluginv1.CallRequest{CallId: rand.Text(), Tool: unknown, Arguments: []byte("{}")}
	later := protowire.AppendTag(nil, 1000, protowire.BytesType)
	later = protowire.AppendString(later, "of a later version")
	r.ProtoReflect().SetUnknown(later)
	if err := c.rawCall(ctx, p, r); err != nil {
		return failed("Decode messages with a protobuf library, which ignores unknown fields.",
			"a request with a field of a later version: %v", err)
	}
	return nil
}

// rawCall makes a call of the method Call, and returns when its result has come.
func (c *checker) rawCall(ctx context.Context, p *process, r *pluginv1.CallRequest) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	stream, err := p.raw.Call(ctx, r)
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if err != nil || e.GetResult() != nil {
			return err
		}
	}
}

func (c *checker) largeArguments(ctx context.Context, p *process) *problem {
	head, end := `{"x":"`, `"}`
	arguments := head + strings.Repeat("x", wire.MaxArguments-len(head)-len(end)) + end
	if _, err := c.call(ctx, p, unknown, json.RawMessage(arguments), nil); err != nil {
		return failed("Let the gRPC server take messages of 4.25 MiB.", "a call with arguments of 1 MiB: %v%s", err,
			p.stderr.quote())
	}
	return nil
}

func (c *checker) repeat(ctx context.Context, p *process) *problem {
	id := rand.Text()
	r := &pluginv1.CallRequest{CallId: id, RunId: id, Tool: unknown, Arguments: []byte("{}")}
	if err := c.rawCall(ctx, p, r); err != nil {
		return failed("", "%v", err)
	}
	if err := c.rawCall(ctx, p, r); status.Code(err) != codes.AlreadyExists {
		return warned("Keep the run ids of the last 4096 calls, and end a repeat with ALREADY_EXISTS: gRPC may bring a "+
			"request twice.", "a call that came twice ran twice (the status of the second is %v)", status.Code(err))
	}
	other := &pluginv1.CallRequest{CallId: id, RunId: rand.Text(), Tool: unknown, Arguments: []byte("{}")}
	if err := c.rawCall(ctx, p, other); err != nil {
		return failed("A call is known by its run_id; a call_id may come again.",
			"a new call with the call_id of another one: %v", err)
	}
	return nil
}

// checkResult says what is wrong with the result of a call that should succeed.
func (c *checker) checkResult(e Call, r *sdk.Result, err error) error {
	switch {
	case err != nil:
		return err
	case r.Error != nil:
		return fmt.Errorf("%s: %s", r.Error.Name, r.Error.Message)
	case len(r.Content) == 0 && r.Structured == nil && r.InputRequired == nil:
		return errors.New("the result is empty: a model reads nothing")
	}
	t := c.tool(e.Tool)
	if t == nil || t.OutputSchema == nil || r.InputRequired != nil {
		return nil
	}
	s, err := schema.Compile(t.OutputSchema)
	switch {
	case err != nil:
		return nil //nolint:nilerr // definitions says it
	case r.Structured == nil:
		return errors.New("it has an output schema, and the result is not structured")
	}
	if err := s.Validate(r.Structured); err != nil {
		return fmt.Errorf("the structured result does not fit the output schema: %w", err)
	}
	return nil
}

func (c *checker) examples(ctx context.Context, p *process) *problem {
	bad := c.makeExamples(ctx, p)
	c.examplesFail = bad != nil && bad.status == Fail // the items after it are about something else
	return bad
}

func (c *checker) makeExamples(ctx context.Context, p *process) *problem {
	for _, e := range c.Examples {
		if err := c.fits(e); err != nil {
			return failed("A host refuses this call before the plugin sees it.", "%s: %v", e, err)
		}
		var first sdk.EventType
		r, err := c.call(ctx, p, e.Tool, e.Arguments, func(e sdk.Event) {
			first = cmp.Or(first, e.Type)
		})
		if err != nil && p.endsSoon() {
			return failed("Return an error from the handler, and let the process run on.",
				"%s: the plugin ended in the call (%v)%s", e, p.waitExit(time.Second), p.stderr.quote())
		}
		if err := c.checkResult(e, r, err); err != nil {
			return failed("", "%s: %v%s", e, err, p.stderr.quote())
		}
		if first != sdk.EventStarted {
			return warned("Send a started event as soon as the call is there: with it a host knows that the call arrived.",
				"%s: the first event is %q, not started", e, first)
		}
	}
	return nil
}

// fits checks a call against the tool's schema.
func (c *checker) fits(e Call) error {
	t := c.tool(e.Tool)
	if t == nil {
		return fmt.Errorf("there is no tool %q", e.Tool)
	}
	s, err := schema.CompileForeign(t.InputSchema)
	if err != nil {
		return nil //nolint:nilerr // definitions says it
	}
	if invalid := s.Validate(e.Arguments); invalid != nil {
		return invalid
	}
	return nil
}

// tool is the definition of a tool; nil if there is none.
func (c *checker) tool(name string) *sdk.Tool {
	for i := range c.description.Tools {
		if c.description.Tools[i].Name == name {
			return &c.description.Tools[i]
		}
	}
	return nil
}

// String is the call in the form in which it is typed.
func (e Call) String() string { return fmt.Sprintf("%s %s", e.Tool, bytes.TrimSpace(e.Arguments)) }

// harmless are calls that may be made many times: the examples if they succeed, else one of a tool that does not exist.
func (c *checker) harmless(i int) Call {
	if len(c.Examples) == 0 || c.examplesFail {
		return Call{unknown, json.RawMessage("{}")}
	}
	return c.Examples[i%len(c.Examples)]
}

// again makes a harmless call and says what goes wrong.
func (c *checker) again(ctx context.Context, p *process, i int) error {
	e := c.harmless(i)
	r, err := c.call(ctx, p, e.Tool, e.Arguments, nil)
	if e.Tool == unknown {
		return err
	}
	return c.checkResult(e, r, err)
}

func (c *checker) parallel(ctx context.Context, p *process) *problem {
	const calls = 32
	errs := make([]error, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() { errs[i] = c.again(ctx, p, i) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return failed("Handlers run in parallel, also with themselves: guard what they share.",
				"%d of %d calls at once: %s: %v", i+1, calls, c.harmless(i), err)
		}
	}
	return nil
}

func (c *checker) leftovers(ctx context.Context, p *process) *problem {
	const calls, spare, patience = 50, 10, 3 * time.Second
	if err := c.again(ctx, p, 0); err != nil { // what the first call makes may stay
		return failed("", "%v", err)
	}
	before, ok := resources(p.cmd.Process.Pid)
	if !ok {
		return skipped("this system does not report the resources of a process")
	}
	for i := range calls {
		if err := c.again(ctx, p, i); err != nil {
			return failed("", "call %d: %v", i+1, err)
		}
	}
	for end := time.Now().Add(patience); ; {
		after, _ := resources(p.cmd.Process.Pid)
		files, threads, children := after.files-before.files, after.threads-before.threads, after.children-before.children
		if files <= spare && threads <= 2*spare && children <= 0 {
			return nil
		}
		if time.Now().After(end) {
			return failed("Close files and wait for programs when a call ends.",
				"after %d calls it has %d more open files, %d more threads and %d more child processes", calls, files, threads,
				children)
		}
		select { // a program may take a moment to end
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *checker) cancel(ctx context.Context, p *process) *problem {
	const fix = "Pass the call's context, signal or Call on to whatever waits, and return within a second of its end."
	const waits = "Give a call with --wait that runs until it is canceled, and lets the plugin answer meanwhile: a loop " +
		"without await blocks all calls."
	for _, e := range c.Wait {
		ctx, cancel := context.WithCancel(ctx)
		begun := make(chan struct{})
		once := sync.OnceFunc(func() { close(begun) })
		ended := make(chan error, 1)
		go func() {
			r, err := c.call(ctx, p, e.Tool, e.Arguments, func(sdk.Event) { once() })
			if err == nil {
				err = fmt.Errorf("it ended by itself: %+v", *r)
			}
			ended <- err
		}()
		select {
		case <-begun:
		case err := <-ended:
			cancel()
			return failed(waits, "%s, before its first event: %v", e, err)
		}
		select { // the handler has begun by then
		case err := <-ended:
			cancel()
			return failed(waits, "%s: %v", e, err)
		case <-time.After(200 * time.Millisecond):
		}
		cancel()
		<-ended //nolint:errcheck // of a call that was canceled
		if bad := c.handlersEnd(context.WithoutCancel(ctx), p, e, fix); bad != nil {
			return bad
		}
	}
	return nil
}

// handlersEnd waits until no handler runs whose call has ended.
func (c *checker) handlersEnd(ctx context.Context, p *process, e Call, fix string) *problem {
	for end := time.Now().Add(time.Second); ; {
		handlers, _, err := p.client.Overdue(ctx, 0)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return warned("Implement Overdue, so that a host sees handlers that ignore cancellation.",
				"it does not say which handlers still run")
		case err != nil:
			return failed(fix, "%s, canceled: %v%s", e, err, p.stderr.quote())
		case handlers == 0:
			return nil
		case time.Now().After(end):
			return failed(fix, "%s still runs a second after it was canceled", e)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *checker) panics(ctx context.Context, p *process) *problem {
	const fix = "Recover from what a handler throws, and answer with a result that has an error."
	for _, e := range c.Panic {
		r, err := c.call(ctx, p, e.Tool, e.Arguments, nil)
		switch {
		case err != nil || p.exited():
			return failed(fix, "%s: %v%s", e, err, p.stderr.quote())
		case r.Error == nil:
			return failed("", "%s succeeds", e)
		}
	}
	return c.stillAnswers(ctx, p, fix)
}

// stillAnswers reports whether a process that was treated badly does.
func (c *checker) stillAnswers(ctx context.Context, p *process, fix string) *problem {
	if err := c.again(ctx, p, 0); err != nil {
		return failed(fix, "afterwards: %v%s", err, p.stderr.quote())
	}
	return nil
}

func (c *checker) events(ctx context.Context, p *process) *problem {
	return c.survives(ctx, p, c.Events,
		"Send at most 1000 events a second, 4000 at once, and drop the rest with a log event that says so.", nil)
}

func (c *checker) largeResult(ctx context.Context, p *process) *problem {
	const enough = 256 << 10
	return c.survives(ctx, p, c.Large,
		"Send parts larger than 256 KiB as part and more events, with the size of the whole.", func(r *sdk.Result) error {
			size := len(r.Structured)
			for _, part := range r.Content {
				size += len(part.Text) + len(part.Data) + len(part.Raw)
			}
			if size <= enough {
				return fmt.Errorf("the result has %d bytes, and must have more than %d", size, enough)
			}
			return nil
		})
}

func (c *checker) longLine(ctx context.Context, p *process) *problem {
	return c.survives(ctx, p, c.Print, "Do not block on standard output or standard error.", nil)
}

// survives makes calls that must succeed, and one after them.
func (c *checker) survives(ctx context.Context, p *process, calls []Call, fix string,
	more func(*sdk.Result) error) *problem {
	for _, e := range calls {
		r, err := c.call(ctx, p, e.Tool, e.Arguments, func(sdk.Event) {})
		if err == nil && r.Error != nil {
			err = r.Error
		}
		if err == nil && more != nil {
			err = more(r)
		}
		if err != nil {
			return failed(fix, "%s: %v%s", e, err, p.stderr.quote())
		}
	}
	return c.stillAnswers(ctx, p, fix)
}
