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

// slack is how long after its deadline a call may take to answer, on a machine that is busy being broken.
const slack = 20 * time.Second

// A ledger knows what became of each call, to be compared with what the plugins have counted.
type ledger struct {
	*report
	mu    sync.Mutex
	fates map[string]fate // by call id; of the calls of count
}

// A fate is what a caller was informed of a call.
type fate string

const (
	ran     fate = "ok"
	notSent fate = "not_sent"
	failed  fate = "failed"
	unknown fate = "outcome_unknown"
)

func newLedger(r *report) *ledger { return &ledger{report: r, fates: map[string]fate{}} }

// make makes one call and checks its answer.
func (l *ledger) make(ctx context.Context, h *host.Host, id, tool, arguments string,
	timeout time.Duration) *host.Result {
	l.report.mu.Lock()
	l.calls++
	l.report.mu.Unlock()
	began := time.Now()
	by, _, _ := strings.Cut(id, "-")
	r := h.Call(ctx, host.Call{ID: id, Caller: by, Tool: tool, Arguments: json.RawMessage(arguments), Timeout: timeout})
	if late := time.Since(began) - timeout; late > slack {
		l.breach("call %s of %s answered %s after its deadline of %s", id, tool, late, timeout)
	}
	l.note(r, id, strings.HasSuffix(tool, "__count"))
	return r
}

func (l *ledger) note(r *host.Result, id string, counted bool) {
	f := fateOf(r)
	if f == "" {
		l.breach("call %s failed and does not say what became of it: %s", id, r.Error.Message)
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
		l.fates[id] = f
	}
}

func fateOf(r *host.Result) fate {
	if r.Error == nil {
		return ran
	}
	return fate(r.Error.Outcome)
}

// settle compares what callers were told with what the plugins have counted.
func (l *ledger) settle(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		l.breach("the ledger cannot be read: %v", err)
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
			l.twice++
			l.report.mu.Unlock()
			l.breach("call %s had its effect %d times", id, n)
		}
		if _, known := l.fates[id]; !known {
			l.breach("an effect of call %s, which nobody made", id)
		}
	}
	for id, f := range l.fates {
		l.judge(id, f, effects[id])
	}
}

// judge says whether a caller was told the truth. A call that failed in the plugin may have had its effect before.
func (l *ledger) judge(id string, f fate, effects int) {
	switch {
	case f == ran && effects == 0:
		l.breach("call %s was told to have run, and had no effect", id)
	case f == notSent && effects > 0:
		l.breach("call %s was told not to have been sent, and had an effect", id)
	}
}

// A caller makes calls of all kinds until ctx ends.
type caller struct {
	*ledger
	world *world
	dice  *rand.Rand
	name  string
	made  int
}

func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.made++
		c.one(ctx)
	}
}

// one makes one call: mostly of count, with deadlines from too short to long, and sometimes given up by the caller.
func (c *caller) one(ctx context.Context) {
	tool, arguments := c.choose()
	timeout := time.Duration(1+c.dice.IntN(400)) * time.Millisecond
	if c.dice.IntN(4) > 0 {
		timeout = 3 * time.Second
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of the storm cancels nothing
	defer cancel()
	if c.dice.IntN(20) == 0 {
		defer time.AfterFunc(time.Duration(c.dice.IntN(30))*time.Millisecond, cancel).Stop()
	}
	c.make(ctx, c.world.host, fmt.Sprintf("%s-%d", c.name, c.made), c.plugin()+"__"+tool, arguments, timeout)
}

func (c *caller) plugin() string {
	if i := c.dice.IntN(victims + 1); i < victims {
		return victimName(i)
	}
	return guest
}

func (c *caller) choose() (tool, arguments string) {
	switch c.dice.IntN(40) {
	case 0:
		return "count", `{"before":"soon"}`
	case 1:
		return "nothing", `{}`
	case 2:
		return "flood", fmt.Sprintf(`{"bytes":%d}`, c.dice.IntN(1<<20))
	case 3:
		return "big", fmt.Sprintf(`{"bytes":%d}`, c.dice.IntN(8<<20))
	case 4, 5, 6:
		return "echo", `{}`
	}
	return "count", fmt.Sprintf(`{"before":%d,"after":%d}`, c.dice.IntN(8), c.dice.IntN(8))
}

// watch calls the plugin that is left alone, again and again, and notes how long its answers take.
func (l *ledger) watch(ctx context.Context, w *world, name string, into *[]time.Duration) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		r := l.make(context.WithoutCancel(ctx), w.host, fmt.Sprintf("%s-%d", name, n), bystander+"__echo", `{}`, slack)
		took := time.Since(began)
		if r.Error != nil && !squeezed(r.Error) {
			l.breach("the plugin that was left alone failed: %s: %s", r.Error.Code, r.Error.Message)
		}
		l.report.mu.Lock()
		*into = append(*into, took)
		l.report.mu.Unlock()
		_ = pause(ctx, 5)
	}
}

// squeezed says whether a call failed because the whole host had run out of files, which is no one else's fault.
func squeezed(e *sdk.Error) bool {
	return strings.Contains(e.Message, "too many open files") || errors.Is(e, os.ErrDeadlineExceeded)
}
