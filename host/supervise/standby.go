package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

// A standby is a second process of a plugin, started, described and configured, that takes over when the first dies:
// the next call waits for no start. It gets no calls before. The goroutine of the state machine owns it.
type standby struct {
	of       *Spec       // what g, or the start under way, was made from
	g        *generation // ready, or nil
	program  binaries.Identity
	ended    chan startResult // of the start under way; nil without one
	abort    context.CancelFunc
	startAt  <-chan time.Time // when the next start begins; nil is never
	failures int              // consecutive
}

const (
	// standbyDelay is how long after its plugin a standby is started: a host that makes one call needs none, and what
	// waits for the plugin comes first.
	standbyDelay = time.Second
	// programCheckTime is how long a look at the program file may delay a takeover; a slower one is given up, and so is
	// the standby.
	programCheckTime = time.Second
)

// programEnded closes when the standby's program has ended; nil without one.
func (s *standby) programEnded() <-chan struct{} {
	if s.g == nil {
		return nil
	}
	return s.g.child.programEnded
}

// renewStandby drops a standby that the plugin's settings no longer want, and schedules the start of one that is
// missing. It is called after each event, and costs a comparison while nothing has changed.
func (m *stateMachine) renewStandby() {
	spec, s := m.p.spec.Load(), &m.standby
	if s.of != nil && s.of != spec {
		if !spec.wantsStandby() || !sameProcess(*s.of, *spec) {
			m.dropStandby()
		} else {
			s.of = spec
		}
	}
	switch {
	case !spec.wantsStandby() || m.current == nil:
		s.startAt = nil
	case s.g == nil && s.ended == nil && s.startAt == nil:
		s.startAt = time.After(standbyDelay + m.crashes.delay(max(s.failures+1, len(m.crashes.recent(time.Now())))))
	}
}

// wantsStandby is false for a process that was started by hand: there is one.
func (s Spec) wantsStandby() bool { return s.Standby && !s.Attach }

// startStandby starts the standby process. A failure does not count as a crash of the plugin.
func (m *stateMachine) startStandby() {
	s := &m.standby
	m.newest++
	number, ended := m.newest, make(chan startResult, 1)
	ctx, abort := context.WithCancel(context.Background())
	s.startAt, s.of, s.ended, s.abort = nil, m.p.spec.Load(), ended, abort
	go func(spec Spec) {
		defer abort()
		ended <- m.identifyAndStart(ctx, spec, number)
	}(*s.of)
}

func (m *stateMachine) standbyStarted(r startResult) {
	s := &m.standby
	s.ended, s.abort = nil, nil
	if r.err != nil {
		s.of = nil
		s.failures++
		m.log(slog.LevelWarn, "the standby of a plugin could not be started", "error", r.err)
		return
	}
	s.g, s.program, s.failures = r.g, r.program, 0
	s.g.calls.recordAnswer()
	if c := s.g.client; c != nil {
		c.OpenSession() // the first call after a death does not wait for that either
	}
	if m.current == nil { // it died meanwhile: the next start is as good
		m.dropStandby()
	}
}

func (m *stateMachine) standbyDied() {
	m.standby.failures++
	m.log(slog.LevelWarn, "the standby of a plugin ended", "error", m.standby.g.describeEnd())
	m.dropStandby()
}

// dropStandby ends the standby, or the start of it, in the background.
func (m *stateMachine) dropStandby() {
	s := &m.standby
	if g := s.g; g != nil {
		m.background.Go(g.stop)
	}
	if ended := s.ended; ended != nil {
		s.abort()
		m.background.Go(func() { stopLate(<-ended) })
	}
	*s = standby{failures: s.failures}
}

// takeOver makes the standby the plugin's process after a crash, if a new start would give the same program and
// settings. Otherwise it is dropped: it has died too, or its program has changed, or the plugin has crashed too often.
func (m *stateMachine) takeOver(from *generation) {
	s := &m.standby
	if s.g == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), programCheckTime)
	defer cancel()
	program, ok := m.p.identifyProgram(ctx, *s.of)
	if !ok || program != s.program || m.state == Quarantined || isClosed(s.programEnded()) {
		m.dropStandby()
		return
	}
	g, program := s.g, s.program
	*s = standby{}
	m.restarts++
	m.restartAt = nil
	m.serve(g, program, fmt.Sprintf("its standby took over: %v", m.lastError))
	m.publish()
	close(from.replaced)
}
