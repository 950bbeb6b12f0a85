//go:build unix

package plugincheck

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/testutil"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "bad-plugin" {
		serveBadly(os.Args[2])
		return
	}
	testutil.DefaultSignals()
	os.Exit(m.Run())
}

func calls(tool string) []Call { return []Call{{Tool: tool, Arguments: json.RawMessage(`{"x":"y"}`)}} }

func checkBad(t *testing.T, breaks string, items []item) *Report {
	t.Helper()
	report, err := run(t.Context(), Options{Command: []string{os.Args[0], "bad-plugin", breaks}, Workdir: t.TempDir(),
		Timeout: 20 * time.Second, Examples: calls("echo"), Wait: calls("wait"), Panic: calls("panic"),
		Events: calls("events"), Large: calls("large"), Print: calls("print"), Sandboxed: true}, items)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAPluginThatBreaksNoRulePasses(t *testing.T) {
	for _, f := range checkBad(t, none, items).Findings {
		if f.Status != Pass && (f.Item != "sandbox" || runtime.GOOS == "linux") && f.Item != "leftovers" {
			t.Errorf("%s: %s: %s", f.Item, f.Status, f.Message)
		}
	}
}

// A plugin may run a tool whatever its arguments are: wrong ones are sent to tools of the examples alone.
func TestWrongArgumentsRunNothing(t *testing.T) {
	until := 1 + slices.IndexFunc(items, func(i item) bool { return i.name == "bad_arguments" })
	for _, f := range checkBad(t, "ignores arguments", items[:until]).Findings {
		if f.Status == Fail || f.Item == "bad_arguments" && f.Status != Warn {
			t.Errorf("%s: %s: %s", f.Item, f.Status, f.Message)
		}
	}
}

// $XDG_RUNTIME_DIR is for small files: hosts have plugins put temporary ones elsewhere.
func TestTemporaryFilesAreNotInTheRuntimeFolder(t *testing.T) {
	runtimeDir, err := os.MkdirTemp("", "run") // short, so that sockets could be in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(runtimeDir)
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	p, err := start(t.Context(), Options{Command: []string{os.Args[0], "bad-plugin", none}, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	if fsutil.Within(p.dir, runtimeDir) {
		t.Errorf("they are in %s", p.dir)
	}
}

// The hint for a start that failed is about its cause.
func TestHandshakeFix(t *testing.T) {
	const reason, stays, serve = "Correct what its standard error says", "Let it run until its host ends it", "Listen on"
	for breaks, want := range map[string]struct{ fix, message string }{
		"start panics":                   {reason, `panic: sdk: tool "t" is there twice`},
		"start says why":                 {reason, "the database is locked"},
		"start says it and exits with 0": {reason, "(exit code 0); the last lines of its standard error: nothing to do"},
		"start half a line":              {reason, "the disk is full"},
		"start is silent":                {stays, "it printed nothing on standard error"},
		"start says blanks":              {stays, "it printed nothing on standard error"},
		"start hangs":                    {serve, "waiting for the database"},
		"start ends no line":             {serve, `it printed "1|1|unix|/tmp/x|grpc|", and not the end of that line within 1s`},
		"start closes its output":        {serve, "it printed no whole line on standard output, and closed that"},
		"start in a child":               {"Serve in the process", "it does not serve in the process that was started"},
		"handshake":                      {serve, `its first line is "hello\n"`},
	} {
		t.Run(breaks, func(t *testing.T) {
			timeout := 20 * time.Second
			switch breaks {
			case "start hangs", "start ends no line", "start closes its output":
				timeout = time.Second
			}
			c := &checker{Options: Options{Command: []string{os.Args[0], "bad-plugin", breaks}, Workdir: t.TempDir(),
				Timeout: timeout}}
			found := c.handshake(t.Context())
			if found == nil || found.status != Fail || !strings.HasPrefix(found.fix, want.fix) ||
				!strings.Contains(found.message, want.message) {
				t.Errorf("%+v", found)
			}
		})
	}
}

// Each broken rule is found by its item, and by it first.
func TestEachBrokenRuleIsFound(t *testing.T) {
	for n, i := range items {
		if testing.Short() && n%4 != 0 {
			continue
		}
		if (i.name == "sandbox" || i.name == "leftovers") && runtime.GOOS != "linux" {
			continue
		}
		t.Run(i.name, func(t *testing.T) {
			report := checkBad(t, i.name, items[:n+1])
			for _, f := range report.Findings {
				switch {
				case f.Status == Pass || f.Status == Skip:
				case f.Item != i.name:
					t.Errorf("%s is found first: %s", f.Item, f.Message)
					return
				default:
					return
				}
			}
			var b strings.Builder
			_ = report.Text(&b)
			t.Errorf("nothing is found:\n%s", b.String())
		})
	}
}

// Example calls that fail are one finding, however many items make them.
func TestExamplesFailOnce(t *testing.T) {
	for breaks, want := range map[string]string{
		"examples":        `echo {"x":"y"}: Failed: not today`,
		"exits in a call": `echo {"x":"y"}: the plugin ended in the call (exit status 3); it printed nothing on standard error`,
	} {
		for _, f := range checkBad(t, breaks, items).Findings {
			switch {
			case f.Item == "examples":
				if f.Status != Fail || !strings.HasPrefix(f.Message, want) {
					t.Errorf("%s: %+v", breaks, f)
				}
			case f.Status != Pass && f.Status != Skip:
				t.Errorf("%s: %+v", breaks, f)
			}
		}
	}
}

// A file that cannot be run is one finding, which says why as a host does.
func TestAFileThatCannotBeRunIsOneFinding(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"missing":     {"", "missing cannot be run: no such file or directory"},
		"crlf":        {"#!/bin/sh\r\nexit 2\r\n", "its lines end with CR LF"},
		"interpreter": {"#!/no/such/interpreter\n", "the interpreter of its #! line, /no/such/interpreter, does not exist"},
		"text":        {"exit 2\n", "it is a text with no #! line"},
	} {
		path := filepath.Join(dir, name)
		if c.text != "" {
			if err := testutil.WriteProgram(path, []byte(c.text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		report, err := Run(t.Context(), Options{Command: []string{path}, Workdir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for n, f := range report.Findings {
			want := map[bool]Status{true: Fail, false: Skip}[n == 0]
			if f.Status != want || n == 0 && !strings.Contains(f.Message, c.want) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// A call that does not wait until it is canceled is the author's mistake, not the plugin's.
func TestCallThatDoesNotWait(t *testing.T) {
	o := Options{Command: []string{os.Args[0], "bad-plugin", none}, Workdir: t.TempDir(), Timeout: time.Minute,
		Wait: calls("echo")}
	p, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	if found := (&checker{Options: o}).cancel(t.Context(), p); found == nil ||
		!strings.HasPrefix(found.fix, "Give a call with --wait that runs until it is canceled") {
		t.Errorf("%+v", found)
	}
}

// A panic has the exit code that a plugin has when a person runs it.
func TestPanicByHandIsFound(t *testing.T) {
	c := &checker{Options: Options{Command: []string{os.Args[0], "bad-plugin", "panics by hand"}, Timeout: time.Minute}}
	const want = "run without a host it panics; panic: no database (badplugin_test.go:"
	if found := c.byHand(t.Context()); found == nil || found.status != Warn || !strings.HasPrefix(found.message, want) {
		t.Errorf("%+v, want %q", found, want)
	}
}

// The calls in a sandbox take no longer than the others may.
func TestCallsInASandboxHaveTheTimeout(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox")
	}
	c := &checker{Options: Options{Command: []string{os.Args[0], "bad-plugin", none}, Workdir: t.TempDir(),
		Timeout: 3 * time.Second, Examples: calls("wait")}}
	began := time.Now()
	err := c.atLevel(t.Context(), sandbox.Confined)
	if took := time.Since(began); err == nil || took > time.Minute { // its own deadline is two minutes
		t.Errorf("%v after %v", err, took)
	}
}

// A panic is quoted by its first line and its place, however long its trace is and in whatever pieces it comes.
func TestPanicIsQuoted(t *testing.T) {
	var out tail
	text := "listening\npanic: sdk: no tools\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:7 +0x1\n" +
		strings.Repeat("\ngoroutine 5 [sleep]:\ntime.Sleep(0x1)\n\t/go/src/runtime/time.go:3 +0x1\n", 500)
	for rest := text; rest != ""; rest = rest[min(len(rest), 37):] {
		_, _ = out.Write([]byte(rest[:min(len(rest), 37)]))
	}
	if got, want := out.quote(), "; panic: sdk: no tools (main.go:7)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReports(t *testing.T) {
	r := &Report{Plugin: "p 1 (go)\x1b[31m", Findings: []Finding{
		{Item: "a", Title: "is right", Status: Pass, Took: 2 * time.Second},
		{Item: "b", Title: "is fast", Status: Warn, Message: "slow", Fix: "Hurry."},
		{Item: "c", Title: "is good", Status: Fail, Message: "it <prints>\x1b", Fix: "Print nothing."},
		{Item: "d", Title: "is there", Status: Skip, Message: "give it"},
	}}
	var text, junit strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if got, want := text.String(), "p 1 (go)?[31m\n\n"+
		"pass  is right (2.0 s)\n"+
		"warn  is fast\n      slow\n      Fix: Hurry.\n"+
		"fail  is good\n      it <prints>?\n      Fix: Print nothing.\n"+
		"skip  is there\n      give it\n\n"+
		"1 passed, 1 failed, 1 warning, 1 skipped\n"; got != want {
		t.Errorf("text is\n%s\nwant\n%s", got, want)
	}
	if err := r.JUnit(&junit); err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(junit.String()), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 4 || suite.Failures != 1 || suite.Skipped != 1 || suite.Cases[2].Failure.Message != "it <prints>?" {
		t.Errorf("JUnit's XML reads as %+v", suite)
	}
	if !r.Failed() || (&Report{Findings: r.Findings[:2]}).Failed() {
		t.Error("a report fails when an item does")
	}
}
