package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// maxSwitches is how often a text may change between the streams. Beyond that the marks would cost more than they
// help.
const maxSwitches = 1000

// An outputView is the part of a transcript that a result shows, from some point on.
type outputView struct {
	combined  string // both streams, line by line in order of arrival
	streams   [2]string
	totals    [2]int64
	next      [2]int64 // where the next view begins
	truncated bool
	files     []string // a line for each stream that is not shown completely
	paths     [2]string
}

// since returns the output after those points.
func (t *transcript) since(from [2]int64) outputView {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := outputView{}
	var now [2]snapshot
	for i := range t.streams {
		s := &t.streams[i]
		now[i] = s.headTail.snapshot()
		var leftOut int64
		v.streams[i], leftOut = now[i].text(from[i])
		v.totals[i], v.next[i] = s.headTail.total, s.headTail.total-int64(unfinished(&now[i]))
		if leftOut > 0 {
			v.truncated = true
			v.files = append(v.files, s.file.note(s.headTail.total))
			v.paths[i] = s.file.path()
		}
	}
	v.combined = t.combined(&now, from)
	if t.typing != nil {
		v.combined += valid(t.typing.line)
		v.streams[stdout] += valid(t.typing.line)
	}
	return v
}

// unfinished is the length of an incomplete character at the end.
func unfinished(s *snapshot) int {
	end := s.head
	if len(s.tail) > 0 {
		end = s.tail
	}
	return len(end) - len(textutil.TrimPartialEnd(end))
}

// combined interleaves the streams by lines. When they alternate too often to mark it, one follows the other.
func (t *transcript) combined(now *[2]snapshot, from [2]int64) string {
	rest := []run{{stdout, t.streams[stdout].lines, now[stdout].total},
		{stderr, t.streams[stderr].lines, now[stderr].total}}
	w := interleaver{now: now, from: from}
	for _, r := range append(t.runs[:len(t.runs):len(t.runs)], rest...) {
		w.add(r)
	}
	if w.switches <= maxSwitches {
		return w.end()
	}
	w = interleaver{now: now, from: from}
	w.add(run{stdout, 0, now[stdout].total})
	w.add(run{stderr, 0, now[stderr].total})
	return endLine(w.end()) + fmt.Sprintf("[the order of stdout and stderr is not shown: they alternated more than %d "+
		"times]\n", maxSwitches)
}

// An interleaver writes runs one after the other, with a mark where the stream changes, and where something is
// missing.
type interleaver struct {
	now      *[2]snapshot
	from     [2]int64
	out      bytes.Buffer
	current  int
	missing  [2]int64
	switches int
}

func (w *interleaver) add(r run) {
	if w.switches > maxSwitches {
		return
	}
	a := max(r.from, w.from[r.stream])
	if a >= r.to {
		return
	}
	w.catchUp(r.stream, a)
	start, missing, end := w.now[r.stream].cut(a, r.to)
	w.from[r.stream] = r.to
	w.write(r.stream, start)
	w.missing[r.stream] += missing
	w.write(r.stream, end)
}

// catchUp counts bytes between runs: runs without kept bytes are forgotten.
func (w *interleaver) catchUp(i int, to int64) {
	w.missing[i] += to - w.from[i]
	w.from[i] = to
}

func (w *interleaver) write(i int, p []byte) {
	if len(p) == 0 {
		return
	}
	w.turn(i)
	w.out.Write(p)
}

// turn makes the stream the current one, and reports what is missing before it continues.
func (w *interleaver) turn(i int) {
	if i != w.current {
		w.newLine()
		w.out.WriteString("[" + streamNames[i] + "]\n")
		w.current = i
		w.switches++
	}
	if w.missing[i] > 0 {
		w.newLine()
		w.out.WriteString(leftOutMark(w.missing[i]))
		w.missing[i] = 0
	}
}

func (w *interleaver) newLine() {
	if b := w.out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		w.out.WriteByte('\n')
	}
}

func (w *interleaver) end() string {
	for i := range w.missing {
		if w.missing[i] > 0 {
			w.turn(i)
		}
	}
	return valid(w.out.Bytes())
}

// last keeps the last lines only.
func (v *outputView) last(lines int) {
	for i, text := range []*string{&v.combined, &v.streams[stdout], &v.streams[stderr]} {
		short := lastLines(*text, lines)
		v.truncated = v.truncated || short != *text
		if dropped := strings.TrimSuffix(*text, short); i == 0 && inStderr(dropped) &&
			!strings.HasPrefix(short, "[stdout]\n") {
			short = "[stderr]\n" + short
		}
		*text = short
	}
}

// inStderr says whose lines follow a text.
func inStderr(combined string) bool {
	return strings.LastIndex(combined, "[stderr]\n") > strings.LastIndex(combined, "[stdout]\n")
}

func lastLines(text string, n int) string {
	end := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0; n-- {
		if end = strings.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}

// shownOutput is the part of a structured result that is about output.
type shownOutput struct {
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Truncated   bool   `json:"truncated"`
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
	StdoutFile  string `json:"stdout_file,omitempty"`
	StderrFile  string `json:"stderr_file,omitempty"`
}

func (v *outputView) shown() shownOutput {
	return shownOutput{
		Stdout: v.streams[stdout], StdoutBytes: v.totals[stdout], StdoutFile: v.paths[stdout],
		Stderr: v.streams[stderr], StderrBytes: v.totals[stderr], StderrFile: v.paths[stderr],
		Truncated: v.truncated,
	}
}

// outcome is the structured result of a command.
type outcome struct {
	shownOutput
	ExitCode   *int     `json:"exit_code,omitempty"` // absent while it runs
	Signal     string   `json:"signal"`
	TimedOut   bool     `json:"timed_out"`
	DurationMS int64    `json:"duration_ms"`
	Job        *jobLine `json:"job,omitempty"`
}

func report(exit proctree.Exit, timedOut bool, v outputView) *sdk.Result {
	o := outcome{shownOutput: v.shown(), ExitCode: &exit.Code, Signal: exit.SignalName(), TimedOut: timedOut,
		DurationMS: exit.Duration.Milliseconds()}
	left := exit.Killed
	if exit.Canceled {
		left = 0 // ended with the command, not left behind by it
	}
	text := v.text() + exitNote(exit, exit.Canceled)
	if left > 0 {
		text += fmt.Sprintf("Background processes ended with the call: %d\n", left)
	}
	text += v.where() + fmt.Sprintf("Duration: %v", exit.Duration.Round(time.Millisecond))
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text)}, Structured: sdk.Encode(o), Truncated: v.truncated}
}

// text is the output for models: unchanged, in whole lines.
func (v *outputView) text() string {
	if v.combined == "" {
		return "(no output)\n"
	}
	return endLine(v.combined)
}

// where returns, in a line for each stream that is not shown completely, the file with all of it.
func (v *outputView) where() string {
	if len(v.files) == 0 {
		return ""
	}
	return strings.Join(v.files, "\n") + "\n"
}

// exitNote is a line about an unusual end. That a command was stopped, and by which signal, is in the error beside
// it.
func exitNote(exit proctree.Exit, stopped bool) string {
	switch {
	case exit.Signal != 0 && !stopped:
		return "Signal: " + exit.SignalName() + "\n"
	case exit.Code > 0:
		return fmt.Sprintf("Exit code: %d\n", exit.Code)
	}
	return ""
}

// Limits of the live output for people who watch a call: a flood would occupy the host and delay the command, and no
// one could read it.
const (
	liveRate  = 4 << 20 // bytes a second
	liveBurst = 4 << 20
)

// A liveOutput passes output on to people who watch, up to a rate. It reports how much was left out. The result and
// the file are not affected.
type liveOutput struct {
	to  io.WriteCloser
	now func() time.Time

	mu      sync.Mutex
	closed  bool // no one watches any longer, though a job may continue
	limit   *rate.Limiter
	dropped int64
}

func newLiveOutput(to io.WriteCloser) *liveOutput {
	return &liveOutput{to: to, now: time.Now, limit: rate.NewLimiter(liveRate, liveBurst)}
}

func (l *liveOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	if !l.limit.AllowN(l.now(), len(p)) {
		l.dropped += int64(len(p))
		return len(p), nil
	}
	rest := p
	if l.dropped > 0 {
		rest = textutil.TrimPartialStart(p)
		l.dropped += int64(len(p) - len(rest))
	}
	l.note()
	_, err := l.to.Write(rest)
	return len(p), err
}

// note reports what was left out so far.
func (l *liveOutput) note() {
	if l.dropped > 0 {
		fmt.Fprintf(l.to, "\n[... %d bytes not shown while it runs ...]\n", l.dropped)
		l.dropped = 0
	}
}

// Close sends the rest.
func (l *liveOutput) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note()
	err := l.to.Close()
	l.to, l.closed = nil, true
	return err
}

// terminalText converts a program's terminal output to text: colours, titles and movements between lines are dropped,
// and a line is in its last state, as on the terminal, so that a progress bar is one line.
type terminalText struct {
	state    terminalState
	sequence []byte // the control sequence so far, without its begin; of a long one the begin
	line     []byte // content of the cursor's line
	at       int    // where in it the cursor is

	rewritten bool // something was written over: blanks at the end of the line erase
}

type terminalState uint8

const (
	plainText    terminalState = iota
	plainEscape                // after ESC
	plainMarked                // after ESC and a mark such as (, before the character that completes it
	plainControl               // in a control sequence, which a letter ends
	plainString                // in a terminal string, such as a title
	plainStringEscape
)

// longLine is how much of a line can still be overwritten.
const longLine = 8 << 10

// write returns the final text: whole lines, and the beginning of longer ones.
func (t *terminalText) write(p []byte) (out []byte) {
	for _, b := range p {
		switch {
		case b == '\n':
			t.state = plainText // no sequence spans lines; a string without an end must not swallow the rest
			out = append(append(out, t.flush()...), '\n')
		case t.state != plainText:
			before := t.state
			if t.state = before.after(b); before == plainControl {
				t.control(b)
			}
		default:
			t.put(b)
		}
		if len(t.line) >= longLine {
			n := len(textutil.TrimPartialEnd(t.line))
			out = append(out, t.line[:n]...)
			t.line, t.at = append(t.line[:0], t.line[n:]...), max(0, t.at-n)
		}
	}
	return out
}

func (t *terminalText) put(b byte) {
	switch {
	case b == 0x1b:
		t.state, t.sequence = plainEscape, t.sequence[:0]
	case b == '\r':
		t.at = 0
	case b == '\b':
		t.back(1)
	case b < 0x20 && b != '\t' || b == 0x7f:
	default:
		n := 0
		if utf8.RuneStart(b) {
			_, n = utf8.DecodeRune(t.line[t.at:])
		}
		t.line = slices.Replace(t.line, t.at, t.at+n, b)
		t.at++
		t.rewritten = t.rewritten || n > 0
	}
}

// control takes a byte of a control sequence, after which t.state is set.
func (t *terminalText) control(b byte) {
	switch t.state {
	case plainControl:
		t.sequence = append(t.sequence, b)[:min(len(t.sequence)+1, 4)]
	case plainEscape:
		t.sequence = t.sequence[:0]
	case plainText:
		n, err := strconv.ParseUint(string(t.sequence), 10, 16)
		if err == nil || len(t.sequence) == 0 { // what has another form does not move
			t.end(b, int(n))
		}
	}
}

// end does what a control sequence says that ends with b, within the line.
func (t *terminalText) end(b byte, n int) {
	switch b {
	case 'C':
		t.forward(max(n, 1))
	case 'D':
		t.back(max(n, 1))
	case 'G':
		t.at = 0
		t.forward(max(n, 1) - 1)
	case 'J', 'K':
		if n == 0 || b == 'K' && n == 2 { // what is behind the cursor
			t.line = t.line[:t.at]
		}
		if b == 'K' && n > 0 { // what is before it
			blank := bytes.Repeat([]byte(" "), utf8.RuneCount(t.line[:t.at]))
			t.line, t.at, t.rewritten = append(blank, t.line[t.at:]...), len(blank), true
		}
	}
}

func (t *terminalText) back(n int) {
	for ; n > 0 && t.at > 0; n-- {
		_, size := utf8.DecodeLastRune(t.line[:t.at])
		t.at -= size
	}
}

// forward moves over what is there. Behind it one blank stands for any number.
func (t *terminalText) forward(n int) {
	for ; n > 0 && t.at < len(t.line); n-- {
		_, size := utf8.DecodeRune(t.line[t.at:])
		t.at += size
	}
	if n > 0 && t.at > 0 && t.line[t.at-1] != ' ' {
		t.line = append(t.line, ' ')
		t.at++
	}
}

// after is the state after one more byte of a sequence.
func (s terminalState) after(b byte) terminalState {
	switch {
	case b == 0x18 || b == 0x1a: // cancels any sequence
		return plainText
	case s == plainString && b == 0x1b:
		return plainStringEscape
	case s == plainString && b != 0x07:
		return plainString
	case s == plainString, s == plainStringEscape, s == plainMarked:
		return plainText
	case b == 0x1b:
		return plainEscape
	case s == plainControl && (b < 0x40 || b > 0x7e):
		return plainControl
	case s == plainControl:
		return plainText
	}
	return afterEscape(b)
}

func afterEscape(b byte) terminalState {
	switch {
	case b == '[':
		return plainControl
	case slices.Contains([]byte("]PX^_"), b):
		return plainString
	case b >= 0x20 && b <= 0x2f:
		return plainMarked
	}
	return plainText
}

// flush returns the terminal's current line, and begins another. It holds until the next write.
func (t *terminalText) flush() []byte {
	line := t.line
	if t.rewritten {
		line = bytes.TrimRight(line, " ")
	}
	t.line, t.at, t.rewritten = t.line[:0], 0, false
	return line
}
