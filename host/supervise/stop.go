package supervise

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
)

// end says in words how the process ended; it has.
func (g *generation) end() string { return g.withHint(g.child.withLastLines(g.child.exit())).Error() }

// diedWithin waits for the process's end, but not longer than d.
func (g *generation) diedWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.done():
		return true
	case <-t.C:
		return false
	}
}

// died says whether the process has ended, now that the connection to it broke. It may be gone while its launcher still ends
// what it left, which takes a moment, and more on a busy machine.
func (g *generation) died() bool {
	return g.diedWithin(settle) || g.child.gone() && g.diedWithin(killTime)
}

// How long a process may take to end, by its own will, after SIGTERM, and after SIGKILL.
const (
	lifelineTime = 2 * time.Second
	termTime     = time.Second
	killTime     = 2 * time.Second
	stopTime     = lifelineTime + termTime + killTime
)

// stop ends the process: lifeline, SIGTERM, SIGKILL. It says whether the process has ended within stopTime; one that has
// not is stuck in the kernel.
func (g *generation) stop() bool {
	g.child.closeLifeline()
	if g.diedWithin(lifelineTime) {
		return true
	}
	g.child.terminate()
	if g.diedWithin(termTime) {
		return true
	}
	g.child.kill()
	return g.diedWithin(killTime)
}

// finish stops the process and frees what it held.
func (g *generation) finish() {
	if g.stop() {
		g.release()
	}
}

// release frees what go-plugin holds for a process that has ended. Its Kill returns soon then; it is never called
// before, because it waits without limit for a plugin that does not answer.
func (g *generation) release() {
	if g.stopWatch != nil {
		g.stopWatch()
	}
	g.removeSockets()
	if g.wire != nil {
		g.wire.Kill()
	}
}

// removeSockets removes the folder of the plugin's socket, in which it could leave anything. go-plugin's own way takes as long
// as that takes.
func (g *generation) removeSockets() {
	if g.sockets == "" {
		return
	}
	aside := filepath.Join(filepath.Dir(g.sockets), "s"+rand.Text())
	if os.Rename(g.sockets, aside) == nil {
		go func() { _ = removal.All(aside, removalAside) }()
	}
}
