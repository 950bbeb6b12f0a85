package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/gotrace"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
)

// Limits of a plugin's output. The excess is dropped: a plugin that floods its log is only slowed (pacedReader), nor
// does it block the host.
const (
	maxLine   = 8 << 10  // bytes of one line; the rest is cut
	maxRate   = 64 << 10 // bytes a second that reach the log
	tailLines = 50       // lines kept for error messages
	tailWidth = 300      // bytes kept of each
)

// An outputLog logs a plugin's output line by line, without values by reference and texts that look like secrets.
// Lines are data: their level is at most warn. Output over the rate is neither parsed nor copied.
type outputLog struct {
	log    *slog.Logger
	stream string
	tail   *tail // or nil
	hidden []spelling

	mu      sync.Mutex
	line    []byte
	cut     bool // the line being read is longer than maxLine
	keys    redact.Blocks
	second  time.Time
	logged  int        // bytes in this second
	dropped int        // lines in this second
	told    slog.Level // of the message about it, which is a warning once
}

func newOutputLog(log *slog.Logger, stream string, t *tail, r References) *outputLog {
	return &outputLog{log: log, stream: stream, tail: t, hidden: r.spellings(), told: slog.LevelWarn}
}

// Write never fails.
func (p *outputLog) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(data)
	if now := time.Now(); now.Sub(p.second) >= time.Second {
		if p.dropped > 0 {
			p.log.Log(context.Background(), p.told, "plugin prints too much; lines were dropped", "stream", p.stream, "lines",
				p.dropped)
			p.told = slog.LevelDebug
		}
		p.second, p.logged, p.dropped = now, 0, 0
	}
	data = data[p.drop(data):]
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if room := maxLine - len(p.line); len(line) > room {
			line, p.cut = line[:room], true
		}
		p.line = append(p.line, line...)
		if ended {
			p.endLine()
		}
		data = rest
	}
	return n, nil
}

// drop drops whole lines when this second's rate is used up, and returns their size in bytes. It keeps the last
// lines, for the tail, and all of them if one begins a block that has to be parsed.
func (p *outputLog) drop(data []byte) int {
	if p.logged < maxRate || len(p.line) > 0 || p.cut || !p.keys.Quiet(data) || !p.tail.ignores(data) {
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

func (p *outputLog) endLine() {
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
		p.log.LogAttrs(context.Background(), r.level, r.message, slog.String("stream", p.stream),
			slog.GroupAttrs("fields", r.attrs...))
	}
}

type record struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

var secrets = redact.New()

// parseLine parses hclog's JSON lines, which go-plugin and the sdk write. Any other line is a message.
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

// plain makes a field's value printable and redacts it.
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

// levelOf is at most warn: a plugin's error is not an error of the host.
func levelOf(v any) slog.Level {
	switch name, _ := v.(string); name {
	case "warn", "error":
		return slog.LevelWarn
	case "info":
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// printable removes control and invisible characters, which could move the cursor or fake other lines.
func printable(s string) string {
	s, _ = textutil.Visible(strings.ReplaceAll(s, "\n", ""), -1)
	return strings.TrimSpace(strings.ReplaceAll(s, "\t", " "))
}

// A tail keeps the last lines of a plugin's output. They are parsed when they are read.
type tail struct {
	mu    sync.Mutex
	lines []tailLine // a ring, once it has tailLines
	next  int        // where in the ring the next line goes
	trace gotrace.Finder
}

type tailLine struct {
	text []byte
	cut  bool
}

// String is the line for errors.
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
	t.trace.Add(line)
	if len(line) > 4*tailWidth && line[0] != '{' { // tailWidth bytes are displayed; some may not be printable
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

// ignores is true if no line of the text belongs to a panic's trace. A nil tail ignores all.
func (t *tail) ignores(text []byte) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.trace.InTrace() && !gotrace.MayBegin(text)
}

// last returns up to n lines, the oldest first.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest(n)
}

// summary returns the first line of a panic, the line before a stack trace, or the one after Python's, otherwise the
// last three lines.
func (t *tail) summary() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trace.InTrace() {
		panicked := tailLine{text: t.trace.First()}.String()
		if place := printable(t.trace.Place()); place != "" {
			panicked += " (" + place + ")"
		}
		return []string{panicked}
	}
	if cause := t.beforeTrace(); cause != "" {
		return []string{cause}
	}
	if raised := t.afterTraceback(); raised != "" {
		return []string{raised}
	}
	return t.newest(3)
}

// stackFrame matches the lines of a stack trace in JavaScript, Java, C# and Ruby, which print the error before it.
// Ruby's have a place; Python quotes code, such as "from a import b".
var stackFrame = lazy.Regexp(`^\s+(at \S|from \S+:[0-9])`)

var (
	// nodeFrame matches the end of a stack frame of JavaScript, and the line that Node prints above a syntax error.
	nodeFrame = lazy.Regexp(`(?:^|[/\\(])([^/\\():]+:[0-9]+)(?::[0-9]+\)?)?$`)
	// notNodeAuthors matches those in Node, the kit and libraries.
	notNodeAuthors = lazy.Regexp(`\bnode:|/node_modules/|/(toolhost|sdk/node)/(index|server)\.js:`)
)

// beforeTrace returns the line before the stack trace that is at the end, or "". JavaScript's gets the innermost line
// that the author wrote, such as "Error: no key (plugin.js:7)".
func (t *tail) beforeTrace() string {
	const after = 8 // lines that may follow on a trace, such as fields of the error and the version of Node
	cause, place, at := "", "", 0
	for n := range t.lines {
		line := t.lines[(t.next+len(t.lines)-1-n)%len(t.lines)]
		isFrame := cause == "" && stackFrame().Match(line.text)
		switch frame := nodeFrame().FindSubmatch(line.text); {
		case isFrame:
			at = n + 1
			if frame != nil && bytes.Contains(line.text, []byte("at ")) && !notNodeAuthors().Match(line.text) {
				place = string(frame[1])
			}
			continue
		case at == 0 && n >= after:
			return ""
		case at == 0:
			continue
		case cause == "":
			cause = line.String()
		case place == "" && frame != nil && bytes.Contains(line.text, []byte("/")) && !notNodeAuthors().Match(line.text):
			place = string(frame[1])
		}
		if place != "" || n >= at+after {
			break
		}
	}
	if place = printable(place); place == "" || cause == "" {
		return cause
	}
	return fmt.Sprintf("%s (%s)", cause, place)
}

var (
	// pythonFrame matches the lines of a traceback of Python that have a place.
	pythonFrame = lazy.Regexp(`^\s+File "(?:[^"]*/)?([^"/]+)", line ([0-9]+)`)
	// notAuthors matches those in the kit and in libraries.
	notAuthors = lazy.Regexp(`/toolhost/[a-z_]+\.py"|/(site|dist)-packages/|/lib/python[0-9.]+/|"<frozen `)
)

// afterTraceback returns the exception at the end of Python's traceback, and the innermost line that the author wrote,
// such as "KeyError: 'x' (plugin.py:7)"; "" if there is no traceback at the end.
func (t *tail) afterTraceback() string {
	const long = 8 // lines of the exception
	raised, place, library := "", "", ""
	for n := range t.lines {
		line := t.lines[(t.next+len(t.lines)-1-n)%len(t.lines)]
		if len(line.text) == 0 || line.text[0] != ' ' {
			if place+library != "" || n >= long {
				break
			}
			raised = line.String() // of several lines the first counts, which comes last here
			continue
		}
		frame := pythonFrame().FindSubmatch(line.text)
		switch {
		case raised == "":
			return ""
		case frame == nil:
		case !notAuthors().Match(line.text):
			place = cmp.Or(place, fmt.Sprintf("%s:%s", frame[1], frame[2]))
		default:
			library = cmp.Or(library, fmt.Sprintf("%s:%s", frame[1], frame[2]))
		}
	}
	if place = printable(cmp.Or(place, library)); place == "" || raised == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s)", raised, place)
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
