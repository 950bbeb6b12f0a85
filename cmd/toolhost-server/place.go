package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A hostPlace is the place where commands find this host: its lock, which also says what the host does, its sockets and
// the token.
type hostPlace struct {
	local.Place
	log          *slog.Logger
	token        string // of the user's own clients
	listeners    []server.Listener
	predecessors []string // the hosts that have handed over the listeners

	// handover is locked while a successor is started, and while deleted files are recreated.
	handover  sync.Mutex
	successor atomic.Int64 // the process that has taken over; 0 for none
	lockTaken bool         // another process has recreated the lock file; guarded by handover

	mu       sync.Mutex
	lockFile *os.File
	state    local.State // what the lock file says of this process; "" while it says what the predecessor does
}

// takePlace takes the place of a configuration, or takes it over from an earlier host.
func takePlace(o settings, given *inherited, c *bootstrap.Configuration, log *slog.Logger) (*hostPlace, error) {
	config := cmp.Or(c.Path, bootstrap.ProgramFolder()) // without a file, the folder of its plugins
	found, err := local.Find(config, o.workdir, o.profile)
	if err != nil {
		return nil, err
	}
	p := &hostPlace{Place: found, log: log}
	if err := p.checkInherited(given, c); err != nil {
		return nil, err
	}
	if err := p.Make(); err != nil {
		return nil, err
	}
	if err := p.acquire(given); err != nil {
		return nil, err
	}
	if err := p.Name(config, o.workdir, o.profile); err != nil {
		log.Warn("commands will not find this host once the link to its configuration is deleted", "error", err)
	}
	if p.token, err = p.readToken(); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// acquire locks the place, so that no second host of the configuration starts.
func (p *hostPlace) acquire(given *inherited) error {
	if given != nil {
		p.lockFile, p.predecessors = given.lock, given.predecessors
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	f, err := fsutil.Lock(ctx, p.Lock(), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fsutil.ErrLocked) {
		return &lockedError{*cmp.Or(p.Holder(), &local.Holder{})}
	}
	if err != nil {
		return p.FolderError(err)
	}
	p.lockFile = f
	p.report(local.Starts)
	return nil
}

// report writes into the lock what this process does, unless another one has taken over. With "" it repeats that, such
// as when a successor that failed may have written something else.
func (p *hostPlace) report(s local.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = cmp.Or(s, p.state)
	if p.successor.Load() != 0 || p.state == "" {
		return
	}
	if err := local.Hold(p.lockFile, p.state, p.predecessors...); err != nil {
		p.log.Warn("commands cannot see which process this is", "error", p.FolderError(err))
	}
}

// release releases the lock, and reports that this process has ended, unless another one has taken over, or the one
// before it goes on.
func (p *hostPlace) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.successor.Load() == 0 && p.state != "" {
		p.Unname()
		_ = local.Release(p.lockFile, p.predecessors...) // the end of the lock says it, too
	}
	_ = p.lockFile.Close() // nothing is lost
}

// inherited is what an earlier host has handed over.
type inherited struct {
	lock         *os.File
	listeners    []net.Listener
	files        []fs.FileInfo // of Unix sockets, by listener; nil where another process has put one in its place
	predecessors []string
}

// checkInherited fails if the sockets handed over are those of another place: the configuration is searched again, and
// clients of the earlier host would be served without its rules.
func (p *hostPlace) checkInherited(given *inherited, c *bootstrap.Configuration) error {
	if given == nil || slices.ContainsFunc(given.listeners, func(l net.Listener) bool {
		return l.Addr().Network() == "unix" && l.Addr().String() == p.Socket()
	}) {
		return nil
	}
	found := "there is no configuration any more where it was"
	if c.Path != "" {
		found = "the configuration that is found now, " + c.Path + ", is not the one that the host serves"
	}
	return fmt.Errorf("%s, or the work folder has changed; put the file back, or stop the host: "+
		"toolhost serve --stop", found)
}

// lockTime is how long commands that check the lock may hold it.
const lockTime = 100 * time.Millisecond

// A lockedError means that another process has the place.
type lockedError struct{ holder local.Holder }

// Error says which process, and what to do.
func (e *lockedError) Error() string {
	const whose = "of this configuration, work folder and profile"
	switch h := e.holder; {
	case h.PID == 0 || h.State == local.Stops:
		return "a host " + whose + " has not ended yet: " + h.Ending()
	default:
		return fmt.Sprintf("a host %s is running already, process %d; stop it with `toolhost serve --stop`, or replace it "+
			"with `toolhost serve --upgrade`", whose, h.PID)
	}
}

// readToken returns the token of the user's own clients. It is kept beside the socket, so that a page that is open in a
// browser survives a restart.
func (p *hostPlace) readToken() (string, error) {
	f, err := fsutil.OpenPrivate(p.Token())
	if errors.Is(err, fs.ErrNotExist) {
		token := rand.Text()
		return token, p.saveToken(token)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < server.MinToken {
		return "", fmt.Errorf("the file of the user's token, %s, has a token of %d characters; %d are the least; remove the "+
			"file: the host makes it again with a new token", p.Token(), len(token), server.MinToken)
	}
	return token, nil
}

func (p *hostPlace) saveToken(token string) error {
	return p.FolderError(fsutil.WriteFile(p.Token(), []byte(token+"\n"), 0o600))
}

// placeCheck is how often the files of the place are checked: what cleans folders of temporary files deletes them.
const placeCheck = 2 * time.Second

// maintain recreates the files of the place when they were deleted, until ctx ends.
func (p *hostPlace) maintain(ctx context.Context) {
	tick := time.NewTicker(placeCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.handover.Lock() // what is handed over stays as it is
		if p.successor.Load() == 0 {
			p.restore(ctx)
		}
		p.handover.Unlock()
	}
}

// restore recreates what was deleted: the lock, so that no second host starts, the sockets, and the token. A
// host that was faster has the place: sockets of this one in it would keep the next one from starting.
func (p *hostPlace) restore(ctx context.Context) {
	note := func(path string, gone bool, err error) {
		switch {
		case gone && err != nil:
			p.log.Error("a file of the running host was deleted, and cannot be recreated", "path", path, "error", err)
		case gone:
			p.log.Warn("a file of the running host was deleted, and was recreated", "path", path)
		}
	}
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if missing(p.Lock()) {
		note(p.Lock(), true, p.reacquire())
	}
	if taken := p.lockIsAnothers(); taken != p.lockTaken {
		if p.lockTaken = taken; taken {
			p.log.Error("the lock of the running host was deleted, and another process has recreated it: commands do not "+
				"find this host any more; end it", "path", p.Lock(), "pid", os.Getpid())
		}
	}
	if p.lockTaken {
		return
	}
	for _, l := range p.listeners {
		if s, is := l.Listener.(*socket); is {
			gone, err := s.restore(ctx)
			note(s.path, gone, err)
		}
	}
	if missing(p.Token()) {
		note(p.Token(), true, p.saveToken(p.token))
	}
}

// lockIsAnothers reports whether the lock at the place is another process's.
func (p *hostPlace) lockIsAnothers() bool {
	ours, err := p.lockFile.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(p.Lock())
	return err == nil && !os.SameFile(ours, there)
}

// reacquire locks a new file in place of one that was deleted.
func (p *hostPlace) reacquire() error {
	if err := p.Make(); err != nil {
		return err
	}
	f, err := fsutil.TryLock(p.Lock(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err // such as of a second host, which has started meanwhile
	}
	p.mu.Lock()
	old := p.lockFile
	p.lockFile = f
	p.mu.Unlock()
	p.report("")
	return old.Close()
}
