package corpus_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/plugins/edit/internal/corpus"
	"github.com/toolhost/toolhost/plugins/edit/internal/match"
)

// A result is what a matcher made of one case.
type result struct {
	corpus.Case
	got     []byte
	refusal string
	took    time.Duration
	verdict corpus.Verdict
	shown   bool // a refusal that another try could follow
	retried bool // and that succeeds when what it shows is copied
}

// play gives the cases to the matcher, several at a time.
func play(cases []corpus.Case, s match.Strictness, atATime int) []result {
	out := make([]result, len(cases))
	var g sync.WaitGroup
	for first := range atATime {
		g.Go(func() {
			for i := first; i < len(cases); i += atATime {
				out[i] = playOne(cases[i], s)
			}
		})
	}
	g.Wait()
	return out
}

func playOne(c corpus.Case, s match.Strictness) result {
	began := time.Now()
	p, err := match.NewText(c.Name, c.Data).Plan(match.Change{Old: c.Old, New: c.New, All: c.All, Strictness: s})
	r := result{Case: c, took: time.Since(began)}
	if err != nil {
		r.refusal = err.Error()
		if refusal, ok := errors.AsType[*match.Refusal](err); ok && s == match.Full {
			r.shown, r.retried = retry(&c, refusal)
		}
	} else {
		r.got = append([]byte{}, p.Apply(c.Data)...)
		r.refusal = fmt.Sprintf("pass %d %s", p.Pass, p.PassName)
	}
	if r.verdict = c.Judge(r.got); r.verdict == corpus.Correct {
		r.got = nil // it would only take memory
	}
	return r
}

// retry does what a model does that was refused: it takes the lines that are shown for its old_string. Due says that there is
// something to try: the file has a place, and nothing is done yet.
func retry(c *corpus.Case, r *match.Refusal) (due, ok bool) {
	if r.Kind == match.AlreadyApplied || r.Kind == match.Guard && r.Excerpt == "" {
		return false, false
	}
	for _, block := range blocks(r) {
		at := strings.Index(string(c.Data), block)
		if block == "" || at < 0 {
			continue
		}
		fresh := "// what shall be there\n"
		if start, end := c.Around(); c.Want == nil && c.Category == "stale_line" && (at > start || at+len(block) < end) {
			continue // another line
		}
		if c.Want != nil {
			rest := len(c.Data) - at - len(block)
			if len(c.Want) < at+rest || string(c.Want[:at]) != string(c.Data[:at]) || string(c.Want[len(c.Want)-rest:]) != string(c.Data[len(c.Data)-rest:]) {
				continue // another place
			}
			fresh = string(c.Want[at : len(c.Want)-rest])
		}
		p, err := match.NewText(c.Name, c.Data).Plan(match.Change{Old: block, New: fresh})
		if err == nil && (c.Want == nil || string(p.Apply(c.Data)) == string(c.Want)) {
			return true, true
		}
	}
	return true, false
}

// blocks are the runs of numbered lines that a refusal shows, without their numbers.
func blocks(r *match.Refusal) []string {
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(r.Excerpt, "\n"), "\n\n") {
		var lines []string
		for l := range strings.SplitSeq(block, "\n") {
			if _, text, ok := strings.Cut(l, "\t"); ok {
				lines = append(lines, text)
			}
		}
		out = append(out, strings.Join(lines, "\n"))
	}
	return out
}

// retries counts the refusals that can be followed, and those where copying what they show succeeds.
func retries(results []result) (due, ok int) {
	for i := range results {
		if results[i].shown {
			due++
		}
		if results[i].retried {
			ok++
		}
	}
	return due, ok
}

// A score counts verdicts.
type score struct{ cases, correct, sloppy, refused, wrong, harmful int }

func (s *score) add(v corpus.Verdict) {
	s.cases++
	switch v {
	case corpus.Correct:
		s.correct++
	case corpus.Sloppy:
		s.sloppy++
	case corpus.Refused:
		s.refused++
	case corpus.Harmful:
		s.harmful++
	default:
		s.wrong++
	}
}

func (s *score) percent(n int) float64 { return 100 * float64(n) / float64(max(s.cases, 1)) }

func (s *score) row(w io.Writer, name string, kinds string) {
	fmt.Fprintf(w, "%-18s %6d %8.1f %8.1f %8.1f %8.1f %8.1f  %s\n", name, s.cases,
		s.percent(s.correct), s.percent(s.sloppy), s.percent(s.refused), s.percent(s.harmful), s.percent(s.wrong), kinds)
}

func scoreOf(results []result, fits func(*result) bool) *score {
	var s score
	for i := range results {
		if fits(&results[i]) {
			s.add(results[i].verdict)
		}
	}
	return &s
}

func all(*result) bool        { return true }
func toEdit(r *result) bool   { return !r.Refuse() }
func toRefuse(r *result) bool { return r.Refuse() }

// table prints the scores: one line a category, then the totals and the time that a plan takes. What must be refused
// counts as correct when it is.
func table(w io.Writer, results, exact []result) {
	fmt.Fprintf(w, "%-18s %6s %8s %8s %8s %8s %8s\n", "category", "cases", "success", "sloppy", "refused", "HARMFUL", "WRONG")
	var names []string
	for i := range results {
		if name := results[i].Category; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		of := func(r *result) bool { return r.Category == name }
		scoreOf(results, of).row(w, name, kinds(results, of))
	}
	fmt.Fprintln(w)
	scoreOf(results, toEdit).row(w, "to edit", kinds(results, toEdit))
	scoreOf(results, toRefuse).row(w, "to refuse", kinds(results, toRefuse))
	scoreOf(results, all).row(w, "all", "")
	scoreOf(exact, all).row(w, "all, exact only", kinds(exact, all))
	due, ok := retries(results)
	fmt.Fprintf(w, "\n%d refusals have a next try; copying what they show as old_string succeeds for %d, %.1f %%\n", due, ok, 100*float64(ok)/float64(max(1, due)))
	p50, p99, most := times(results)
	fmt.Fprintf(w, "\na plan takes p50 %s, p99 %s, at most %s\n", p50, p99, most)
}

// kinds tells the kinds of wrong edits.
func kinds(results []result, fits func(*result) bool) string {
	count := map[corpus.Verdict]int{}
	for i := range results {
		if fits(&results[i]) {
			count[results[i].verdict]++
		}
	}
	var out []string
	for v := corpus.WrongPlace; v <= corpus.WrongEdit; v++ {
		if count[v] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return strings.Join(out, ", ")
}

func times(results []result) (p50, p99, most time.Duration) {
	var took []time.Duration
	for i := range results {
		took = append(took, results[i].took)
	}
	slices.Sort(took)
	n := len(took)
	return took[n/2].Round(time.Microsecond), took[n*99/100].Round(time.Microsecond), took[n-1].Round(time.Microsecond)
}

func showAll(w io.Writer, results []result) {
	for i := range results {
		show(w, &results[i])
	}
}

// show tells a case in full: who reads it has to see white space.
func show(w io.Writer, r *result) {
	fmt.Fprintf(w, "\n=== %s: %s (%s; %s)\n%s\n", r.Category, r.verdict, r.Noise, r.Name, r.refusal)
	fmt.Fprintf(w, "--- old_string\n%s--- new_string\n%s", visible(r.Old), visible(r.New))
	if r.got != nil && r.Want != nil {
		fmt.Fprintf(w, "--- difference: - as it should be, + as it is\n%s", difference(string(r.Want), string(r.got)))
	} else {
		want := r.Want
		if r.got != nil {
			want = r.got
		}
		fmt.Fprintf(w, "--- difference: - the file, + the file after the edit\n%s", difference(string(r.Data), string(want)))
	}
}

var marks = strings.NewReplacer("\t", "→", "\r", "␍", "\u00a0", "⍽", "\u200b", "⁞")

func visible(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		l, ended := strings.CutSuffix(l, "\n")
		trimmed := strings.TrimRight(l, " ")
		b.WriteString(marks.Replace(trimmed) + strings.Repeat("·", len(l)-len(trimmed)))
		if !ended {
			b.WriteString("⌟")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// difference gives the lines from the first to the last that differ, with two around.
func difference(want, got string) string {
	a, b := slices.Collect(strings.Lines(want)), slices.Collect(strings.Lines(got))
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	end := 0
	for end < min(len(a), len(b))-n && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	part := func(mark string, lines []string) {
		for l := range strings.Lines(visible(strings.Join(lines, ""))) {
			out.WriteString(mark + l)
		}
	}
	part("  ", a[max(0, n-2):n])
	part("- ", a[n:len(a)-end])
	part("+ ", b[n:len(b)-end])
	part("  ", a[len(a)-end:len(a)-max(0, end-2)])
	return out.String()
}

// gate says what a set of results fails on; "" for nothing.
func gate(results []result) string {
	s := scoreOf(results, all)
	switch {
	case s.wrong > 0:
		return fmt.Sprintf("%d of %d edits are wrong, none may be", s.wrong, s.cases)
	case s.percent(s.harmful) > 0.5:
		return fmt.Sprintf("%d of %d edits do harm by the letter, at most 0.5 %% may", s.harmful, s.cases)
	case s.percent(s.correct) < 97:
		return fmt.Sprintf("success is %.1f %%, it must be 97 at least", s.percent(s.correct))
	}
	if due, ok := retries(results); due > 20 && ok*100 < 90*due {
		return fmt.Sprintf("copying what refusals show succeeds for %d of %d, it must for 90 %%", ok, due)
	}
	for _, name := range corpus.Families() {
		f := scoreOf(results, func(r *result) bool { return r.Category == name })
		if missed := f.cases - f.correct; missed > max(1, f.cases*3/100) {
			return fmt.Sprintf("%d of %d cases of %s are missed, at most 3 %% may be", missed, f.cases, name)
		}
	}
	return ""
}

// worst gives the first results to look at: wrong edits first, then other misses.
func worst(results []result, most int) []result {
	var out []result
	for _, fits := range []func(corpus.Verdict) bool{
		corpus.Verdict.Wrong,
		func(v corpus.Verdict) bool { return v == corpus.Harmful },
		func(v corpus.Verdict) bool { return v == corpus.Sloppy || v == corpus.Refused },
	} {
		for i := range results {
			if fits(results[i].verdict) && len(out) < most {
				out = append(out, results[i])
			}
		}
	}
	return out
}
