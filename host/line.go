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
	others *bound // for tools without limits of their own

	mu      sync.Mutex
	tools   map[string]*bound // by full name
	waiting []*waiter         // in the order in which they get their turn; none of them could run now
	round   int               // of the call that got its turn last, of those that were in line
}

// A waiter is a call in line.
type waiter struct {
	pair
	caller  caller
	round   int
	ready   chan struct{} // closed when it is its turn, or refused
	refused *sdk.Error    // set before ready is closed
}

// A turn is a call that may run.
type turn struct {
	pair
	began time.Time
}

func newLine(plugin string, l Limits) *line {
	return &line{plugin: newBound(fmt.Sprintf("plugin %q", plugin), l), tools: map[string]*bound{}, others: newBound("", Limits{})}
}

// adopt puts other limits in the place of those that there are. Calls that run and wait count on.
func (l *line) adopt(plugin Limits, tools map[string]Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plugin.set(plugin)
	for name, b := range l.tools {
		b.set(tools[name])
		if _, limited := tools[name]; !limited && b.running+b.waiting == 0 { // else it may have limits again before they end
			delete(l.tools, name)
		}
	}
	for name, t := range tools {
		if l.tools[name] == nil {
			l.tools[name] = newBound(fmt.Sprintf("tool %q", name), t)
		}
	}
	l.callUp()
}

// busy says whether calls run or wait.
func (l *line) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plugin.running+l.plugin.waiting > 0
}

func (l *line) pair(tool string) pair {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.tools[tool]; b != nil {
		return pair{b, l.plugin}
	}
	return pair{l.others, l.plugin}
}

// enter returns when it is the call's turn, which ends with leave, or tells why it does not come.
func (l *line) enter(ctx context.Context, p pair, by caller) (turn, *sdk.Error) {
	w, e := l.join(p, by)
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
func (l *line) join(p pair, by caller) (*waiter, *sdk.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if e := p.tooEarly(now); e != nil {
		return nil, e
	}
	free := p.free()
	for b := p.full(); !free && b != nil; b = p.full() {
		if !l.makeRoom(b, by) {
			return nil, b.queueFull()
		}
	}
	for _, b := range p {
		b.rate.AllowN(now, 1)
	}
	if free {
		p.begin()
		return nil, nil
	}
	w := &waiter{pair: p, caller: by, ready: make(chan struct{})}
	l.add(w)
	return w, nil
}

func (l *line) await(ctx context.Context, w *waiter) *sdk.Error {
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	select {
	case <-w.ready:
		return w.refused
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
	if !l.remove(w) {
		return w.refused
	}
	return why()
}

// leave ends a turn.
func (l *line) leave(t turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.end(time.Since(t.began))
	l.callUp()
}

// callUp gives those in line that can run now their turn, the first first.
func (l *line) callUp() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if !w.free() {
			return false
		}
		w.wait(-1)
		w.begin()
		l.round = max(l.round, w.round)
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
