package telemetry

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// value is the value of a sample, such as `name{label="x"}`.
func value(t testing.TB, scrape, series string) float64 {
	t.Helper()
	for line := range strings.Lines(scrape) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no %s in\n%s", series, scrape)
	return 0
}

// Crashes lead to states and counts that never go down.
func TestMetricsOfAPluginThatDies(t *testing.T) {
	a := newApp(t, Options{})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	a.exercise()
	p := a.supervisor.Process("fragile")
	for deadline := time.Now().Add(patience); p.Status().State != supervise.Quarantined; {
		if time.Now().After(deadline) {
			t.Fatalf("it is %+v", p.Status())
		}
		runtime.Gosched()
	}
	scrape := a.scrape()
	for series, want := range map[string]float64{
		`toolhost_plugin_state{toolhost_plugin="fragile",toolhost_plugin_state="quarantined"}`: 1,
		`toolhost_plugin_state{toolhost_plugin="steady",toolhost_plugin_state="ready"}`:        1,
		`toolhost_plugin_starts_total{toolhost_plugin="fragile"}`:                              2,
		`toolhost_plugin_restarts_total{toolhost_plugin="fragile"}`:                            1,
		`toolhost_plugin_crashes_total{toolhost_plugin="fragile"}`:                             2,
		`toolhost_plugin_quarantines_total{toolhost_plugin="fragile"}`:                         1,
		`toolhost_plugin_crashes_total{toolhost_plugin="steady"}`:                              0,
	} {
		if got := value(t, scrape, series); got != want {
			t.Errorf("%s is %v, not %v", series, got, want)
		}
	}
	if strings.Contains(scrape, `toolhost_plugin_state{toolhost_plugin="fragile",toolhost_plugin_state="ready"}`) {
		t.Error("it has two states")
	}
	if runtime.GOOS != "linux" {
		return
	}
	if n := value(t, scrape, `toolhost_plugin_memory_bytes{toolhost_plugin="steady"}`); n < 1<<20 || n > 1<<30 {
		t.Errorf("steady takes %v bytes", n)
	}
}

// The processor time of a plugin does not go down when its process is replaced.
func TestProcessorTimeIsKept(t *testing.T) {
	u := &usage{}
	for _, step := range []struct {
		root int
		time time.Duration
		want time.Duration
	}{{7, 5, 5}, {7, 8, 8}, {0, 0, 8}, {9, 2, 10}, {9, 1, 10}, {9, 3, 12}, {11, 1, 13}} {
		u.add(step.root, processTree{processes: 1, time: step.time})
		if got := u.ended + u.time; got != step.want {
			t.Errorf("after %+v: %v", step, got)
		}
	}
}

// A process counts with all that it has started, and at most so many are read.
func TestProcessTree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux alone says by files what a process uses")
	}
	a := newApp(t, Options{})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	a.exercise()
	root := rootOf(a.supervisor.Process("steady").Status().PID)
	left := 100
	whole := readTree(root, &left)
	if root == 0 || whole.processes < 1 || whole.memory < 1<<20 || left != 100-whole.processes {
		t.Errorf("the tree of %d is %+v, and %d are left", root, whole, left)
	}
	pid := a.supervisor.Process("steady").Status().PID
	if memory, cpu := Usage(pid); memory < 1<<20 || memory > 1<<30 || cpu < whole.time || cpu > time.Hour {
		t.Errorf("the plugin uses %d bytes and %v", memory, cpu)
	}
	if memory, cpu := Usage(1 << 30); memory != 0 || cpu != 0 {
		t.Errorf("a process that does not exist uses %d bytes and %v", memory, cpu)
	}
	left = 1
	if own := readTree(os.Getpid(), &left); own.processes != 1 || left != 0 {
		t.Errorf("with one process it is %+v, and %d are left", own, left)
	}
	left = 10
	if gone := readTree(1<<30, &left); gone != (processTree{}) {
		t.Errorf("a process that does not exist is %+v", gone)
	}
}

// A call that finds its plugin not running says how long it waited for the start; the next one did not wait.
func TestStartTimeOfACall(t *testing.T) {
	a := newApp(t, Options{})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	p := a.supervisor.Process("steady")
	for i, waits := range []bool{true, false} {
		r := &sdk.Request{Tool: "read", CallID: strconv.Itoa(i), Workdir: t.TempDir()}
		if _, err := p.Call(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if r.StartTime > 0 != waits {
			t.Errorf("call %d waited %s", i, r.StartTime)
		}
	}
	p = a.supervisor.Process("fragile")
	for i, waits := range []bool{true, false} { // as a preview does; the tool has none, which it says
		r := &sdk.Request{Tool: "read", CallID: strconv.Itoa(i), Workdir: t.TempDir()}
		if _, err := p.Preview(t.Context(), r); r.StartTime > 0 != waits {
			t.Errorf("preview %d waited %s: %v", i, r.StartTime, err)
		}
	}
}
