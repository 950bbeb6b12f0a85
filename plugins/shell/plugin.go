package main

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.2.0"

// shell is the plugin's state: its configuration, the jobs that run on after their call, and the files of long output.
type shell struct {
	config  atomic.Pointer[config]
	jobs    *jobs
	library *library
}

func newPlugin() *sdk.Plugin { return newShell().plugin() }

func newShell() *shell {
	s := &shell{jobs: newJobs(), library: &library{}}
	c := &config{}
	c.complete()
	s.config.Store(c)
	return s
}

func (s *shell) plugin() *sdk.Plugin {
	p := sdk.New("shell", version)
	sdk.Configure(p, s.configure)
	sdk.AddTool(p, runs(sdk.Tool{Name: "exec", Title: "Run a shell command", Description: execDescription}), s.exec)
	sdk.AddPreview(p, "exec", s.previewExec)
	sdk.AddTool(p, runs(sdk.Tool{Name: "script", Title: "Run a script", Description: scriptDescription}), s.script)
	sdk.AddPreview(p, "script", s.previewScript)
	sdk.AddTool(p, sdk.Tool{
		Name: "job", Title: "Look after background jobs", Description: jobDescription, Category: "shell", CostTier: sdk.Free,
		OutputSchema: json.RawMessage(jobSchema),
		// It changes nothing but jobs that the session itself was allowed to start.
		Hints:   sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.No, OpenWorld: sdk.No},
		Timeout: maxWait + 30*time.Second, Stateful: true,
	}, s.job)
	p.AtEnd(s.end)
	return p
}

// runs completes a tool that runs what it is given.
func runs(t sdk.Tool) sdk.Tool {
	t.Category, t.CostTier, t.OutputSchema = "shell", sdk.Free, json.RawMessage(execSchema)
	t.Hints = sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.Yes}
	t.Timeout = maxTimeout + 30*time.Second // the call's own timeout comes first
	return t
}

// end ends the jobs, and removes the files that no result has named.
func (s *shell) end() {
	s.jobs.end()
	s.library.close()
}

// transcript is a new one, for a call of a session.
func (s *shell) transcript(session string) *transcript {
	c := s.config.Load()
	var files *shelf
	if *c.SaveOutputBytes > 0 {
		files = &shelf{library: s.library, session: session, limit: *c.SaveOutputBytes}
	}
	return newTranscript(c.MaxOutputBytes, files)
}
