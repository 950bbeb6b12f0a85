package supervise

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A plugin that a person has started with TOOLHOST_ATTACH, such as under a debugger, is joined instead of started. The
// host never signals it, never asks whether it still answers, and leaves it at the end: it may be stopped at a
// breakpoint. It is the process that listens on the socket, it is this user's, and it has the token.

// attachPoll is how often the host looks whether a process that it has joined still runs.
const attachPoll = 100 * time.Millisecond

var (
	errAttachedProgram = errors.New("it was started by hand: what such a process runs cannot be checked or locked")
	errAttachedEnded   = errors.New("its process, which was started by hand, has ended")
)

// Attached returns the spec of the plugin that wrote a file, which is read for its name.
func Attached(file string) (Spec, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Name: "plugin", Command: []string{path}, Attach: true, Source: path}
	a, err := s.attachment()
	if err == nil && toolname.IsPlugin(a.Plugin) {
		s.Name = a.Plugin
	}
	return s, err
}

// checkAttach refuses settings that cannot hold for a process that the host does not start.
func (s Spec) checkAttach() error {
	switch {
	case !s.Attach:
		return nil
	case len(s.Command) != 1:
		return errors.New("a process that is joined takes no arguments")
	case s.SHA256 != "":
		return errors.New("a process that is joined cannot be compared with a sha256")
	case s.Sandbox.Require != "":
		return fmt.Errorf("a process that is joined is in no sandbox, and %q is required", s.Sandbox.Require)
	}
	return nil
}

// attachedConfinement says that there is no sandbox.
func (s Spec) attachedConfinement() sandbox.Confinement {
	return sandbox.Confinement{Requested: s.Sandbox.Requested(), Effective: sandbox.None, Network: true,
		Missing: []string{"it was started by hand: it can do what its user can"}}
}

// attachment reads the file that the process wrote. Others than the user cannot have written it.
func (s Spec) attachment() (a wire.Attachment, err error) {
	path := s.commandName()
	f, err := fsutil.OpenPrivate(path)
	if errors.Is(err, os.ErrNotExist) {
		return a, fmt.Errorf("%s does not exist: no plugin waits there to be joined. Fix: start the plugin by hand, as "+
			"%s=%s PROGRAM, and keep it running", path, wire.EnvAttach, path)
	} else if err != nil {
		return a, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, wire.MaxAttachment))
	if err != nil {
		return a, err
	}
	switch err := json.Unmarshal(text, &a); {
	case err != nil:
		return a, fmt.Errorf("%s is not the file of a plugin that waits to be joined: %w", path, err)
	case a.Version != wire.AttachVersion:
		return a, fmt.Errorf("%s has the version %d, and this host knows %d; build the plugin with the sdk of this host",
			path, a.Version, wire.AttachVersion)
	case a.PID <= 0 || a.Token == "" || a.Network == "" && !filepath.IsAbs(a.Socket):
		return a, fmt.Errorf("%s names no process, socket and token", path)
	case !runs(a.PID):
		return a, fmt.Errorf("process %d, which wrote %s, has ended; start it again with %s=%s", a.PID, path,
			wire.EnvAttach, path)
	}
	return a, nil
}

// runs reports whether there is a process of this number that has not ended.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return isRunning(p)
}

// join replaces launch for a process that runs already.
func (r *runner) join() error {
	a, err := r.spec.attachment()
	if err != nil {
		return err
	}
	dir := filepath.Dir(a.Socket)
	if err := fsutil.CheckPrivateDir(dir); a.Network == "" && err != nil {
		return fmt.Errorf("the folder of its socket: %w", err)
	}
	line := fmt.Sprintf("1|%d|%s|%s|grpc", a.Protocol, cmp.Or(a.Network, "unix"), a.Socket)
	if err := checkHandshake(line, dir); err != nil {
		return err
	}
	c, err := follow(a.PID)
	if err != nil {
		return err
	}
	confinement := r.spec.attachedConfinement()
	r.prepared(sandbox.Prepared{Confinement: confinement})
	r.generation.child, r.token, r.handshake = c, a.Token, line
	r.supervisor.reportReduced(r.spec, confinement)
	return nil
}

// follow returns a child for a process that the host has not started.
func follow(pid int) (*child, error) {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d cannot be found: %w", pid, err)
	}
	left := make(chan struct{})
	detach := sync.OnceFunc(func() { close(left) })
	c := &child{pid: pid, handle: handle, containment: "none", attached: true, programEnded: make(chan struct{}),
		treeEnded: make(chan struct{}), released: make(chan struct{}), stderrRead: make(chan struct{}), tail: &tail{},
		killAll: detach}
	close(c.stderrRead)
	go func() {
		poll := time.NewTicker(attachPoll)
		defer poll.Stop()
		for alive := true; alive; {
			select {
			case <-left:
				alive = false
			case <-poll.C:
				alive = isRunning(handle)
			}
		}
		c.setExit(proctree.Exit{Code: -1}, errAttachedEnded)
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		_ = handle.Release()
		close(c.treeEnded)
		close(c.released)
	}()
	return c, nil
}
