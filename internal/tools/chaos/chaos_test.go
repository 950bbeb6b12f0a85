//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// The test binary plays all parts, as the program does.
func TestMain(m *testing.M) {
	if play, ok := parts[os.Getenv(envPart)]; ok {
		play()
		return
	}
	os.Exit(m.Run())
}

// TestChaos is the short form of `make chaos`.
func TestChaos(t *testing.T) {
	p := plan{seed: rand.Uint64(), length: 5 * time.Second, faults: 100, calls: 500, kills: 6}
	t.Logf("seed %d", p.seed)
	r := run(p, func(line string) { t.Log(line) })
	t.Log("\n" + r.table())
	if len(r.broken) > 0 {
		t.Errorf("%d promises were broken", len(r.broken))
	}
}

// What looks for broken promises must find them.
func TestBrokenPromisesAreFound(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(newReport())
	l.fates = map[string]fate{"twice": ran, "never": ran, "unsent": notSent, "maybe": unknown, "fine": ran}
	path := dir + "/ledger"
	if err := os.WriteFile(path, []byte("twice.\n\ntwice.\nunsent.\nfine.\nstranger.\nmay"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.settle(path)
	for _, want := range []string{"call twice had its effect 2 times", "call never was told to have run",
		"call unsent was told not to have been sent", "an effect of call stranger"} {
		if !strings.Contains(strings.Join(l.broken, "\n"), want) {
			t.Errorf("not found: %s", want)
		}
	}
	if len(l.broken) != 4 || l.twice != 1 {
		t.Errorf("found %q", l.broken)
	}
}
