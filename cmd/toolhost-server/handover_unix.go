//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/internal/textutil"
)

const (
	// inheritVar lists what is handed over by an earlier host: the networks of its listeners, whose files come after
	// that of the lock, which is the number before the colon. After "unix@" comes the identity of the socket's file.
	// After a blank come that host and those before it.
	inheritVar = "TOOLHOST_INHERIT"
	// outlivesVar is set for the successor of a host that does not end with its terminal.
	outlivesVar = "TOOLHOST_OUTLIVES_TERMINAL"
	// startTime is how long a successor may take to serve.
	startTime = time.Minute
)

// inherit takes over what an earlier host has handed over; nil when there is none. Its variable is removed, so that no
// plugin sees it.
func inherit() (*inherited, error) {
	text := os.Getenv(inheritVar)
	_ = os.Unsetenv(inheritVar) // it fails for no name of ours
	if text == "" {
		return nil, nil
	}
	files, predecessors, _ := strings.Cut(text, " ")
	first, networks, _ := strings.Cut(files, ":")
	fd, err := strconv.Atoi(first)
	if err != nil {
		return nil, fmt.Errorf("the environment variable %s is %q, which is not a list of inherited sockets; only "+
			"toolhost serve --upgrade sets it; unset it", inheritVar, text)
	}
	syscall.CloseOnExec(fd)
	in := &inherited{lock: os.NewFile(uintptr(fd), "lock"), predecessors: strings.Fields(predecessors)}
	for network := range strings.SplitSeq(networks, ",") {
		fd++
		file := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(file)
		_ = file.Close() // the listener has its own
		if err != nil {
			return nil, fmt.Errorf("a listener was not handed over: %w", err)
		}
		var socket fs.FileInfo
		if _, is := l.(*net.UnixListener); is {
			socket, _ = os.Lstat(l.Addr().String())
			if _, was, named := strings.Cut(network, "@"); named && was != identity(socket) {
				socket = nil
			}
		}
		in.listeners, in.files = append(in.listeners, l), append(in.files, socket)
	}
	return in, nil
}

// A starter is the process that has started this one and waits until it serves, if there is one.
type starter struct{ file *os.File }

// openStarter finds the starter. Its variable is removed, and its file closed in other programs, so that no plugin
// keeps it waiting.
func openStarter() *starter {
	fd, err := strconv.Atoi(os.Getenv(local.ReadyVar))
	_ = os.Unsetenv(local.ReadyVar) // it fails for no name of ours
	if err != nil {
		return &starter{}
	}
	syscall.CloseOnExec(fd)
	return &starter{os.NewFile(uintptr(fd), "ready")}
}

// report says once whether this program serves.
func (s *starter) report(text string) {
	if s.file == nil {
		return
	}
	_, _ = s.file.WriteString(textutil.Cut(text, local.MaxReason)) // who started it may be gone
	_ = s.file.Close()
	s.file = nil
}

// failed reports why this program does not serve.
func (s *starter) failed(err error) { s.report(err.Error()) }

// ready reports to the starter of this program, and to the service manager, that it serves.
func (p *program) ready() {
	p.starter.report(local.ReadyText)
	notify(fmt.Sprintf("READY=1\nMAINPID=%d", os.Getpid()))
}

// notify sends a state to systemd, if it has started this program.
func notify(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = c.Write([]byte(state)) // it is a courtesy
	_ = c.Close()
}

// upgrade starts the program that is installed now, hands the sockets over, and ends this one after its last call,
// however long that runs. An error means that this one serves on.
func (p *program) upgrade(ctx context.Context) (pid int, err error) {
	p.place.handover.Lock()
	defer p.place.handover.Unlock()
	if successor := p.place.successor.Load(); successor != 0 {
		return 0, server.Fail(connect.CodeFailedPrecondition, "", fmt.Sprintf("process %d has taken over from process %d "+
			"already, by another upgrade", successor, os.Getpid()), "If a newer program was installed since, run "+
			"`toolhost serve --upgrade` again.")
	}
	files := []*os.File{p.place.lockFile}
	defer func() {
		for _, f := range files[1:] {
			_ = f.Close() // the listeners have their own
		}
	}()
	var networks []string
	for _, l := range p.place.listeners {
		f, err := fileOf(l.Listener)
		if err != nil {
			return 0, fmt.Errorf("the listener at %s cannot be handed over: %w", l.Addr(), err)
		}
		network := l.Addr().Network()
		if s, is := l.Listener.(*socket); is {
			network += "@" + s.identity()
		}
		files, networks = append(files, f), append(networks, network)
	}
	if pid, err = p.start(ctx, files, networks); err != nil {
		p.place.report("")
		return 0, err
	}
	p.place.successor.Store(int64(pid))
	for _, l := range p.place.listeners {
		if s, is := l.Listener.(*socket); is {
			s.handOver() // it is the successor's now
		}
	}
	p.log.Info("another process has taken over", "pid", pid)
	p.server.Leave()
	p.questions.Stop() // people answer at the successor from now on, where waiting calls are made again
	return pid, nil
}

// identity identifies a file among all that exist; "" for none.
func identity(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d.%d", stat.Dev, stat.Ino)
}

// identity is that of the file that the socket has made.
func (s *socket) identity() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return identity(s.file)
}

// fileOf returns a copy of a listener's file for another process. That of its own File method would not do: to start a
// process with it sets the open file to blocking, which the listener shares, and a blocking accept keeps Close waiting.
func fileOf(l net.Listener) (*os.File, error) {
	of, is := l.(syscall.Conn)
	if !is {
		return nil, fmt.Errorf("a %T has no file", l)
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	return os.NewFile(uintptr(fd), "listener"), nil // as it is opened from a number, it stays nonblocking
}

// start starts the successor, and returns when it serves.
func (p *program) start(ctx context.Context, files []*os.File, networks []string) (pid int, err error) {
	self, _, _ := local.Process(os.Getpid()) // "" where the system cannot name processes

	const first = 3                                                                // the first of ExtraFiles
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.path, os.Args[1:]...) // it outlives this one
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s %s", inheritVar, first, strings.Join(networks, ","),
		strings.Join(append(slices.Clone(p.place.predecessors), self), " ")),
		fmt.Sprintf("%s=%d", local.ReadyVar, first+len(files)))
	if !p.endsWithTerminal {
		cmd.Env = append(cmd.Env, outlivesVar+"=1")
	}
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	said, err := local.AwaitStart(limited, func(ready *os.File) error {
		cmd.ExtraFiles = slices.Concat(files, []*os.File{ready})
		return cmd.Start()
	})
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if said == local.ReadyText {
		return cmd.Process.Pid, nil
	}
	_ = cmd.Process.Kill() // it may have ended
	err = <-ended
	switch why := strings.TrimSpace(said); {
	case why != "":
		return 0, fmt.Errorf("%s, the program that is installed now, does not serve: %s", p.path, why)
	case ctx.Err() != nil:
		return 0, errors.New("the client that asked for the upgrade is gone, so the new program was ended")
	case limited.Err() != nil:
		return 0, fmt.Errorf("%s, the program that is installed now, did not serve within %s", p.path, startTime)
	}
	return 0, fmt.Errorf("%s, the program that is installed now, ended before it served (%v); what it wrote to standard "+
		"error is where this host's log is", p.path, cmp.Or[any](err, cmd.ProcessState))
}
