package idlemem

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is returned once, some time after the last piece of work, and only if there is much of it.
func TestMemoryIsReturnedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Uint64
		var freed atomic.Int64
		held.Store(64 << 20)
		trimmer := &Trimmer{held: held.Load, free: func() { freed.Add(1); held.Store(10 << 20) }}
		after := func(d time.Duration, want int64, when string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := freed.Load(); got != want {
				t.Errorf("%s: returned %d times, want %d", when, got, want)
			}
		}
		trimmer.Begin()
		after(10*idleTime, 0, "one call runs")
		trimmer.Begin()
		trimmer.End()
		after(10*idleTime, 0, "the other still runs")
		trimmer.End()
		after(idleTime-1, 0, "it has just ended")
		for range 10 {
			trimmer.Begin()
			trimmer.End()
			after(idleTime/2, 0, "calls go on")
		}
		after(2*idleTime, collections, "idle")
		after(10*idleTime, collections, "idle for long")
		trimmer.Begin()
		trimmer.End()
		after(10*idleTime, collections, "a small call")
		held.Add(worthwhile)
		trimmer.Begin()
		trimmer.End()
		after(10*idleTime, 2*collections, "a large call")
	})
}

// A process that holds little is left alone from the beginning: a collection would make it larger.
func TestLittleMemoryIsKept(t *testing.T) {
	trimmer := &Trimmer{held: func() uint64 { return worthwhile - 1 }, free: func() { t.Error("memory was returned") }}
	trimmer.trim()
}

// What calls have allocated and dropped is returned to the system.
func TestHeapIsReturned(t *testing.T) {
	var pool [][]byte
	for range 64 {
		pool = append(pool, make([]byte, 1<<20))
	}
	trimmer := &Trimmer{}
	before := heldBytes()
	runtime.KeepAlive(pool)
	trimmer.trim()
	if after := heldBytes(); after+(48<<20) > before {
		t.Errorf("%d bytes are held, before %d", after, before)
	}
}

// Counting allocates nothing.
func TestCountingIsCheap(t *testing.T) {
	trimmer := &Trimmer{}
	trimmer.armed.Store(true)
	if n := testing.AllocsPerRun(100, func() { trimmer.Begin(); trimmer.End() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
