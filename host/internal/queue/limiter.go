package queue

import (
	"cmp"
	"container/heap"
	"container/list"
	"fmt"
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound the calls of one member or group. Zero is no limit.
type Limits struct {
	// Concurrency is how many calls have a slot at once.
	Concurrency int
	// Queue is how many calls may wait; zero is 16 times Concurrency, below zero none may.
	Queue int
	// Rate is how many calls a second there may be, in the long run.
	Rate float64
	// Burst is how many calls Rate lets through at once after a pause; zero is as many as in one second, at least one.
	Burst int
}

// Normalize replaces absent and invalid values. Queue is a number of places afterwards.
func (l Limits) Normalize() Limits {
	l.Concurrency = max(l.Concurrency, 0)
	l.Queue = cmp.Or(l.Queue, 16*min(l.Concurrency, math.MaxInt/16))
	l.Queue = max(l.Queue, 0)
	if !(l.Rate > 0) || math.IsInf(l.Rate, 1) { // NaN is above nothing
		l.Rate = 0
	}
	if l.Burst <= 0 {
		l.Burst = int(math.Ceil(min(l.Rate, math.MaxInt32)))
	}
	return l
}

// A Reason says which limit refused a call.
type Reason uint8

// The reasons.
const (
	RateLimited   Reason = iota // before Rate allows one more call
	Full                        // as many calls wait as may
	WaitedTooLong               // no slot within MaxWait
)

// A Refusal is the error of a call over a limit.
type Refusal struct {
	Reason Reason
	Of     string // the group or member
	Limits        // normalized
	// RetryAfter is when a retry makes sense: exact for a rate, otherwise an estimate, zero when there is none.
	RetryAfter time.Duration
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("over a limit of %s; retry after %s", r.Of, r.RetryAfter)
}

// A limiter has the limits of one member or group, and the usage of its calls. The queue's lock guards it.
type limiter struct {
	of string

	Limits
	rate             *rate.Limiter // nil without a Rate
	running, waiting int
	typical          time.Duration // the recent duration of calls

	heap   waiters           // of a member: its waiting calls
	shares map[Caller]*share // the waiting calls by caller
	ranks  shares            // the same, by size

	fastReject // usable without the lock
}

func newLimiter(of string) *limiter { return &limiter{of: of, shares: map[Caller]*share{}} }

// set changes the limits. The usage of calls is kept.
func (l *limiter) set(to Limits) {
	to = to.Normalize()
	switch {
	case to.Rate == 0:
		l.rate = nil
	case to.Rate != l.Rate || to.Burst != l.Burst:
		l.rate = rate.NewLimiter(rate.Limit(to.Rate), to.Burst)
	}
	l.Limits = to
	l.full.Store(l.refusal(Full))
	l.count(0, 0)
}

func (l *limiter) count(running, waiting int) {
	l.running += running
	l.waiting += waiting
	l.taken.Store(int64(l.running + l.waiting))
	switch {
	case l.free() || !l.isFull():
		l.closed.Store(nil)
	case len(l.ranks) == 0:
		l.closed.Store(&closed{refusal: l.refusal(Full)})
	default:
		l.closed.Store(&closed{l.refusal(Full), l.ranks[0].waiters.Len(), l.ranks[0].caller})
	}
}

func (l *limiter) free() bool   { return l.Concurrency == 0 || l.running < l.Concurrency }
func (l *limiter) isFull() bool { return l.Concurrency > 0 && l.waiting >= l.Queue }

// refusal estimates when a call that arrives now would get its slot.
func (l *limiter) refusal(reason Reason) *Refusal {
	r := &Refusal{Reason: reason, Of: l.of, Limits: l.Limits}
	if l.Concurrency > 0 {
		r.RetryAfter = time.Duration(float64(l.typical) * float64(l.waiting+1) / float64(l.Concurrency))
	}
	return r
}

// pause is how long it takes until the rate allows one more call. The fraction of a nanosecond is cut off, as in the
// rate limiter.
func (l *limiter) pause(now time.Time) time.Duration {
	if l.rate == nil {
		return 0
	}
	seconds := (1 - l.rate.TokensAt(now)) / l.Rate
	return time.Duration(min(max(seconds*float64(time.Second), 0), float64(math.MaxInt64/2)))
}

// limiters are the two of one call: its member's and the group's.
type limiters [2]*limiter

func (of limiters) free() bool { return of[0].free() && of[1].free() }

// full returns the limiter at which no more calls may wait, or nil.
func (of limiters) full() *limiter {
	for _, l := range of {
		if l.isFull() {
			return l
		}
	}
	return nil
}

// now is the time if a rate needs it.
func (of limiters) now() (now time.Time) {
	if of[0].rate != nil || of[1].rate != nil {
		now = time.Now()
	}
	return now
}

// tooEarly refuses a call that exceeds a rate; nil when it may run now.
func (of limiters) tooEarly(now time.Time) (r *Refusal) {
	for _, l := range of {
		if pause := l.pause(now); pause > 0 && (r == nil || pause > r.RetryAfter) {
			r = l.refusal(RateLimited)
			r.RetryAfter = pause
		}
	}
	return r
}

// waitedTooLong names the limiter that has no slot.
func (of limiters) waitedTooLong() *Refusal {
	if of[0].free() {
		return of[1].refusal(WaitedTooLong)
	}
	return of[0].refusal(WaitedTooLong)
}

func (of limiters) take(now time.Time) {
	for _, l := range of {
		if l.rate != nil {
			l.rate.AllowN(now, 1)
		}
	}
}

// giveBack undoes take. The rate limiter discards tokens over its burst.
func (of limiters) giveBack() {
	for _, l := range of {
		if l.rate != nil {
			l.rate.AllowN(time.Now(), -1)
		}
	}
}

func (of limiters) begin() {
	for _, l := range of {
		l.count(+1, 0)
	}
}

// end also records how long calls take, mostly the last eight or so. began is zero for a call that has not run.
func (of limiters) end(began time.Time) {
	var took time.Duration
	if !began.IsZero() {
		took = time.Since(began)
	}
	for _, l := range of {
		switch {
		case began.IsZero():
		case l.typical == 0:
			l.typical = took
		default:
			l.typical += (took - l.typical) / 8
		}
		l.count(-1, 0)
	}
}

// A fastReject refuses calls of a full limiter without the queue's lock. Under a flood, thousands of goroutines would
// wait for the lock whenever the system suspends its holder, and get it one after the other a tenth of a second later.
// It refuses only calls that the queue would certainly refuse; all others take the lock.
type fastReject struct {
	closed  atomic.Pointer[closed]  // nil while there is a free place
	full    atomic.Pointer[Refusal] // as of the last change of limits
	taken   atomic.Int64            // calls that run and wait
	joining [64]atomic.Int64        // calls on their way to the lock, by a hash of their caller
	all     atomic.Int64            // the sum of these
}

// closed is a full limiter's state of its waiting calls.
type closed struct {
	refusal *Refusal
	most    int    // most waiting calls of one caller
	top     Caller // that caller
}

var callerSeed = maphash.MakeSeed()

func (f *fastReject) arrive(by Caller, n int64) {
	f.joining[maphash.Comparable(callerSeed, by)%uint64(len(f.joining))].Add(n)
	f.all.Add(n)
}

// refuses a call if the limiter is full and no caller has more than one call waiting, or none more than this one; and
// if it will be full when all joining calls have joined, half of which are this caller's.
func (f *fastReject) refuses(by Caller) *Refusal {
	if c := f.closed.Load(); c != nil {
		if c.most <= 1 || c.top == by {
			return c.refusal
		}
		return nil
	}
	full := f.full.Load()
	if full == nil || full.Concurrency == 0 {
		return nil
	}
	all := f.taken.Load() + f.all.Load()
	own := f.joining[maphash.Comparable(callerSeed, by)%uint64(len(f.joining))].Load()
	if all >= int64(full.Concurrency)+int64(full.Queue) && 2*own > all {
		return full
	}
	return nil
}

// A queue is fair: the first waiting call of each caller comes before the second of any.
// However many wait, a call joins and leaves in the time of a look into a heap.

// A Caller is on whose behalf calls are made. Calls without a name and a session share one caller.
type Caller struct{ Name, Session string }

// A share is the waiting calls of one caller at one limiter.
type share struct {
	caller  Caller
	waiters list.List // of *Waiter, in order
	index   int       // in the limiter's ranks
}

func (s *share) last() *Waiter { return s.waiters.Back().Value.(*Waiter) }

// shares are a heap: the caller with most waiting calls first, of several the one whose last call comes last.
type shares []*share

func (s shares) Len() int { return len(s) }
func (s shares) Less(i, j int) bool {
	if a, b := s[i].waiters.Len(), s[j].waiters.Len(); a != b {
		return a > b
	}
	return s[j].last().before(s[i].last())
}
func (s shares) Swap(i, j int) { s[i], s[j] = s[j], s[i]; s[i].index, s[j].index = i, j }
func (s *shares) Push(x any)   { x.(*share).index = len(*s); *s = append(*s, x.(*share)) }
func (s *shares) Pop() any     { return pop((*[]*share)(s)) }

// waiters are a heap ordered by who gets a slot first.
type waiters []*Waiter

func (p waiters) Len() int           { return len(p) }
func (p waiters) Less(i, j int) bool { return p[i].before(p[j]) }
func (p waiters) Swap(i, j int)      { p[i], p[j] = p[j], p[i]; p[i].index, p[j].index = i, j }
func (p *waiters) Push(x any)        { x.(*Waiter).index = len(*p); *p = append(*p, x.(*Waiter)) }
func (p *waiters) Pop() any          { return pop((*[]*Waiter)(p)) }

func pop[T any](list *[]*T) *T {
	n := len(*list) - 1
	last := (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return last
}

func (p *Waiter) before(other *Waiter) bool {
	if p.round != other.round {
		return p.round < other.round
	}
	return p.number < other.number
}

// join adds a waiting call to its caller's share.
func (l *limiter) join(p *Waiter) *list.Element {
	s := l.shares[p.caller]
	if s == nil {
		s = &share{caller: p.caller}
		l.shares[p.caller] = s
		at := s.waiters.PushBack(p)
		heap.Push(&l.ranks, s)
		return at
	}
	at := s.waiters.PushBack(p)
	heap.Fix(&l.ranks, s.index)
	return at
}

func (l *limiter) quit(by Caller, at *list.Element) {
	s := l.shares[by]
	if s.waiters.Len() == 1 { // a share in the heap is never empty
		heap.Remove(&l.ranks, s.index)
		delete(l.shares, by)
		return
	}
	s.waiters.Remove(at)
	heap.Fix(&l.ranks, s.index)
}

// excess returns the call that gives way to one more of a caller: the last of the caller with most waiting calls, if
// that one has more even then; otherwise nil.
func (l *limiter) excess(by Caller) *Waiter {
	if len(l.ranks) == 0 {
		return nil
	}
	own := 0
	if s := l.shares[by]; s != nil {
		own = s.waiters.Len()
	}
	if most := l.ranks[0]; most.waiters.Len() > own+1 {
		return most.last()
	}
	return nil
}
