package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// A watcher shows what happens while a call runs: as lines of JSON with --stream, as one line that changes on a
// terminal, and else not at all.
type watcher struct {
	g      *globals
	stream bool
	line   bool // show the line
	shown  bool
}

func (g *globals) watcher(f callFlags) *watcher {
	return &watcher{g: g, stream: f.stream, line: !f.stream && isTerminal(g.err)}
}

func (w *watcher) event(e sdk.Event) {
	switch {
	case w.stream:
		_ = json.NewEncoder(w.g.out).Encode(streamed(e)) // an answer remembers what went wrong
	case w.line && e.Type != sdk.EventStatus:
		w.show(e)
	}
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
	out := streamedEvent{Event: e.Type, Done: e.Done, Total: e.Total, Message: e.Message, Attrs: e.Attributes, Stream: e.Stream, Text: string(e.Data)}
	switch e.Type {
	case sdk.EventLog:
		out.Level = strings.ToLower(e.Level.String())
	case sdk.EventStatus:
		out.Status, out.Message = e.Message, ""
	}
	return out
}

// show replaces the line with the newest word of the call.
func (w *watcher) show(e sdk.Event) {
	text := e.Message
	switch {
	case e.Type == sdk.EventOutput:
		text = lastLine(string(e.Data))
	case e.Type == sdk.EventProgress && e.Total > 0:
		text = fmt.Sprintf("%3.0f%% %s", 100*e.Done/e.Total, text)
	}
	if text == "" {
		return
	}
	fmt.Fprintf(w.g.err, "\r\x1b[K%s", w.g.paint(dim, fit(text, width(w.g.err)-1)))
	w.shown = true
}

// end takes the line away.
func (w *watcher) end() {
	if w.shown {
		fmt.Fprint(w.g.err, "\r\x1b[K")
	}
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\r\n")
	return s[strings.LastIndexAny(s, "\r\n")+1:]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
