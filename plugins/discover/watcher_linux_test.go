//go:build !proctree_group

package main

import "testing"

// The program kills what watches over it.
func TestWatcherIsKilled(t *testing.T) {
	r := newProject(t).calling(t, "echo so far; kill -KILL $PPID; exec sleep 600", usual).Run(t, "one", `{}`)
	wantError(t, r, "OutcomeUnknown")
	want := "the watcher of the command was killed (SIGKILL); what the command did is not known, and processes it " +
		"started may still run"
	if r.Error.Message != want {
		t.Errorf("message %q, want %q", r.Error.Message, want)
	}
	if len(r.Content) != 1 ||
		r.Content[0].Text != "Stdout: so far\n\nStderr: (empty)\nError: "+want+"\nExit Code: (none)\nSignal: (none)" {
		t.Errorf("content %+v", r.Content)
	}
}
