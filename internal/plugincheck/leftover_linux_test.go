package plugincheck

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

// A plugin that stops itself is one finding, which says so, and costs the time of one item.
func TestAPluginThatStopsItself(t *testing.T) {
	for breaks, want := range map[string]string{"stops itself": "unknown_tool", "start stops itself": "handshake"} {
		for _, wrapper := range [][]string{nil, {"/bin/sh", "-c", `"$@"; exit`, "sh"}} {
			if wrapper != nil && want != "handshake" { // whose child no host talks to
				continue
			}
			began := time.Now()
			report, err := Run(t.Context(), Options{Command: append(wrapper, os.Args[0], "bad-plugin", breaks),
				Workdir: t.TempDir(), Timeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, f := range report.Findings {
				if f.Status == Fail {
					found += f.Item + ": " + f.Message
				}
			}
			if !strings.HasPrefix(found, want+": it was stopped by a signal, such as SIGSTOP") ||
				strings.Count(found, "it was stopped") != 1 {
				t.Errorf("%s: %q after %v", breaks, found, time.Since(began))
			}
		}
	}
}
