package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
)

// An Event is something that happens while a call runs. Type determines which other fields are used.
type Event struct {
	Type EventType `json:"type"`

	// Done of Total is the progress of the call, in any unit; Total is zero when not known. For EventProgress.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
	// Message is for people. For EventProgress and EventLog; for EventStatus it is the status.
	Message string `json:"message,omitempty"`
	// Level and Attributes belong to EventLog; Attributes is a JSON object or nil.
	Level      slog.Level      `json:"level,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Stream is "stdout" or "stderr", Data the printed bytes. For EventOutput.
	Stream string `json:"stream,omitempty"`
	Data   []byte `json:"data,omitempty"`
}

// EventType is the kind of an Event.
type EventType string

// The types of events.
const (
	EventStarted  EventType = "started"  // the plugin has received the call
	EventProgress EventType = "progress" // the progress of the call
	EventLog      EventType = "log"      // a line for the host's log
	EventOutput   EventType = "output"   // bytes that the call prints
	EventStatus   EventType = "status"   // the status of the call in the host; plugins do not send it
)

func (r *Request) emit(e Event) {
	if r.Events != nil {
		r.Events(e)
	}
}

// Progress reports the progress of the call: done of total, in any unit. A total of 0 means not known. Text over 8 KiB
// is cut, and of more than 1,000 events a second the excess is dropped.
func (r *Request) Progress(done, total float64, format string, a ...any) {
	r.emit(Event{Type: EventProgress, Done: done, Total: total, Message: fmt.Sprintf(format, a...)})
}

// Output sends bytes that the call prints to people who watch. Stream is "stdout" or "stderr". It is not part of the
// result. Data is not used after Output returns. The excess over 2 MiB a second, or 8 MiB at once, is dropped, and a
// log line says so.
func (r *Request) Output(stream string, data []byte) {
	for piece := range slices.Chunk(data, wire.MaxEventData) {
		r.emit(Event{Type: EventOutput, Stream: stream, Data: piece})
	}
}

// Logger returns a logger that writes to the host's log, with the call's id and tool. It has the limits of Progress.
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

// with returns the handler's attributes followed by these, in its group. The slice is new, since h may be used
// concurrently.
func (h *eventHandler) with(attrs []slog.Attr) []slog.Attr {
	if h.group != "" {
		attrs = []slog.Attr{slog.GroupAttrs(h.group, attrs...)}
	}
	return slices.Concat(h.attrs, attrs)
}

// attributes returns attrs as a JSON object. Groups become dotted keys; values without a JSON form become text.
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
		if !a.Equal(slog.Attr{}) { // slog asks handlers to skip it
			object[prefix+a.Key] = jsonable(v)
		}
		return
	}
	if a.Key != "" { // otherwise its members belong to the enclosing group
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

const (
	outputPiece = 32 << 10               // most bytes that are sent at once
	outputDelay = 100 * time.Millisecond // how long output waits for more
)

// Writer returns a writer for the output of a program on stream, "stdout" or "stderr": it sends it as Output does, in
// pieces of at most 32 KiB, at most 100 ms late, and not cut within a character. Writing never fails, so that no
// program ends because its output is long. Close sends the rest; later writes are dropped.
func (r *Request) Writer(stream string) io.WriteCloser {
	return &outputWriter{request: r, stream: stream}
}

type outputWriter struct {
	request *Request
	stream  string

	mu      sync.Mutex
	pending []byte // not sent yet
	timer   *time.Timer
	closed  bool
}

func (w *outputWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0 && !w.closed; {
		n := min(outputPiece-len(w.pending), len(rest))
		w.pending, rest = append(w.pending, rest[:n]...), rest[n:]
		if len(w.pending) == outputPiece {
			w.flush()
		}
	}
	if len(w.pending) > 0 && w.timer == nil {
		w.timer = time.AfterFunc(outputDelay, w.tick)
	}
	return len(p), nil
}

func (w *outputWriter) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.flush()
}

// flush sends what is pending, except for an incomplete character at its end.
func (w *outputWriter) flush() {
	n := len(textutil.TrimPartialEnd(w.pending))
	w.request.Output(w.stream, w.pending[:n])
	w.pending = append(w.pending[:0], w.pending[n:]...)
}

func (w *outputWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.request.Output(w.stream, w.pending)
	w.pending, w.closed = nil, true
	return nil
}
