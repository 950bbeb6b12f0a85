package proctree

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/creack/pty"
)

// A Size is that of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// openTerminal gives the program a terminal, and us its other side. That ends with an error, not EOF, when no process
// holds the terminal any more; explained knows.
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
	s.takes = append(s.takes, func() error { return shown(ours, out) })
	s.feed = func() error { return typed(ours, c.Stdin) }
	return pty.Setsize(ours, &pty.Winsize{Cols: c.Terminal.Columns, Rows: c.Terminal.Rows})
}

// shown copies what the terminal shows. When no process holds the terminal it stays open until finish: its end is a SIGHUP
// to the program, which may have closed its files and not ended yet, as wc does.
func shown(terminal *os.File, out io.Writer) error {
	_, err := io.Copy(out, terminal)
	if !errors.Is(err, syscall.EIO) {
		_ = terminal.Close()
	}
	return explained("the terminal", terminal, err)
}

// typed types a text and the end of input. In the middle of a line the first ^D only hands over the line.
func typed(terminal *os.File, text io.Reader) error {
	const endOfInput = "\x04"
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

// A lastByte remembers how what was written to it ended.
type lastByte byte

func (l *lastByte) Write(b []byte) (int, error) {
	if len(b) > 0 {
		*l = lastByte(b[len(b)-1])
	}
	return len(b), nil
}
