package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"unicode/utf8"
)

// A Request is one call of one tool. A handler reads it and may tell through it what goes on meanwhile.
type Request struct {
	// CallID names this call in logs and results. The host's caller chose it, and may choose it again.
	CallID string
	// RunID is unique within a host: a plugin refuses a second run with an id that it has had. "" leaves that to CallID, if
	// there is one. A second attempt has the ids of the first.
	RunID string
	// Tool is the tool's own name, without the plugin.
	Tool string
	// Arguments is a JSON object, byte for byte what was checked and approved.
	Arguments json.RawMessage
	// Workdir is the folder that relative paths start from and file tools stay in. It is absolute.
	Workdir string
	// SessionID tells sessions of one host apart; it may be empty.
	SessionID string
	// Attempt is 1 for the first try.
	Attempt int
	// SingleCall is true when the host, and the plugin with it, ends after this call. A handler refuses what would have to
	// go on, such as a background job: it would be killed at once.
	SingleCall bool
	// LeaveOut are files and folders that a tool that is PathAware must not show, nor what is in them: relative to Workdir, or
	// absolute, with slashes.
	LeaveOut []string
	// Roots are absolute folders outside of Workdir in which a tool that is PathAware may read during this call.
	Roots []string

	// Listed is the tool as its plugin defined it when the call was decided on; nil when nobody knows. It stays with the host:
	// whoever keeps the plugin running does not make the call when the tool is another by then.
	Listed *Tool
	// Generation is the number of the start of the plugin that the call ran on. Whoever keeps the plugin running sets it.
	Generation int
	// Events receives what happens while the call runs; nil drops it. It must not block and is never called by two
	// goroutines at once.
	Events func(Event)
}

// An Event is something that happens while a call runs. Type says which of the other fields are meant.
type Event struct {
	Type EventType `json:"type"`

	// Done of Total is how far the call has come, in units of its own; Total is zero when not known. For EventProgress.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
	// Message is for people. For EventProgress and EventLog; for EventStatus it is the word.
	Message string `json:"message,omitempty"`
	// Level and Attributes belong to EventLog; Attributes is a JSON object or nil.
	Level      slog.Level      `json:"level,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Stream is "stdout" or "stderr", Data what was printed. For EventOutput.
	Stream string `json:"stream,omitempty"`
	Data   []byte `json:"data,omitempty"`
}

// EventType says what an Event tells.
type EventType string

// The types of events.
const (
	EventStarted  EventType = "started"  // the plugin has the call
	EventProgress EventType = "progress" // how far it is
	EventLog      EventType = "log"      // a line for the host's log
	EventOutput   EventType = "output"   // what the call prints, as it comes
	EventStatus   EventType = "status"   // the host's word for how far the call is; plugins do not send it
)

// check tells what keeps a request from travelling, or nil. Both ends ask.
func (r *Request) check() *Error {
	switch {
	case len(r.Arguments) > MaxArguments:
		return &Error{Code: CodeInvalidArgs, Name: "ArgumentsTooLarge",
			Message:    fmt.Sprintf("the arguments have %d bytes, at most %d are allowed", len(r.Arguments), MaxArguments),
			Suggestion: "Pass less at once, or the path of a file."}
	case len(r.LeaveOut) > MaxPaths || len(r.Roots) > MaxPaths || sizeOf(r.LeaveOut)+sizeOf(r.Roots) > maxPathsBytes:
		return &Error{Code: CodeInvalidArgs, Name: "TooManyPaths",
			Message:    fmt.Sprintf("the call has %d paths to leave out and %d roots, at most %d of each and 1 MiB are allowed", len(r.LeaveOut), len(r.Roots), MaxPaths),
			Suggestion: "Name a smaller folder."}
	case !utf8.ValidString(r.Workdir):
		return &Error{Code: CodeInvalidArgs, Name: "BadWorkdir", Message: fmt.Sprintf("the work folder %q is not UTF-8", r.Workdir)}
	}
	if words := tooLong(bounded{"call id", r.CallID, maxID}, bounded{"session id", r.SessionID, maxID}, bounded{"tool's name", r.Tool, maxID},
		bounded{"work folder", r.Workdir, maxWorkdir}); words != "" {
		return &Error{Code: CodeInvalidArgs, Name: "NameTooLong", Message: "the " + words}
	}
	return nil
}

func sizeOf(paths []string) (n int) {
	for _, p := range paths {
		n += len(p)
	}
	return n
}

func (r *Request) emit(e Event) {
	if r.Events != nil {
		r.Events(e)
	}
}

// Progress tells how far the call is: done of total, in units of the handler's choice. Total zero means not known.
func (r *Request) Progress(done, total float64, format string, a ...any) {
	r.emit(Event{Type: EventProgress, Done: done, Total: total, Message: fmt.Sprintf(format, a...)})
}

// Output passes on what the call prints, as it comes, for people who watch. Stream is "stdout" or "stderr". It does not
// become part of the result. Data is not kept after Output returns. What is more than 2 MiB a second, and 8 MiB at once, is
// dropped, and that is told.
func (r *Request) Output(stream string, data []byte) {
	for piece := range slices.Chunk(data, maxEventData) {
		r.emit(Event{Type: EventOutput, Stream: stream, Data: piece})
	}
}

// Logger writes to the host's log, with the call's id and tool.
func (r *Request) Logger() *slog.Logger { return slog.New(&eventHandler{request: r}) }

// eventHandler is a slog.Handler that turns records into events of a call.
type eventHandler struct {
	request *Request
	group   string
	attrs   []slog.Attr
}

func (h *eventHandler) Enabled(context.Context, slog.Level) bool { return h.request.Events != nil }

func (h *eventHandler) Handle(_ context.Context, rec slog.Record) error {
	attrs := slices.Collect(rec.Attrs)
	h.request.emit(Event{Type: EventLog, Level: rec.Level, Message: rec.Message, Attributes: attributes(h.with(attrs))})
	return nil
}

func (h *eventHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &eventHandler{h.request, h.group, h.with(attrs)}
}

func (h *eventHandler) WithGroup(name string) slog.Handler {
	switch {
	case name == "":
		return h
	case h.group != "":
		name = h.group + "." + name
	}
	return &eventHandler{h.request, name, h.attrs}
}

// with gives the handler's attributes and these in its group, in a new slice: others may log through h as well.
func (h *eventHandler) with(attrs []slog.Attr) []slog.Attr {
	if h.group != "" {
		attrs = []slog.Attr{slog.GroupAttrs(h.group, attrs...)}
	}
	return slices.Concat(h.attrs, attrs)
}

// attributes makes a JSON object of attrs; a group becomes dotted keys, and what has no JSON form its text.
func attributes(attrs []slog.Attr) json.RawMessage {
	object := map[string]any{}
	for _, a := range attrs {
		flatten(object, "", a)
	}
	if len(object) == 0 {
		return nil
	}
	return Details(object)
}

func flatten(object map[string]any, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if !a.Equal(slog.Attr{}) { // which slog has handlers pass over
			object[prefix+a.Key] = jsonable(v)
		}
		return
	}
	if a.Key != "" { // else its members belong to what is around it
		prefix += a.Key + "."
	}
	for _, member := range v.Group() {
		flatten(object, prefix, member)
	}
}

func jsonable(v slog.Value) any {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindString:
		return v.Any()
	case slog.KindFloat64:
		if f := v.Float64(); !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return v.String()
}
