package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// maxWait is how long a call waits in line.
const maxWait = 5 * time.Minute

// A line has the calls of one plugin wait for their turn. It holds the tools' limits too, so that a call takes its turn
// of both at once: none holds up others while it waits for the second.
type line struct {
	plugin *bound
	tools  map[string]*bound // by full name
	others *bound            // for tools without limits of their own

	mu      sync.Mutex
	waiting []*waiter // in the order in which they came; none of them could run now
}

// A waiter is a call in line.
type waiter struct {
	pair
	ready chan struct{} // closed when it is its turn
}

// A turn is a call that may run.
type turn struct {
	pair
	began time.Time
}

func newLine(plugin string, l Limits) *line {
	return &line{plugin: newBound(fmt.Sprintf("plugin %q", plugin), l), tools: map[string]*bound{}, others: newBound("", Limits{})}
}

func (l *line) pair(tool string) pair {
	if b := l.tools[tool]; b != nil {
		return pair{b, l.plugin}
	}
	return pair{l.others, l.plugin}
}

// enter returns when it is the call's turn, which ends with leave, or tells why it does not come.
func (l *line) enter(ctx context.Context, p pair) (turn, *sdk.Error) {
	w, e := l.join(p)
	if e == nil && w != nil {
		e = l.await(ctx, w)
	}
	if e != nil {
		return turn{}, e
	}
	t := turn{p, time.Now()}
	if ctx.Err() != nil {
		l.leave(t)
		return turn{}, notBegun(ctx, "before its turn came")
	}
	return t, nil
}

// join gives the call its turn, for which there is no waiter, or a place in the line. What is refused takes up nothing.
func (l *line) join(p pair) (*waiter, *sdk.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if e := p.tooEarly(now); e != nil {
		return nil, e
	}
	free := p.free()
	if b := p.full(); !free && b != nil {
		return nil, b.queueFull()
	}
	for _, b := range p {
		b.rate.AllowN(now, 1)
	}
	if free {
		p.begin()
		return nil, nil
	}
	w := &waiter{p, make(chan struct{})}
	p.wait(+1)
	l.waiting = append(l.waiting, w)
	return w, nil
}

func (l *line) await(ctx context.Context, w *waiter) *sdk.Error {
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return l.giveUp(w, func() *sdk.Error { return notBegun(ctx, "while it waited in line") })
	case <-limit.C:
		return l.giveUp(w, w.waitedTooLong)
	}
}

// giveUp takes the call out of the line, unless its turn has come in this moment.
func (l *line) giveUp(w *waiter, why func() *sdk.Error) *sdk.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return nil
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	w.wait(-1)
	return why()
}

// leave ends a turn. Of those in line, the first that can run now do.
func (l *line) leave(t turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.end(time.Since(t.began))
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if !w.free() {
			return false
		}
		w.wait(-1)
		w.begin()
		close(w.ready)
		return true
	})
}

// free says whether one more call may run.
func (p pair) free() bool {
	for _, b := range p {
		if b.Concurrency > 0 && b.running >= b.Concurrency {
			return false
		}
	}
	return true
}

// full gives the bound for which no more calls may wait, or nil.
func (p pair) full() *bound {
	for _, b := range p {
		if b.Concurrency > 0 && b.waiting >= b.Queue {
			return b
		}
	}
	return nil
}

func (p pair) wait(n int) {
	for _, b := range p {
		b.waiting += n
	}
}

func (p pair) begin() {
	for _, b := range p {
		b.running++
	}
}

// end also learns how long calls take; the last eight or so weigh most.
func (p pair) end(took time.Duration) {
	for _, b := range p {
		b.running--
		if b.typical == 0 {
			b.typical = took
		}
		b.typical += (took - b.typical) / 8
	}
}
