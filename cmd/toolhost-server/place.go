package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// placeCheck is how often the files of the place are looked for: what cleans folders of temporary files deletes them.
const placeCheck = 2 * time.Second

// inherited is what an earlier host has handed over.
type inherited struct {
	lock         *os.File
	listeners    []net.Listener
	files        []fs.FileInfo // of Unix sockets, by listener; nil where another process has put one in its place
	predecessors []string
}

// checkInherited fails if the sockets handed over are those of another place: the configuration is searched anew, and
// clients of the earlier host would be served without its rules.
func (p *program) checkInherited(given *inherited, c *bootstrap.Configuration) error {
	if given == nil || slices.ContainsFunc(given.listeners, func(l net.Listener) bool {
		return l.Addr().Network() == "unix" && l.Addr().String() == p.place.Socket()
	}) {
		return nil
	}
	found := "there is no configuration any more where it was"
	if c.Path != "" {
		found = "the configuration that is found now, " + c.Path + ", is not the one that the host serves"
	}
	return fmt.Errorf("%s, or the work folder is another one; put the file back, or stop the host: "+
		"toolhost serve --stop", found)
}

// lockTime is how long the lock may be held by commands that look whether it is.
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

// lock keeps a second host of the configuration from starting.
func (p *program) lock(given *inherited) error {
	if given != nil {
		p.lockFile, p.predecessors = given.lock, given.predecessors
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	f, err := fsutil.Lock(ctx, p.place.Lock(), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fsutil.ErrLocked) {
		return &lockedError{*cmp.Or(p.place.Holder(), &local.Holder{})}
	}
	if err != nil {
		return p.place.FolderError(err)
	}
	p.lockFile = f
	p.hold(local.Starts)
	return nil
}

// hold tells commands what this process does, unless another one has taken over.
func (p *program) hold(s local.State) {
	p.lockMu.Lock()
	p.held = s
	p.lockMu.Unlock()
	p.holdAgain()
}

// holdAgain tells it again, such as after a successor that has failed may have written something else.
func (p *program) holdAgain() {
	p.lockMu.Lock()
	defer p.lockMu.Unlock()
	if p.replaced.Load() || p.held == "" {
		return
	}
	if err := local.Hold(p.lockFile, p.held, p.predecessors...); err != nil {
		p.log.Warn("commands are not told which process this is", "error", p.place.FolderError(err))
	}
}

// release releases the lock, and tells commands that this process has ended, unless another one has taken over, or the
// one before it goes on.
func (p *program) release() {
	p.lockMu.Lock()
	defer p.lockMu.Unlock()
	if !p.replaced.Load() && p.held != "" {
		_ = local.Release(p.lockFile, p.predecessors...) // the end of the lock tells, too
	}
	_ = p.lockFile.Close() // nothing is lost
}

// token returns the token of the user's own clients. It is kept beside the socket, so that a page that is open in a
// browser survives a restart.
func (p *program) token() (string, error) {
	f, err := fsutil.OpenPrivate(p.place.Token())
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
			"file: the host makes it again with a new token", p.place.Token(), len(token), server.MinToken)
	}
	return token, nil
}

func (p *program) saveToken(token string) error {
	return p.place.FolderError(fsutil.WriteFile(p.place.Token(), []byte(token+"\n"), 0o600))
}

// keepPlace makes the files of the place again when they were deleted, until ctx ends.
func (p *program) keepPlace(ctx context.Context) {
	tick := time.NewTicker(placeCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.handover.Lock() // what is handed over stays as it is
		if !p.replaced.Load() {
			p.restorePlace(ctx)
		}
		p.handover.Unlock()
	}
}

// restorePlace makes again what was deleted: the lock, so that no second host starts, the sockets, and the token. A
// host that was faster has the place: sockets of this one in it would keep the next one from starting.
func (p *program) restorePlace(ctx context.Context) {
	note := func(path string, gone bool, err error) {
		switch {
		case gone && err != nil:
			p.log.Error("a file of the running host was deleted, and cannot be made again", "path", path, "error", err)
		case gone:
			p.log.Warn("a file of the running host was deleted, and was made again", "path", path)
		}
	}
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if missing(p.place.Lock()) {
		note(p.place.Lock(), true, p.lockAgain())
	}
	if lost := p.lostLock(); lost != p.displaced {
		if p.displaced = lost; lost {
			p.log.Error("the lock of the running host was deleted, and another process has made it again: commands do not "+
				"find this host any more; end it", "path", p.place.Lock(), "pid", os.Getpid())
		}
	}
	if p.displaced {
		return
	}
	for _, l := range p.listeners {
		if s, is := l.Listener.(*socket); is {
			gone, err := s.restore(ctx)
			note(s.path, gone, err)
		}
	}
	if missing(p.place.Token()) {
		note(p.place.Token(), true, p.saveToken(p.own))
	}
}

// lostLock reports whether the lock at the place is another process's.
func (p *program) lostLock() bool {
	ours, err := p.lockFile.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(p.place.Lock())
	return err == nil && !os.SameFile(ours, there)
}

// lockAgain locks a new file in place of one that was deleted.
func (p *program) lockAgain() error {
	if err := p.place.Make(); err != nil {
		return err
	}
	f, err := fsutil.TryLock(p.place.Lock(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err // such as of a second host, which has started meanwhile
	}
	p.lockMu.Lock()
	old := p.lockFile
	p.lockFile = f
	p.lockMu.Unlock()
	p.holdAgain()
	return old.Close()
}
