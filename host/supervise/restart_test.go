package supervise

import (
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBackoffGrowsAndEndsInQuarantine(t *testing.T) {
	h := history{limits: Restart{MaxCrashes: 5, Window: time.Minute, Backoff: 100 * time.Millisecond, BackoffMax: 300 * time.Millisecond}}
	now := epoch
	for i, want := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond} {
		retryAt, quarantined := h.crash(now, time.Time{})
		if wait := retryAt.Sub(now); quarantined || wait < want*8/10 || wait > want*12/10 {
			t.Errorf("crash %d: wait %s, want %s and a fifth more or less; quarantined %v", i+1, wait, want, quarantined)
		}
		now = retryAt
	}
	retryAt, quarantined := h.crash(now, time.Time{})
	if !quarantined || retryAt.Sub(now) != quarantine {
		t.Errorf("crash 6: quarantined %v for %s", quarantined, retryAt.Sub(now))
	}
}

func TestOneProbeAfterQuarantine(t *testing.T) {
	h := history{limits: Restart{MaxCrashes: 1, Window: time.Minute, Backoff: time.Second, BackoffMax: time.Second}}
	h.crash(epoch, time.Time{})
	probe, quarantined := h.crash(epoch, time.Time{})
	if !quarantined {
		t.Fatal("not quarantined")
	}
	if _, again := h.crash(probe.Add(time.Second), probe); !again {
		t.Error("a probe that crashes goes straight back into quarantine")
	}
	healthy := probe.Add(time.Hour)
	if retryAt, again := h.crash(healthy.Add(2*time.Minute), healthy); again || !retryAt.Equal(healthy.Add(2*time.Minute)) {
		t.Error("a plugin that ran well for the window has its crashes forgotten")
	}
}

func TestOldCrashesAreForgotten(t *testing.T) {
	h := history{limits: Restart{MaxCrashes: 2, Window: time.Minute, Backoff: time.Second, BackoffMax: time.Second}}
	for i := range 20 {
		now := epoch.Add(time.Duration(i) * 31 * time.Second)
		if _, quarantined := h.crash(now, now.Add(-30*time.Second)); quarantined {
			t.Fatalf("crash %d: two crashes a minute are within the limit", i)
		}
	}
}

func TestDelayNeverOverflows(t *testing.T) {
	h := history{limits: Restart{Backoff: time.Hour, BackoffMax: 30 * time.Second}}
	for n := range 200 {
		if d := h.delay(n); d < 0 || d > 36*time.Second {
			t.Fatalf("delay(%d) = %s", n, d)
		}
	}
}

// Many plugins that crash together do not come back together.
func TestDelaysDiffer(t *testing.T) {
	h := history{limits: Restart{Backoff: time.Second, BackoffMax: time.Minute}}
	soonest, latest := time.Minute, time.Duration(0)
	for range 200 {
		d := h.delay(2)
		soonest, latest = min(soonest, d), max(latest, d)
	}
	if soonest < 800*time.Millisecond || soonest > 900*time.Millisecond || latest < 1100*time.Millisecond || latest > 1200*time.Millisecond {
		t.Errorf("from %s to %s", soonest, latest)
	}
}
