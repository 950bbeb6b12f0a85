package testutil

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// CPUTime returns how much processor time of this process f takes. The time of day would count what else a busy machine
// does, and the garbage collector's work for other tests would count as that of f, so it does not run meanwhile: f must
// not allocate gigabytes. Tests that call it cannot be parallel.
func CPUTime(t testing.TB, f func()) time.Duration {
	t.Helper()
	busy := func() time.Duration {
		taken, err := processTime()
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := busy()
	f()
	return busy() - before
}
