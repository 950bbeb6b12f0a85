package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// An eventPrinter shows events of a call while it runs: as lines of JSON with --stream, as the last few lines of output
// on a terminal, and otherwise not at all. It keeps the output for a call that ends without a result.
type eventPrinter struct {
	g      *globals
	stream bool
	live   bool // show the lines

	mu    sync.Mutex
	kept  []byte // the last part of the tool's output
	cut   bool   // kept is incomplete
	word  string // the newest progress message or log line
	drawn int    // lines drawn on the terminal
	over  bool
}

const (
	liveLines = 8       // shown at once
	maxPrints = 1 << 20 // bytes kept
)

func (g *globals) eventPrinter(f callFlags) *eventPrinter {
	return &eventPrinter{g: g, stream: f.stream, live: !f.stream && isTerminal(g.err)}
}

func (w *eventPrinter) event(e sdk.Event) {
	if w.stream {
		_ = json.NewEncoder(w.g.out).Encode(streamed(e)) // an answer remembers write errors
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return
	case e.Type == sdk.EventOutput:
		w.keep(e.Data)
	case e.Type == sdk.EventProgress && e.Total > 0:
		w.word = fmt.Sprintf("%3.0f%% %s", 100*e.Done/e.Total, e.Message)
	case e.Type != sdk.EventStatus && e.Message != "":
		w.word = e.Message
	}
	if w.live {
		w.draw()
	}
}

func (w *eventPrinter) keep(data []byte) {
	w.kept = append(w.kept, data...)
	if over := len(w.kept) - maxPrints; over > maxPrints/4 { // not with every line
		w.kept, w.cut = append([]byte(nil), w.kept[over:]...), true
	}
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

// draw replaces the drawn lines by the last lines and the newest message of the call.
func (w *eventPrinter) draw() {
	lines := lastLines(string(w.kept[max(0, len(w.kept)-liveLines*1000):]), liveLines)
	if w.word != "" {
		lines = append(lines, w.word)
	}
	if len(lines) == 0 {
		return
	}
	var out strings.Builder
	out.WriteString(w.wipe())
	for i, line := range lines {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(w.g.paint(dim, fit(visible(strings.TrimRight(line, "\r")), width(w.g.err)-1)))
	}
	w.drawn = len(lines)
	fmt.Fprint(w.g.err, out.String())
}

// wipe clears the drawn lines.
func (w *eventPrinter) wipe() string {
	switch w.drawn {
	case 0:
		return ""
	case 1:
		return "\r\x1b[K"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", w.drawn-1)
}

// end removes the lines. Later events are not shown.
func (w *eventPrinter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprint(w.g.err, w.wipe())
	w.drawn, w.over = 0, true
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
