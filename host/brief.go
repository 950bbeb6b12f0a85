package host

import (
	"runtime"
	"sync"
)

// A briefMutex guards what takes well under a microsecond. Who finds it held tries again instead of sleeping: under
// thousands of goroutines that can run, one that sleeps comes back a hundred milliseconds later, and a sync.Mutex that it
// has waited for is handed from sleeper to sleeper from then on.
type briefMutex struct{ mu sync.Mutex }

// briefTries is how often the lock is tried before others get the processor, in about a millisecond: it is only needed when
// the system has taken the processor from who holds the lock.
const briefTries = 100_000

func (m *briefMutex) Lock() {
	for !m.tryFor(briefTries) {
		runtime.Gosched()
	}
}

func (m *briefMutex) tryFor(tries int) bool {
	for range tries {
		if m.mu.TryLock() {
			return true
		}
	}
	return false
}

func (m *briefMutex) Unlock() { m.mu.Unlock() }
