package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

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
		output: newLineReader(fromServer, cmp.Or(c.MaxMessage, defaultMaxMessage)),
		gone:   make(chan struct{}), closing: make(chan struct{})}
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

// blank replaces a byte by blanks.
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

// endError is why the connection has ended.
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
	return fmt.Errorf(text, err, p.stderr.quoted())
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
	p.output.close()
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
