package history

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/testutil"
)

// counted are the calls and errors by the beginning of their step, and by group.
func counted(o *oracle, f Filter, s *Stats, by string) (calls, failed map[string]int64) {
	calls, failed = map[string]int64{}, map[string]int64{}
	f.Since, f.Until = s.Times[0], s.Times[len(s.Times)-1].Add(s.Step)
	for _, c := range o.search(&f) {
		group := map[string]string{"": "", "tool": c.Tool, "plugin": c.Plugin, "session": c.SessionID, "status": c.Status,
			"code": c.Code}[by]
		after, _ := slices.BinarySearchFunc(s.Times, c.Time().Add(1), time.Time.Compare)
		key := fmt.Sprint(s.Times[after-1].Unix(), " ", group)
		calls[key]++
		if c.Status == "error" {
			failed[key]++
		}
	}
	return calls, failed
}

func TestStatsAreThoseOfAFilterInMemory(t *testing.T) {
	testutil.Long(t)
	record := written(t, 8, 3000)
	i, o := synced(t, record), readOracle(t, record)
	r := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		f, by := someFilter(r, 3000), anyOf(r, "", "tool", "plugin", "session", "status", "code")
		if by == "tool" { // which has more than ten names; the rest is another test
			by = "plugin"
		}
		if r.IntN(2) == 0 { // a time of minutes to decades, around some of the calls
			f.Since = day.Add(time.Duration(r.IntN(3000)) * time.Second).Add(-time.Duration(math.Exp(r.Float64()*42)) - 1)
		}
		if r.IntN(2) == 0 {
			f.Until = day.Add(time.Duration(r.IntN(3000)) * time.Second).Add(time.Duration(math.Exp(r.Float64() * 42)))
		}
		steps := anyOf(r, 1, 1, 2, 3, 1+r.IntN(100), 1+r.IntN(1000))
		s, err := i.Stats(t.Context(), f, StatsOptions{Steps: steps, GroupBy: by})
		if _, is := errors.AsType[*FilterError](err); is {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Times) == 0 {
			continue
		}
		end := s.Times[len(s.Times)-1].Add(s.Step)
		if len(s.Times) > steps || !f.Since.IsZero() && s.Times[0].After(f.Since) ||
			!f.Until.IsZero() && end.Before(f.Until.Truncate(time.Microsecond)) {
			t.Fatalf("%v to %v in %d steps: there are %d from %v to %v", f.Since, f.Until, steps, len(s.Times), s.Times[0], end)
		}
		wantCalls, wantErrors := counted(o, f, s, by)
		calls, failed := map[string]int64{}, map[string]int64{}
		for _, series := range s.Series {
			for step, at := range s.Times {
				key := fmt.Sprint(at.Unix(), " ", series.Name)
				if series.Calls[step] > 0 {
					calls[key] = series.Calls[step]
				}
				if series.Errors[step] > 0 {
					failed[key] = series.Errors[step]
				}
			}
		}
		if diff := cmp.Diff([]any{wantCalls, wantErrors}, []any{calls, failed}); diff != "" {
			t.Fatalf("%#v by %q (-want +got):\n%s", f, by, diff)
		}
	}
}

func TestStatsHaveTheMostFrequentGroupsAndTheRest(t *testing.T) {
	record := recordPath(t)
	l := openLog(t, record)
	for tool := range 15 {
		for n := range 20 - tool {
			appendAll(t, l, audit.Record{Time: day.Add(time.Duration(n) * time.Minute), Kind: audit.KindCall, Status: "ok",
				CallID: fmt.Sprint(tool, n), Tool: fmt.Sprintf("p__t%02d", tool), SessionID: fmt.Sprint("s", tool),
				DurationMS: float64(1 + n)})
		}
	}
	i := synced(t, record)
	for _, by := range []string{"tool", "session"} {
		s, err := i.Stats(t.Context(), Filter{Since: day, Until: day.Add(time.Hour)}, StatsOptions{Steps: 1, GroupBy: by})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, series := range s.Series {
			names = append(names, fmt.Sprint(series.Name, " ", series.Calls[0]))
		}
		first := map[string]string{"tool": "p__t00 20", "session": "s0 20"}[by]
		if len(names) != 11 || names[0] != first || names[10] != "other 40" || s.Calls != 195 {
			t.Errorf("%s: %q, %d calls", by, names, s.Calls)
		}
	}
}

func TestPercentilesAreWithinASixteenth(t *testing.T) {
	record := recordPath(t)
	l, r := openLog(t, record), rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	for n := range 1000 {
		took := time.Duration(math.Exp(r.NormFloat64()*3+12)) * time.Microsecond
		all = append(all, took)
		appendAll(t, l, audit.Record{Time: day, Kind: audit.KindCall, Status: "ok", CallID: fmt.Sprint(n),
			DurationMS: float64(took.Microseconds()) / 1000})
	}
	slices.Sort(all)
	s, err := synced(t, record).Stats(t.Context(), Filter{Since: day, Until: day.Add(time.Minute)}, StatsOptions{Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	for place, got := range map[int]time.Duration{499: s.Series[0].P50[0], 949: s.Series[0].P95[0],
		989: s.Series[0].P99[0]} {
		if want := all[place]; math.Abs(float64(got-want)) > float64(want)/16+1000 {
			t.Errorf("the duration at %d is %v, want %v", place, got, want)
		}
	}
}

func TestClassesOfDurationsCoverAll(t *testing.T) {
	for took := int64(0); took < 1<<40; took += 1 + took/1000 {
		class := classOf(took)
		if from, end := classStart(class), classStart(class+1); took < from || took >= end {
			t.Fatalf("%d is not in its class %d: %d to %d", took, class, from, end)
		}
	}
	found := map[int]int{}
	for _, token := range longer(100) {
		for class := range lastClass + 1 {
			for level := range 3 {
				if durationToken(level, class>>(3*level)) == token {
					found[class]++
				}
			}
		}
	}
	for class := range lastClass + 1 {
		if (found[class] == 1) != (class > 100) {
			t.Errorf("class %d is found %d times among those above 100", class, found[class])
		}
	}
}

func TestStatsRefusals(t *testing.T) {
	i := synced(t, written(t, 1, 20))
	for _, o := range []StatsOptions{{Steps: -1}, {Steps: 1001}, {GroupBy: "color"}} {
		_, err := i.Stats(t.Context(), Filter{}, o)
		if _, is := errors.AsType[*FilterError](err); !is {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s, err := i.Stats(t.Context(), Filter{Since: time.Now().Add(time.Hour)}, StatsOptions{})
	if err != nil || len(s.Times) != 0 || s.Calls != 0 {
		t.Errorf("no time has %+v, %v", s, err)
	}
	all := Filter{Since: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	s, err = i.Stats(t.Context(), all, StatsOptions{Steps: 40})
	if err != nil || len(s.Times) != 40 || s.Calls == 0 {
		t.Errorf("all centuries have %+v, %v", s, err)
	}
	_, err = i.Stats(t.Context(), all, StatsOptions{Steps: 10})
	if _, is := errors.AsType[*FilterError](err); !is {
		t.Errorf("steps of a thousand years: %v", err)
	}
}
