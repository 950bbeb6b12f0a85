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

	"github.com/toolhost/toolhost/internal/procstat"
)

const (
	// answerTime is how long a healthy plugin may take to answer a probe, or to describe itself again.
	answerTime = 2 * time.Second
	// probeAfterIdle is how long a plugin may be idle before it is probed ahead of the next call. Without calls there
	// are no probes.
	probeAfterIdle = 30 * time.Second
	// maxMissedProbes is how many consecutive probes a plugin may miss while it has calls; without calls it is one.
	maxMissedProbes = 3
	// stopCheckInterval is the time between looks at whether a process that has calls is stopped.
	stopCheckInterval = 30 * time.Second
)

// A healthCheck probes whether a process still answers. One check runs at a time.
type healthCheck struct {
	mu   sync.Mutex
	done chan struct{} // of the newest check: closed when the process has answered or was killed
}

// checkHealth begins a health check, unless one runs: a plugin that left a call unanswered is killed if it answers no
// probe either. A slow tool does not matter: probes are answered concurrently. The channel closes at the end of the
// check.
func (g *generation) checkHealth() <-chan struct{} {
	h := &g.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done == nil || isClosed(h.done) {
		done := make(chan struct{})
		h.done = done
		if g.child.attached { // a person may have stopped it at a breakpoint
			close(done)
			return done
		}
		go func() {
			defer close(done)
			for missed := 1; !isClosed(g.done()); missed++ {
				began := time.Now()
				if g.probe() == nil {
					break
				}
				if missed == maxMissedProbes || g.calls.count() == 0 {
					g.child.kill("it no longer answered")
					within(killTime, g.done())
					break // a process that hangs in the kernel leaves its calls to their deadlines
				}
				within(answerTime-time.Since(began), g.done())
			}
			g.calls.recordAnswer()
		}()
	}
	return h.done
}

// takesCalls is false when the process has ended. A process that was idle for long is probed first, so that no call
// is lost in one that no longer answers.
func (g *generation) takesCalls(ctx context.Context) bool {
	if g.calls.idle() < probeAfterIdle {
		return true
	}
	select {
	case <-g.checkHealth():
		return !isClosed(g.done())
	case <-ctx.Done():
		return false
	}
}

// watchForStop kills a process that two looks in a row find stopped (SIGSTOP) while calls run in it, and ends when
// none do. Slow calls are not probed, since a plugin with one thread answers nothing during a call; but a stopped one
// does not even keep a time limit of its own, and the host's may be hours.
func (g *generation) watchForStop(interval time.Duration, stoppedBefore bool) {
	time.AfterFunc(interval, func() {
		if isClosed(g.done()) || !g.calls.keepWatching() {
			return
		}
		stopped := procstat.IsStopped(g.child.pid)
		if stopped && stoppedBefore {
			g.child.kill("it was stopped (SIGSTOP) while calls ran in it")
			return
		}
		g.watchForStop(interval, stopped)
	})
}

// probe asks go-plugin's health service, which every plugin has. An error from a plugin without it is an answer too.
func (g *generation) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	r, err := healthpb.NewHealthClient(g.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch code := status.Code(err); {
	case code == codes.OK && r.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING:
		return errors.New("health check: not serving")
	case code == codes.OK, code == codes.Unimplemented, code == codes.NotFound:
		return nil
	}
	return fmt.Errorf("health check: %w", err)
}

// Handlers may continue in a plugin after their calls were canceled or timed out, which gRPC does not show. The host
// asks the plugin how many do, only after such calls, and replaces a plugin with too many: each holds memory, and
// perhaps a lock or a processor.
const (
	// overdueInterval is the time from an abandoned call to the first question, and between questions.
	overdueInterval = 3 * time.Second
	// overdueSettle is how long after the last abandoned call an answer without handlers is believed: a question may
	// overtake the cancellation of a call, whose handler then does not count yet.
	overdueSettle = 3 * time.Second
	// overdueAfter is how long a handler may continue after its context has ended: ten times what plugins are promised
	// for cleaning up, and more than our longest step that cannot be canceled, an edit in a file of 10 MB.
	overdueAfter = 10 * time.Second
	// maxOverdue is how many handlers of a process may be overdue. Some may wait for a slow disk, and end.
	maxOverdue = 16
)

type overdueLimits struct {
	interval, settle, after time.Duration
	most                    int
}

// abandonedCalls are the calls of a generation that the host has ended without an answer of the plugin.
type abandonedCalls struct {
	mu          sync.Mutex
	total       int
	last        time.Time // when the last of them ended
	counting    bool      // the plugin is being asked which of them still run
	unsupported bool      // the plugin does not support the question
	overdue     int       // at the last answer
	stuck       bool      // too many
}

// callAbandoned records that a call, or a preview, has ended before the plugin answered it.
func (g *generation) callAbandoned(p *Process) {
	if g.child.attached {
		return
	}
	a := &g.abandoned
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total++
	a.last = time.Now()
	if !a.counting && !a.unsupported {
		a.counting = true
		go g.countOverdue(p)
	}
}

// countOverdue asks for overdue handlers until none can be left, the plugin does not support the question, or it does
// not answer.
func (g *generation) countOverdue(p *Process) {
	a := &g.abandoned
	for missed := 0; !within(p.overdue.interval, g.done()); {
		a.mu.Lock()
		before, settled := a.total, time.Since(a.last) >= p.overdue.settle
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		handlers, overdue, err := g.client.Overdue(ctx, p.overdue.after)
		cancel()
		if err != nil {
			unsupported := errors.Is(err, errors.ErrUnsupported)
			if unsupported {
				p.log.Info("plugin cannot report which calls still run in it after they were canceled")
			} else {
				g.checkHealth()
			}
			if missed++; unsupported || missed == maxMissedProbes {
				a.mu.Lock()
				a.counting, a.unsupported = false, unsupported
				a.mu.Unlock()
				return
			}
			continue
		}
		missed = 0
		if a.record(before, handlers, overdue, p.overdue.most, settled) {
			return
		}
		if a.isStuck() { // reported each time: the state machine knows whether it has acted on it
			select {
			case p.stuck <- g:
			case <-g.done():
			case <-p.done:
			}
		}
	}
}

// record stores the plugin's answer to a question asked after that many abandoned calls; no more handlers can be
// overdue. Settled says that the plugin knew of all these calls' ends. Done means that the counting has ended.
func (a *abandonedCalls) record(calls, handlers, overdue, most int, settled bool) (done bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stuck { // otherwise it stays the number that made it stuck
		a.overdue = min(overdue, calls)
		a.stuck = a.overdue > most
	}
	done = handlers == 0 && settled && a.total == calls && !a.stuck
	a.counting = !done
	return done
}

func (a *abandonedCalls) overdueCount() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.overdue
}

func (a *abandonedCalls) isStuck() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stuck
}

// describe says why the generation is stuck.
func (a *abandonedCalls) describe() string {
	return fmt.Sprintf("%d calls that were canceled or timed out did not end in it", a.overdueCount())
}
