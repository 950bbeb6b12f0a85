package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// The supervisor's reload adds, removes and reloads what has changed, and touches nothing else.
func TestSupervisorReload(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	replace(t, program, os.Args[0])
	spec := func(name, version string) Spec {
		s := counting(version)
		s.Name, s.Command = name, []string{program}
		return s
	}
	s := supervisor(t)
	if problems := s.Reload(t.Context(), []Spec{spec("stays", "1"), spec("changes", "1"), spec("goes", "1")}); len(problems) > 0 {
		t.Fatal(problems)
	}
	stays, changes, goes := s.Process("stays"), s.Process("changes"), s.Process("goes")
	for _, p := range []*Process{stays, changes} {
		mustCall(t, p, "count", "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := begin(t, ctx, goes, "")
	moved := spec("stays", "1")
	moved.Source, moved.Idempotent = "config.hcl:9", []string{"count"}
	moved.Lock = Lock{Source: "toolhost.lock.hcl:9", Advice: "lock it"}
	broken := Spec{Name: "broken"}
	problems := s.Reload(t.Context(), []Spec{moved, spec("changes", "2"), spec("comes", "1"), broken, spec("comes", "2")})
	if text := fmt.Sprint(problems); len(problems) != 2 || !strings.Contains(text, "no command") || !strings.Contains(text, "there twice") {
		t.Errorf("problems: %v", problems)
	}
	if got := stays.Status(); got.Generation != 1 || got.Source != "config.hcl:9" {
		t.Errorf("a plugin whose place in the file has changed: %+v", got)
	}
	if got := mustCall(t, changes, "count", ""); got != "2" {
		t.Errorf("version %s answers", got)
	}
	mustCall(t, s.Process("comes"), "count", "")
	if s.Process("goes") != nil || len(s.Processes()) != 3 {
		t.Errorf("processes: %v", s.Processes())
	}
	_, err := call(t, goes, "count", "")
	checkError(t, err, sdk.CodePluginUnavailable, "closed")
	if got := goes.Status(); got.State != Draining || got.Calls != 1 {
		t.Errorf("a removed plugin with a call: %+v", got)
	}
	cancel()
	checkError(t, <-ended, sdk.CodeCanceled)
	soon(t, "it has gone", patience, func() bool { return goes.Status().State == Stopped })

	replace(t, program, os.Args[0]) // another file of the same name
	if problems := s.Reload(t.Context(), []Spec{moved, spec("changes", "2")}); len(problems) > 0 {
		t.Fatal(problems)
	}
	for p, want := range map[*Process]int{stays: 2, changes: 3} {
		if got := p.Status().Generation; got != want {
			t.Errorf("%s: generation %d after its program was replaced, want %d", p.Name(), got, want)
		}
	}
}

// What a reload could not do is told for as long as it is wanted.
func TestReloadToWhatRuns(t *testing.T) {
	t.Parallel()
	s, good := supervisor(t), playing("x", "good")
	p := add(t, s, good)
	mustCall(t, p, "echo", "")
	bad := playing("x", "exits")
	if problems := s.Reload(t.Context(), []Spec{bad}); len(problems) != 1 || !strings.Contains(p.Status().LastError, "not reloaded: ") {
		t.Errorf("problems %v, status %+v", problems, p.Status())
	}
	if problems := s.Reload(t.Context(), []Spec{good}); len(problems) != 0 {
		t.Error(problems)
	}
	if got := p.Status(); got.LastError != "" || got.State != Ready || got.Generation != 1 {
		t.Errorf("after a reload to what runs: %+v", got)
	}
}

// A plugin that its user has closed is waited for as any other, also when a reload has found it so.
func TestCloseWaitsForWhatAReloadFoundClosed(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, playing("deaf", "deaf"))
	if _, err := p.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Close() }()
	<-p.closing
	if problems := s.Reload(t.Context(), nil); len(problems) > 0 {
		t.Error(problems)
	}
	if err := s.Close(); err != nil || !isClosed(p.done) {
		t.Errorf("the supervisor has closed before its plugin: %v", err)
	}
}

// What is known of a plugin without a start goes with its program, and with its spec; while both stay, so does that.
func TestReloadForgetsWhatItKnewOfAnotherProgram(t *testing.T) {
	c := newCaching(t)
	spec := c.playing("p", "fickle")
	dir := t.TempDir()
	tools, program := filepath.Join(dir, "tools"), filepath.Join(dir, "program")
	spec.Env["FICKLE"], spec.Command = tools, []string{program}
	rewrite(t, tools, []byte("old one\n"))
	replace(t, program, os.Args[0])
	c.list(Options{}, spec)
	c.wantStarts(1, "the first listing")
	check(t, c.with(Options{}, func(s *Supervisor) error {
		p := add(t, s, spec)
		want := func(name string, starts int, when string) {
			t.Helper()
			if problems := s.Reload(t.Context(), []Spec{spec}); len(problems) > 0 {
				t.Error(problems)
			}
			if got := toolNames(t, p); len(got) != 1 || got[0] != name {
				t.Errorf("%s: the tools are %v", when, got)
			}
			c.wantStarts(starts, when)
		}
		want("old", 0, "at first")
		want("old", 0, "nothing has changed")
		rewrite(t, tools, []byte("new one\n"))
		longer := append(must(os.ReadFile(program)), "and more"...)
		check(t, os.WriteFile(program+".new", longer, 0o755))
		check(t, os.Rename(program+".new", program))
		want("new", 1, "another program")
		want("new", 0, "nothing has changed again")
		return nil
	}))
}
