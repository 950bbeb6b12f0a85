package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Command is a server that runs as a process and speaks over its standard input and output, one message a line. Its
// Open is an [OpenFunc]; each call starts a process.
type Command struct {
	// Path is the program; without a slash it is looked up in the PATH of Env. Dir is its working directory.
	Path string
	Args []string
	Dir  string
	// Env is the whole environment of the process; nil means an empty one.
	Env []string
	// Stderr receives each line that the process writes to its standard error, cut at 4 KiB. While it runs no more is
	// read, so that a process that writes much waits.
	Stderr func(line string)
	// MaxMessage is the longest message that is read, in bytes; zero means 32 MiB. A longer one is skipped, and the call
	// that it answers fails with a *[SizeError].
	MaxMessage int
	// Grace is how long the process may take to end by itself after its standard input is closed, and again after
	// SIGTERM; zero means 1 s. Then it is killed, with all processes that it started.
	Grace time.Duration
}

const (
	defaultMaxMessage = 32 << 20
	defaultGrace      = time.Second
)

// A process is the Transport of a Command.
type process struct {
	command *Command
	input   *writer
	output  *lineReader
	stderr  *stderrTail

	end       context.CancelFunc // ends the process tree
	gone      chan struct{}      // closed when the process tree has ended
	exit      proctree.Exit      // and runErr: to be read after gone
	runErr    error
	closing   chan struct{}
	closeOnce sync.Once
}

// Open starts the process. The error is a *[proctree.StartError] if that fails.
func (c *Command) Open(ctx context.Context) (Transport, error) {
	stdin, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), toServer.Close()
		return nil, err
	}
	p := &process{command: c, input: &writer{file: toServer}, stderr: &stderrTail{report: c.Stderr},
		output: &lineReader{file: fromServer, limit: cmp.Or(c.MaxMessage, defaultMaxMessage),
			buffer: make([]byte, readSize)},
		gone: make(chan struct{}), closing: make(chan struct{})}
	started := make(chan struct{})
	cmd := &proctree.Cmd{Path: c.Path, Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...), Stdin: stdin,
		Stdout: stdout, Stderr: p.stderr, Grace: p.grace(), Started: func(int) { close(started) }}
	running, end := context.WithCancel(context.Background())
	p.end = end
	go func() {
		defer close(p.gone)
		p.exit, p.runErr = cmd.Run(running)
		_, _ = stdin.Close(), stdout.Close()
		_ = fromServer.SetReadDeadline(time.Now().Add(exitLimit)) // a process that escaped may hold it open
		p.stderr.flush()
	}()
	select {
	case <-started:
		_, _ = stdin.Close(), stdout.Close() // the process has its own
	case <-p.gone:
		if start, failed := errors.AsType[*proctree.StartError](p.runErr); failed {
			_ = p.Close()
			return nil, start
		}
	case <-ctx.Done():
		_ = p.Close()
		return nil, context.Cause(ctx)
	}
	return p, nil
}

func (p *process) grace() time.Duration { return cmp.Or(p.command.Grace, defaultGrace) }

// Send writes a message as one line. Line ends in it can only be between its tokens.
func (p *process) Send(ctx context.Context, m *Message) error {
	blank(m.JSON, '\n')
	blank(m.JSON, '\r')
	err := p.input.write(ctx, append(m.JSON, '\n'))
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The input is closed: the process has ended, or soon will.
	select {
	case <-p.gone:
	case <-time.After(exitLimit):
	case <-ctx.Done():
	}
	return p.endError(err)
}

func blank(b []byte, c byte) {
	for at := bytes.IndexByte(b, c); at >= 0; at = bytes.IndexByte(b, c) {
		b[at] = ' '
		b = b[at+1:]
	}
}

// Receive reads a line.
func (p *process) Receive() (Received, error) {
	r, err := p.output.next()
	if err == nil {
		return r, nil
	}
	select {
	case <-p.gone:
	case <-time.After(exitLimit):
	}
	return Received{}, p.endError(err)
}

var errClosed = errors.New("the session with the server is closed")

// exitLimit is how long a process whose output has ended may take to end itself, so that the error can say how it
// ended.
const exitLimit = 500 * time.Millisecond

func (p *process) endError(err error) error {
	select {
	case <-p.closing:
		return errClosed
	default:
	}
	select {
	case <-p.gone:
		return &ExitError{Exit: p.exit, Err: p.runErr, Stderr: p.stderr.String()}
	default:
	}
	const text = "the server has closed its standard input or output, but still runs (%w)%s"
	return fmt.Errorf(text, err, quotedLines(p.stderr.String()))
}

// LastLines returns what the process last wrote to its standard error.
func (p *process) LastLines() string { return p.stderr.String() }

// Close ends the process: first its input, then by SIGTERM, then by SIGKILL, and all processes that it started.
func (p *process) Close() error {
	p.closeOnce.Do(func() {
		close(p.closing)
		_ = p.input.close()
		select {
		case <-p.gone:
		case <-time.After(p.grace()):
		}
		p.end()
	})
	<-p.gone
	_ = p.output.file.Close()
	if errors.Is(p.runErr, proctree.ErrLeft) || errors.Is(p.runErr, proctree.ErrLoose) {
		return p.runErr
	}
	return nil
}

// An ExitError reports that the process of a server has ended.
type ExitError struct {
	Exit   proctree.Exit
	Err    error  // what is not known of its end; usually nil
	Stderr string // its last lines
}

// Error returns a text such as "the server ended with exit code 1; its last lines on standard error:\n…".
func (e *ExitError) Error() string {
	text := "the server ended with " + e.Exit.String()
	if e.Exit.Signal != 0 {
		text = "the server was " + e.Exit.String()
	}
	if e.Err != nil {
		text = "the server ended: " + e.Err.Error()
	}
	return text + quotedLines(e.Stderr)
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

func quotedLines(lines string) string {
	if lines = strings.TrimSpace(lines); lines == "" {
		return "; it wrote nothing to its standard error"
	}
	return "; its last lines on standard error:\n" + lines
}

const (
	readSize = 64 << 10
	keptEnds = 4 << 10 // bytes of the beginning and the end of a line over the limit that are kept
)

// A lineReader reads messages, one a line.
type lineReader struct {
	file    *os.File
	limit   int
	buffer  []byte // what is read from the file at once
	pending []byte // of buffer, not returned yet
}

// next returns the next line that is not empty. Of a line over the limit it returns why the request that it answers
// fails, if it can tell which that is, and otherwise what the line begins with, which is no message.
func (l *lineReader) next() (Received, error) {
	for {
		line, err := l.line()
		switch {
		case err != nil:
			return Received{}, err
		case line.size > int64(l.limit):
			return line.tooLong(l.limit), nil
		case len(bytes.TrimSpace(line.text)) > 0:
			return Received{JSON: line.text}, nil
		}
	}
}

// A line is one line without its end.
type line struct {
	size int64
	text []byte // all of it, or the beginning of a line over the limit
	end  []byte // the end of a line over the limit
}

// line reads a line. A text after the last line end is none.
func (l *lineReader) line() (out line, err error) {
	for {
		if len(l.pending) == 0 && len(out.text) >= readSize && out.end == nil {
			if done, err := l.extend(&out); done || err != nil {
				return out, err
			}
			continue
		}
		if len(l.pending) == 0 {
			if err := l.fill(); err != nil {
				return out, err
			}
		}
		at := bytes.IndexByte(l.pending, '\n')
		if at >= 0 {
			out.add(l.pending[:at], l.limit)
			l.pending = l.pending[at+1:]
			return out, nil
		}
		out.add(l.pending, l.limit)
		l.pending = nil
	}
}

func (l *lineReader) fill() error {
	n, err := l.file.Read(l.buffer)
	if n == 0 {
		return cmp.Or(err, io.ErrNoProgress)
	}
	l.pending = l.buffer[:n]
	return nil
}

// extend reads more of a long line to where it stays, and reports whether that was the end of it.
func (l *lineReader) extend(out *line) (done bool, err error) {
	have := len(out.text)
	if cap(out.text)-have < readSize {
		out.text = slices.Grow(out.text, have) // twice as much
	}
	n, err := l.file.Read(out.text[have : have+readSize])
	if n == 0 {
		return false, cmp.Or(err, io.ErrNoProgress)
	}
	piece := out.text[have : have+n]
	if at := bytes.IndexByte(piece, '\n'); at >= 0 {
		l.pending = l.buffer[:copy(l.buffer, piece[at+1:])]
		piece, done = piece[:at], true
	}
	out.add(piece, l.limit)
	return done, nil
}

// add appends a piece, and gives up a line that becomes too long but for its ends.
func (l *line) add(piece []byte, limit int) {
	l.size += int64(len(piece))
	if l.size <= int64(limit) {
		l.text = append(l.text, piece...)
		return
	}
	if l.end == nil {
		if len(l.text) < keptEnds {
			l.text = append(l.text, piece[:min(len(piece), keptEnds)]...)
		}
		l.end = append(make([]byte, 0, 2*keptEnds), lastBytes(l.text)...)
		l.text = append(make([]byte, 0, keptEnds), l.text[:min(len(l.text), keptEnds)]...)
	}
	l.end = append(l.end, lastBytes(piece)...)
	l.end = append(l.end[:0], lastBytes(l.end)...)
}

func lastBytes(b []byte) []byte { return b[max(0, len(b)-keptEnds):] }

func (l *line) tooLong(limit int) Received {
	var e envelope
	_ = e.open(l.text)
	id := e.id
	if id == nil {
		id = lastID(l.end)
	}
	if id == nil || e.method != nil {
		return Received{JSON: l.text}
	}
	return Received{For: string(bytes.Trim(id, `"`)), Err: &SizeError{Size: l.size, Limit: int64(limit)}}
}

const (
	maxStderrLine  = 4 << 10 // bytes of a line that are kept
	maxStderrLines = 20      // lines that an error shows
	maxStderrTail  = 8 << 10 // and their bytes
)

// A stderrTail is written to by a process. It reports each line and keeps the last ones.
type stderrTail struct {
	report func(string) // or nil

	mu    sync.Mutex
	line  []byte // the beginning of the current line
	tail  []string
	bytes int // of tail
}

// Write never fails.
func (t *stderrTail) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		piece, rest, ended := bytes.Cut(b, []byte("\n"))
		t.mu.Lock()
		t.line = append(t.line, piece[:min(len(piece), maxStderrLine-len(t.line))]...)
		t.mu.Unlock()
		if b = rest; ended {
			t.flush()
		}
	}
	return n, nil
}

// flush ends the current line. Lines without text are dropped.
func (t *stderrTail) flush() {
	t.mu.Lock()
	line := strings.TrimRight(textutil.Cut(strings.ToValidUTF8(string(t.line), "\uFFFD"), maxStderrLine), "\r \t")
	t.line = t.line[:0]
	if line != "" {
		t.tail, t.bytes = append(t.tail, line), t.bytes+len(line)
		for len(t.tail) > 1 && (len(t.tail) > maxStderrLines || t.bytes > maxStderrTail) {
			t.bytes -= len(t.tail[0])
			t.tail = t.tail[1:]
		}
	}
	t.mu.Unlock()
	if line != "" && t.report != nil {
		t.report(line)
	}
}

// String returns the last lines.
func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.tail, "\n")
}
