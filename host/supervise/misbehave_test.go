package supervise

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// Each is a real process that goes wrong at its start: a typed error within the start's time, no process left, and
// another plugin that works on.
func TestBadStarts(t *testing.T) {
	for role, words := range map[string][]string{
		"garbage":     {"hello, I am no plugin", "no toolhost plugin"},
		"half":        {"did not say in time"},
		"long":        {"no toolhost plugin"},
		"silent":      {"did not say in time", "sdk.Serve"},
		"stopped":     {"did not say in time"},
		"exits":       {"ended before", "exit status 3", "I cannot go on"},
		"panics":      {"exit status 2", "panic: no good"},
		"tcp":         {"must listen on a Unix socket"},
		"elsewhere":   {"outside its own socket folder"},
		"certificate": {"certificate, which nobody asked for"},
		"future":      {"version \"2\"", "speaks version 1"},
		"netrpc":      {"must speak grpc"},
		"mute":        {"not ready within 1s"},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := playing("bad", role)
			spec.StartTimeout = time.Second
			p, good := add(t, s, spec), add(t, s, playing("good", "good"))
			started := time.Now()
			_, err := call(t, p, "echo", "")
			if took := time.Since(started); took > 10*time.Second {
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
		"ends at once":   {write("true", "#!/bin/sh\nexit 0\n", 0o755), "ended before"},
	} {
		t.Run(name, func(t *testing.T) {
			p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{c.program}})
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, c.words)
		})
	}
}

func TestChecksum(t *testing.T) {
	sum, err := checksum(os.Args[0])
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
	spec := playing("bad", "exits")
	spec.Restart = Restart{MaxCrashes: 3, Window: time.Hour, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
	p := add(t, supervisor(t), spec)
	soon(t, "quarantine", 20*time.Second, func() bool {
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
