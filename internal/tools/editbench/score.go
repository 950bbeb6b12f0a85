package editbench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Editor makes the edit of a case, and no more than that: Want is not for it to see. Several goroutines call it at
// once.
type Editor func(c *Case) Answer

// An Answer is what an editor made of an edit.
type Answer struct {
	After []byte // the file afterwards; nil when the edit was refused
	Note  string // the pass that found the place, or why the edit was refused
	// Follow says that a model can follow the refusal: the place is not known yet, or the file shows what to copy.
	Follow bool
	// Excerpt are the lines of the file that a refusal shows, each with its number and a tab before it; blocks of lines
	// are separated by blank lines.
	Excerpt string
}

// A Result is an answer to a case with its verdict.
type Result struct {
	Case
	Answer
	Verdict  Verdict
	Took     time.Duration
	Followed bool // copying what the refusal shows as old_string succeeds
}

// Run gives the cases to an editor, atATime of them at once. With follow it also does what a refusal says.
func Run(cases []Case, edit Editor, follow bool, atATime int) []Result {
	out := make([]Result, len(cases))
	var g sync.WaitGroup
	for first := range atATime {
		g.Go(func() {
			for i := first; i < len(cases); i += atATime {
				out[i] = runOne(cases[i], edit, follow)
			}
		})
	}
	g.Wait()
	return out
}

func runOne(c Case, edit Editor, follow bool) Result {
	began := time.Now()
	r := Result{Case: c, Answer: edit(&c)}
	r.Took = time.Since(began)
	if r.Follow = r.Follow && follow; r.Follow {
		r.Followed = c.copyShown(r.Excerpt, edit)
	}
	if r.Verdict = c.Judge(r.After); r.Verdict == Correct {
		r.After = nil // it would only take memory
	}
	return r
}

// copyShown does what a model does after a refusal: it gives a block of the lines that are shown as old_string.
func (c *Case) copyShown(excerpt string, edit Editor) bool {
	for _, block := range blocks(excerpt) {
		at := strings.Index(string(c.Data), block)
		if block == "" || at < 0 {
			continue
		}
		fresh := "// what shall be there\n"
		if c.Want == nil && c.Category == "stale_line" && (at > c.start || at+len(block) < c.end) {
			continue // another line
		}
		if c.Want != nil {
			rest := len(c.Data) - at - len(block)
			if len(c.Want) < at+rest || string(c.Want[:at]) != string(c.Data[:at]) ||
				string(c.Want[len(c.Want)-rest:]) != string(c.Data[len(c.Data)-rest:]) {
				continue // another place
			}
			fresh = string(c.Want[at : len(c.Want)-rest])
		}
		got := edit(&Case{Name: c.Name, Data: c.Data, Old: block, New: fresh}).After
		if got != nil && (c.Want == nil || string(got) == string(c.Want)) {
			return true
		}
	}
	return false
}

// blocks are the runs of numbered lines of an excerpt, without their numbers.
func blocks(excerpt string) []string {
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(excerpt, "\n"), "\n\n") {
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
func retries(results []Result) (due, ok int) {
	for i := range results {
		if results[i].Follow {
			due++
		}
		if results[i].Followed {
			ok++
		}
	}
	return due, ok
}

// A score counts verdicts.
type score struct{ cases, correct, sloppy, refused, wrong, harmful int }

func (s *score) add(v Verdict) {
	s.cases++
	switch v {
	case Correct:
		s.correct++
	case Sloppy:
		s.sloppy++
	case Refused:
		s.refused++
	case Harmful:
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

func scoreOf(results []Result, fits func(*Result) bool) *score {
	var s score
	for i := range results {
		if fits(&results[i]) {
			s.add(results[i].Verdict)
		}
	}
	return &s
}

func all(*Result) bool        { return true }
func toEdit(r *Result) bool   { return !r.Refuse() }
func toRefuse(r *Result) bool { return r.Refuse() }

// Table prints the scores: one line a category, then the totals and the time that an edit takes. What must be refused
// counts as correct when it is.
func Table(w io.Writer, results, exact []Result) {
	fmt.Fprintf(w, "%-18s %6s %8s %8s %8s %8s %8s\n", "category", "cases", "success", "sloppy", "refused", "HARMFUL",
		"WRONG")
	var names []string
	for i := range results {
		if name := results[i].Category; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		of := func(r *Result) bool { return r.Category == name }
		scoreOf(results, of).row(w, name, kinds(results, of))
	}
	fmt.Fprintln(w)
	scoreOf(results, toEdit).row(w, "to edit", kinds(results, toEdit))
	scoreOf(results, toRefuse).row(w, "to refuse", kinds(results, toRefuse))
	scoreOf(results, all).row(w, "all", "")
	scoreOf(exact, all).row(w, "all, exact only", kinds(exact, all))
	due, ok := retries(results)
	fmt.Fprintf(w, "\n%d refusals have a next try; copying what they show as old_string succeeds for %d, %.1f %%\n", due,
		ok, 100*float64(ok)/float64(max(1, due)))
	p50, p99, most := times(results)
	fmt.Fprintf(w, "\na plan takes p50 %s, p99 %s, at most %s\n", p50, p99, most)
}

// kinds returns the kinds of wrong edits.
func kinds(results []Result, fits func(*Result) bool) string {
	count := map[Verdict]int{}
	for i := range results {
		if fits(&results[i]) {
			count[results[i].Verdict]++
		}
	}
	var out []string
	for v := WrongPlace; v <= WrongEdit; v++ {
		if count[v] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return strings.Join(out, ", ")
}

func times(results []Result) (p50, p99, most time.Duration) {
	var took []time.Duration
	for i := range results {
		took = append(took, results[i].Took)
	}
	slices.Sort(took)
	n := len(took)
	return took[n/2].Round(time.Microsecond), took[n*99/100].Round(time.Microsecond), took[n-1].Round(time.Microsecond)
}

// Show prints results in full, with white space made visible.
func Show(w io.Writer, results []Result) {
	for i := range results {
		show(w, &results[i])
	}
}

func show(w io.Writer, r *Result) {
	fmt.Fprintf(w, "\n=== %s: %s (%s; %s)\n%s\n", r.Category, r.Verdict, r.Noise, r.Name, r.Note)
	fmt.Fprintf(w, "--- old_string\n%s--- new_string\n%s", visible(r.Old), visible(r.New))
	if r.After != nil && r.Want != nil {
		fmt.Fprintf(w, "--- difference: - as it should be, + as it is\n%s", lineDiff(string(r.Want), string(r.After)))
	} else {
		want := r.Want
		if r.After != nil {
			want = r.After
		}
		fmt.Fprintf(w, "--- difference: - the file, + the file after the edit\n%s", lineDiff(string(r.Data), string(want)))
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

// lineDiff returns the lines from the first to the last that differ, with two around.
func lineDiff(want, got string) string {
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

// Harm says what is wrong with a set of results as far as edits did harm; "" for nothing.
func Harm(results []Result) string {
	s := scoreOf(results, all)
	switch {
	case s.wrong > 0:
		return fmt.Sprintf("%d of %d edits are wrong, none may be", s.wrong, s.cases)
	case s.percent(s.harmful) > 0.5:
		return fmt.Sprintf("%d of %d edits do harm by the letter, at most 0.5 %% may", s.harmful, s.cases)
	}
	return ""
}

// Gate says which of the limits a set of results at full strictness breaks; "" for none.
func Gate(results []Result) string {
	if fault := Harm(results); fault != "" {
		return fault
	}
	if s := scoreOf(results, all); s.percent(s.correct) < 97 {
		return fmt.Sprintf("success is %.1f %%, it must be 97 at least", s.percent(s.correct))
	}
	if due, ok := retries(results); due > 20 && ok*100 < 90*due {
		return fmt.Sprintf("copying what refusals show succeeds for %d of %d, it must for 90 %%", ok, due)
	}
	for _, name := range families {
		f := scoreOf(results, func(r *Result) bool { return r.Category == name })
		if missed := f.cases - f.correct; missed > max(1, f.cases*3/100) {
			return fmt.Sprintf("%d of %d cases of %s are missed, at most 3 %% may be", missed, f.cases, name)
		}
	}
	return ""
}

// Worst returns the first results to look at: wrong edits first, then other misses.
func Worst(results []Result, most int) []Result {
	var out []Result
	for _, fits := range []func(Verdict) bool{
		Verdict.Wrong,
		func(v Verdict) bool { return v == Harmful },
		func(v Verdict) bool { return v == Sloppy || v == Refused },
	} {
		for i := range results {
			if fits(results[i].Verdict) && len(out) < most {
				out = append(out, results[i])
			}
		}
	}
	return out
}
