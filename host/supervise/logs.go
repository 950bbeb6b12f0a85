package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
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

// A pump is a writer that logs what a plugin prints, line by line, without what looks like a secret. Lines are data: their
// level is at most warn, and nothing in them can end or break the host. What is over the rate is neither parsed nor copied.
type pump struct {
	log    *slog.Logger
	stream string
	tail   *tail // or nil
	hidden []spelling

	mu      sync.Mutex
	line    []byte
	cut     bool // the line being read is over maxLine
	keys    redact.Blocks
	second  time.Time
	logged  int // bytes in this second
	dropped int // lines since the last that was logged
}

func newPump(log *slog.Logger, stream string, t *tail) *pump {
	return &pump{log: log, stream: stream, tail: t}
}

// hiding has the pump tell the names of values by reference in their place.
func (p *pump) hiding(r References) *pump {
	p.hidden = r.spellings()
	return p
}

// Write never fails.
func (p *pump) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(data)
	p.tick(time.Now())
	data = data[p.over(data):]
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

// tick begins another second, in which as much may be logged again.
func (p *pump) tick(now time.Time) {
	if now.Sub(p.second) < time.Second {
		return
	}
	if p.dropped > 0 {
		p.log.Warn("plugin prints too much; lines were dropped", "stream", p.stream, "lines", p.dropped)
	}
	p.second, p.logged, p.dropped = now, 0, 0
}

// over drops whole lines at once when this second's rate is used up, and says how many bytes they have. The last of them,
// which the tail keeps, are left, and so are all if one of them says more than itself.
func (p *pump) over(data []byte) int {
	if p.logged < maxRate || len(p.line) > 0 || p.cut || !p.keys.Quiet(data) || !p.tail.quiet(data) {
		return 0
	}
	end := len(data)
	for range tailLines + 1 {
		if end = bytes.LastIndexByte(data[:end], '\n'); end < 0 {
			return 0
		}
	}
	p.dropped += bytes.Count(data[:end+1], []byte("\n"))
	return end + 1
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
	if p.keys.Inside(line) || len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if len(p.hidden) > 0 {
		if line = []byte(hideIn(string(line), p.hidden)); cut {
			line = []byte(hideEnd(string(line), p.hidden))
		}
	}
	if p.tail != nil {
		p.tail.add(line, cut)
	}
	if p.logged += len(line); p.logged > maxRate {
		p.dropped++
		return
	}
	if r := parseLine(line, cut); r.message != "" {
		p.log.LogAttrs(context.Background(), r.level, r.message, slog.String("stream", p.stream), slog.GroupAttrs("fields", r.attrs...))
	}
}

// A record is what one line says.
type record struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// secrets knows what secrets look like.
var secrets = redact.New()

// parseLine reads hclog's JSON lines, which go-plugin and the sdk write; any other line is its own message.
func parseLine(line []byte, cut bool) record {
	var fields map[string]any
	message, ok := "", false
	if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &fields) == nil {
		message, ok = fields["@message"].(string)
	}
	if !ok {
		message = secrets.Text(printable(string(line)))
		if cut && message != "" {
			message += "... (cut)"
		}
		return record{slog.LevelDebug, message, nil}
	}
	r := record{level: levelOf(fields["@level"]), message: secrets.Text(printable(message))}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(key, "@") {
			r.attrs = append(r.attrs, slog.Any(printable(key), plain(key, fields[key])))
		}
	}
	return r
}

// plain makes of a field's value what is no more than a line's own text.
func plain(key string, v any) any {
	if redact.Name(key) {
		return redact.Value(v)
	}
	switch v := v.(type) {
	case string:
		return secrets.Text(printable(v))
	case map[string]any, []any:
		text, _ := json.Marshal(v) // it came from JSON
		return printable(string(secrets.JSON(text)))
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

// printable keeps a line from moving the cursor, faking other lines, or holding what nobody sees.
func printable(s string) string {
	s, _ = textutil.Visible(strings.ReplaceAll(s, "\n", ""), -1)
	return strings.TrimSpace(strings.ReplaceAll(s, "\t", " "))
}

// traces are how a Go program begins to say why it ends: by a panic, by its runtime, or by a signal.
var traces = [][]byte{[]byte("panic: "), []byte("fatal error: "), []byte("SIG")}

// beginsTrace says whether the line is the first of a panic's trace.
func beginsTrace(line []byte) bool {
	for _, t := range traces[:2] {
		if bytes.HasPrefix(line, t) {
			return true
		}
	}
	name, _, ok := bytes.Cut(line, []byte(": "))
	return ok && len(name) > 3 && bytes.HasPrefix(name, traces[2]) && bytes.Equal(name, bytes.ToUpper(name))
}

// A tail keeps the last lines that a plugin printed, as they came: they are parsed when they are asked for.
type tail struct {
	mu       sync.Mutex
	lines    []tailLine // a ring, once it has tailLines
	next     int        // where in the ring the next line goes
	panicked string     // where the panic began whose trace the newest lines may be; or ""
	since    int        // lines since then, or since the trace's newest goroutine
}

type tailLine struct {
	text []byte
	cut  bool
}

// String is the line as errors show it.
func (l tailLine) String() string {
	text := parseLine(l.text, l.cut).message
	if len(text) > tailWidth {
		text = strings.ToValidUTF8(text[:tailWidth], "") + "..."
	}
	return text
}

func (t *tail) add(line []byte, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.follow(line)
	if len(line) > 4*tailWidth && line[0] != '{' { // it is shown with tailWidth bytes; some may turn out to be unprintable
		line = line[:4*tailWidth]
	}
	if len(t.lines) < tailLines {
		t.lines = append(t.lines, tailLine{bytes.Clone(line), cut})
		return
	}
	l := &t.lines[t.next]
	l.text, l.cut = append(l.text[:0], line...), cut
	t.next = (t.next + 1) % tailLines
}

// follow keeps where a panic began for as long as its trace goes on, which may be thousands of lines.
func (t *tail) follow(line []byte) {
	switch t.since++; {
	case beginsTrace(line):
		t.panicked, t.since = tailLine{text: line}.String(), 0
	case bytes.HasPrefix(line, []byte("goroutine ")):
		t.since = 0
	case t.since > traceGap:
		t.panicked = ""
	}
}

// quiet says that no line of the text begins a panic's trace, or may go on with one. Without a tail all are.
func (t *tail) quiet(text []byte) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.panicked == "" && !slices.ContainsFunc(traces, func(s []byte) bool { return bytes.Contains(text, s) })
}

// last gives up to n lines, the oldest first.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest(n)
}

// telling gives the few lines that say most: where a panic began, else the last ones.
func (t *tail) telling() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panicked != "" {
		return []string{t.panicked}
	}
	return t.newest(3)
}

func (t *tail) newest(n int) []string {
	out := []string{}
	for i := max(0, len(t.lines)-n); i < len(t.lines); i++ {
		if text := t.lines[(t.next+i)%len(t.lines)].String(); text != "" {
			out = append(out, text)
		}
	}
	return out
}
