package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Limits of what a plugin may print. What is over them is dropped, never waited with: a plugin that floods its log must
// neither stop nor stop us.
const (
	maxLine   = 8 << 10  // bytes of one line; the rest of it is cut
	maxRate   = 64 << 10 // bytes a second that reach the log
	tailLines = 50       // lines kept for error messages
	tailWidth = 300      // bytes kept of each
	traceGap  = 250      // lines between a panic and its trace's first goroutine, or two of them, at most; Go prints 100 calls of one
)

// A pump is a writer that logs what a plugin prints, line by line. Lines are data: their level is at most warn, and
// nothing in them can end or break the host.
type pump struct {
	log    *slog.Logger
	stream string
	tail   *tail // or nil

	mu      sync.Mutex
	line    []byte
	cut     bool // the line being read is over maxLine
	second  time.Time
	logged  int // bytes in this second
	dropped int // lines since the last that was logged
}

func newPump(log *slog.Logger, stream string, t *tail) *pump {
	return &pump{log: log, stream: stream, tail: t}
}

// Write never fails.
func (p *pump) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(data)
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		p.collect(line)
		if ended {
			p.emit()
		}
		data = rest
	}
	return n, nil
}

func (p *pump) collect(part []byte) {
	room := maxLine - len(p.line)
	if len(part) > room {
		part, p.cut = part[:room], true
	}
	p.line = append(p.line, part...)
}

func (p *pump) emit() {
	line, cut := p.line, p.cut
	p.line, p.cut = p.line[:0], false
	r := parseLine(line)
	if cut {
		r.message += "... (cut)"
	}
	if r.message == "" {
		return
	}
	if p.tail != nil {
		p.tail.add(r.message)
	}
	if p.allowed(len(line)) {
		p.log.LogAttrs(context.Background(), r.level, r.message, slog.String("stream", p.stream), slog.GroupAttrs("fields", r.attrs...))
	}
}

// allowed counts what goes to the log in this second.
func (p *pump) allowed(n int) bool {
	if now := time.Now(); now.Sub(p.second) >= time.Second {
		if p.dropped > 0 {
			p.log.Warn("plugin prints too much; lines were dropped", "stream", p.stream, "lines", p.dropped)
		}
		p.second, p.logged, p.dropped = now, 0, 0
	}
	if p.logged += n; p.logged > maxRate {
		p.dropped++
		return false
	}
	return true
}

// A record is what one line says.
type record struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// parseLine reads hclog's JSON lines, which go-plugin and the sdk write; any other line is its own message.
func parseLine(line []byte) record {
	var fields map[string]any
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &fields) != nil {
		return record{slog.LevelDebug, printable(string(line)), nil}
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return record{slog.LevelDebug, printable(string(line)), nil}
	}
	r := record{level: levelOf(fields["@level"]), message: printable(message)}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(key, "@") {
			r.attrs = append(r.attrs, slog.Any(printable(key), plain(fields[key])))
		}
	}
	return r
}

// plain makes of a value what is no more than a line's own text.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return printable(v)
	case map[string]any, []any:
		text, _ := json.Marshal(v) // it came from JSON
		return printable(string(text))
	}
	return v
}

// levelOf never gives more than warn: how bad it is for the host, the host knows.
func levelOf(v any) slog.Level {
	switch name, _ := v.(string); name {
	case "warn", "error":
		return slog.LevelWarn
	case "info":
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// printable keeps a line from moving the cursor or faking other lines.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// traceStart is how a Go program begins to tell why it ends: by a panic, by its runtime, or by a signal that it was sent.
var traceStart = regexp.MustCompile(`^(panic|fatal error|SIG[A-Z]+): `)

// A tail keeps the last lines that a plugin printed.
type tail struct {
	mu       sync.Mutex
	lines    []string
	panicked string // where the panic began whose trace the newest lines may be; or ""
	since    int    // lines since then, or since the trace's newest goroutine
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(line) > tailWidth {
		line = strings.ToValidUTF8(line[:tailWidth], "") + "..."
	}
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
	t.follow(line)
}

// follow keeps where a panic began for as long as its trace goes on, which may be thousands of lines.
func (t *tail) follow(line string) {
	switch t.since++; {
	case traceStart.MatchString(line):
		t.panicked, t.since = line, 0
	case strings.HasPrefix(line, "goroutine "):
		t.since = 0
	case t.since > traceGap:
		t.panicked = ""
	}
}

// last gives up to n lines, the oldest first.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.lines[max(0, len(t.lines)-n):]...)
}

// telling gives the few lines that say most: where a panic began, else the last ones.
func (t *tail) telling() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panicked != "" {
		return []string{t.panicked}
	}
	return slices.Clone(t.lines[max(0, len(t.lines)-3):])
}
