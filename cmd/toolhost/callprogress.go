package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// An eventPrinter shows events of a call while it runs: as lines of JSON with --stream, as the last few lines of output
// on a terminal, and otherwise not at all. It keeps the output for a call that ends without a result.
type eventPrinter struct {
	g      *options
	screen *screen // nil if standard error is none
	stream bool
	live   bool // show the lines
	full   bool // events are left out

	mu   sync.Mutex
	kept []byte // the last part of the tool's output
	cut  bool   // kept is incomplete
	word string // the newest progress message or log line
	over bool
}

const (
	liveLines = 8       // shown at once
	maxPrints = 1 << 20 // bytes kept
)

func (g *options) eventPrinter(f callFlags) *eventPrinter {
	s, is := g.err.(*screen)
	return &eventPrinter{g: g, screen: s, stream: f.stream, live: is && !f.stream && isTerminal(s)}
}

func (w *eventPrinter) event(e sdk.Event) {
	if w.stream {
		w.print(e)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return
	case e.Type == sdk.EventOutput:
		w.kept = append(w.kept, e.Data...)
		if over := len(w.kept) - maxPrints; over > maxPrints/4 { // not with every line
			w.kept, w.cut = append([]byte(nil), w.kept[over:]...), true
		}
	case e.Type == sdk.EventProgress && e.Total > 0:
		w.word = fmt.Sprintf("%3.0f%% %s", 100*e.Done/e.Total, e.Message)
	case e.Type != sdk.EventStatus && e.Message != "":
		w.word = e.Message
	}
	if w.live {
		w.draw()
	}
}

// print prints an event as a line of JSON. Of those that wait for the answer to a question, not all are kept.
func (w *eventPrinter) print(e sdk.Event) {
	if full := w.screen != nil && w.screen.full(); !full {
		w.full = false
	} else if e.Type != sdk.EventStatus {
		if w.full {
			return
		}
		w.full, e = true, sdk.Event{Type: sdk.EventLog, Level: slog.LevelWarn,
			Message: "events are left out until the question at the terminal is answered"}
	}
	_ = json.NewEncoder(w.g.out).Encode(streamed(e)) // an answer remembers write errors
}

// printed is the tool's output so far, for a call that ended without a result.
func (w *eventPrinter) printed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.ToValidUTF8(string(w.kept), "\uFFFD")
	if w.cut {
		_, text, _ = strings.Cut(text, "\n")
		text = "[... what was printed before is left out ...]\n" + text
	}
	return text
}

// A streamedEvent is an event as --stream prints it.
type streamedEvent struct {
	Event   sdk.EventType   `json:"event"`
	Status  string          `json:"status,omitempty"`
	Done    float64         `json:"done,omitempty"`
	Total   float64         `json:"total,omitempty"`
	Level   string          `json:"level,omitempty"`
	Message string          `json:"message,omitempty"`
	Attrs   json.RawMessage `json:"attributes,omitempty"`
	Stream  string          `json:"stream,omitempty"`
	Text    string          `json:"text,omitempty"`
}

func streamed(e sdk.Event) streamedEvent {
	out := streamedEvent{Event: e.Type, Done: e.Done, Total: e.Total, Message: e.Message, Attrs: e.Attributes,
		Stream: e.Stream, Text: string(e.Data)}
	switch e.Type {
	case sdk.EventLog:
		out.Level = strings.ToLower(e.Level.String())
	case sdk.EventStatus:
		out.Status, out.Message = e.Message, ""
	}
	return out
}

// draw shows the last lines and the newest message of the call.
func (w *eventPrinter) draw() {
	lines := lastLines(string(w.kept[max(0, len(w.kept)-liveLines*1000):]), liveLines)
	if w.word != "" {
		lines = append(lines, w.word)
	}
	for i, line := range lines {
		lines[i] = w.g.paint(dim, fitLine(escapeForTerminal(strings.TrimRight(line, "\r")), room(w.g.err)))
	}
	if len(lines) > 0 {
		w.screen.draw(lines)
	}
}

// end removes the lines. Later events are not shown.
func (w *eventPrinter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = true; w.live {
		w.screen.draw(nil)
	}
}

// lastLines are the last lines of a text that are not blank.
func lastLines(text string, n int) []string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	for i, line := range lines { // of an overwritten line, its last text
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return lines[max(0, len(lines)-n):]
}
