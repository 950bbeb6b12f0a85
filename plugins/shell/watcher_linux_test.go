//go:build !proctree_group

package main

import (
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// The command kills its launcher.
func TestWatcherIsKilled(t *testing.T) {
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(),
		map[string]any{"command": "echo so far; kill -KILL $PPID; exec sleep 600"})
	wantError(t, r, sdk.CodeTool, "OutcomeUnknown")
	want := "the watcher of the command was killed (SIGKILL); what the command did is not known, and processes it " +
		"started may still run"
	if r.Error.Message != want {
		t.Errorf("message %q, want %q", r.Error.Message, want)
	}
	if r.Error.Outcome != sdk.OutcomeUnknown {
		t.Errorf("outcome %q", r.Error.Outcome)
	}
	if got := contentOf(t, r); got != "so far" {
		t.Errorf("content %q", got)
	}
}
