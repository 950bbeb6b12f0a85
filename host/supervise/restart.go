package supervise

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// quarantineTime is how long a plugin with too many crashes is not started; then one start is tried.
const quarantineTime = 5 * time.Minute

// A crashHistory counts a plugin's crashes and says when it may be started again. It has no clock of its own.
type crashHistory struct {
	limits  Restart
	times   []time.Time // within limits.Window
	probing bool        // the running start is the one try after a quarantine
}

// add counts a crash of a plugin that was ready since readyAt (zero: its start failed). It returns when the plugin may
// be started again, and whether it is quarantined until then.
func (h *crashHistory) add(now, readyAt time.Time) (retryAt time.Time, quarantined bool) {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		h.times, h.probing = nil, false
	}
	h.times = append(h.recent(now), now)
	if h.probing || len(h.times) > h.limits.MaxCrashes {
		h.probing = true
		return now.Add(quarantineTime), true
	}
	return now.Add(h.delay(len(h.times))), false
}

// count is Status.Crashes: the crashes within the window, none for a plugin that has been ready for the whole window.
func (h *crashHistory) count(now, readyAt time.Time) int {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		return 0
	}
	return len(h.recent(now))
}

func (h *crashHistory) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(h.times), func(t time.Time) bool { return now.Sub(t) >= h.limits.Window })
}

// delay is the wait after the nth crash: none after the first, then doubling, with 20 % jitter so that many plugins do
// not restart at once.
func (h *crashHistory) delay(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	d := h.limits.Backoff << min(n-2, 20)
	if d > h.limits.BackoffMax || d <= 0 {
		d = h.limits.BackoffMax
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // no one gains by guessing it
}

// countCrash records a crash and changes the state to crashed, backoff or quarantined.
func (m *stateMachine) countCrash() {
	var quarantined bool
	m.retryAt, quarantined = m.addCrash()
	switch {
	case quarantined:
		m.quarantine()
	case time.Until(m.retryAt) > 0:
		m.setState(Backoff, fmt.Sprintf("it crashed %d times within %s", len(m.crashes.times), m.crashes.limits.Window))
	default:
		m.setState(Crashed, "it crashed")
	}
	m.scheduleEager()
	m.log(slog.LevelWarn, "plugin crashed", "generation", m.generation, "state", string(m.state), "error", m.lastError)
}

// addCrash counts a crash of the current process or start. Its results are those of crashHistory.add.
func (m *stateMachine) addCrash() (retryAt time.Time, quarantined bool) {
	m.totalCrashes++
	retryAt, quarantined = m.crashes.add(time.Now(), m.readyAt)
	m.readyAt = time.Time{}
	return retryAt, quarantined
}

func (m *stateMachine) quarantine() {
	m.quarantines++
	if n := len(m.crashes.times); n > m.crashes.limits.MaxCrashes {
		m.setState(Quarantined, fmt.Sprintf("it crashed %d times within %s", n, m.crashes.limits.Window))
		return
	}
	m.setState(Quarantined, "it crashed in the one start after its quarantine")
}

// resetCrashes makes the next start of a plugin that is not running count as its first.
func (m *stateMachine) resetCrashes(why string) {
	m.crashes = crashHistory{limits: m.p.spec.Load().Restart}
	if m.current != nil || m.attempt != nil {
		return
	}
	m.retryAt = time.Time{}
	m.setState(Known, why)
	m.scheduleEager()
}

// scheduleEager schedules the start of an eager plugin for the earliest time at which a call could start it.
func (m *stateMachine) scheduleEager() {
	if m.p.spec.Load().Eager {
		m.restartAt = time.After(time.Until(m.retryAt))
	}
}

func (m *stateMachine) restartEager() {
	m.restartAt = nil
	if m.current == nil && m.attempt == nil && m.mayStart() == nil {
		m.begin("it is eager", *m.p.spec.Load(), nil)
	}
}

// mayStart returns nil, or the reason why the plugin is not started now.
func (m *stateMachine) mayStart() error {
	wait := time.Until(m.retryAt)
	switch {
	case m.state == Invalid:
		return m.startError(&invalidError{m.lastError})
	case m.state == Quarantined && wait > 0:
		return m.unavailable("Quarantined", wait,
			"plugin %q crashed %d times and is quarantined for another %s. Last error: %v",
			m.p.name, len(m.crashes.times), roundUp(wait), m.lastError)
	case m.state == Backoff && wait > 0:
		return m.unavailable("Backoff", wait, "plugin %q crashed; it can be restarted in %s. Last error: %v",
			m.p.name, roundUp(wait), m.lastError)
	}
	return nil
}

// roundUp rounds a wait for display, never below its value.
func roundUp(d time.Duration) time.Duration {
	step := time.Millisecond
	if d > time.Second {
		step = time.Second
	}
	return (d + step - 1).Truncate(step)
}
