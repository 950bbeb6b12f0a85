package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// StatsOptions say how calls are counted.
type StatsOptions struct {
	// Steps is at most how many steps the time is divided into, 60 when it is 0, at most 1000. A step is 1, 2, 5, 10 or
	// 30 minutes, 1, 2, 3, 6 or 12 hours, or 1, 2, 7, 14, 28, 91 or 364 days, and begins at a multiple of that (UTC): the
	// first and the last one are counted whole. Where the steps are too few for that, each has as many days as it takes,
	// from the first day on.
	Steps int
	// GroupBy is "" or one of tool, plugin, session, status, code: a series for each of the ten most frequent values, and
	// one named other for the rest.
	GroupBy string
}

// Stats are counts of calls over time.
type Stats struct {
	// Times are when the steps begin, and Step is how long each is.
	Times  []time.Time
	Step   time.Duration
	Series []Series
	// Calls, Errors and Unfinished are over all steps.
	Calls, Errors, Unfinished int64
}

// A Series has a value for each step.
type Series struct {
	// Name is the value of GroupBy, "" without one.
	Name          string
	Calls, Errors []int64
	// P50, P95 and P99 are of the durations of calls that have ended, at most a sixteenth off, 0 without such calls.
	P50, P95, P99 []time.Duration
}

const (
	defaultSteps = 60
	maxSteps     = 1000
	maxGroups    = 10
	// maxCounted is how many calls are counted one by one, for filters that the counts in the index do not know.
	maxCounted = 75_000
)

var stepSizes = func() (out []int64) {
	minute := int64(time.Minute / time.Microsecond)
	for _, n := range []int64{1, 2, 5, 10, 30, 60, 120, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440, 28 * 1440,
		91 * 1440, 364 * 1440} {
		out = append(out, n*minute)
	}
	return out
}()

// Stats counts the calls that match, by the times when they are listed. Without Since the time begins with the oldest
// call, without Until it ends now. A FilterError is also for steps of over 292 years, and for more than 75,000 calls
// that match a filter by session, caller, effect, text, duration or the like, which the index has no counts of.
func (i *Index) Stats(ctx context.Context, f Filter, o StatsOptions) (*Stats, error) {
	if o.Steps < 0 || o.Steps > maxSteps {
		return nil, &FilterError{fmt.Sprintf("there can be 1 to %d steps, not %d", maxSteps, o.Steps)}
	}
	o.Steps = cmp.Or(o.Steps, defaultSteps)
	if !slices.Contains([]string{"", "tool", "plugin", "session", "status", "code"}, o.GroupBy) {
		return nil, &FilterError{fmt.Sprintf("calls cannot be grouped by %q; possible are tool, plugin, session, status "+
			"and code", o.GroupBy)}
	}
	var out *Stats
	err := i.onSnapshot(ctx, func(v *view) (err error) {
		out, err = v.stats(ctx, f, o)
		return err
	})
	return out, err
}

func (v *view) stats(ctx context.Context, f Filter, o StatsOptions) (*Stats, error) {
	if err := errors.Join(f.check(ctx, v.db), v.bound(ctx, &f)); err != nil {
		return nil, err
	}
	n := &counter{options: o, groups: map[string]*group{}}
	if f.Since.UnixMicro() >= f.Until.UnixMicro() {
		return n.stats(), nil
	}
	if !n.divide(f.Since.UnixMicro(), f.Until.UnixMicro()) {
		return nil, &FilterError{fmt.Sprintf("the time is too long for %d steps of at most 292 years; choose a shorter time",
			o.Steps)}
	}
	f.Since, f.Until = time.UnixMicro(n.begin), time.UnixMicro(n.begin+n.step*int64(n.steps))
	var err error
	if n.names, err = v.allSeries(ctx); err != nil {
		return nil, err
	}
	if o.GroupBy != "session" && f.countable() {
		err = n.countSteps(ctx, v, &f)
	} else {
		err = n.countCalls(ctx, v, &f)
	}
	if err != nil {
		return nil, err
	}
	return n.stats(), nil
}

// bound sets the times that the filter leaves open.
func (v *view) bound(ctx context.Context, f *Filter) error {
	if f.Until.IsZero() {
		f.Until = time.Now()
	}
	if !f.Since.IsZero() {
		return nil
	}
	var low *int64
	if err := v.db.QueryRowContext(ctx, "SELECT min(low) FROM blocks").Scan(&low); err != nil {
		return err
	}
	f.Since = f.Until
	if low != nil {
		f.Since = time.UnixMicro(*low)
	}
	return nil
}

// countable reports whether the counts in the index tell the calls that match.
func (f *Filter) countable() bool {
	rest := *f
	rest.Tool, rest.Plugin, rest.Status, rest.Codes, rest.Since, rest.Until = "", "", "", nil, time.Time{}, time.Time{}
	return rest.SessionID == "" && rest.Caller == "" && rest.Workdir == "" && rest.CallID == "" && rest.ViaCallID == "" &&
		rest.Name == "" && rest.Outcome == "" && rest.Rule == "" && rest.ApprovalAnswer == "" && len(rest.Effects) == 0 &&
		rest.AtLeast == 0 && rest.Text == ""
}

func (v *view) allSeries(ctx context.Context) (map[int64]series, error) {
	out := map[int64]series{}
	var id int64
	var s series
	err := eachRow(ctx, v.db, []any{&id, &s.plugin, &s.tool, &s.status, &s.code}, func() error {
		out[id] = s
		return nil
	}, "SELECT id, plugin, tool, status, code FROM series")
	return out, err
}

type counter struct {
	options     StatsOptions
	begin, step int64 // microseconds
	steps       int
	names       map[int64]series
	groups      map[string]*group
	all         Stats // its totals
}

// A group has counts by step, and of the calls that have ended also by class of duration.
type group struct {
	calls, errors []int64
	classes       []map[int]int64
	total         int64
}

// divide chooses steps that have all of the time. It reports whether their length is a time.Duration.
func (n *counter) divide(since, until int64) bool {
	for _, size := range stepSizes {
		n.step, n.begin = size, floorDiv(since, size)*size
		if steps := floorDiv(until-1-n.begin, size) + 1; steps <= int64(n.options.Steps) {
			n.steps = int(steps)
			return true
		}
	}
	day := widths[len(widths)-1]
	first, days := floorDiv(since, day), floorDiv(until-1, day)-floorDiv(since, day)+1
	each := (days + int64(n.options.Steps) - 1) / int64(n.options.Steps)
	n.begin, n.step, n.steps = first*day, each*day, int((days+each-1)/each)
	return n.step <= math.MaxInt64/int64(time.Microsecond)
}

// add counts calls of a series; key is the group when the series does not tell it.
func (n *counter) add(at int64, of series, class int, calls int64, key string) {
	switch n.options.GroupBy {
	case "tool":
		key = of.tool
	case "plugin":
		key = of.plugin
	case "status":
		key = of.status
	case "code":
		key = of.code
	}
	g := n.groups[key]
	if g == nil {
		g = newGroup(n.steps)
		n.groups[key] = g
	}
	step := int((at - n.begin) / n.step)
	g.total += calls
	g.calls[step] += calls
	n.all.Calls += calls
	switch of.status {
	case statusUnfinished:
		n.all.Unfinished += calls
		return
	case "ok":
	default:
		g.errors[step] += calls
		n.all.Errors += calls
	}
	g.addClass(step, class, calls)
}

func newGroup(steps int) *group {
	return &group{calls: make([]int64, steps), errors: make([]int64, steps), classes: make([]map[int]int64, steps)}
}

func (g *group) addClass(step, class int, calls int64) {
	if g.classes[step] == nil {
		g.classes[step] = map[int]int64{}
	}
	g.classes[step][class] += calls
}

func (n *counter) countSteps(ctx context.Context, v *view, f *Filter) error {
	width := widths[0]
	for _, w := range widths {
		if n.step%w == 0 {
			width = w
		}
	}
	selected, err := f.series(ctx, v, n.names)
	if err != nil {
		return err
	}
	end := n.begin + n.step*int64(n.steps)
	var step int64
	var data []byte
	return eachRow(ctx, v.db, []any{&step, &data}, func() error {
		return decodeCells(data, func(k cellKey, calls int64) {
			if selected[k.series] {
				n.add(step*width, n.names[k.series], k.class, calls, "")
			}
		})
	}, "SELECT step, cells FROM steps WHERE width = ? AND step >= ? AND step < ?", width, n.begin/width, end/width)
}

// series returns those that the filter selects.
func (f *Filter) series(ctx context.Context, v *view, all map[int64]series) (map[int64]bool, error) {
	tools, err := f.tools(ctx, v.db)
	if err != nil {
		return nil, err
	}
	out := map[int64]bool{}
	for id, s := range all {
		out[id] = (f.Tool == "" || f.Tool == "*" || slices.Contains(tools, s.tool)) &&
			(f.Plugin == "" || f.Plugin == s.plugin) && (f.Status == "" || f.Status == s.status) &&
			(len(f.Codes) == 0 || slices.Contains(f.Codes, s.code))
	}
	return out, nil
}

func (n *counter) countCalls(ctx context.Context, v *view, f *Filter) error {
	q, err := f.compile(ctx, v.db)
	if err != nil {
		return err
	}
	spans, err := q.spans(ctx, v.db, &v.position)
	if err != nil {
		return err
	}
	type counted struct{ at, took, series, session, id int64 }
	var all []counted
	var c counted
	columns, to := "c.time, c.took, c.series", []any{&c.at, &c.took, &c.series}
	if n.options.GroupBy == "session" { // each column takes a fifth of the time
		columns, to = columns+", c.session, c.id", append(to, &c.session, &c.id)
	}
	totals, example := map[int64]int64{}, map[int64]foundRow{}
	for _, s := range spans {
		text, args := q.sql(columns, true, q.match, q.took, s)
		err := eachRow(ctx, v.db, to, func() error {
			if totals[c.session]++; totals[c.session] == 1 {
				example[c.session] = foundRow{number: c.id}
			}
			all = append(all, c)
			return nil
		}, text+" LIMIT ?", append(args, maxCounted+1-len(all))...)
		if err != nil {
			return err
		}
		if len(all) > maxCounted {
			return &FilterError{fmt.Sprintf("more than %d calls match, and the index has no counts for this filter; choose a "+
				"shorter time", maxCounted)}
		}
	}
	names := map[int64]string{}
	if n.options.GroupBy == "session" {
		if names, err = v.sessionNames(ctx, totals, example); err != nil {
			return err
		}
	}
	for _, c := range all {
		n.add(c.at, n.names[c.series], classOf(c.took), 1, names[c.session])
	}
	return nil
}

const (
	// otherGroups is the series of all groups but the most frequent ones.
	otherGroups = "other"
	// restKey stands for sessions that are not among the most frequent ones.
	restKey = "\x00"
)

// sessionNames reads the names of the most frequent sessions from one call of each.
func (v *view) sessionNames(ctx context.Context, totals map[int64]int64, example map[int64]foundRow) (map[int64]string,
	error) {
	keys := slices.SortedFunc(maps.Keys(totals), func(a, b int64) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(example[a].number, example[b].number))
	})
	out := map[int64]string{}
	for n, key := range keys {
		if n >= maxGroups {
			out[key] = restKey
			continue
		}
		row := example[key]
		err := v.db.QueryRowContext(ctx, "SELECT lines FROM calls WHERE id = ?", row.number).Scan(&row.lines)
		if err != nil {
			return nil, err
		}
		c, err := v.call(row, func([]byte, *audit.Record) {})
		if err != nil {
			return nil, err
		}
		out[key] = c.SessionID
	}
	return out, nil
}

func (n *counter) stats() *Stats {
	out := &n.all
	out.Step = time.Duration(n.step) * time.Microsecond
	for step := range n.steps {
		out.Times = append(out.Times, time.UnixMicro(n.begin+int64(step)*n.step).UTC())
	}
	names := slices.SortedFunc(maps.Keys(n.groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.groups[b].total, n.groups[a].total), cmp.Compare(a, b))
	})
	var rest *group
	for _, name := range names {
		g := n.groups[name]
		if len(out.Series) < maxGroups && name != restKey {
			out.Series = append(out.Series, g.series(name))
			continue
		}
		if rest == nil {
			rest = newGroup(n.steps)
		}
		rest.merge(g)
	}
	if rest != nil {
		out.Series = append(out.Series, rest.series(otherGroups))
	}
	if len(out.Series) == 0 && n.options.GroupBy == "" {
		out.Series = []Series{newGroup(n.steps).series("")}
	}
	return out
}

func (g *group) merge(other *group) {
	for step := range g.calls {
		g.calls[step] += other.calls[step]
		g.errors[step] += other.errors[step]
		for class, calls := range other.classes[step] {
			g.addClass(step, class, calls)
		}
	}
}

func (g *group) series(name string) Series {
	s := Series{Name: name, Calls: g.calls, Errors: g.errors}
	for _, classes := range g.classes {
		p := percentiles(classes, 0.50, 0.95, 0.99)
		s.P50, s.P95, s.P99 = append(s.P50, p[0]), append(s.P95, p[1]), append(s.P99, p[2])
	}
	return s
}

// percentiles returns the durations at the given quantiles.
func percentiles(classes map[int]int64, shares ...float64) []time.Duration {
	out := make([]time.Duration, len(shares))
	total := int64(0)
	for _, n := range classes {
		total += n
	}
	seen, next := int64(0), 0
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		seen += classes[class]
		for next < len(shares) && seen >= int64(math.Ceil(shares[next]*float64(total))) {
			out[next] = classMiddle(class)
			next++
		}
	}
	return out
}
