package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// Each is a real process that goes wrong at its start: a typed error within the start's time, no process left, and
// another plugin that works on.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	limits := map[string]time.Duration{ // of those that do not end by themselves; two of them must have come as far as to say where they listen
		"half": time.Second, "silent": time.Second, "stopped": time.Second, "slow": time.Second, "mute": 10 * time.Second, "bequeaths": 10 * time.Second,
	}
	for role, words := range map[string][]string{
		"garbage":     {"hello, I am no plugin", "no toolhost plugin"},
		"half":        {"no handshake in time"},
		"long":        {"no toolhost plugin"},
		"silent":      {"no handshake in time", "sdk.Serve"},
		"stopped":     {"no handshake in time"},
		"exits":       {"ended before", "exit code 3", "I cannot go on"},
		"panics":      {"exit code 2", "panic: no good"},
		"tcp":         {"must listen on a Unix socket"},
		"elsewhere":   {"outside its own socket folder"},
		"certificate": {"certificate, which nobody asked for"},
		"future":      {"version \"2\"", "speaks version 1"},
		"netrpc":      {"must speak grpc"},
		"mute":        {"not ready within 10s"},
		"bequeaths":   {"not ready within 10s"},
		"unfinished":  {"exit code 3", "the key is missing"},
		"vanishes":    {"exit code 5"},
		"daemon":      {"exited with code 0 before the handshake: did main call sdk.Serve?"},
		"later":       {"not yet"},
		"slow":        {"could not be started"}, // by its own word, or by our clock
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := playing("bad", role)
			if limit, ok := limits[role]; ok {
				spec.StartTimeout = limit
			}
			p, good := add(t, s, spec), add(t, s, playing("good", "good"))
			started := time.Now()
			_, err := call(t, p, "echo", "")
			if took := time.Since(started); took > spec.StartTimeout+slack*stopTime {
				t.Errorf("the error took %s", took)
			}
			checkError(t, err, sdk.CodePluginUnavailable, append(words, `plugin "bad"`)...)
			if got := mustCall(t, good, "echo", "unharmed"); got != "unharmed" {
				t.Errorf("the other plugin gave %q", got)
			}
			if s := p.Status(); s.State != Crashed || s.PID != 0 || s.LastError == "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// Plugins that wait for something in their start keep others from it for a moment only.
func TestSilentPluginsDelayNobody(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	for i := range cap(s.starts) {
		spec := playing(fmt.Sprintf("silent%d", i), "silent")
		spec.Eager, spec.StartTimeout = true, time.Hour
		add(t, s, spec)
	}
	soon(t, "all are starting", patience, func() bool { return len(s.starts) == cap(s.starts) })
	mustCall(t, add(t, s, playing("good", "good")), "echo", "")
}

// go-plugin's client keeps for ever what a plugin sends to its broker; ours has none.
func TestBrokerIsRefused(t *testing.T) {
	s := supervisor(t)
	p := add(t, s, playing("knocks", "knocks"))
	if _, err := p.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	g.diedWithin(time.Second) // it lives on, and knocks
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("the host's memory grew by %d bytes in a second", grown)
	}
	g.child.kill() // it heeds nothing else
}

// A second death in a repeated call is told as what it is.
func TestIdempotentCallDiesTwice(t *testing.T) {
	spec := playing("good", "good")
	spec.Idempotent = []string{"die"}
	_, err := call(t, add(t, supervisor(t), spec), "die", "twice")
	checkError(t, err, sdk.CodePluginCrashed, "exit code 7")
}

// A preview that a stopped plugin leaves unanswered is as good a reason to doubt it as a call.
func TestPreviewOfAStoppedPlugin(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	mustCall(t, p, "echo", "")
	stop(t, p.Status().PID)
	ctx, ended := lateIn(t), make(chan error, 1)
	go func() { _, err := p.Preview(ctx, request("echo", "")); ended <- err }()
	soon(t, "it is asked", patience, func() bool { return p.Status().Calls == 1 })
	ctx.pass()
	checkError(t, <-ended, sdk.CodeTimeout)
	soon(t, "the stopped process is killed", patience, func() bool { return p.Status().State == Crashed })
}

// Plugins that can be configured later are not given up.
func TestRefusalForNow(t *testing.T) {
	p := add(t, supervisor(t), playing("later", "later"))
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "not yet")
	if got := p.Status().State; got == Invalid {
		t.Error("it is never started again")
	}
}

func TestFloodOfStderrHurtsNobody(t *testing.T) {
	p := add(t, supervisor(t), playing("flood", "flood"))
	for range 20 {
		if got := mustCall(t, p, "echo", "through"); got != "through" {
			t.Fatal(got)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		program string
		words   string
	}{
		"gone":           {filepath.Join(dir, "nothing"), "not there"},
		"not in PATH":    {"no-such-program-anywhere", "no program no-such-program-anywhere in PATH"},
		"not executable": {write("plain", "#!/bin/sh\n", 0o644), "permission denied"},
		"a folder":       {dir, "is a folder"},
		"no program":     {write("text", "just text", 0o755), "cannot be run"},
		"no interpreter": {write("script", "#!/no/such/interpreter\n", 0o755), "interpreter"},
		"ends at once":   {write("true", "#!/bin/sh\nexit 0\n", 0o755), "exited with code 0 before the handshake: did main call sdk.Serve?"},
	} {
		t.Run(name, func(t *testing.T) {
			p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{c.program}})
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, c.words)
		})
	}
}

// A checksum is taken of the file that runs: in the folder that the plugin starts in, and never of a pipe.
func TestChecksumOfTheRightFile(t *testing.T) {
	workdir, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{workdir, elsewhere} {
		if err := os.WriteFile(filepath.Join(dir, "p"), []byte("#!/bin/sh\necho "+filepath.Base(dir)+dir+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(elsewhere)
	sum, err := sumOf("p")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{RunDir: shortDir(t), Workdir: workdir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = call(t, add(t, s, Spec{Name: "p", Command: []string{"./p"}, SHA256: sum}), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "sha256")
	if err := syscall.Mkfifo(filepath.Join(workdir, "pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = call(t, add(t, s, Spec{Name: "pipe", Command: []string{"./pipe"}, SHA256: sum}), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "no regular file")
}

func TestChecksum(t *testing.T) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	s := supervisor(t)
	right, wrong := playing("right", "good"), playing("wrong", "good")
	right.SHA256, wrong.SHA256 = strings.ToUpper(sum), strings.Repeat("0", 64)
	mustCall(t, add(t, s, right), "echo", "")
	p := add(t, s, wrong)
	_, err = call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "sha256", "changed or is another version")
	if got := p.Status(); got.State != Invalid {
		t.Errorf("state %s", got.State)
	}
}

// A plugin that dies at every start is tried less and less often, and calls in between fail at once.
func TestDyingAtEveryStart(t *testing.T) {
	t.Parallel()
	spec := playing("bad", "exits")
	spec.Restart = Restart{MaxCrashes: 3, Window: time.Hour, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
	p := add(t, supervisor(t), spec)
	soon(t, "quarantine", patience, func() bool {
		_, _ = call(t, p, "echo", "")
		return p.Status().State == Quarantined
	})
	if got := p.Status().Generation; got != 4 {
		t.Errorf("started %d times before the quarantine, want 4", got)
	}
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "crashed 4 times", "left alone", "I cannot go on")
	if facts := factsOf(t, err); facts["retry_after_ms"].(float64) < 200_000 {
		t.Errorf("details: %v", facts)
	}
}

func TestConfigurationForAPluginThatTakesNone(t *testing.T) {
	spec := playing("good", "good")
	spec.Config, spec.Source = []byte(`{"a":1}`), "config.hcl:7"
	p := add(t, supervisor(t), spec)
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "takes no configuration", "config.hcl:7")
}

func TestStartGivesUpWithItsCaller(t *testing.T) {
	p := add(t, supervisor(t), playing("silent", "silent"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Call(ctx, request("echo", ""))
	checkError(t, err, sdk.CodeTimeout)
}
