package supervise

import "time"

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
	if g.wire != nil {
		g.wire.Kill()
	}
}
