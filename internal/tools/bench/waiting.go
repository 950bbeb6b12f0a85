package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
	"github.com/toolhost/toolhost/sdk"
)

// waiting compares the processor time of 20,000 calls that wait for one plugin with that of 10,000: twice as much, if
// it grows in proportion.
func (b *bench) waiting(ctx context.Context) error {
	h, err := b.open(1, "limits {\n concurrency = 1\n queue = 100000\n}")
	if err != nil {
		return err
	}
	defer h.Close()
	const calls = 10_000
	if _, err := b.waitingCalls(ctx, h, calls); err != nil { // what the first ones allocate is not compared
		return err
	}
	wait := func(n int) func() (time.Duration, error) {
		return func() (time.Duration, error) { return b.waitingCalls(ctx, h, n) }
	}
	ratios, err := b.pairs(ctx, max(3, b.rounds()/3), wait(2*calls), wait(calls))
	b.add(figure{name: "20,000 calls waiting for one plugin, processor time", against: "10,000", ratios: ratios, must: 2.3})
	return err
}

// waitingCalls is the processor time of calls that all wait before the first of them runs.
func (b *bench) waitingCalls(ctx context.Context, h *toolhost, n int) (time.Duration, error) {
	hold, release := context.WithCancel(ctx)
	defer release()
	held, freed := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(freed)
		h.Host().Call(hold, host.Call{Tool: "bench0__hang", Arguments: json.RawMessage("{}"), Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				held <- struct{}{}
			}
		}})
	}()
	select {
	case <-held:
	case <-freed:
		return 0, errors.New("the call that holds the slot ended by itself")
	}
	arms := []*arm{{pids: h.pids}}
	args, errs := payload.Arguments(100), make(chan error, n)
	before := b.ownTime(arms)
	for range n {
		go func() { errs <- h.call("echo", args, 100) }()
	}
	time.Sleep(time.Duration(n) * 50 * time.Microsecond) // more than it takes all to join the queue
	release()
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	<-freed
	return b.ownTime(arms) - before, err
}
