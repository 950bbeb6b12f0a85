package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

func (b *bridge) handler(d *definition) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		arguments := r.Arguments // byte for byte: what was checked and approved is what the server gets
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		q := &toolRequest{bridge: b, request: r, tool: d, method: "tools/call",
			headers: headersOf(d.headers, r.Arguments),
			params:  rawjson.Object{{Name: "name", Value: sdk.Encode(d.original)}, {Name: "arguments", Value: arguments}}}
		return q.run(ctx)
	}
}

// A toolRequest is one request to the server for a call.
type toolRequest struct {
	bridge  *bridge
	request *sdk.Request // the first one, if there are several for a call that has questions
	tool    *definition  // nil for a tool of the plugin's own
	method  string
	params  rawjson.Object
	headers map[string]string
	read    func(json.RawMessage) (reply, error) // nil reads the result of a tool

	visits     *visits // that a person has accepted; nil in a call that asked for none
	session    *client.Session
	lastActive atomic.Pointer[time.Time] // when something last came from the server
	silences   atomic.Int32              // questions that are open: the server waits, too

	events   sync.Mutex   // held while an event is passed on
	attached *sdk.Request // receives events; nil while no one does
}

// run makes the request, or continues one that had questions.
func (q *toolRequest) run(ctx context.Context) (*sdk.Result, error) {
	if q.request.RequestState != "" || q.request.DuringQuestions {
		return q.resume(ctx)
	}
	return q.start(ctx)
}

func (q *toolRequest) start(ctx context.Context) (*sdk.Result, error) {
	u, err := q.bridge.upstreams.use(q.workdir())
	if err != nil {
		return nil, err
	}
	if q.session, err = q.connect(ctx, u); err != nil {
		u.release()
		return nil, err
	}
	if !q.modern() && q.mayAsk() {
		return q.begin(ctx, u) // which may continue after this call, and releases u
	}
	defer u.release()
	q.attach(q.request)
	defer q.detach(q.request)
	if q.modern() {
		return q.callModern(ctx)
	}
	return q.finish(q.callInTurn(ctx, u, nil))
}

// callInTurn makes a call to a server with a handshake, when it may run. o is nil if the caller answers no questions.
func (q *toolRequest) callInTurn(ctx context.Context, u *upstream, o *serverCall) (raw json.RawMessage, err error) {
	leave, err := u.enter(ctx, &runningCall{q.request.SessionID, o}, func() {
		q.request.Progress(0, 0, "waiting until calls of other clients of %s have ended", q.bridge.who())
	})
	if err != nil {
		return nil, err
	}
	defer func() { leave(err) }()
	ask := q.refuse
	if o != nil {
		ask = o.ask
	}
	return q.call(ctx, ask)
}

// refuse answers the questions on the stream of a call whose caller answers none.
func (q *toolRequest) refuse(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, *client.RPCError) {
	if method == methodRoots {
		return roots(q.workdir()), nil
	}
	return nil, refuseQuestion(method)
}

// attach lets a request receive the events of the call. Those of the one before are over when it returns.
func (q *toolRequest) attach(r *sdk.Request) {
	q.events.Lock()
	defer q.events.Unlock()
	q.attached = r
}

// detach ends what attach began, unless another request receives the events by now.
func (q *toolRequest) detach(r *sdk.Request) {
	q.events.Lock()
	defer q.events.Unlock()
	if q.attached == r {
		q.attached = nil
	}
}

// quiet counts open questions, during which the server need not be active.
func (q *toolRequest) quiet(more int32) {
	q.active() // before, so that no silence of before counts
	q.silences.Add(more)
}

func (q *toolRequest) workdir() string { return cmp.Or(q.request.Workdir, q.bridge.workdir) }

// modern reports whether the server asks by returning questions, and not in the middle of a call.
func (q *toolRequest) modern() bool { return q.session.Server().Revision >= client.Revision20260728 }

// connect returns a session whose tool is the one that was decided on.
func (q *toolRequest) connect(ctx context.Context, u *upstream) (*client.Session, error) {
	session, err := u.connected(ctx, func(since time.Duration) {
		// The seconds are not its progress: the server's own would then begin below them.
		q.request.Progress(0, 0, "starting %s (%s)", q.bridge.who(), since.Round(time.Second))
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if q.tool == nil {
		return session, nil
	}
	switch now := u.current(q.tool.original); {
	case now == nil:
		return nil, &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolGone", Message: fmt.Sprintf(
			"%s has no tool %q any more; nothing was run", q.bridge.who(), q.tool.original), Suggestion: "List the tools again."}
	case !now.same(q.tool):
		return nil, &sdk.Error{Name: "DefinitionChanged", Retryable: true, Message: fmt.Sprintf(
			"the definition of the tool %q is not the one that this call was decided on; nothing was run", q.tool.original),
			Suggestion: "Read the tool's definition again, then make the call again."}
	}
	return session, nil
}

var errIdle = errors.New("idle")

// call sends the request and waits for its result, which is an error when the server is silent for too long. Questions
// that are known to be for the call go to ask.
func (q *toolRequest) call(ctx context.Context, ask client.RequestFunc) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer q.watch(ctx, cancel)()
	level, _ := text(memberOf(q.request.Meta, "io.modelcontextprotocol/logLevel"))
	o := &client.CallOptions{Meta: q.request.Meta, TraceParent: q.request.TraceParent,
		TraceState: q.request.TraceState, Capabilities: q.capabilities(), Headers: q.headers,
		LogLevel: level, Progress: q.progress, Log: q.log, Request: ask}
	if q.tool != nil && q.tool.needsTask() && !q.modern() {
		return q.callTask(ctx, o)
	}
	return q.session.Call(ctx, q.method, q.params.JSON(), o)
}

// watch ends a call that shows no activity within the idle time. It costs a call without events one timer.
func (q *toolRequest) watch(ctx context.Context, end context.CancelCauseFunc) (stop func() bool) {
	q.active()
	var check func()
	check = func() {
		left := q.bridge.idleTimeout
		if q.silences.Load() == 0 {
			left -= time.Since(*q.lastActive.Load())
		}
		switch {
		case ctx.Err() != nil:
		case left <= 0:
			end(errIdle)
		default:
			time.AfterFunc(left, check)
		}
	}
	return time.AfterFunc(q.bridge.idleTimeout, check).Stop
}

// active notes that something came from the server.
func (q *toolRequest) active() { q.lastActive.Store(new(time.Now())) }

func (q *toolRequest) progress(p client.Progress) {
	q.emit(sdk.Event{Type: sdk.EventProgress, Done: p.Progress, Total: p.Total, Message: p.Message})
}

// levels are those of MCP's log messages.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo,
	"warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError, "alert": slog.LevelError,
	"emergency": slog.LevelError}

func (q *toolRequest) log(m client.LogMessage) { q.emit(logEvent(m)) }

func (q *toolRequest) emit(e sdk.Event) {
	q.active()
	q.events.Lock()
	defer q.events.Unlock()
	if q.attached != nil && q.attached.Events != nil {
		q.attached.Events(e)
	}
}

// logEvent is a log message of a server as an event. Its attributes have what the message was.
func logEvent(m client.LogMessage) sdk.Event {
	message, isText := text(m.Data)
	if !isText {
		message = string(m.Data)
	}
	attributes := rawjson.Object{{Name: "mcp_level", Value: sdk.Encode(m.Level)}}
	if m.Logger != "" {
		attributes.Add("logger", sdk.Encode(m.Logger))
	}
	if !isText && m.Data != nil {
		attributes.Add("data", m.Data)
	}
	return sdk.Event{Type: sdk.EventLog, Level: levels[m.Level], Message: message, Attributes: attributes.JSON()}
}

// finish makes the call's result of what a server with a handshake answered.
func (q *toolRequest) finish(raw json.RawMessage, err error) (*sdk.Result, error) {
	if err != nil {
		return q.failure(err)
	}
	reply, err := q.reply(raw)
	if err == nil && reply.asking {
		err = badResult(q, errors.New("it asks in a way that its protocol revision does not have"))
	}
	if err != nil {
		return nil, err
	}
	return reply.result, nil
}

func (q *toolRequest) reply(raw json.RawMessage) (reply, error) {
	read := q.read
	if read == nil {
		read = readReply
	}
	out, err := read(raw)
	if err != nil {
		return reply{}, badResult(q, err)
	}
	return out, nil
}

func badResult(q *toolRequest, err error) error {
	return &sdk.Error{Name: "BadResult", Outcome: sdk.OutcomeUnknown,
		Message:    fmt.Sprintf("the answer of %s violates the MCP specification: %v", q.bridge.who(), err),
		Suggestion: "The call may have run. Check what it has done before you repeat it."}
}

// Some tools of revision 2025-11-25 run as tasks only: the server returns at once, and has the result later. A call
// waits for it, so that such a tool is one like any other.

// needsTask reports whether a tool can only be called as a task.
func (d *definition) needsTask() bool {
	support, _ := text(memberOf(memberOf(d.Extra, "execution"), "taskSupport"))
	return support == "required"
}

// Times between two questions for a task's state.
const (
	leastPoll = 50 * time.Millisecond
	firstPoll = 500 * time.Millisecond
	mostPoll  = 10 * time.Second
)

// taskTime is how long the server is asked to keep the result.
var taskTime = sdk.Encode(map[string]int64{"ttl": maxCallTime.Milliseconds()})

// A taskState is a task's state as the server reports it.
type taskState struct {
	ID       string  `json:"taskId"`
	Status   string  `json:"status"`
	Message  string  `json:"statusMessage"`
	Interval float64 `json:"pollInterval"` // milliseconds
}

func (q *toolRequest) callTask(ctx context.Context, o *client.CallOptions) (json.RawMessage, error) {
	params := slices.Concat(q.params, rawjson.Object{{Name: "task", Value: taskTime}})
	raw, err := q.session.Call(ctx, q.method, params.JSON(), o)
	if err != nil {
		return nil, err
	}
	var state taskState
	_ = json.Unmarshal(memberOf(raw, "task"), &state)
	if state.ID == "" {
		return raw, nil // the server made no task of it
	}
	id := rawjson.Object{{Name: "taskId", Value: sdk.Encode(state.ID)}}.JSON()
	follow := *o
	follow.Headers = nil
	if err := q.followTask(ctx, state, id, &follow); err != nil {
		return nil, delivered(err)
	}
	raw, err = q.session.Call(ctx, "tasks/result", id, &follow)
	return raw, delivered(err)
}

// followTask waits until a task has a result, or asks. A call that ends before cancels the task.
func (q *toolRequest) followTask(ctx context.Context, state taskState, id json.RawMessage,
	o *client.CallOptions) error {
	for state.Status == "working" {
		q.emit(sdk.Event{Type: sdk.EventProgress, Message: state.Message})
		wait := firstPoll
		if state.Interval > 0 {
			wait = time.Duration(min(state.Interval, float64(mostPoll.Milliseconds()))) * time.Millisecond
		}
		if !pause(ctx, max(wait, leastPoll)) {
			q.cancelTask(ctx, id)
			return context.Cause(ctx)
		}
		raw, err := q.session.Call(ctx, "tasks/get", id, o)
		if ctx.Err() != nil {
			q.cancelTask(ctx, id)
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &state); err != nil {
			return err
		}
	}
	return nil
}

// cancelTask cancels a task that nothing waits for any more.
func (q *toolRequest) cancelTask(ctx context.Context, id json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = q.session.Call(ctx, "tasks/cancel", id, &client.CallOptions{})
}

// delivered marks an error of a request that follows the call itself.
func delivered(err error) error {
	if _, refused := errors.AsType[*client.RPCError](err); err == nil || refused {
		return err
	}
	return &client.CallError{Delivered: true, Err: err}
}
