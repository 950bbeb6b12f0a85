package supervise

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
)

// How long a process may take to end: after its standard input closed, after SIGTERM, and after SIGKILL.
const (
	stdinTime = 2 * time.Second
	termTime  = time.Second
	killTime  = 2 * time.Second
	stopTime  = stdinTime + termTime + killTime
)

// How long the calls of a replaced process may continue.
const (
	maxDrain   = time.Hour
	stuckDrain = time.Minute // in a stuck process
)

// close ends the plugin permanently; requests that arrive meanwhile get an error.
func (m *stateMachine) close(why string) {
	m.setState(Draining, why)
	m.restartAt = nil
	closed := m.p.closedError()
	if a := m.attempt; a != nil {
		a.abort()
		m.background.Go(func() { stopLate(<-a.ended) })
		if a.reload != nil {
			a.reload.reply <- closed
		}
	}
	m.answerWaiters(startResult{err: closed})
	m.dropStandby()
	if m.current != nil {
		m.drain(m.current)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); m.background.Wait() }()
	m.publish()
	for {
		select {
		case r := <-m.p.acquires:
			r.reply <- startResult{err: closed}
		case r := <-m.p.reloads:
			r.reply <- closed
		case done := <-m.p.resets:
			close(done)
		case g := <-m.drained:
			m.removeDrained(g)
			m.publish()
		case <-ended:
			m.current, m.draining = nil, nil
			m.setState(Stopped, why)
			m.publish()
			return
		}
	}
}

// drain ends a generation in the background: it accepts no more calls, and the running ones continue until they have
// ended, the longest of their deadlines has passed, or the plugin is closed.
func (m *stateMachine) drain(g *generation) {
	limit := maxDrain
	if g.abandoned.isStuck() {
		limit = stuckDrain
	}
	if d := m.p.spec.Load().DrainTimeout; d > 0 {
		limit = min(limit, d)
	}
	empty, longest := g.calls.close(limit)
	m.draining = append(m.draining, g)
	m.background.Go(func() {
		select {
		case <-g.done(): // the broken connection ends the calls
		case <-empty:
		case <-time.After(longest):
			g.calls.cancelAll()
		case <-m.p.closing:
			g.calls.cancelAll()
		}
		g.stop()
		select {
		case m.drained <- g:
		case <-m.p.closing:
		}
	})
}

func (m *stateMachine) removeDrained(g *generation) {
	m.draining = slices.DeleteFunc(m.draining, func(d *generation) bool { return d == g })
}

// stopLate stops a generation that became ready after all callers had stopped waiting.
func stopLate(r startResult) {
	if r.g != nil {
		r.g.stop()
	}
}

// stop ends the process and releases its resources. A process that has not ended within stopTime hangs in the kernel,
// and keeps them.
func (g *generation) stop() {
	began := time.Now()
	g.keepLast()
	g.child.closeLifeline()
	if !within(stdinTime-time.Since(began), g.done()) {
		g.child.signal(syscall.SIGTERM, "")
		if !within(termTime, g.done()) {
			g.child.kill("")
			if !within(killTime, g.done()) {
				g.child.allowRelease()
				return
			}
		}
	}
	g.release()
}

// release frees go-plugin's resources of a process that has ended. It must not be called before: go-plugin's Kill
// waits without limit for a plugin that does not answer.
func (g *generation) release() {
	if g.child != nil {
		g.child.allowRelease()
		within(killTime, g.child.released)
	}
	g.releasing.Do(func() { close(g.released) })
	if g.stopWatch != nil {
		g.stopWatch()
	}
	if g.socketDir != "" { // removed here, in the background: the plugin may have left any number of files
		moved := filepath.Join(filepath.Dir(g.socketDir), "s"+rand.Text())
		if os.Rename(g.socketDir, moved) == nil {
			go func() { _ = removal.All(moved, backgroundRemovalTime) }()
		}
	}
	switch {
	case g.child != nil && g.child.attached: // go-plugin would ask it to end
		if g.conn != nil {
			_ = g.conn.Close()
		}
	case g.goPlugin != nil:
		g.goPlugin.Kill()
	}
}
