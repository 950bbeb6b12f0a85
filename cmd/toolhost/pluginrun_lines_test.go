//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// status asks how the plugin is.
func (r *running) status() (s pluginStatus) {
	r.t.Helper()
	r.enter("status")
	if err := r.out.Decode(&s); err != nil {
		r.t.Fatalf("%v\n%s", err, r.errs)
	}
	return s
}

// kill kills the plugin, and returns its state once that is known.
func (r *running) kill() (s pluginStatus) {
	r.t.Helper()
	killed := r.status()
	if err := syscall.Kill(killed.PID, syscall.SIGKILL); err != nil {
		r.t.Fatalf("pid %d: %v", killed.PID, err)
	}
	eventually(r.t, "the plugin is dead", func() bool { s = r.status(); return s.PID == 0 })
	return s
}

// A plugin that has crashed too often is examined and fixed in one session.
func TestPluginRunAfterAFix(t *testing.T) {
	t.Parallel()
	v := newVersioned(t, t.TempDir(), "tell")
	config := filepath.Join(filepath.Dir(v.path), "config.hcl")
	writeText(t, config, "plugin \"versioned\" {\n  command = [%q, %q]\n  restart {\n    max_crashes = 1\n  }\n}\n",
		v.path, v.ran)
	r := runIn(t, v, "--config", config, "--format", "json", "versioned")
	if s := r.status(); s.State != supervise.Ready || s.Generation != 1 || s.Sandbox == nil || s.Since.IsZero() {
		t.Errorf("at the start: %+v", s)
	}
	if s := r.kill(); s.State != supervise.Crashed || !strings.Contains(s.LastError, "SIGKILL") {
		t.Errorf("killed: %+v", s)
	}
	r.call("tell", "1")
	if s := r.kill(); s.State != supervise.Quarantined || s.RetryAt.Before(time.Now()) || s.Restarts != 1 ||
		s.Reason == "" {
		t.Errorf("killed again: %+v", s)
	}
	r.call("tell", "E_PLUGIN_UNAVAILABLE")
	r.enter("reset")
	r.waitForOutput("versioned: its crashes are forgotten; the next call starts it\n")
	if s := r.status(); s.State != supervise.Known {
		t.Errorf("after a reset: %+v", s)
	}
	r.call("tell", "1")
	r.enter("reset")
	r.waitForOutput("versioned: its crashes are forgotten; it is ready\n")
	before := r.status().Generation
	r.enter("reload")
	r.waitForOutput("versioned: reloaded; its tools are the same\n")
	v.rename("2 tell more")
	r.enter("reload")
	r.waitForOutput("versioned: reloaded: +more\n")
	r.call("more", "2")
	if s := r.status(); s.Generation != before+2 || s.Tools != 2 {
		t.Errorf("after two reloads: %+v", s)
	}
	v.renameText([]byte("#!/bin/sh\nexit 3\n"))
	r.enter("reload")
	r.waitForOutput(notReloaded)
	r.call("tell", "2")
	r.end(exitOK)
}

// A tool may have the name of one of the commands, and a command may be mistyped.
func TestLineWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"name=Ada n=1":                     {"name=Ada", "n=1"},
		`name="Ada Lovelace"  b='x "y" z'`: {"name=Ada Lovelace", `b=x "y" z`},
		`tags:='["a", "b"]' c="" d`:        {`tags:=["a", "b"]`, "c=", "d"},
		`a="b"c "d`:                        {`a="b"c`, `"d`},
	} {
		if diff := cmp.Diff(want, lineWords(line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestPluginRunTextAndTools(t *testing.T) {
	t.Parallel()
	r := runVersioned(t, "status")
	r.call("status {}", "1")
	r.call("versioned__status", "1")
	if s := r.status(); s.Name != "versioned" {
		t.Errorf("status: %+v", s)
	}
	r.call(":reset", "E_TOOL_NOT_FOUND")
	r.waitForOutput("versioned: \":reset\" is not a tool; did you mean \"reset\"?\n")
	r.call("nothing", "E_TOOL_NOT_FOUND")
	r.waitForOutput("versioned: \"nothing\" is not a tool; `help` lists the commands\n")
	r.enter("help")
	for _, w := range runCommands {
		r.waitForOutput(fmt.Sprintf("\n  %-14s ", w))
	}
	r.end(exitOK)
}

func TestStatusRows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).Local().Format(time.TimeOnly) }
	for name, c := range map[string]struct {
		status supervise.Status
		want   [][]string
	}{
		"known": {supervise.Status{State: supervise.Known}, [][]string{{"state", "known"}, {"generation", "0"},
			{"restarts", "0"}, {"tools", "0"}}},
		"ready, less kept in than asked": {supervise.Status{State: supervise.Ready, Since: now.Add(-time.Minute),
			Reason: "it has started", PID: 7, Generation: 2, Restarts: 1, Crashes: 1,
			Calls: 3, Draining: 1, Overdue: 2, Version: "1.0", Tools: 4, Containment: "process-tree",
			Notices: []sdk.Notice{{Kind: sdk.Problem, Text: "p"}, {Kind: sdk.Remark, Text: "r"}},
			Stderr:  []string{"s"},
			Sandbox: &sandbox.Confinement{Requested: sandbox.Confined, Effective: sandbox.Supervised, Missing: []string{"m"}}},
			[][]string{{"state", "ready since " + at(-time.Minute) + ", for 1m0s"}, {"reason", "it has started"}, {"pid", "7"},
				{"generation", "2"}, {"restarts", "1"},
				{"crashes", "1"}, {"calls", "3"}, {"draining", "1"}, {"overdue",
					"2 calls that were canceled or timed out still run"}, {"version", "1.0"}, {"tools", "4"},
				{"sandbox", "confined→supervised; m"},
				{"containment", "process-tree"}, {"problem", "p"}, {"remark", "r"}, {"stderr", "its last lines:"}}},
		"quarantined": {supervise.Status{State: supervise.Quarantined, Since: now, Reason: "it crashed",
			RetryAt: now.Add(5 * time.Minute), LastError: "exit status 3"},
			[][]string{{"state", "quarantined since " + at(0) + ", for 0s"}, {"reason", "it crashed"},
				{"next try", "from " + at(5*time.Minute) + " on, in 5m0s; `reset` does not wait"},
				{"generation", "0"}, {"restarts", "0"}, {"tools", "0"}, {"last error", "exit status 3"}}},
		"backoff": {supervise.Status{State: supervise.Backoff, RetryAt: now.Add(1001 * time.Millisecond)},
			[][]string{{"state", "backoff"}, {"next try", "from " + at(1001*time.Millisecond) +
				" on, in 2s; `reset` does not wait"}, {"generation", "0"}, {"restarts", "0"}, {"tools", "0"}}},
		"backoff for a moment": {supervise.Status{State: supervise.Backoff, RetryAt: now.Add(time.Millisecond)},
			[][]string{{"state", "backoff"}, {"next try", "from " + at(time.Millisecond) + " on, in 1s; `reset` does not wait"},
				{"generation", "0"}, {"restarts", "0"}, {"tools", "0"}}},
		"backoff is over": {supervise.Status{State: supervise.Backoff, RetryAt: now.Add(-time.Second)},
			[][]string{{"state", "backoff"}, {"next try", "with the next call"}, {"generation", "0"}, {"restarts", "0"},
				{"tools", "0"}}},
		"invalid": {supervise.Status{State: supervise.Invalid, Reason: "a line\nbreak"},
			[][]string{{"state", "invalid"}, {"reason", "a line break"},
				{"next try", "none. Fix it, then `reload`, or `reset` to try it unchanged"}, {"generation", "0"}, {"restarts",
					"0"}, {"tools", "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, statusRows(pluginStatus{Status: c.status}, now)); diff != "" {
				t.Errorf("(-want +seen)\n%s", diff)
			}
		})
	}
}
