package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// readerAndWriter is a worker with a tool with the read-only hint, one without it, and one without hints.
func readerAndWriter() *worker {
	w := newWorker()
	write := tool("write")
	write.Hints.ReadOnly = sdk.No
	w.fake = calling(w.work, tool("read"), write, writes("any"))
	return w
}

// approvingHost is a host whose approver approves everything.
func approvingHost(t *testing.T, p host.Plugin, o host.Options) *host.Host {
	t.Helper()
	o.Approver = agreeing
	return single(t, p, o)
}

// batchOf makes calls of a second each: r of a tool that reads only, w of one that does not, a of one without hints,
// x of one that does not exist. Their ids are numbers.
func batchOf(plan string) (calls []host.Call) {
	names := map[rune]string{'r': "read", 'w': "write", 'a': "any", 'x': "nothing"}
	for i, kind := range plan {
		calls = append(calls, taking(fmt.Sprint(i), names[kind], time.Second))
	}
	return calls
}

// codes returns the outcomes of the calls: ok or a code, after checking that each result is at the position of its
// call.
func codes(t *testing.T, results []*host.Result) (out []string) {
	t.Helper()
	for i, r := range results {
		if r == nil || r.CallID != fmt.Sprint(i) {
			t.Fatalf("result %d is %+v", i, r)
		}
		if r.Error == nil {
			out = append(out, "ok")
		} else {
			out = append(out, string(r.Error.Code))
		}
	}
	return out
}

func TestBatchOrder(t *testing.T) {
	cases := map[string]struct {
		plan     string
		parallel int
		begins   []int // the second in which each begins
	}{
		"empty":                        {"", 0, nil},
		"readers side by side":         {"rrrr", 0, []int{0, 0, 0, 0}},
		"writers one by one":           {"www", 0, []int{0, 1, 2}},
		"a tool that says nothing":     {"raar", 0, []int{0, 1, 2, 3}},
		"no reader overtakes":          {"rrwrr", 0, []int{0, 0, 1, 2, 2}},
		"no writer overtakes":          {"wrrw", 0, []int{0, 1, 1, 2}},
		"eight at once":                {"rrrrrrrrrr", 0, []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}},
		"two at once":                  {"rrrrr", 2, []int{0, 0, 1, 1, 2}},
		"one at once":                  {"rrr", 1, []int{0, 1, 2}},
		"below zero is the default":    {"rrrrrrrrr", -1, []int{0, 0, 0, 0, 0, 0, 0, 0, 1}},
		"more at once than calls":      {"rrr", 1 << 40, []int{0, 0, 0}},
		"those not there cost no time": {"rxrxw", 0, []int{0, -1, 1, -1, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := readerAndWriter()
				h, start := approvingHost(t, w, host.Options{}), time.Now()
				results := h.CallAll(t.Context(), batchOf(c.plan), host.BatchOptions{Parallel: c.parallel})
				for i, code := range codes(t, results) {
					at := slices.Index(w.begun, fmt.Sprint(i))
					switch {
					case c.begins[i] < 0 && (at >= 0 || code != string(sdk.CodeToolNotFound)):
						t.Errorf("call %d: %s", i, code)
					case c.begins[i] >= 0 && (at < 0 || w.at[at].Sub(start) != time.Duration(c.begins[i])*time.Second):
						t.Errorf("call %d does not begin in second %d: %s, %s", i, c.begins[i], w.begun, w.at)
					}
				}
			})
		})
	}
}

// Each call is reported as it ends, before a later one that waits for it begins.
func TestBatchReportsCallsAsTheyEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := readerAndWriter()
		h, start := approvingHost(t, w, host.Options{}), time.Now()
		calls := batchOf("rrxw")
		calls[0] = taking("0", "read", 3*time.Second)
		calls[3].ID = "0"
		ended, reported, inside := []string{}, map[int]*host.Result{}, false
		results := h.CallAll(t.Context(), calls, host.BatchOptions{Ended: func(i int, r *host.Result) {
			if inside {
				t.Error("two calls are reported at once")
			}
			inside = true
			<-time.After(time.Millisecond)
			inside = false
			ended = append(ended, fmt.Sprintf("%d after %ds", i, time.Since(start)/time.Second))
			reported[i] = r
		}})
		diff(t, []string{"1 after 1s", "0 after 3s", "2 after 3s", "3 after 3s"}, ended)
		for i, r := range results {
			if reported[i] != r {
				t.Errorf("call %d: %+v is reported, %+v returned", i, reported[i], r)
			}
		}
	})
}

// A panic or a failure of one call is the result of that call.
func TestBatchWithFailures(t *testing.T) {
	t.Parallel()
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		switch r.CallID {
		case "1":
			panic("a bug")
		case "2":
			return nil, &client.BrokenError{Delivered: true, Err: context.DeadlineExceeded}
		}
		return sdk.Text(r.CallID), nil
	}, tool("read"), writes("write"))
	h := approvingHost(t, p, host.Options{})
	calls := batchOf("rrrrww")
	calls[3].Arguments = json.RawMessage(`[]`)
	results := h.CallAll(t.Context(), calls, host.BatchOptions{})
	diff(t, []string{"ok", "E_INTERNAL", "E_PLUGIN_CRASHED", "E_TOOL_INVALID_ARGS", "ok", "ok"}, codes(t, results))
	diff(t, "5", results[5].Text())
}

func TestBatchIDs(t *testing.T) {
	t.Parallel()
	p, log := answering(sdk.Text("done"), nil), &recorder{}
	h := approvingHost(t, p, host.Options{Logger: slogTo(log)})
	results := h.CallAll(t.Context(),
		[]host.Call{{ID: "x", Tool: "test__run"}, {ID: "x", Tool: "test__run"}, {Tool: "test__run"}, {Tool: "test__run"}},
		host.BatchOptions{})
	succeeded(t, results[0])
	diff(t, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "DuplicateCallID", Outcome: sdk.OutcomeNotSent,
		Suggestion: "Give each call an id of its own.",
		Message:    `an earlier call of the batch has the id "x" too; nothing was run`},
		failed(t, results[1], sdk.CodeInvalidArgs))
	succeeded(t, results[2])
	succeeded(t, results[3])
	if p.called.Load() != 3 || results[1].CallID != "x" || results[2].CallID == "" ||
		results[2].CallID == results[3].CallID {
		t.Errorf("%d calls ran; ids %q, %q, %q", p.called.Load(), results[1].CallID, results[2].CallID, results[3].CallID)
	}
	if n := len(log.named("call")); n != 4 {
		t.Errorf("%d lines in the log, want 4", n)
	}
}

func TestBatchTooLarge(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	h := approvingHost(t, p, host.Options{})
	for _, r := range h.CallAll(t.Context(), make([]host.Call, 129), host.BatchOptions{}) {
		diff(t, &sdk.Error{Code: sdk.CodeLimit, Name: "BatchTooLarge", Outcome: sdk.OutcomeNotSent,
			Suggestion: "Make at most 128 calls in one turn.",
			Message:    "the batch has 129 calls, at most 128 are allowed; nothing was run",
			Details:    []byte(`{"setting":"batch","limit":128}`)},
			failed(t, r, sdk.CodeLimit))
	}
	if p.called.Load()+p.listed.Load() > 0 {
		t.Error("the plugin was asked")
	}
	for _, r := range h.CallAll(t.Context(), slices.Repeat([]host.Call{call("test__run", "")}, 128), host.BatchOptions{}) {
		succeeded(t, r)
	}
}

// rejecting is an approver: calls with these ids are rejected, "0" after a second, "1" after two and so on, whether
// or not they are canceled meanwhile; the others are approved at once.
func rejecting(details string, ids ...string) host.Middleware {
	return before(func(c *host.Call) error {
		if !slices.Contains(ids, c.ID) {
			return nil
		}
		<-time.After(time.Duration(1+c.ID[0]-'0') * time.Second)
		return &sdk.Error{Code: sdk.CodeRejected, Name: "Rejected", Message: "no", Details: json.RawMessage(details)}
	})
}

func TestBatchAfterRejection(t *testing.T) {
	const no, off = string(sdk.CodeRejected), string(sdk.CodeCanceled)
	cases := map[string]struct {
		plan     string
		stop     bool
		details  string
		rejected []string
		want     []string
	}{
		"goes on":                     {"www", false, "", []string{"1"}, []string{"ok", no, "ok"}},
		"continues, as asked":         {"www", false, `{"cancel_rest":false}`, []string{"1"}, []string{"ok", no, "ok"}},
		"stops":                       {"wwwrx", true, "", []string{"1"}, []string{"ok", no, off, off, off}},
		"stops, as asked":             {"wwwr", false, `{"cancel_rest":true}`, []string{"1"}, []string{"ok", no, off, off}},
		"not what has ended":          {"rrrw", true, "", []string{"1"}, []string{"ok", no, "ok", off}},
		"not what has failed already": {"wxw", true, "", []string{"2"}, []string{"ok", "E_TOOL_NOT_FOUND", no}},
		"the first counts":            {"rrrrw", true, "", []string{"1", "2"}, []string{"ok", no, no, "ok", off}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, log := readerAndWriter(), &recorder{}
				h := approvingHost(t, w, host.Options{Logger: slogTo(log),
					Middleware: []host.Middleware{rejecting(c.details, c.rejected...)}})
				results := h.CallAll(t.Context(), batchOf(c.plan), host.BatchOptions{StopOnRejection: c.stop})
				diff(t, c.want, codes(t, results))
				for _, r := range results {
					ran := slices.Contains(w.begun, r.CallID)
					if want := `the call was canceled because call "1" (test__`; r.Error != nil && (ran ||
						r.Error.Code == sdk.CodeCanceled && !strings.HasPrefix(r.Error.Message, want)) {
						t.Errorf("call %s, which did run: %t, has the error %+v", r.CallID, ran, r.Error)
					}
				}
				if n := len(log.named("call")); n != len(c.plan) {
					t.Errorf("%d lines in the log, want %d", n, len(c.plan))
				}
			})
		})
	}
}

// A call that waits for something while another is rejected has not begun: a person is not asked about it, and it
// does not reach the plugin.
func TestRejectionEndsWaiting(t *testing.T) {
	const want = `the call was canceled because call "0" (test__read) was rejected; nothing was run`
	t.Run("for an answer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			asked := func(next host.CallFunc) host.CallFunc {
				return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
					if c.ID != "1" {
						return next(ctx, c)
					}
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
			w := readerAndWriter()
			h := approvingHost(t, w, host.Options{Middleware: []host.Middleware{rejecting("", "0"), asked}})
			results := h.CallAll(t.Context(), batchOf("rrr"), host.BatchOptions{StopOnRejection: true})
			diff(t, want, failed(t, results[1], sdk.CodeCanceled).Message)
			succeeded(t, results[2])
			diff(t, []string{"2"}, w.begun)
		})
	})
	t.Run("for something else", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			slow := before(func(c *host.Call) error {
				if c.ID == "1" {
					<-time.After(time.Minute) // whatever happens to its context
				}
				return nil
			})
			w := readerAndWriter()
			h := approvingHost(t, w, host.Options{Middleware: []host.Middleware{rejecting("", "0"), slow}})
			results := h.CallAll(t.Context(), batchOf("rr"), host.BatchOptions{StopOnRejection: true})
			diff(t, want, failed(t, results[1], sdk.CodeCanceled).Message)
			if w.called.Load() > 0 {
				t.Error("the plugin was called")
			}
		})
	})
	t.Run("in the queue", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := readerAndWriter()
			o := onPlugin(host.Limits{Concurrency: 1})
			o.Middleware = []host.Middleware{rejecting("", "0")}
			q := queue{host: approvingHost(t, w, o)}
			q.add(t.Context(), taking("earlier", "read", time.Minute))
			results := q.host.CallAll(t.Context(), batchOf("rr"), host.BatchOptions{StopOnRejection: true})
			diff(t, want, failed(t, results[1], sdk.CodeCanceled).Message)
			if results[1].Duration != time.Second {
				t.Errorf("canceled after %s", results[1].Duration)
			}
			q.all()
			diff(t, []string{"earlier"}, w.begun)
		})
	})
}

func TestCancelRest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		no   host.Answer
		want []string
	}{
		"only this one": {host.No("not that"), []string{"ok", "E_REJECTED", "ok", "ok"}},
		"and the rest":  {host.Answer{CancelRest: true}, []string{"ok", "E_REJECTED", "E_CANCELED", "E_CANCELED"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{answers: []host.Answer{host.Yes(), c.no, host.Yes()}}
			h := single(t, answering(sdk.Text("done"), nil, tool("read"), writes("write")), host.Options{Approver: a})
			diff(t, c.want, codes(t, h.CallAll(t.Context(), batchOf("wwwr"), host.BatchOptions{})))
		})
	}
}

// A running call is not ended by the rejection of another.
func TestRejectionSparesWhatRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := approvingHost(t, readerAndWriter(), host.Options{Middleware: []host.Middleware{rejecting("", "0")}})
		results := h.CallAll(t.Context(),
			[]host.Call{taking("0", "read", 0), taking("1", "read", time.Minute), taking("2", "write", 0)},
			host.BatchOptions{StopOnRejection: true})
		diff(t, []string{"E_REJECTED", "ok", "E_CANCELED"}, codes(t, results))
	})
}

// Only people reject the rest of a batch, not plugins.
func TestPluginsCannotReject(t *testing.T) {
	t.Parallel()
	no := &sdk.Error{Code: sdk.CodeRejected, Message: "no", Details: json.RawMessage(`{"cancel_rest":true}`)}
	h := approvingHost(t, answering(&sdk.Result{Error: no}, nil), host.Options{})
	for _, r := range h.CallAll(t.Context(), []host.Call{call("test__run", ""), call("test__run", "")},
		host.BatchOptions{StopOnRejection: true}) {
		failed(t, r, sdk.CodeRejected)
	}
}

// What the functions of BatchOptions do wrong ends no call and no program.
func TestBatchFunctionsThatPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &recorder{}
		h := approvingHost(t, readerAndWriter(), host.Options{Logger: slogTo(log)})
		results := h.CallAll(t.Context(), batchOf("rrw"), host.BatchOptions{
			Context: func(_ context.Context, i int) context.Context {
				if i == 0 {
					panic("no context")
				}
				return nil
			},
			Ended: func(int, *host.Result) { panic("no end") },
		})
		diff(t, []string{"ok", "ok", "ok"}, codes(t, results))
		if n := len(log.named("a panic was caught")); n != 4 {
			t.Errorf("%d panics are logged, want 4", n)
		}
	})
}

func TestBatchWithoutTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := readerAndWriter()
		h := approvingHost(t, w, host.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		results := h.CallAll(ctx, batchOf("wwwr"), host.BatchOptions{})
		diff(t, []string{"ok", "E_TIMEOUT", "E_TIMEOUT", "E_TIMEOUT"}, codes(t, results))
		diff(t, []string{"0", "1"}, w.begun)
		diff(t, "the caller's deadline passed before it began; nothing was run", results[3].Error.Message)
	})
}

func TestCloseEndsABatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := readerAndWriter()
		h := approvingHost(t, w, host.Options{})
		done := make(chan []*host.Result, 1)
		go func() { done <- h.CallAll(t.Context(), batchOf("rrwr"), host.BatchOptions{}) }()
		synctest.Wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, r := range <-done {
			failed(t, r, sdk.CodeCanceled)
		}
		if len(w.begun) != 2 {
			t.Errorf("%s have begun", w.begun)
		}
	})
}

// The unused output of short results goes to the calls after them.
func TestBatchOutput(t *testing.T) {
	const kB = 1000
	cases := map[string]struct {
		plan  string
		limit int64
		sizes []int // of the tools' output
		kept  []int // of the output kept, approximately
	}{
		"no limit": {"rrw", 0, []int{9 * kB, 9 * kB, 9 * kB}, []int{9 * kB, 9 * kB, 9 * kB}},
		"all fit":  {"rrw", 30 * kB, []int{9 * kB, 9 * kB, 9 * kB}, []int{9 * kB, 9 * kB, 9 * kB}},
		"equal shares": {"rrrr", 8 * kB, []int{9 * kB, 9 * kB, 9 * kB, 9 * kB},
			[]int{2 * kB, 2 * kB, 2 * kB, 2 * kB}},
		"short ones give": {"www", 9 * kB, []int{1 * kB, 1 * kB, 9 * kB}, []int{1 * kB, 1 * kB, 7 * kB}},
		"so do groups": {"rrrw", 16 * kB, []int{9 * kB, 1 * kB, 1 * kB, 20 * kB},
			[]int{4 * kB, 1 * kB, 1 * kB, 10 * kB}},
		"and those that fail":  {"xxw", 9 * kB, []int{0, 0, 20 * kB}, []int{0, 0, 9 * kB}},
		"not above the tool's": {"ww", 1000 * kB, []int{1 * kB, 300 * kB}, []int{1 * kB, 128 << 10}},
		"hardly any":           {"www", 1, []int{9 * kB, 9 * kB, 9 * kB}, []int{0, 0, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text(strings.Repeat("x", c.sizes[r.CallID[0]-'0'])), nil
			}, tool("read"), writes("write"))
			h := approvingHost(t, p, host.Options{ResultDir: t.TempDir()})
			for i, r := range h.CallAll(t.Context(), batchOf(c.plan), host.BatchOptions{MaxResultBytes: c.limit}) {
				const note = 1000 // for the path of the full text, and the notes of other results
				if n := len(allTexts(r)); n < c.kept[i]-note || n > c.kept[i]+note {
					t.Errorf("call %d has %d bytes, want about %d", i, n, c.kept[i])
				}
				if cut := c.sizes[i] > c.kept[i]; cut != r.Truncated {
					t.Errorf("call %d is truncated: %t", i, r.Truncated)
				}
			}
		})
	}
}

// A structured result that repeats the text counts once.
func TestBatchOutputStructured(t *testing.T) {
	t.Parallel()
	object := `{"lines":"` + strings.Repeat("x", 1488) + `"}` // 1500 bytes
	cases := map[string]struct {
		first  *sdk.Result
		second int // fits after it
	}{
		"the same": {&sdk.Result{Content: []sdk.Content{sdk.TextContent(object)}, Structured: json.RawMessage(object)}, 2500},
		"alone":    {&sdk.Result{Structured: json.RawMessage(object)}, 2500},
		"another": {&sdk.Result{Content: []sdk.Content{sdk.TextContent(object[:100])}, Structured: json.RawMessage(object)},
			2400},
		"raw": {&sdk.Result{Content: []sdk.Content{{Type: "chart", Raw: json.RawMessage(object)}}}, 2500},
	}
	for name, c := range cases {
		for more, truncated := range map[int]bool{0: false, 1: true} {
			t.Run(fmt.Sprintf("%s, and %d bytes too many", name, more), func(t *testing.T) {
				t.Parallel()
				p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
					if r.CallID == "0" {
						return c.first, nil
					}
					return sdk.Text(strings.Repeat("x", c.second+more)), nil
				}, writes("write"))
				h := approvingHost(t, p, host.Options{ResultDir: t.TempDir()})
				results := h.CallAll(t.Context(), batchOf("ww"), host.BatchOptions{MaxResultBytes: 4000})
				if results[0].Truncated || results[1].Truncated != truncated {
					t.Errorf("truncated: %t, %t", results[0].Truncated, results[1].Truncated)
				}
			})
		}
	}
}

func allTexts(r *host.Result) (all string) {
	for _, c := range r.Content {
		all += c.Text
	}
	return all
}

// A timeline is a plugin whose calls take a second each, and records when each ran.
type timeline struct {
	*fake
	mu    sync.Mutex
	start time.Time
	at    map[string]int // by call, in seconds
}

func newTimeline(tools ...sdk.Tool) *timeline {
	l := &timeline{start: time.Now(), at: map[string]int{}}
	l.fake = calling(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		l.mu.Lock()
		l.at[r.CallID] = int(time.Since(l.start) / time.Second)
		l.mu.Unlock()
		select {
		case <-time.After(time.Second):
			return sdk.Text("done"), nil
		case <-ctx.Done():
			return nil, sdk.EndedError(ctx)
		}
	}, tools...)
	return l
}

// shellTool is a tool whose calls are commands, without hints.
func shellTool(name string) sdk.Tool {
	t := writes(name)
	t.Category = "shell"
	return t
}

func running(id, arguments string) host.Call {
	return host.Call{ID: id, Tool: "test__exec", Arguments: json.RawMessage(arguments)}
}

func command(text string) string { return fmt.Sprintf(`{"command":%q}`, text) }

// Commands run in parallel if the host knows that each of their parts only reads.
func TestCommandsThatReadRunSideBySide(t *testing.T) {
	cases := map[string]struct {
		arguments []string
		begins    []int
	}{
		"all read": {[]string{command("ls"), command("git status && cat a | head -n 3"),
			command("grep -rn x .")}, []int{0, 0, 0}},
		"one writes":       {[]string{command("ls"), command("make"), command("ls")}, []int{0, 1, 2}},
		"a part writes":    {[]string{command("ls"), command("ls && rm a"), command("ls")}, []int{0, 1, 2}},
		"a redirect":       {[]string{command("ls"), command("ls > a"), command("cat a")}, []int{0, 1, 2}},
		"a substitution":   {[]string{command("ls"), command("ls $(touch a)"), command("cat a")}, []int{0, 1, 2}},
		"nothing is known": {[]string{command("ls"), command("$CMD"), command("ls")}, []int{0, 1, 2}},
		"no command":       {[]string{command("ls"), `{}`, command("ls")}, []int{0, 1, 2}},
		"no JSON":          {[]string{command("ls"), `{`, command("ls")}, []int{0, -1, 1}},
		"in a string": {[]string{command("ls"), fmt.Sprintf("%q", command("ls")), command("ls")},
			[]int{0, 0, 0}},
		"on a terminal": {[]string{command("ls"), `{"command":"git log","pty":true}`, command("ls")},
			[]int{0, 1, 2}},
		"for another interpreter": {[]string{command("ls"), `{"command":"ls","interpreter":"python3"}`, command("ls")},
			[]int{0, 1, 2}},
		"with an environment of it": {[]string{command("ls"), `{"command":"ls","env":{"LD_PRELOAD":"x"}}`, command("ls")},
			[]int{0, 1, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(shellTool("exec"))
				h := approvingHost(t, l, host.Options{})
				var calls []host.Call
				for i, a := range c.arguments {
					calls = append(calls, running(fmt.Sprint(i), a))
				}
				h.CallAll(t.Context(), calls, host.BatchOptions{})
				for i, want := range c.begins {
					if at, ran := l.at[fmt.Sprint(i)]; ran != (want >= 0) || ran && at != want {
						t.Errorf("call %d (%s) began in second %d (%t), want %d", i, c.arguments[i], at, ran, want)
					}
				}
			})
		})
	}
}

// Commands of a tool that is no shell tool, or whose plugin's hints are not trusted, are not judged.
func TestOnlyShellCommandsAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		tool    sdk.Tool
		options host.Options
	}{
		"another category": {writes("exec"), host.Options{}},
		"hints are ignored": {shellTool("exec"),
			host.Options{Plugins: map[string]host.PluginOptions{"test": {IgnoreHints: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(c.tool)
				h := approvingHost(t, l, c.options)
				h.CallAll(t.Context(), []host.Call{running("0", command("ls")), running("1", command("ls"))}, host.BatchOptions{})
				diff(t, map[string]int{"0": 0, "1": 1}, l.at)
			})
		})
	}
}

// A call that only read when the batch began, but no longer when it runs, runs alone.
func TestReadThatBecomesAWriteRunsAlone(t *testing.T) {
	write := json.RawMessage(command("rm a"))
	cases := map[string]host.Options{
		"by a person": {Policy: must(policy.New(policy.Layer{Name: "user",
			Rules: []policy.Rule{{Name: "all", Effect: policy.Ask}}})),
			Approver: approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
				if r.CallID == "1" && string(r.Arguments) != string(write) {
					return host.Answer{Arguments: write}, nil
				}
				return host.Yes(), nil
			})},
		"by a middleware": {Approver: agreeing, Middleware: []host.Middleware{before(func(c *host.Call) error {
			if c.ID == "1" {
				c.Arguments = write
			}
			return nil
		})}},
		"by another tool": {Approver: agreeing, Middleware: []host.Middleware{before(func(c *host.Call) error {
			if c.ID == "1" {
				c.Tool = "test__write"
			}
			return nil
		})}},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(shellTool("exec"), writes("write"))
				h := single(t, l, o)
				var calls []host.Call
				for i := range 5 {
					calls = append(calls, running(fmt.Sprint(i), command("ls")))
				}
				for _, r := range h.CallAll(t.Context(), calls, host.BatchOptions{}) {
					succeeded(t, r)
				}
				alone := l.at["1"]
				for id, at := range l.at {
					if id != "1" && at == alone {
						t.Errorf("call %s ran beside the one that writes: %v", id, l.at)
					}
				}
			})
		})
	}
}

// A call that waits to run alone can be canceled.
func TestWaitingToRunAloneEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newTimeline(tool("read"), writes("write"))
		h := approvingHost(t, l, host.Options{Middleware: []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
				if c.ID == "1" {
					<-time.After(time.Millisecond) // the other one runs by then
					c.Tool = "test__write"
				}
				return next(ctx, c)
			}
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		results := h.CallAll(ctx, []host.Call{taking("0", "read", 0), taking("1", "read", 0)}, host.BatchOptions{})
		if e := failed(t, results[1], sdk.CodeTimeout); e.Outcome != sdk.OutcomeNotSent {
			t.Errorf("error %+v", e)
		}
		synctest.Wait()
	})
}
