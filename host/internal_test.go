package host

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/sdk"
)

// The files of results have a limit together: the oldest go, and the newest stays however large it is.
func TestStoredResultsAreLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes []int64
		left  int
	}{
		"many":       {make([]int64, maxStoredFiles+50), maxStoredFiles},
		"large":      {[]int64{maxStored / 2, maxStored / 2, 1}, 2},
		"too large":  {[]int64{1, 1, 2 * maxStored}, 1},
		"within":     {[]int64{maxStored - 2, 1, 1}, 3},
		"again less": {[]int64{2 * maxStored, 1, 1}, 2},
	} {
		s, dir := &resultStore{}, t.TempDir()
		for i, size := range c.sizes {
			path := filepath.Join(dir, fmt.Sprintf("%05d", i))
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s.add(stored{path, size})
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != c.left || left[len(left)-1].Name() != fmt.Sprintf("%05d", len(c.sizes)-1) {
			t.Errorf("%s: %d files are left, %v", name, len(left), err)
		}
	}
}

// A call that may have run is not to be made again without a look, whether or not it may work then.
func TestAdviceAboutRetryableErrors(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[sdk.Outcome]string{sdk.OutcomeNotSent: "Make the call again in a moment.",
		sdk.OutcomeUnknown: ""} {
		e := (&snapshot{options: Options{ErrorMessageLimit: 100}}).shapeError(
			&sdk.Error{Code: sdk.CodeTool, Name: "Busy", Message: "busy", Retryable: true, Outcome: outcome})
		if e.Suggestion != want {
			t.Errorf("%s: %q", outcome, e.Suggestion)
		}
	}
}

func TestCutTextProperties(t *testing.T) {
	t.Parallel()
	const note = "... (truncated)"
	rapid.Check(t, func(t *rapid.T) {
		s, limit := anyText(t), rapid.IntRange(0, 50).Draw(t, "limit")
		out := cutText(s, limit)
		if utf8.RuneCountInString(s) <= limit {
			if out != s {
				t.Fatalf("%q became %q", s, out)
			}
			return
		}
		head, cut := strings.CutSuffix(out, note)
		if !cut || !strings.HasPrefix(s, head) || utf8.RuneCountInString(head) != limit {
			t.Fatalf("%q became %q", s, out)
		}
		if utf8.ValidString(s) && !utf8.ValidString(out) {
			t.Fatalf("%q became invalid: %q", s, out)
		}
	})
}

func TestMiddleCutProperties(t *testing.T) {
	t.Parallel()
	const note = "NOTE"
	rapid.Check(t, func(t *rapid.T) {
		s := anyText(t)
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		if len(s) <= limit { // then it is not cut
			return
		}
		out := middleCut(s, limit, note)
		head, rest, _ := strings.Cut(out, "\n[... ")
		if !strings.HasPrefix(s, head) {
			t.Fatalf("%q became %q", s, out)
		}
		_, tail, _ := strings.Cut(rest, "NOTE ...]\n")
		if !strings.HasSuffix(s, tail) || len(head)+len(tail) > limit {
			t.Fatalf("%q, at most %d bytes, became %q", s, limit, out)
		}
		if utf8.ValidString(s) && (!utf8.ValidString(out) || len(head)+len(tail) < limit-2*(utf8.UTFMax-1)) {
			t.Fatalf("%q, at most %d bytes, became %q", s, limit, out)
		}
	})
}

// anyText draws text of all widths without the note's own marks, or bytes that are no text at all.
func anyText(t *rapid.T) string {
	if rapid.Bool().Draw(t, "bytes") {
		return strings.ReplaceAll(string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), "\n", "")
	}
	return rapid.StringOfN(rapid.SampledFrom([]rune("aé日😀")), -1, 200, -1).Draw(t, "text")
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	cases := map[string]string{"c-1": "c-1", "../../etc/passwd": "______etc_passwd", "a\x00b": "a_b", "é": "_", "": "",
		"a*b":                    "a_b",
		strings.Repeat("x", 200): strings.Repeat("x", 100)}
	for id, want := range cases {
		if got := safeName(id); got != want {
			t.Errorf("%q became %q, want %q", id, got, want)
		}
	}
}

func TestGlobOfPlugin(t *testing.T) {
	t.Parallel()
	cases := []struct {
		glob            string
		reaches, covers bool // the plugin "ab"
	}{
		{"*", true, true}, {"**", true, true}, {"a*", true, true}, {"ab__*", true, true}, {"ab__**", true, true},
		{"??*", true, true},
		{`\a[b-c]_?*`, true, true}, {"[^x]*", true, true},
		{"ab__x", true, false}, {"ab__?*", true, false}, {"ab__x*", true, false}, {"*x", true, false},
		{"a*b__x", true, false}, {"a*[b]", true, false},
		{"", false, false}, {"ab", false, false}, {"ab__", true, false}, {"abc__*", false, false}, {"b*", false, false},
		{"[^a]*", false, false},
		{"ab_x*", false, false}, {"ab-*", false, false}, {`ab\[*`, false, false}, {"???", false, false},
	}
	for _, c := range cases {
		if reaches, covers := globReaches(c.glob, "ab"), globCovers(c.glob, "ab"); reaches != c.reaches ||
			covers != c.covers {
			t.Errorf("%q: reaches %t, covers %t; want %t, %t", c.glob, reaches, covers, c.reaches, c.covers)
		}
	}
}

// A glob that matches a name reaches its plugin; one that covers a plugin matches all its names.
func TestGlobsAndNames(t *testing.T) {
	t.Parallel()
	steps := rapid.SampledFrom([]string{"a", "b", "_", "__", "-", "*", "?", "[a-b]", "[^a]", `[\]a]`, `\a`, `\_`, "ab__"})
	globs := rapid.Map(rapid.SliceOfN(steps, 0, 8), func(s []string) string { return strings.Join(s, "") })
	plugins, tools := rapid.StringMatching(`[ab][ab-]{0,3}`), rapid.StringMatching(`[ab][ab_-]{0,4}`)
	rapid.Check(t, func(r *rapid.T) {
		glob, plugin, tool := globs.Draw(r, "glob"), plugins.Draw(r, "plugin"), tools.Draw(r, "tool")
		matched, err := path.Match(glob, plugin+"__"+tool)
		switch {
		case err != nil:
			r.Fatalf("%q: %s", glob, err)
		case matched && !globReaches(glob, plugin):
			r.Errorf("%q matches %s__%s, and does not reach %s", glob, plugin, tool, plugin)
		case !matched && globCovers(glob, plugin):
			r.Errorf("%q does not match %s__%s, and covers %s", glob, plugin, tool, plugin)
		}
	})
}

// A busy host gets its ballast, unless the embedder has set how the collector runs.
func TestBallast(t *testing.T) {
	has := func() bool {
		runtime.GC() // of the last one
		var h Host
		h.runs.Store(ballastCalls - 1)
		h.newRunID()
		return h.ballast.Load() != nil
	}
	if !has() {
		t.Error("a busy host has none")
	}
	func() {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
		if has() {
			t.Error("there is one beside another percentage")
		}
	}()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	if has() {
		t.Error("there is one beside a limit of memory")
	}
}

// A host without providers has no step for telemetry, and its stages cost a call no allocation.
func TestNoTelemetryCostsNothing(t *testing.T) {
	h := &snapshot{Host: &Host{}}
	next := func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }
	if reflect.ValueOf(h.telemetry(next)).Pointer() != reflect.ValueOf(next).Pointer() {
		t.Error("there is a step for telemetry")
	}
	c := &Call{callState: &callState{snapshot: h}}
	ctx := t.Context()
	allocations := testing.AllocsPerRun(100, func() {
		for s := range stageNames {
			_, run := c.enter(ctx, stage(s))
			run.end(nil, time.Millisecond)
		}
		_, run := c.enterStart(ctx, "plugin")
		run.end(nil, 0)
	})
	if allocations > 0 {
		t.Errorf("the stages of a call make %v allocations", allocations)
	}
}

func TestShownLimits(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]string{
		1_999_512_087: "2s", 999_812_345: "1s", 299_912_345: "300ms", 3_999_996_987: "4s", 2 * time.Second: "2s", 1234 * time.Millisecond: "1.234s",
		300 * time.Millisecond: "300ms", 90 * time.Second: "1m30s", time.Hour: "1h0m0s", 1700_345_678: "1.7s", 1: "1ns",
	} {
		if got := shownLimit(limit).String(); got != want {
			t.Errorf("%d is shown as %s, not %s", limit, got, want)
		}
	}
}

// The reason of a rejection goes to the model twice: what an approver gives is cut in both places.
func TestRejectionIsShort(t *testing.T) {
	t.Parallel()
	e := rejected(&Call{Tool: "p__t"}, No(strings.Repeat("r", 1<<20)))
	if most := maxRejectionReason + 200; len(e.Message) > most || len(e.Details) > most {
		t.Errorf("the message has %d bytes, the details %d", len(e.Message), len(e.Details))
	}
}

// A rate is written in the unit in which a person has written it.
func TestRateText(t *testing.T) {
	for rate, want := range map[float64]string{2: "2 calls a second", 2.5: "2.5 calls a second", 1: "1 call a second",
		1.0 / 60: "1 call a minute", 7.0 / 60: "7 calls a minute", 1.0 / 3600: "1 call an hour", 30.0 / 3600: "30 calls an hour",
		0.1 / 3600: "0.1 calls an hour"} {
		if got := rateText(rate); got != want {
			t.Errorf("%g: %q, want %q", rate, got, want)
		}
	}
}
