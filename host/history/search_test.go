package history

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareSearches compares searches of the index with a filter in memory.
func compareSearches(t *testing.T, i *Index, record string, r *rand.Rand, n, searches int) {
	t.Helper()
	o := readOracle(t, record)
	for range searches {
		f := someFilter(r, n)
		if _, err := i.Search(t.Context(), f, Page{Size: 1}); err != nil {
			if _, is := errors.AsType[*FilterError](err); !is {
				t.Fatalf("%+v: %v", f, err)
			}
			continue
		}
		want := o.search(&f)
		got, count := all(t.Context(), t, i, f, 1+r.IntN(100))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%#v (-want +got):\n%s", f, diff)
		}
		if count != int64(len(want)) {
			t.Fatalf("%#v: count %d, want %d", f, count, len(want))
		}
	}
}

func TestSearchFindsWhatAFilterInMemoryFinds(t *testing.T) {
	for seed := range uint64(3) {
		record := written(t, seed, 3000)
		compareSearches(t, synced(t, record), record, rand.New(rand.NewPCG(seed, 2)), 3000, 150)
	}
}
