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
