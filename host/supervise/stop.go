package supervise

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
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

// maxDrain is the longest that calls of a replaced process may go on.
const maxDrain = time.Hour

// drain lets the calls of a generation end, and then ends the generation, in the background. It takes no calls from here on.
func (o *owner) drain(g *generation) {
	limit := maxDrain
	if g.left.isStuck() {
		limit = stuckDrain
	}
	if d := o.p.spec.Load().DrainTimeout; d > 0 {
		limit = min(limit, d)
	}
	empty, longest := g.visits.close(limit)
	o.draining = append(o.draining, g)
	o.drains.Go(func() {
		g.drain(empty, longest, o.p.closing)
		select {
		case o.drained <- g:
		case <-o.p.closing:
		}
	})
}

// drain waits until no call is left, the longest of them has had its time, or there is a hurry; then it ends the process.
// What becomes of the process meanwhile costs its calls alone.
func (g *generation) drain(empty <-chan struct{}, longest time.Duration, hurry <-chan struct{}) {
	t := time.NewTimer(longest)
	defer t.Stop()
	select {
	case <-g.done(): // the connection ends the calls
	case <-empty:
	case <-t.C:
		g.visits.end()
	case <-hurry:
		g.visits.end()
	}
	g.finish()
}

func (o *owner) forgetDrained(g *generation) {
	o.draining = slices.DeleteFunc(o.draining, func(d *generation) bool { return d == g })
}

// close ends whatever runs, while it goes on answering those who ask.
func (o *owner) close(why string) {
	o.to(Draining, why)
	o.alarm = nil
	ended := o.endAll()
	o.publish()
	for {
		select {
		case w := <-o.p.wants:
			w.reply <- answer{err: closedError(o.p.name)}
		case r := <-o.p.reloads:
			r.reply <- closedError(o.p.name)
		case taken := <-o.p.resets:
			close(taken)
		case g := <-o.drained:
			o.forgetDrained(g)
			o.publish()
		case <-ended:
			o.current, o.draining = nil, nil
			o.to(Stopped, why)
			o.publish()
			return
		}
	}
}

// endAll ends the start under way, the generation that takes calls, and with them those that drain. The channel closes when
// all is done.
func (o *owner) endAll() <-chan struct{} {
	if a := o.attempt; a != nil {
		a.abort()
		o.drains.Go(func() { discard(<-a.ended) })
		if a.reload != nil {
			a.reload.reply <- closedError(o.p.name)
		}
	}
	o.answerAll(answer{err: closedError(o.p.name)})
	if o.current != nil {
		o.drain(o.current)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); o.drains.Wait() }()
	return ended
}

// discard ends what a start has brought up too late.
func discard(a answer) {
	if a.g != nil {
		a.g.finish()
	}
}
