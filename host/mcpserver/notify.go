package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of what waits to be sent of one call. What is over them is left out.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 4 << 20
)

// A notifier sends the events of one call as notifications, in their order.
type notifier struct {
	ctx   context.Context
	r     *request
	tool  string
	token json.RawMessage // of progress; nil when the client wants none
	last  float64         // progress that was sent
	sent  bool            // some was

	mu      sync.Mutex
	waiting []sdk.Event
	bytes   int
	sending chan struct{} // closed when nothing waits any more; nil when nothing is being sent
}

func newNotifier(ctx context.Context, r *request, tool string) *notifier {
	n := &notifier{ctx: ctx, r: r, tool: tool, token: r.meta.Get("progressToken")}
	if string(n.token) == "null" {
		n.token = nil
	}
	return n
}

// add takes an event without waiting until it is sent.
func (n *notifier) add(e sdk.Event) {
	switch {
	case e.Type == sdk.EventLog:
	case n.token != nil && (e.Type == sdk.EventProgress || e.Type == sdk.EventOutput):
	default:
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	size := len(e.Data) + len(e.Message) + len(e.Attributes)
	if len(n.waiting) >= maxWaiting || n.bytes+size > maxWaitingBytes {
		return
	}
	n.waiting, n.bytes = append(n.waiting, e), n.bytes+size
	if n.sending == nil {
		n.sending = make(chan struct{})
		go n.send()
	}
}

func (n *notifier) send() {
	for {
		n.mu.Lock()
		all := n.waiting
		n.waiting, n.bytes = nil, 0
		if len(all) == 0 {
			close(n.sending)
			n.sending = nil
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		for _, e := range all {
			if n.ctx.Err() == nil {
				n.sendOne(e)
			}
		}
	}
}

// flush waits until all is sent, or the client gives up.
func (n *notifier) flush() {
	n.mu.Lock()
	sending := n.sending
	n.mu.Unlock()
	if sending == nil {
		return
	}
	select {
	case <-sending:
	case <-n.ctx.Done():
	}
}

// sendOne sends one event. A client that cannot be reached gets no result either, so nothing is done about errors.
func (n *notifier) sendOne(e sdk.Event) {
	switch e.Type {
	case sdk.EventProgress:
		n.progress(e.Done, e.Total, e.Message)
	case sdk.EventOutput:
		text, _ := textutil.Visible(string(e.Data), -1)
		n.progress(n.above(), 0, text)
	case sdk.EventLog:
		_ = n.r.session.Log(n.ctx, n.logMessage(e)) //nolint:staticcheck // clients of all revisions may have logging
	}
}

// leastStep is the progress of what has none of its own, such as a piece of output. It is small, so that a tool's own
// scale stays usable behind it.
const leastStep = 1e-6

// above is a progress that is higher than what was sent.
func (n *notifier) above() float64 {
	return math.Max(n.last+leastStep, math.Nextafter(n.last, math.Inf(1)))
}

// progress sends a value that is higher than the one before, as the protocol wants it: a tool may repeat one, and its
// server and toolhost report of one call in turn, each in its own unit. A total that it is above is left out.
func (n *notifier) progress(done, total float64, message string) {
	if n.sent && done <= n.last {
		done = n.above()
	}
	if done > total {
		total = 0
	}
	n.last, n.sent = done, true
	_ = n.r.session.NotifyProgress(n.ctx, &mcp.ProgressNotificationParams{ProgressToken: n.token, Progress: done,
		Total: total, Message: message})
}

// logMessage is a log event as a message: that of an MCP server as it was.
func (n *notifier) logMessage(e sdk.Event) *mcp.LoggingMessageParams { //nolint:staticcheck // clients of all revisions may have logging
	attributes := rawjson.ObjectOf(e.Attributes)
	if upstream := text(attributes.Get("mcp_level")); slices.Contains(logLevelNames, upstream) {
		out := &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(upstream), Logger: text(attributes.Get("logger")), //nolint:staticcheck // clients of all revisions may have logging
			Data: e.Message}
		if data := attributes.Get("data"); data != nil {
			out.Data = data
		}
		return out
	}
	out := &mcp.LoggingMessageParams{Level: level(e.Level), Logger: n.tool, Data: e.Message} //nolint:staticcheck // clients of all revisions may have logging
	if len(attributes) > 0 {
		out.Data = append(rawjson.ObjectWith("message", e.Message), attributes.Without("message")...).JSON()
	}
	return out
}

var logLevelNames = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// level is the nearest level of MCP.
func level(l slog.Level) mcp.LoggingLevel { //nolint:staticcheck // clients of all revisions may have logging
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelInfo+2:
		return "info"
	case l < slog.LevelWarn:
		return "notice"
	case l < slog.LevelError:
		return "warning"
	case l < slog.LevelError+4:
		return "error"
	case l < slog.LevelError+8:
		return "critical"
	case l < slog.LevelError+12:
		return "alert"
	}
	return "emergency"
}

// logLevels are those that clients of the handshake revisions have set for their sessions.
type logLevels struct {
	mu  sync.Mutex
	set map[*mcp.ServerSession]string
}

// note keeps the level of a session, and forgets those of sessions that have ended.
func (l *logLevels) note(session *mcp.ServerSession, level string, of *mcp.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := map[*mcp.ServerSession]string{session: level}
	for open := range of.Sessions() {
		if before, ok := l.set[open]; ok && open != session {
			next[open] = before
		}
	}
	l.set = next
}

// meta is the _meta of a request for the tool, with the level of its session.
func (l *logLevels) meta(r *request) json.RawMessage {
	raw := r.params.Get("_meta")
	l.mu.Lock()
	level := l.set[r.session]
	l.mu.Unlock()
	if level == "" || r.isModern() {
		return raw
	}
	out := r.meta.Without(mcp.MetaKeyLogLevel) //nolint:staticcheck // revisions before 2026-07-28 have logging
	out.AddText(mcp.MetaKeyLogLevel, level)    //nolint:staticcheck // likewise
	return out.JSON()
}
