//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// The test binary has all roles of the program.
func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(envRole)]; ok {
		role()
		return
	}
	os.Exit(m.Run())
}

// TestChaos is the short form of `make chaos`.
func TestChaos(t *testing.T) {
	p := plan{seed: rand.Uint64(), length: 5 * time.Second, faults: 100, calls: 500, kills: 6}
	if testing.Short() {
		p = plan{seed: p.seed, length: time.Second, faults: 20, calls: 100, kills: 2}
	}
	t.Logf("seed %d", p.seed)
	r := run(p, func(line string) { t.Log(line) })
	t.Log("\n" + r.table())
	if len(r.violations) > 0 {
		t.Errorf("%d invariants were violated", len(r.violations))
	}
}

// The checks find violations.
func TestViolationsAreFound(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(newReport())
	l.reported = map[string]outcome{"twice": ran, "never": ran, "unsent": notSent, "maybe": unknown, "fine": ran}
	path := dir + "/ledger"
	if err := os.WriteFile(path, []byte("twice.\n\ntwice.\nunsent.\nfine.\nother.\nmay"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.compareEffects(path)
	for _, want := range []string{"call twice had its effect 2 times", "call never was reported as executed",
		"call unsent was reported as not sent", "an effect of call other"} {
		if !strings.Contains(strings.Join(l.violations, "\n"), want) {
			t.Errorf("not found: %s", want)
		}
	}
	if len(l.violations) != 4 || l.duplicated != 1 {
		t.Errorf("found %q", l.violations)
	}
}
