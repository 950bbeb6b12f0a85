//go:build unix

package supervise

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// lateProcess is a plugin whose tools come when a text is written to the pipe.
func lateProcess(t *testing.T) (p *Process, pipe string) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := fixture("late", "late")
	spec.Env["PIPE"] = pipe
	p = add(t, supervisor(t), spec)
	if names := toolNames(t, p); len(names) != 0 {
		t.Fatalf("the tools are %q", names)
	}
	return p, pipe
}

// awaited calls AwaitTools, and writes to the pipe when that waits.
func awaited(t *testing.T, p *Process, pipe, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return p.AwaitTools(ctx, func(why string) {
		if why != "its server is starting" {
			t.Errorf("it waits because %q", why)
		}
		if err := os.WriteFile(pipe, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	})
}

func TestAwaitToolsThatCome(t *testing.T) {
	t.Parallel()
	p, pipe := lateProcess(t)
	if err := awaited(t, p, pipe, "come"); err != nil {
		t.Fatal(err)
	}
	if names := toolNames(t, p); len(names) != 1 {
		t.Errorf("the tools are %q", names)
	}
	if got := mustCall(t, p, "echo", ""); got != "late" {
		t.Error(got)
	}
	if err := p.AwaitTools(t.Context(), func(why string) { t.Error(why) }); err != nil {
		t.Error(err)
	}
}

func TestAwaitToolsThatDoNotCome(t *testing.T) {
	t.Parallel()
	p, pipe := lateProcess(t)
	for range 2 { // the second time without waiting
		err := awaited(t, p, pipe, "its server is down")
		if sdk.CodeOf(err) != sdk.CodePluginUnavailable || !strings.Contains(err.Error(), "its server is down") {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	other, _ := lateProcess(t)
	err := other.AwaitTools(ctx, func(string) { cancel() })
	if sdk.CodeOf(err) != sdk.CodePluginUnavailable || !strings.Contains(err.Error(), "its server is starting") {
		t.Errorf("%v", err)
	}
}

// A plugin that dies without tools is started by the next who asks for them.
func TestAwaitToolsOfAPluginThatDies(t *testing.T) {
	t.Parallel()
	p, pipe := lateProcess(t)
	if err := awaited(t, p, pipe, "die"); sdk.CodeOf(err) != sdk.CodePluginUnavailable {
		t.Errorf("%v", err)
	}
	if err := awaited(t, p, pipe, "come"); err != nil {
		t.Error(err)
	}
	if s := p.Status(); s.Generation != 2 || s.Tools != 1 {
		t.Errorf("%+v", s)
	}
}

// Tools that were known stay offered while a later start does not find them, and calls say why. That holds for a
// plugin that died, and for a host that began with a list of the tool cache, with a problem and without.
func TestToolsThatAStartDoesNotFind(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	p, pipe := lateProcess(t)
	spec := *p.spec.Load()
	check(t, p.Close()) // it reads the pipe
	host := func() *Process {
		t.Helper()
		s := must(New(Options{RunDir: shortDir(t), CacheDir: c.folder}))
		t.Cleanup(func() { _ = s.Close() })
		return add(t, s, spec)
	}
	first := host()
	if _, err := first.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, awaited(t, first, pipe, "come"))
	check(t, first.Close())
	for _, begins := range []string{"without a problem", "with a problem"} {
		p := host()
		if names := toolNames(t, p); len(names) != 1 || p.Status().State != Known {
			t.Fatalf("%s: the tools are %q, and it is %s", begins, names, p.Status().State)
		}
		changed := make(chan struct{}, 10)
		go func() { _ = p.Watch(t.Context(), func() { changed <- struct{}{} }) }()
		for _, after := range []string{"the start", "its death"} {
			checkStaysOffered(t, p, pipe, begins+", after "+after)
			check(t, os.WriteFile(pipe, []byte("die"), 0o600))
			soon(t, "it to die", patience, func() bool { return p.Status().State != Ready })
			p.Reset()
		}
		if n := len(changed); n > 0 {
			t.Errorf("%s: %d changes were reported", begins, n)
		}
		check(t, p.Close())
	}
	p = host()
	checkStaysOffered(t, p, pipe, "at last")
	check(t, os.WriteFile(pipe, []byte("come"), 0o600))
	soon(t, "the tool to be found", patience, func() bool { return len(p.Status().Notices) == 0 })
	if got := mustCall(t, p, "echo", ""); got != "late" {
		t.Error(got)
	}
}

// checkStaysOffered calls the tool of a plugin whose start does not find it.
func checkStaysOffered(t *testing.T, p *Process, pipe, when string) {
	t.Helper()
	offered := func(means string) {
		t.Helper()
		if names := toolNames(t, p); len(names) != 1 {
			t.Errorf("%s: %s, the tools are %q", when, means, names)
		}
	}
	offered("at first")
	r := request("echo", "")
	r.Events = func(e sdk.Event) {
		if strings.Contains(e.Message, "its server is starting") {
			offered("while it starts")
			check(t, os.WriteFile(pipe, []byte("its server is down"), 0o600))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := p.Call(ctx, r)
	if sdk.CodeOf(err) != sdk.CodePluginUnavailable || !strings.Contains(err.Error(), "its server is down") {
		t.Errorf("%s: %v", when, err)
	}
	offered("with its server down")
	s := p.Status()
	if len(s.Notices) != 1 || s.Notices[0] != (sdk.Notice{Kind: sdk.Problem,
		Text: "its tools are those of before: its server is down"}) {
		t.Errorf("%s: the notices are %q", when, s.Notices)
	}
}

// Tools of another configuration do not stay.
func TestToolsOfAnotherConfigurationDoNotStay(t *testing.T) {
	t.Parallel()
	p, pipe := lateProcess(t)
	check(t, awaited(t, p, pipe, "come"))
	spec := *p.spec.Load()
	spec.Env = map[string]string{"OTHER": "yes"}
	for name, value := range p.spec.Load().Env {
		spec.Env[name] = value
	}
	check(t, p.Reload(t.Context(), spec))
	if names := toolNames(t, p); len(names) != 0 {
		t.Errorf("the tools are %q", names)
	}
}
