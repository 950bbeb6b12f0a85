package history

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/audit"
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
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		record := written(t, seed, 3000)
		compareSearches(t, synced(t, record), record, rand.New(rand.NewPCG(seed, 2)), 3000, 150)
	}
}

// A filter that no call can match is refused by all that takes filters, and not taken for one that none matches.
func TestFiltersThatCannotMatchAreRefused(t *testing.T) {
	record := recordPath(t)
	appendAll(t, openLog(t, record),
		audit.Record{Time: day, Kind: audit.KindCall, CallID: "a", Status: "error", Code: "E_TOOL", Outcome: "failed"},
		audit.Record{Time: day, Kind: audit.KindCall, CallID: "b", Status: "error", Code: "own_code", Effect: "ask"})
	i := synced(t, record)
	use := func(f Filter) []error {
		_, searching := i.Search(t.Context(), f, Page{Count: true})
		_, counting := i.Stats(t.Context(), f, StatsOptions{})
		_, grouping := i.Stats(t.Context(), f, StatsOptions{GroupBy: "session"})
		return []error{searching, counting, grouping, i.Export(t.Context(), f, FormatJSONL, 0, io.Discard)}
	}
	for want, f := range map[string]Filter{
		`"bogus" is not a known status`:  {Status: "bogus"},
		`"OK" is not a known status`:     {Status: "OK"},
		`"bogus" is not a known outcome`: {Outcome: "bogus"},
		`"bogus" is not a known effect`:  {Effects: []string{"ask", "bogus"}},
		`the error code "E_BOGUS"`:       {Codes: []string{"E_TOOL", "E_BOGUS"}},
		`the error code "tool"`:          {Codes: []string{"tool"}},
		"at least -5s":                   {AtLeast: -5 * time.Second},
		"choose a time of 876000h":       {AtLeast: math.MaxInt64}, // which overflows when it is rounded up
		"no call is from 2026-11-20":     {Since: day, Until: day.Add(-time.Hour)},
		"after the beginning":            {Since: day, Until: day},
	} {
		for n, err := range use(f) {
			if _, is := errors.AsType[*FilterError](err); !is || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v, %d: %v", f, n, err)
			}
		}
	}
	if found, _ := all(t.Context(), t, i, Filter{AtLeast: maxAtLeast}, 10); len(found) > 0 {
		t.Errorf("calls that took a century: %+v", found)
	}
	for id, f := range map[string]Filter{"a": {Codes: []string{"e_tool", "E_limit"}}, "b": {Codes: []string{"own_code"}},
		"": {Codes: []string{"E_LIMIT"}}} {
		given := slices.Clone(f.Codes)
		found, _ := all(t.Context(), t, i, f, 10)
		if id == "" && len(found) > 0 || id != "" && (len(found) != 1 || found[0].CallID != id) {
			t.Errorf("%v: %+v", f.Codes, found)
		}
		if s, err := i.Stats(t.Context(), f, StatsOptions{}); err != nil || s.Calls != int64(len(found)) {
			t.Errorf("%v: %+v, %v", f.Codes, s, err)
		}
		if !slices.Equal(given, f.Codes) {
			t.Errorf("the caller's %v became %v", given, f.Codes)
		}
	}
}
