package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/testutil"
)

// calls writes n calls, the first of them at a time, a minute apart.
func calls(t *testing.T, record string, from time.Time, n int) {
	t.Helper()
	l := openLog(t, record)
	for i := range n {
		id := fmt.Sprint(from.Unix(), "-", i)
		r := audit.Record{Time: from.Add(time.Duration(i) * time.Minute), Kind: audit.KindDecision, CallID: id,
			Tool: "p__t", Effect: "allow", Reason: "some words", Later: true}
		appendAll(t, l, r)
		if i%3 > 0 {
			r.Kind, r.Status = audit.KindCall, "ok"
			appendAll(t, l, r)
		}
	}
	if err := l.Close(); err != nil { // which writes them all
		t.Fatal(err)
	}
}

func TestOldCallsLeaveTheIndexAndStayInTheRecord(t *testing.T) {
	testutil.Long(t)
	for name, o := range map[string]Options{"by number": {KeepCalls: 2000},
		"by age": {KeepFor: time.Since(day.Add(3000 * time.Minute))}} {
		t.Run(name, func(t *testing.T) {
			o.Record = recordPath(t)
			i := openIndex(t, o)
			for part := range 5 {
				calls(t, o.Record, day.Add(time.Duration(part)*1000*time.Minute), 1000)
				sync1(t, i)
			}
			whole := readOracle(t, o.Record)
			state, err := i.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if state.Calls < 2000 || state.Calls >= 2000+blockCalls || state.Oldest != 5001-state.Calls {
				t.Errorf("%d calls from %d on", state.Calls, state.Oldest)
			}
			whole.calls, whole.words = whole.calls[state.Oldest-1:], whole.words[state.Oldest-1:]
			for _, f := range []Filter{{}, {Status: "ok"}, {Status: statusUnfinished}, {Text: "words"},
				{Since: day, Until: day.Add(4000 * time.Minute)}} {
				got, count := all(t.Context(), t, i, f, 1000)
				want := whole.search(&f)
				if diff := cmp.Diff(want, got); diff != "" || count != int64(len(want)) {
					t.Fatalf("%+v: %d (-want +got):\n%s", f, count, diff)
				}
			}
			s, err := i.Stats(t.Context(), Filter{Since: day, Until: day.Add(6000 * time.Minute)}, StatsOptions{Steps: 1})
			if err != nil || s.Calls != state.Calls {
				t.Errorf("the counts have %+v, %v", s, err)
			}
			again := openIndex(t, Options{Record: o.Record, Index: o.Record + ".all"})
			sync1(t, again)
			same(t, again, o.Record)
		})
	}
}
