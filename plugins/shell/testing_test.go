package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// testShell is the plugin's state without its wire.
func testShell(t *testing.T) *shell {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s := newShell()
	t.Cleanup(s.end)
	return s
}

// patient is the plugin with unlimited time for a job's first output, and more for what follows.
func patient(t *testing.T, more time.Duration) *sdktest.Plugin {
	t.Helper()
	s := newShell()
	s.jobs.first, s.jobs.more = time.Minute, more
	return sdktest.Start(t, s.plugin())
}

// callIn calls a tool in a folder, for a session.
func callIn(t *testing.T, p *sdktest.Plugin, tool, workdir, session string, args any) *sdk.Result {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Call(t.Context(),
		&sdk.Request{CallID: t.Name(), RunID: rand.Text(), Tool: tool, Arguments: text, Workdir: workdir, SessionID: session,
			Attempt: 1})
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	return r
}

// jobIn asks about the jobs of a session.
func jobIn(t *testing.T, p *sdktest.Plugin, session string, args jobArgs) *sdk.Result {
	t.Helper()
	return callIn(t, p, "job", t.TempDir(), session, args)
}

// textOf is the text of a result that is no error.
func textOf(t *testing.T, r *sdk.Result) string {
	t.Helper()
	if r.Error != nil || len(r.Content) != 1 {
		t.Fatalf("error %+v, %d parts", r.Error, len(r.Content))
	}
	return r.Content[0].Text
}

// contextUntilOutput is a context that ends when the call prints something.
func contextUntilOutput(t *testing.T) (context.Context, func(sdk.Event)) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, func(e sdk.Event) {
		if e.Type == sdk.EventOutput {
			cancel()
		}
	}
}
