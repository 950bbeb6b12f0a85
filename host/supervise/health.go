package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/sdk"
)

// watch asks again for the tools whenever a dynamic plugin says that they changed.
func (g *generation) watch(describe func(int, *sdk.Description)) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopWatch = stop
	if !g.description().Dynamic {
		return
	}
	// The first word only says that the watch stands; asking then closes the gap since Describe.
	go func() { _ = g.client.Watch(ctx, func() { g.refresh(ctx, describe); pause(ctx, betweenChanges) }) }()
}

// betweenChanges is how long a plugin is not asked for its tools again: one that tells of changes without end waits.
const betweenChanges = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (g *generation) refresh(ctx context.Context, describe func(int, *sdk.Description)) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if d, err := g.describe(ctx); err == nil {
		g.said.Store(d)
		describe(g.number, d)
	}
}

const (
	// answerTime is how long a healthy plugin may take to say what it is, or that it is there.
	answerTime = 2 * time.Second
	// doubtAfter is how long a plugin may be idle before it is asked whether it lives, ahead of the next call. Nobody
	// asks a plugin that nobody calls.
	doubtAfter = 30 * time.Second
	// misses is how many questions in a row a plugin may leave unanswered while calls run in it; one without calls, none.
	misses = 3
)

// A doubt is whether a process still answers. One question at a time is under way.
type doubt struct {
	mu      sync.Mutex
	settled chan struct{} // of the newest question: closed when it has been answered, or the process killed
}

// suspect finds out whether a plugin that left a call unanswered still answers at all, and kills it if not. A tool that
// takes long is no reason: other calls go on beside it. The channel closes when that is settled.
func (g *generation) suspect() <-chan struct{} {
	d := &g.doubt
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settled == nil || isClosed(d.settled) {
		settled := make(chan struct{})
		d.settled = settled
		go func() { defer close(settled); g.question() }()
	}
	return d.settled
}

func (g *generation) question() {
	for missed := 1; !isClosed(g.done()); missed++ {
		began := time.Now()
		if g.ask() == nil {
			break
		}
		if missed == misses || g.visits.count() == 0 {
			g.child.killFor("it no longer answered")
			g.diedWithin(killTime)
			break // one that is stuck in the kernel leaves its calls to their deadlines
		}
		g.diedWithin(answerTime - time.Since(began))
	}
	g.visits.heard()
}

// awake says whether the process takes calls; one that was idle for long is asked first, so that no call is lost in one
// that does not answer.
func (g *generation) awake(ctx context.Context) bool {
	if g.visits.idle() < doubtAfter {
		return true
	}
	select {
	case <-g.suspect():
		return !isClosed(g.done())
	case <-ctx.Done():
		return false
	}
}

// ask asks go-plugin's health service, which every plugin has, whether it serves. One without it has answered as well.
func (g *generation) ask() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	r, err := healthpb.NewHealthClient(g.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch code := status.Code(err); {
	case code == codes.OK && r.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING:
		return errors.New("it says that it does not serve")
	case code == codes.OK, code == codes.Unimplemented, code == codes.NotFound:
		return nil
	}
	return fmt.Errorf("asking whether it lives: %w", err)
}

// This file counts the handlers that go on in a plugin after their calls were canceled or timed out, which gRPC does not
// show, and has a plugin with too many of them replaced. It asks the plugin, and only after such calls.

const (
	// lateEvery is how long the plugin is left alone after a call was left, and from one question to the next.
	lateEvery = 3 * time.Second
	// lateAfter is how long a handler may go on after its context has ended: ten times what plugins are promised for tidying up,
	// and more than the longest step of our own that cannot be canceled, an edit in a file of 10 MB.
	lateAfter = 10 * time.Second
	// maxLateHandlers is how many handlers of a process may be late. Some may wait for a slow disk or a file system that is gone, and
	// end by themselves; each holds memory, and perhaps a lock or a processor, and more of them are no accident.
	maxLateHandlers = 16
	// stuckDrain is how long other calls may go on in a process that was replaced for its late handlers.
	stuckDrain = time.Minute
)

// A lateness says how often a plugin is asked for handlers, which of them are late, and how many of them may be.
type lateness struct {
	every, after time.Duration
	most         int
}

// left are the calls that ended for the host while the plugin had not answered them. The zero value is none.
type left struct {
	mu       sync.Mutex
	calls    int  // all of them
	counting bool // the plugin is being asked which of them still run
	mute     bool // it cannot tell
	late     int  // as it last said
	stuck    bool // they were too many
}

// A stuck tells the owner of a generation with too many late handlers.
type stuck struct{ g *generation }

// leftOne notes that a call, or a preview, has ended while the plugin had not answered it.
func (g *generation) leftOne(p *Process) {
	l := &g.left
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if !l.counting && !l.mute {
		l.counting = true
		go g.countLate(p)
	}
}

// countLate asks for late handlers, once in a while, until none is left that could be late. A plugin that cannot tell is not
// asked again, and whether one that does not answer lives is found out as after any call.
func (g *generation) countLate(p *Process) {
	for missed := 0; !g.diedWithin(p.late.every); {
		before := g.left.total()
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		handlers, late, err := g.client.Overdue(ctx, p.late.after)
		cancel()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			p.log.Info("plugin cannot tell which calls still run in it after they were canceled")
			g.left.cease(true)
			return
		case err != nil:
			g.suspect()
			if missed++; missed == misses {
				g.left.cease(false)
				return
			}
			continue
		}
		missed = 0
		if g.left.note(before, handlers, late, p.late.most) {
			return
		}
		if g.left.isStuck() {
			g.tellStuck(p)
		}
	}
}

// tellStuck tells it again each time: the owner knows what it has done about that.
func (g *generation) tellStuck(p *Process) {
	select {
	case p.stuck <- stuck{g}:
	case <-g.done():
	case <-p.done:
	}
}

func (l *left) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// cease ends the counting: until the next call is left, or for good when the plugin cannot tell.
func (l *left) cease(forGood bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counting, l.mute = false, forGood
}

// note keeps what the plugin said when so many calls had been left, of which alone it can have late handlers. It says whether
// the counting is over.
func (l *left) note(calls, handlers, late, most int) (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stuck { // from then on it is the number that made it so
		l.late = min(late, calls)
		l.stuck = l.late > most
	}
	over = handlers == 0 && l.calls == calls && !l.stuck
	l.counting = !over
	return over
}

func (l *left) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

func (l *left) isStuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stuck
}

// words say why the generation is stuck.
func (l *left) words() string {
	return fmt.Sprintf("%d calls that were canceled or timed out did not end in it", l.count())
}

// stuck has the current generation replaced, which counts as a crash.
func (o *owner) stuck(s stuck) {
	if s.g == o.current && !isClosed(s.g.done()) && o.attempt == nil && o.replaceAt == nil {
		o.markStuck(errors.New(s.g.left.words()))
	}
}

// markStuck lets the generation take calls until there is another, unless there was one crash too many.
func (o *owner) markStuck(why error) {
	g := o.current
	retryAt, quarantined := o.history.crash(time.Now(), o.readyAt)
	o.last, o.readyAt = why, time.Time{}
	if quarantined {
		o.current, o.stderr, o.retryAt = nil, g.child.tail.last(statusLines), retryAt
		o.quarantine()
		o.drain(g)
		o.arm()
	} else {
		o.to(Stuck, why.Error())
		o.replaceAt = time.After(time.Until(retryAt))
	}
	o.p.log.Warn("plugin is stuck", "generation", g.number, "state", string(o.state), "error", why)
	o.publish()
}

// replace starts another generation beside the one that is stuck, as a reload does.
func (o *owner) replace() {
	o.replaceAt = nil
	switch {
	case o.current == nil || o.attempt != nil: // what is under way replaces it
	case len(o.draining) >= maxDraining:
		o.replaceAt = time.After(time.Second)
	default:
		spec := *o.p.spec.Load()
		o.begin("", spec, &reload{ctx: context.Background(), spec: spec, stuck: true, reply: make(chan error, 1)})
	}
}
