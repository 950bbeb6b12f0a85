// Package idlemem returns the memory of a process that has become idle to the system. Go's collector runs when the heap
// grows, so a process that has carried large results, and then nothing, keeps all of it: 59 MB for minutes after calls
// of 1 MB, in place of 18.
package idlemem

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// idleTime is how long a process has no work until its memory is returned.
	idleTime = 2 * time.Second
	// worthwhile is how many bytes more than after the last time make it worth the work, about a millisecond for each
	// megabyte in use. The collector itself keeps half a megabyte after its first run, so that a plugin that has just
	// started is smaller without one (2.7 to 2.2 MB).
	worthwhile = 4 << 20
	// collections are how many it takes: what is in a sync.Pool survives the first.
	collections = 3
)

// A Trimmer counts the work of a process. The zero value is ready, and safe for concurrent use.
type Trimmer struct {
	running atomic.Int64
	ended   atomic.Uint64
	armed   atomic.Bool // a timer runs
	kept    uint64      // bytes after the last time, 0 before; used by the timer alone

	held func() uint64 // in place of heldBytes
	free func()        // in place of debug.FreeOSMemory
}

// Begin begins a piece of work.
func (t *Trimmer) Begin() { t.running.Add(1) }

// End ends one. It costs two atomic operations, and a timer at most once in two seconds.
func (t *Trimmer) End() {
	t.ended.Add(1)
	if t.running.Add(-1) == 0 {
		t.arm()
	}
}

func (t *Trimmer) arm() {
	if !t.armed.CompareAndSwap(false, true) {
		return
	}
	before := t.ended.Load()
	time.AfterFunc(idleTime, func() {
		switch idle := t.ended.Load() == before; {
		case t.running.Load() > 0:
			t.armed.Store(false)
			if t.running.Load() == 0 { // it ended just now
				t.arm()
			}
		case !idle:
			t.armed.Store(false)
			t.arm()
		default:
			t.trim()
			t.armed.Store(false)
			if t.running.Load() == 0 && t.ended.Load() != before {
				t.arm()
			}
		}
	})
}

func (t *Trimmer) trim() {
	held, free := heldBytes, debug.FreeOSMemory
	if t.held != nil {
		held, free = t.held, t.free
	}
	if held() < t.kept+worthwhile {
		return
	}
	for range collections {
		free()
	}
	t.kept = held()
}

// heldBytes is the memory of the heap that the system does not have back. It stops the process for some microseconds,
// which has been idle; package runtime/metrics would not, and takes a part of each start to prepare for that.
func heldBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.HeapIdle - m.HeapReleased
}

// Ballast returns memory that counts as in use, and takes none as long as it is not touched. Go's collector runs when
// the heap has doubled: with a ballast it runs less often in a process with a small heap. Where the heap reuses memory
// for it, that was touched before, and is given back to the system.
func Ballast(size int) []byte {
	b := make([]byte, size)
	release(b)
	return b
}
