package host

import (
	"container/list"
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// maxWait is how long a call waits in line.
const maxWait = 5 * time.Minute

// A line has the calls of one plugin wait for their turn. It holds the tools' limits too, so that a call takes its turn
// of both at once: none holds up others while it waits for the second.
type line struct {
	kind   string // of what tools has bounds, in words
	plugin *bound
	others *bound // for tools without limits of their own

	mu    briefMutex
	tools map[string]*bound // by full name; their waiters could not run now
	round int               // of the call that got its turn last, of those that were in line
	came  uint64            // how many calls have been in line
}

// A waiter is a call in line.
type waiter struct {
	pair
	caller  caller
	round   int
	number  uint64           // in the order in which they came
	index   int              // in the tool's queue
	places  [2]*list.Element // among the caller's calls, of both bounds
	waits   bool             // it is in line
	ready   chan struct{}    // closed when it is its turn, or refused
	refused *boundState      // by a full queue; set before ready is closed
}

// A turn is a call that may run.
type turn struct {
	pair
	began time.Time
}

func newLine(plugin string, l Limits) *line {
	return &line{kind: "tool", plugin: newBound(fmt.Sprintf("plugin %q", plugin), l), tools: map[string]*bound{}, others: newBound("", Limits{})}
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
			l.tools[name] = newBound(l.kind+fmt.Sprintf(" %q", name), t)
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
	return l.pairOf(tool)
}

// pairOf is for those who hold the lock.
func (l *line) pairOf(tool string) pair {
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
	w, r, full := l.place(p, by)
	if full {
		return nil, r.queueFull()
	}
	return w, r.early()
}

// place is join without the words: r is what refuses the call, and full says that it is the queue.
func (l *line) place(p pair, by caller) (w *waiter, r *boundState, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if r := p.tooEarly(now); r != nil {
		return nil, r, false
	}
	free := p.free()
	for b := p.full(); !free && b != nil; b = p.full() {
		if !l.makeRoom(b, by) {
			return nil, b.read(), true
		}
	}
	for _, b := range p {
		b.rate.AllowN(now, 1)
	}
	if free {
		p.begin()
		return nil, nil, false
	}
	w = &waiter{pair: p, caller: by, ready: make(chan struct{})}
	l.add(w)
	return w, nil, false
}

func (l *line) await(ctx context.Context, w *waiter) *sdk.Error {
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	select {
	case <-w.ready:
		return w.outcome()
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
		return w.outcome()
	}
	return why()
}

// outcome is nil for a call whose turn has come.
func (w *waiter) outcome() *sdk.Error {
	if w.refused == nil {
		return nil
	}
	return w.refused.queueFull()
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
	for w := l.next(); w != nil; w = l.next() {
		l.remove(w)
		w.begin()
		l.round = max(l.round, w.round)
		close(w.ready)
	}
}

// next is the first in line that can run now, or nil: each tool has a queue, and of those that are free the first one's
// head is it.
func (l *line) next() (first *waiter) {
	if l.plugin.waiting == 0 || !l.plugin.free() {
		return nil
	}
	look := func(b *bound) {
		if len(b.queue) > 0 && b.free() && (first == nil || b.queue[0].before(first)) {
			first = b.queue[0]
		}
	}
	look(l.others)
	for _, b := range l.tools {
		look(b)
	}
	return first
}

// refusal says why a call would be refused that came now; nil when it would not. It takes up nothing.
func (l *line) refusal(tool string, by caller) *sdk.Error {
	r, full := l.look(tool, by)
	if r == nil || !full {
		return r.early()
	}
	return r.queueFull()
}

// look gives what refuses a call that came now, or nil; full says that it is the queue.
func (l *line) look(tool string, by caller) (r *boundState, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pairOf(tool)
	if r := p.tooEarly(time.Now()); r != nil {
		return r, false
	}
	if b := p.full(); !p.free() && b != nil && b.excess(by) == nil {
		return b.read(), true
	}
	return nil, false
}

// free says whether one more call may run.
func (b *bound) free() bool { return b.Concurrency == 0 || b.running < b.Concurrency }

func (p pair) free() bool { return p[0].free() && p[1].free() }

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
