package plugincheck

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What a plugin has started in sessions of their own is found after its end, and does not outlive the check.
func TestDaemonsAreFoundAndEnded(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	some := slices.DeleteFunc(slices.Clone(items), func(i item) bool {
		return !slices.Contains([]string{"handshake", "describe", "examples", "host_death"}, i.name)
	})
	report := checkBad(t, "daemons "+pids, some)
	last := report.Findings[len(report.Findings)-1]
	if last.Status != Fail || !strings.Contains(last.Message, "processes that it started still run") {
		t.Errorf("%+v", last)
	}
	text, err := os.ReadFile(pids)
	if err != nil || len(text) == 0 {
		t.Fatalf("started: %q (%v)", text, err)
	}
	for pid := range strings.FieldsSeq(string(text)) {
		if environ, _ := os.ReadFile("/proc/" + pid + "/environ"); len(environ) > 0 { // a process that has ended has none
			t.Errorf("process %s still runs", pid)
		}
	}
}

// A process that the check cannot find, and that holds the plugin's output, does not delay the check.
func TestOutputIsHeldByAnEscapedProcess(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	report := checkBad(t, "holds "+pids, items[:2])
	for i, want := range []string{"ended with exit code 3", "ended before the handshake (exit status 3)"} {
		if f := report.Findings[i]; !strings.Contains(f.Message, want) {
			t.Errorf("%s: %s, not %q", f.Item, f.Message, want)
		}
	}
	text, _ := os.ReadFile(pids)
	for pid := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(pid); err != nil || syscall.Kill(n, syscall.SIGKILL) != nil {
			t.Errorf("process %s, which holds the output, has ended: it was waited for", pid)
		}
	}
	if n := len(strings.Fields(string(text))); n != 2 {
		t.Errorf("%d processes were started", n)
	}
}
