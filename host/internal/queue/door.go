package queue

import (
	"hash/maphash"
	"sync/atomic"
)

// A door refuses calls of a full limiter without the queue's lock. Under a flood, thousands of goroutines would wait
// for the lock whenever the system suspends its holder, and get it one after the other a tenth of a second later. It
// refuses only calls that the queue would certainly refuse; all others take the lock.
type door struct {
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

var doorSeed = maphash.MakeSeed()

func (d *door) arrive(by Caller, n int64) {
	d.joining[maphash.Comparable(doorSeed, by)%uint64(len(d.joining))].Add(n)
	d.all.Add(n)
}

// refuses a call if the limiter is full and no caller has more than one call waiting, or none more than this one; and
// if it will be full when all joining calls have joined, half of which are this caller's.
func (d *door) refuses(by Caller) *Refusal {
	if c := d.closed.Load(); c != nil {
		if c.most <= 1 || c.top == by {
			return c.refusal
		}
		return nil
	}
	full := d.full.Load()
	if full == nil || full.Concurrency == 0 {
		return nil
	}
	all := d.taken.Load() + d.all.Load()
	own := d.joining[maphash.Comparable(doorSeed, by)%uint64(len(d.joining))].Load()
	if all >= int64(full.Concurrency)+int64(full.Queue) && 2*own > all {
		return full
	}
	return nil
}
