package host

import (
	"math"
	"runtime/metrics"

	"github.com/toolhost/toolhost/internal/idlemem"
)

// ballast is the size of an idlemem.Ballast. Go's collector runs at four megabytes at the earliest: in a host with a
// small heap after 800 calls of 100 bytes, or 270 of 10 KB; collecting then takes a tenth and a seventh of their
// processor time. A host allocates it once it is busy.
const (
	ballast      = 16 << 20
	ballastCalls = 1000
)

// addBallast adds one unless the heap is large already, or the embedder has set how the collector runs.
func (h *Host) addBallast() {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	for i, most := range []uint64{100, math.MaxInt64, ballast} {
		at := samples[i].Value
		if at.Kind() != metrics.KindUint64 || i < 2 && at.Uint64() != most || at.Uint64() > most {
			return
		}
	}
	kept := idlemem.Ballast(ballast)
	h.kept.Store(&kept)
}
