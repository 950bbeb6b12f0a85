//go:build unix

package proctree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A lane is one of two pipes that are copied in order.
type lane struct {
	name  string
	pipe  *os.File
	raw   syscall.RawConn
	to    io.Writer
	buf   []byte
	over  bool  // nothing more comes, or can be written
	err   error // of the writer
	order *sync.Mutex
	first *lane // the lane whose pending output is written first; nil if none
}

// inOrder returns two copies that run concurrently. Output to stdout and then to stderr is written in this order,
// also without a pause between. The other way round the order holds only with a pause: of output at the same moment
// stdout comes first.
func inOrder(stdout, stderr *lane) ([]func() error, error) {
	stdout.order = new(sync.Mutex)
	stderr.order, stderr.first = stdout.order, stdout
	for _, l := range []*lane{stdout, stderr} {
		var err error
		if l.raw, err = l.pipe.SyscallConn(); err != nil {
			return nil, err
		}
		l.buf = make([]byte, 32<<10)
	}
	return []func() error{stdout.copy, stderr.copy}, nil
}

// copy waits for output without reading it, since only the holder of the order may read. Nothing slow happens within
// the calls of raw: the pipe can be closed only between them.
func (l *lane) copy() error {
	defer l.pipe.Close()
	for {
		err := l.raw.Read(readable)
		switch over, failure := l.turn(err == nil); {
		case failure != nil:
			return fmt.Errorf("%s: %w", l.name, failure)
		case over:
			return nil
		case err != nil:
			closed := &fs.PathError{Op: "read", Path: l.pipe.Name(), Err: fs.ErrClosed} // the only cause of err
			return explained(l.name, l.pipe, closed)
		}
	}
}

func readable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// turn moves one piece of this lane, if there is one, after the pending output of the first lane, at most a pipe's
// capacity. It reports whether that was all, or the writer's error.
func (l *lane) turn(ready bool) (over bool, failure error) {
	l.order.Lock()
	defer l.order.Unlock()
	const most = 4
	for n := 0; l.first != nil && n < most && l.first.move(); n++ {
	}
	if ready {
		l.move()
	}
	return l.over, l.err
}

// move moves one piece, if there is one now. A closed pipe has none.
func (l *lane) move() bool {
	if l.over {
		return false
	}
	var n int
	var failure error
	err := l.raw.Control(func(fd uintptr) { n, failure = readNow(int(fd), l.buf) })
	if err != nil || errors.Is(failure, unix.EAGAIN) {
		return false
	}
	if l.over = n <= 0; !l.over {
		_, l.err = l.to.Write(l.buf[:n])
		l.over = l.err != nil
	}
	if l.over {
		_ = l.pipe.SetReadDeadline(time.Unix(1, 0)) // wakes copy, if it waits
	}
	return true
}

func readNow(fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, buf); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// readsKeys reports a terminal whose program reads single keys instead of lines. Where the system's number of the call
// is not known, none does.
func readsKeys(terminal *os.File) (yes bool) {
	call := map[string]uint{"linux": 0x5401, "darwin": 0x40487413, "freebsd": 0x402c7413, "openbsd": 0x402c7413,
		"netbsd": 0x402c7413}[runtime.GOOS]
	raw, err := terminal.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		mode, err := unix.IoctlGetTermios(int(fd), call)
		yes = err == nil && mode.Lflag&unix.ICANON == 0
	})
	return yes
}
