package queue

import (
	"hash/maphash"
	"sync/atomic"
)

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
