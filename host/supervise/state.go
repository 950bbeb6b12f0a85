package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

// State is the state of a plugin.
type State string

// The states. A plugin begins as known; a call, or Spec.Eager, starts it.
const (
	Known       State = "known"       // the next call starts it for the first time
	Starting    State = "starting"    // its process runs and has not described itself yet
	Ready       State = "ready"       // takes calls
	Stuck       State = "stuck"       // takes calls until it is replaced: too many handlers ignore cancellation
	Crashed     State = "crashed"     // died; the next call starts it
	Backoff     State = "backoff"     // died again; calls fail at once until Status.RetryAt
	Quarantined State = "quarantined" // died too often; no start for five minutes, then one
	Invalid     State = "invalid"     // cannot work: wrong checksum, refused configuration; see Process.Reset
	Draining    State = "draining"    // accepts no more calls; ends after its running calls
	Stopped     State = "stopped"     // ended permanently
)

// A stateMachine is the life of one plugin. One goroutine, run, owns it; all others send events over the channels of
// Process.
//
//	known -> starting -> ready -> draining -> stopped   closed or removed, from any state
//	             |         |
//	             +---------+--> crashed -> starting       the first restart is immediate
//	             |              backoff -> starting       later restarts wait; calls fail at once meanwhile
//	             |              quarantined -> starting   too many crashes: five minutes, then one try
//	             +------------> invalid                   wrong program, refused configuration: no more tries
//
//	ready -> stuck -> ready   another generation is started beside it; counts as a crash
//
// Reset, reload and a changed program lead from crashed, backoff, quarantined and invalid back to known. A plugin that
// is reloaded while it runs stays ready: the new generation starts beside the old one, which drains.
type stateMachine struct {
	p     *Process
	start startFunc

	state      State
	since      time.Time
	reason     string
	generation int           // the number that the state belongs to
	published  Status        // as OnState last received it
	draining   []*generation // replaced, with calls still running
	drained    chan *generation
	background sync.WaitGroup // goroutines that end generations

	newest  int           // number of the newest start
	current *generation   // takes calls, or nil
	attempt *startAttempt // the running start, or nil
	waiters []chan<- startResult

	crashes  crashHistory
	restarts int // starts after the first, not counting reloads
	totals
	readyAt   time.Time
	retryAt   time.Time         // when a crashed plugin may be started again
	replaceAt <-chan time.Time  // when a stuck generation is replaced; nil is never
	restartAt <-chan time.Time  // when an eager plugin is started without a call; nil is never
	ran       binaries.Identity // the program of the newest start
	lastError error             // of the newest start or process
	stderr    []string          // last lines of the last process, when none runs
	standby   standby
	unlogged  []func() // lines of the log that are written after the event: calls that wait come first
}

// totals are what has happened since the plugin was added.
type totals struct{ totalCrashes, quarantines int }

// A startFunc brings up one generation. It returns when the plugin is ready or has failed, within Spec.StartTimeout,
// and leaves no process behind when it fails.
type startFunc func(ctx context.Context, spec Spec, number int) (*generation, error)

// An acquireRequest asks for a generation that accepts calls. Program is the current program file, if that matters.
type acquireRequest struct {
	reply   chan<- startResult
	program binaries.Identity
}

// A startResult is a generation, or the reason why there is none.
type startResult struct {
	g       *generation
	err     error
	program binaries.Identity // that was started
}

type startAttempt struct {
	spec   Spec
	abort  context.CancelFunc
	ended  chan startResult
	reload *reload // that requested it, beside the running generation; or nil
}

func (m *stateMachine) run() {
	defer close(m.p.done)
	defer m.writeLog()
	for {
		m.renewStandby()
		m.publish()
		m.writeLog()
		var startEnded <-chan startResult
		reloads := m.p.reloads
		if m.attempt != nil {
			startEnded, reloads = m.attempt.ended, nil // a reload waits for the running start
		}
		select {
		case r := <-m.p.acquires:
			m.acquire(r)
		case r := <-startEnded:
			m.startEnded(r)
		case <-m.currentEnded():
			m.processDied()
		case r := <-reloads:
			m.reload(r)
		case g := <-m.drained:
			m.removeDrained(g)
		case <-m.restartAt:
			m.restartEager()
		case g := <-m.p.stuck:
			m.generationStuck(g)
		case <-m.replaceAt:
			m.replaceStuck()
		case <-m.standby.startAt:
			m.startStandby()
		case r := <-m.standby.ended:
			m.standbyStarted(r)
		case <-m.standby.programEnded():
			m.standbyDied()
		case done := <-m.p.resets:
			m.resetCrashes("it was reset")
			m.publish()
			close(done)
		case <-m.p.removed:
			m.close("it is no longer configured")
			return
		case <-m.p.closing:
			m.close("the host closes it")
			return
		}
	}
}

// currentEnded closes when the current generation has ended; nil without one. A standby does not wait for what the
// program has left, since it ran beside that.
func (m *stateMachine) currentEnded() <-chan struct{} {
	switch {
	case m.current == nil:
		return nil
	case m.standby.g != nil:
		return m.current.child.programEnded
	}
	return m.current.done()
}

// log queues a line for the plugin's log. Writing may have to create the log folder, so it happens after the event.
func (m *stateMachine) log(level slog.Level, message string, attributes ...any) {
	m.unlogged = append(m.unlogged, func() { m.p.log.Log(context.Background(), level, message, attributes...) })
}

func (m *stateMachine) writeLog() {
	for _, write := range m.unlogged {
		write()
	}
	m.unlogged = nil
}

func (m *stateMachine) setState(s State, reason string) {
	m.state, m.since, m.reason = s, time.Now(), reason
}

// acquire answers with the current generation, with the reason why there is none, or when a start has ended.
func (m *stateMachine) acquire(r acquireRequest) {
	if isClosed(m.currentEnded()) {
		m.processDied()
	}
	if r.program.Known() && m.ran.Known() && r.program != m.ran {
		m.resetCrashes("its program has changed")
	}
	switch {
	case m.current != nil:
		r.reply <- startResult{g: m.current}
		return
	case m.attempt == nil:
		if err := m.mayStart(); err != nil {
			r.reply <- startResult{err: err}
			return
		}
		m.begin("a call needs it", *m.p.spec.Load(), nil)
	}
	m.waiters = append(m.waiters, r.reply)
}

// begin starts a generation; for a reload, beside the current one. At most one start runs.
func (m *stateMachine) begin(why string, spec Spec, r *reload) {
	m.newest++
	m.restartAt = nil
	parent := context.Background()
	if r != nil {
		parent = r.ctx
	} else {
		m.setState(Starting, why)
		m.generation = m.newest
		if m.newest > 1 {
			m.restarts++
		}
	}
	ctx, abort := context.WithCancel(parent)
	a := &startAttempt{spec: spec, abort: abort, ended: make(chan startResult, 1), reload: r}
	m.attempt = a
	go func(number int) {
		defer abort()
		a.ended <- m.identifyAndStart(ctx, spec, number)
	}(m.newest)
}

// identifyAndStart identifies the program before it starts it: one that changes in between is tried once more. It is
// called in a goroutine of its own.
func (m *stateMachine) identifyAndStart(ctx context.Context, spec Spec, number int) startResult {
	program, err := m.p.identifyForStart(ctx, spec)
	if err != nil {
		return startResult{err: err}
	}
	g, err := m.start(ctx, spec, number)
	return startResult{g, err, program}
}

func (m *stateMachine) startEnded(r startResult) {
	a := m.attempt
	m.attempt = nil
	replaces := a.reload.stuckGeneration()
	switch {
	case replaces != nil && m.current != nil && m.current != replaces:
		// It died meanwhile, and a standby, which is not stuck, has taken over: the start is not needed.
		m.background.Go(func() { stopLate(r) })
		return
	case r.err == nil:
		m.becomeReady(a, r)
	case replaces != nil && m.current != nil:
		m.markStuck(fmt.Errorf("%s, and another process could not be started: %w", replaces.abandoned.describe(), r.err))
		return
	case a.reload != nil && replaces == nil:
		m.reloadFailed(a.reload, r.err)
		return
	default:
		m.ran = r.program
		m.startFailed(r.err)
	}
	m.publish() // before the waiters can look
	m.answerWaiters(startResult{g: r.g, err: m.startError(r.err)})
	if a.reload != nil {
		a.reload.reply <- nil
	}
}

// becomeReady makes a generation the current one and drains the previous one.
func (m *stateMachine) becomeReady(a *startAttempt, r startResult) {
	old, why := m.current, "it has started and described itself"
	switch {
	case a.reload.stuckGeneration() != nil:
		why = "it was restarted"
		if old != nil {
			why += ": " + old.abandoned.describe()
		}
		m.restarts++
	case a.reload != nil:
		why = "it was reloaded"
		m.p.spec.Store(&a.spec)
		m.crashes = crashHistory{limits: a.spec.Restart}
	}
	m.dropStandby() // it is older
	r.g.calls.recordAnswer()
	m.serve(r.g, r.program, why)
	if old != nil {
		m.drain(old)
	}
}

// serve makes a generation the current one.
func (m *stateMachine) serve(g *generation, program binaries.Identity, why string) {
	m.current, m.generation, m.ran, m.readyAt = g, g.number, program, time.Now()
	m.lastError, m.stderr, m.replaceAt = nil, nil, nil
	m.setState(Ready, why)
	m.p.storeDescription(g.number, g.description())
	g.watch(m.p)
	m.log(slog.LevelInfo, "plugin is ready", "generation", g.number, "pid", g.child.pid)
}

// startFailed records a failed start: a crash, unless no later start can work.
func (m *stateMachine) startFailed(err error) {
	if e, ok := errors.AsType[*failedStart](err); ok {
		m.stderr = e.stderr
	}
	m.lastError, m.readyAt = err, time.Time{}
	if isInvalid(err) {
		m.setState(Invalid, "it cannot work; it is started again when its program or its configuration has changed")
		m.log(slog.LevelWarn, "plugin cannot be used", "error", err)
		return
	}
	m.countCrash()
}

// processDied records that the current generation ended unexpectedly.
func (m *stateMachine) processDied() {
	g := m.current
	if !isClosed(g.done()) {
		within(stderrDelay, g.child.stderrRead)
	}
	m.lastError, m.stderr = errors.New(g.describeEnd()), g.child.tail.last(statusLines)
	m.current, m.replaceAt = nil, nil
	m.background.Go(func() {
		if isClosed(g.done()) { // else what it has left is still ending
			m.await(releaseDelay)
		}
		g.stop()
	})
	m.countCrash()
	m.publish()
	m.takeOver(g)
}

// releaseDelay is how long a generation that has died keeps its folders and its connection: to release them during the
// next start makes that start a tenth slower.
const releaseDelay = 200 * time.Millisecond

// await waits for d, or until the plugin is closed or removed.
func (m *stateMachine) await(d time.Duration) {
	select {
	case <-time.After(d):
	case <-m.p.closing:
	case <-m.p.removed:
	}
}

// generationStuck replaces the current generation, which counts as a crash.
func (m *stateMachine) generationStuck(g *generation) {
	if g == m.current && !isClosed(g.done()) && m.attempt == nil && m.replaceAt == nil {
		m.markStuck(errors.New(g.abandoned.describe()))
	}
}

// markStuck lets the current generation take calls until it is replaced, or drains it after one crash too many.
func (m *stateMachine) markStuck(why error) {
	g := m.current
	m.lastError = why
	retryAt, quarantined := m.addCrash()
	if quarantined {
		m.current, m.stderr, m.retryAt = nil, g.child.tail.last(statusLines), retryAt
		m.quarantine()
		m.drain(g)
		m.scheduleEager()
	} else {
		m.setState(Stuck, why.Error())
		m.replaceAt = time.After(time.Until(retryAt))
	}
	m.log(slog.LevelWarn, "plugin is stuck", "generation", g.number, "state", string(m.state), "error", why)
	m.publish()
}

// replaceStuck starts another generation beside the stuck one, as a reload does.
func (m *stateMachine) replaceStuck() {
	m.replaceAt = nil
	switch {
	case m.current == nil || m.attempt != nil: // the running start replaces it
	case len(m.draining) >= maxDraining:
		m.replaceAt = time.After(time.Second)
	default:
		spec := *m.p.spec.Load()
		m.begin("", spec, &reload{ctx: context.Background(), spec: spec, stuck: m.current, reply: make(chan error, 1)})
	}
}

func (m *stateMachine) answerWaiters(r startResult) {
	for _, w := range m.waiters {
		w <- r
	}
	m.waiters = nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
