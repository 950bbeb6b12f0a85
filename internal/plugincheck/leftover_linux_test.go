package plugincheck

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
