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
	for piece := range slices.Chunk(data, wire.MaxEventData) {
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

const (
	outputPiece = 32 << 10               // the most that is passed on at once
	outputDelay = 100 * time.Millisecond // the longest that output is held back to pass on more at once
)

// Writer gives a writer for what a program prints on stream, "stdout" or "stderr": it passes everything on as Output does,
// in pieces of up to 32 KiB, at most 100 ms late, and not in the middle of a character. Writing never fails, so that no
// program ends because its output is long. Close passes on the rest; what is written later is dropped.
func (r *Request) Writer(stream string) io.WriteCloser {
	return &outputWriter{request: r, stream: stream}
}

type outputWriter struct {
	request *Request
	stream  string

	mu      sync.Mutex
	pending []byte // not passed on yet
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

// flush passes on what there is, but for the start of a character whose end has not come.
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
