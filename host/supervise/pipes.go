package supervise

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A pipe has an end to read and one to write.
type pipe struct{ r, w *os.File }

// pipes are the three streams of a process.
type pipes struct{ stdin, stdout, stderr pipe }

func (p *pipes) open() (err error) {
	for _, one := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		if one.r, one.w, err = os.Pipe(); err != nil {
			p.closeAll()
			return err
		}
	}
	return nil
}

// closeTheirs closes the ends that the process has copies of.
func (p *pipes) closeTheirs() { closeFiles(p.stdin.r, p.stdout.w, p.stderr.w) }

func (p *pipes) closeAll() {
	p.closeTheirs()
	closeFiles(p.stdin.w, p.stdout.r, p.stderr.r)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // also nil
	}
}

// lastWords reads a pipe, and after its read deadline no more than what is in it already.
type lastWords struct {
	from *os.File
	late int // bytes read after the deadline
}

// maxLate is what a pipe holds at most: who goes on writing is not read without end.
const maxLate = 1 << 20

func (l *lastWords) Read(b []byte) (int, error) {
	n, err := l.from.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && l.late < maxLate {
		n, err = l.now(b)
		l.late += n
	}
	return n, err
}

// now reads without waiting.
func (l *lastWords) now(b []byte) (n int, err error) {
	conn, err := l.from.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := conn.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) })
	switch {
	case closed != nil:
		return 0, closed
	case err != nil || n < 0:
		return 0, os.ErrDeadlineExceeded // nothing is there
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
