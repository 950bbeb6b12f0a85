package supervise

import (
	"math/rand/v2"
	"slices"
	"time"
)

// quarantine is how long a plugin with too many crashes is left alone before one start is tried.
const quarantine = 5 * time.Minute

// A history remembers a plugin's crashes and says when it may be started again. It has no clock of its own.
type history struct {
	limits  Restart
	crashes []time.Time
	probing bool // the running start is the one try that a quarantined plugin gets
}

// crash counts one crash of a start that was ready since readyAt (zero: it never was). It gives the time from which on
// the plugin may be started again, and whether that is a quarantine.
func (h *history) crash(now, readyAt time.Time) (retryAt time.Time, quarantined bool) {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		h.crashes, h.probing = nil, false
	}
	h.crashes = append(h.recent(now), now)
	if h.probing || len(h.crashes) > h.limits.MaxCrashes {
		h.probing = true
		return now.Add(quarantine), true
	}
	return now.Add(h.delay(len(h.crashes))), false
}

// recent drops the crashes that are older than the window.
func (h *history) recent(now time.Time) []time.Time {
	var out []time.Time
	for _, c := range h.crashes {
		if now.Sub(c) < h.limits.Window {
			out = append(out, c)
		}
	}
	return out
}

// count gives how many crashes are held against a plugin that is ready since readyAt (zero: it is not).
func (h *history) count(now, readyAt time.Time) int {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		return 0
	}
	return len(h.recent(now))
}

func (h *history) clone() history {
	out := *h
	out.crashes = slices.Clone(h.crashes)
	return out
}

// delay is the wait after the nth crash in a row: none after the first, then doubling, a fifth more or less by chance so
// that many plugins do not come back at once.
func (h *history) delay(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	d := h.limits.Backoff << min(n-2, 20)
	if d > h.limits.BackoffMax || d <= 0 {
		d = h.limits.BackoffMax
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // nobody gains by guessing it
}
