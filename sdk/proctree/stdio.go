package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

const (
	// drainLimit is how long the copying of output may continue after the run.
	drainLimit = 500 * time.Millisecond
	// inputLimit is how long a blocked Read of Stdin may delay Run.
	inputLimit = 100 * time.Millisecond
)

// stdio is the program's input and output, and the copying from and to the caller's readers and writers.
type stdio struct {
	files   [3]*os.File // as the program gets them
	theirs  []*os.File  // opened for the program, closed once it has them
	ours    []*os.File  // our ends of the pipes; input is one of them
	input   *os.File
	feed    func() error
	takes   []func() error
	fed     chan struct{} // closed when feed is done
	taken   chan struct{} // closed when all takes are done
	feedErr error
	takeErr error
}

func (c *Cmd) openStdio() (*stdio, error) {
	s := &stdio{fed: make(chan struct{}), taken: make(chan struct{})}
	open := s.openPipes
	if c.Terminal != nil {
		open = s.openTerminal
	}
	err := open(c)
	if err != nil {
		s.handOver()
		s.close()
	}
	return s, err
}

func (s *stdio) openPipes(c *Cmd) error {
	if err := s.openInput(c.Stdin); err != nil {
		return err
	}
	if c.InOrder && copies(c.Stdout) && copies(c.Stderr) && !same(c.Stdout, c.Stderr) {
		return s.openBoth(c)
	}
	var err error
	s.files[1], err = s.openOutput("stdout", c.Stdout)
	if err == nil && same(c.Stdout, c.Stderr) {
		s.files[2] = s.files[1]
	} else if err == nil {
		s.files[2], err = s.openOutput("stderr", c.Stderr)
	}
	return err
}

// copies reports whether the output for a writer passes through a pipe.
func copies(w io.Writer) bool {
	f, ok := w.(*os.File)
	return w != nil && (!ok || f == nil)
}

// openBoth opens two outputs that are copied in order.
func (s *stdio) openBoth(c *Cmd) error {
	stdout, stderr := &lane{name: "stdout", to: c.Stdout}, &lane{name: "stderr", to: c.Stderr}
	for i, l := range []*lane{stdout, stderr} {
		theirs, ours, err := s.pipe(true)
		if err != nil {
			return err
		}
		s.files[i+1], l.pipe = theirs, ours
	}
	takes, err := inOrder(stdout, stderr)
	s.takes = takes
	return err
}

// same reports whether two writers are the same; comparing may panic for types that cannot be compared.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

func (s *stdio) openInput(r io.Reader) (err error) {
	if f, ok := r.(*os.File); ok && f != nil {
		s.files[0] = f
		return nil
	}
	if r == nil {
		s.files[0], err = s.openNull(os.O_RDONLY)
		return err
	}
	theirs, ours, err := s.pipe(false)
	s.files[0], s.input = theirs, ours
	s.feed = func() error { return copied("stdin", ours, ours, r) }
	return err
}

func (s *stdio) openOutput(name string, w io.Writer) (*os.File, error) {
	if f, ok := w.(*os.File); ok && f != nil {
		return f, nil
	}
	if w == nil {
		return s.openNull(os.O_WRONLY)
	}
	theirs, ours, err := s.pipe(true)
	s.takes = append(s.takes, func() error { return copied(name, ours, w, ours) })
	return theirs, err
}

func (s *stdio) openNull(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.theirs = append(s.theirs, f)
	}
	return f, err
}

func (s *stdio) pipe(output bool) (theirs, ours *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	theirs, ours = r, w
	if output {
		theirs, ours = w, r
	}
	s.theirs, s.ours = append(s.theirs, theirs), append(s.ours, ours)
	return theirs, ours, nil
}

// handOver closes the files that the program has now.
func (s *stdio) handOver() { closeAll(s.theirs) }

// close closes our ends of the pipes, which also wakes readers of them.
func (s *stdio) close() { closeAll(s.ours) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a second Close does no harm
	}
}

// copied copies all of r to w and closes the pipe, which is one of them. A closed far end of a pipe is no error: a
// program need not read everything.
func copied(name string, pipe *os.File, w io.Writer, r io.Reader) error {
	defer pipe.Close()
	_, err := io.Copy(w, r)
	return explained(name, pipe, err)
}

func explained(name string, pipe *os.File, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == pipe.Name() {
		if name == "stdin" || !errors.Is(err, fs.ErrClosed) {
			return nil
		}
		return cutOff(name + " is cut off: a process held it open after the end")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (s *stdio) copy() {
	if s.feed != nil {
		go func() {
			defer close(s.fed)
			s.feedErr = s.feed()
		}()
	} else {
		close(s.fed)
	}
	var (
		wait sync.WaitGroup
		errs = make([]error, len(s.takes))
	)
	for i, take := range s.takes {
		wait.Go(func() { errs[i] = take() })
	}
	go func() {
		defer close(s.taken)
		wait.Wait()
		for _, err := range errs {
			s.takeErr = join(s.takeErr, err)
		}
	}()
}

// finish waits for the copying. If the tree has ended, the output ends too and may take as long as ctx allows;
// otherwise a process may hold it open.
func (s *stdio) finish(ctx context.Context, ended bool) error {
	if s.input != nil {
		_ = s.input.Close()
	}
	if ended {
		select {
		case <-s.taken:
		case <-ctx.Done():
		}
	}
	if !within(s.taken, drainLimit) {
		s.close()
	}
	if !within(s.taken, inputLimit) {
		return cutOff("the Stdout or Stderr writer blocks; its output is cut off")
	}
	s.close() // of a terminal; the pipes are closed
	if within(s.fed, inputLimit) {
		return join(s.takeErr, s.feedErr)
	}
	return s.takeErr
}

// A Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// openTerminal opens a terminal for the program, and its other side for us. Reading that ends with an error instead
// of EOF when no process holds the terminal any more, which explained ignores.
func (s *stdio) openTerminal(c *Cmd) error {
	if c.Stderr != nil {
		return errors.New("a terminal has one output; Stderr must be nil")
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return err
	}
	s.ours, s.theirs = append(s.ours, ours), append(s.theirs, theirs)
	s.files = [3]*os.File{theirs, theirs, theirs}
	out := io.Discard
	if c.Stdout != nil {
		out = c.Stdout
	}
	output := make(chan struct{}, 1)
	s.takes = append(s.takes, func() error {
		defer close(output)
		return shown(ours, &announced{out, output})
	})
	s.feed = func() error {
		if err := typeInto(ours, c.Stdin); err != nil {
			return err
		}
		return endKeys(ours, output)
	}
	return pty.Setsize(ours, &pty.Winsize{Cols: c.Terminal.Columns, Rows: c.Terminal.Rows})
}

// shown copies what the terminal shows. When no process holds the terminal, it stays open until finish: closing it
// sends SIGHUP to the program, which may have closed its files and not ended yet, as wc does.
func shown(terminal *os.File, out io.Writer) error {
	_, err := io.Copy(out, terminal)
	if !errors.Is(err, syscall.EIO) {
		_ = terminal.Close()
	}
	return explained("the terminal", terminal, err)
}

const endOfInput = "\x04" // ^D

// An announced writer says that there was output.
type announced struct {
	io.Writer
	output chan<- struct{}
}

func (a *announced) Write(p []byte) (int, error) {
	select {
	case a.output <- struct{}{}:
	default:
	}
	return a.Writer.Write(p)
}

// endKeys types ^D once more to a program that reads single keys, such as the prompt of python3: what was typed before
// it changed the terminal is no end of input to it, only a key that means nothing. It does so before it prompts.
func endKeys(terminal *os.File, output <-chan struct{}) error {
	for range output {
		if readsKeys(terminal) {
			_, err := terminal.WriteString(endOfInput)
			return explained("stdin", terminal, err)
		}
	}
	return nil
}

// typeInto types a text and the end of input. In the middle of a line the first ^D only submits the line.
func typeInto(terminal *os.File, text io.Reader) error {
	end := endOfInput
	if text != nil {
		var last lastByte
		if _, err := io.Copy(terminal, io.TeeReader(text, &last)); err != nil {
			return explained("stdin", terminal, err)
		}
		if last != 0 && last != '\n' {
			end += endOfInput
		}
	}
	_, err := io.Copy(terminal, bytes.NewReader([]byte(end)))
	return explained("stdin", terminal, err)
}

// A lastByte remembers the last byte written to it.
type lastByte byte

func (l *lastByte) Write(b []byte) (int, error) {
	if len(b) > 0 {
		*l = lastByte(b[len(b)-1])
	}
	return len(b), nil
}
