//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// grace is how long after its deadline a call may take to return on a busy machine.
const grace = 20 * time.Second

// A ledger has the reported outcome of each call, to be compared with the effects that the plugins have recorded.
type ledger struct {
	*report
	mu       sync.Mutex
	reported map[string]outcome // by call id; of the calls of count
}

// An outcome is what the host reported about a call.
type outcome string

const (
	ran     outcome = "ok"
	notSent outcome = "not_sent"
	failed  outcome = "failed"
	unknown outcome = "outcome_unknown"
)

func newLedger(r *report) *ledger { return &ledger{report: r, reported: map[string]outcome{}} }

// make makes one call and checks its result.
func (l *ledger) make(ctx context.Context, h *host.Host, id, tool, arguments string,
	timeout time.Duration) *host.Result {
	l.report.mu.Lock()
	l.calls++
	l.report.mu.Unlock()
	began := time.Now()
	by, _, _ := strings.Cut(id, "-")
	r := h.Call(ctx, host.Call{ID: id, Caller: by, Tool: tool, Arguments: json.RawMessage(arguments), Timeout: timeout})
	if late := time.Since(began) - timeout; late > grace {
		l.violation("call %s of %s answered %s after its deadline of %s", id, tool, late, timeout)
	}
	l.note(r, id, strings.HasSuffix(tool, "__count"))
	return r
}

func (l *ledger) note(r *host.Result, id string, counted bool) {
	f := outcomeOf(r)
	if f == "" {
		l.violation("call %s failed and reports no outcome: %s", id, r.Error.Message)
	}
	l.report.mu.Lock()
	defer l.report.mu.Unlock()
	l.answered++
	l.outcomes[string(f)]++
	if r.Error != nil {
		l.codes[string(r.Error.Code)]++
	}
	if counted {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reported[id] = f
	}
}

func outcomeOf(r *host.Result) outcome {
	if r.Error == nil {
		return ran
	}
	return outcome(r.Error.Outcome)
}

// compareEffects compares the reported outcomes with the effects that the plugins have recorded.
func (l *ledger) compareEffects(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		l.violation("the ledger cannot be read: %v", err)
		return
	}
	effects := map[string]int{}
	for line := range strings.FieldsSeq(string(text)) {
		if id, whole := strings.CutSuffix(line, "."); whole {
			effects[id]++
		}
	}
	for id, n := range effects {
		if n > 1 {
			l.report.mu.Lock()
			l.duplicated++
			l.report.mu.Unlock()
			l.violation("call %s had its effect %d times", id, n)
		}
		if _, known := l.reported[id]; !known {
			l.violation("an effect of call %s, which was never made", id)
		}
	}
	for id, f := range l.reported {
		l.checkOutcome(id, f, effects[id])
	}
}

// checkOutcome checks one reported outcome. A call that failed in the plugin may have had its effect before.
func (l *ledger) checkOutcome(id string, f outcome, effects int) {
	switch {
	case f == ran && effects == 0:
		l.violation("call %s was reported as executed, and had no effect", id)
	case f == notSent && effects > 0:
		l.violation("call %s was reported as not sent, and had an effect", id)
	}
}

// A caller makes calls of all kinds until ctx ends.
type caller struct {
	*ledger
	testbed *testbed
	rng     *rand.Rand
	name    string
	made    int
}

// newCaller makes caller number i. The same seeds make the same choices.
func newCaller(l *ledger, w *testbed, seed1, seed2 uint64, i int) *caller {
	rng := rand.New(rand.NewPCG(seed1, seed2)) //nolint:gosec // repeatable
	return &caller{ledger: l, testbed: w, rng: rng, name: fmt.Sprintf("c%d", i)}
}

func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.made++
		c.one(ctx)
	}
}

// one makes one call: mostly of count, with deadlines from too short to long, and sometimes canceled.
func (c *caller) one(ctx context.Context) {
	tool, arguments := c.choose()
	timeout := time.Duration(1+c.rng.IntN(400)) * time.Millisecond
	if c.rng.IntN(4) > 0 {
		timeout = 3 * time.Second
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of the load cancels nothing
	defer cancel()
	if c.rng.IntN(20) == 0 {
		defer time.AfterFunc(time.Duration(c.rng.IntN(30))*time.Millisecond, cancel).Stop()
	}
	c.make(ctx, c.testbed.host, fmt.Sprintf("%s-%d", c.name, c.made), c.plugin()+"__"+tool, arguments, timeout)
}

func (c *caller) plugin() string {
	if i := c.rng.IntN(victims + 1); i < victims {
		return victimName(i)
	}
	return transient
}

func (c *caller) choose() (tool, arguments string) {
	switch c.rng.IntN(40) {
	case 0:
		return "count", `{"before":"soon"}`
	case 1:
		return "nothing", `{}`
	case 2:
		return "flood", fmt.Sprintf(`{"bytes":%d}`, c.rng.IntN(1<<20))
	case 3:
		return "big", fmt.Sprintf(`{"bytes":%d}`, c.rng.IntN(8<<20))
	case 4, 5, 6:
		return "echo", `{}`
	}
	return "count", fmt.Sprintf(`{"before":%d,"after":%d}`, c.rng.IntN(8), c.rng.IntN(8))
}

// watch calls the control plugin again and again, and records how long its results take.
func (l *ledger) watch(ctx context.Context, w *testbed, name string, into *[]time.Duration) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		r := l.make(context.WithoutCancel(ctx), w.host, fmt.Sprintf("%s-%d", name, n), control+"__echo", `{}`, grace)
		took := time.Since(began)
		if r.Error != nil && !outOfFiles(r.Error) {
			l.violation("the control plugin failed: %s: %s", r.Error.Code, r.Error.Message)
		}
		l.report.mu.Lock()
		*into = append(*into, took)
		l.report.mu.Unlock()
		_ = pause(ctx, 5)
	}
}

// outOfFiles is true for a call that failed because the whole host had run out of files.
func outOfFiles(e *sdk.Error) bool {
	return strings.Contains(e.Message, "too many open files") || errors.Is(e, os.ErrDeadlineExceeded)
}
