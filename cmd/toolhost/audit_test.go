//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/bootstrap"
)

// auditRecords are the records of an example session, at fixed times.
func auditRecords() []audit.Record {
	at := func(second int) time.Time { return time.Date(2026, 11, 20, 10, 0, second, 0, time.UTC) }
	return []audit.Record{
		{Time: at(0), Kind: audit.KindStart, Plugin: "shell", Generation: 1},
		{Time: at(1), Kind: audit.KindDecision, CallID: "c1", Tool: "shell__exec", Plugin: "shell", Effect: "ask",
			Rule: "everyday", Layer: "project", Source: "config.hcl:4",
			Reason: "no list has it", Arguments: json.RawMessage(`{"command":"make"}`), Approval: &audit.Approval{By: "terminal",
				Answer: "approved"}, Sync: true},
		{Time: at(3), Kind: audit.KindCall, CallID: "c1", Tool: "shell__exec", Plugin: "shell", Status: "ok",
			DurationMS: 1234.5, Attempts: 1, Generation: 1},
		{Time: at(4), Kind: audit.KindDecision, CallID: "c2", Tool: "shell__exec", Plugin: "shell", Effect: "deny",
			Rule: "no-force", Layer: "project", Reason: "by people \x1b[31m\u202e"},
		{Time: at(4), Kind: audit.KindCall, CallID: "c2", Tool: "shell__exec", Plugin: "shell", Status: "error",
			Code: "E_DENIED", Outcome: "not_sent", DurationMS: 0.2},
		{Time: at(5), Kind: audit.KindCall, CallID: "c3\x1b[2J", Tool: "no\u202esuch", Status: "error",
			Code: "E_TOOL_NOT_FOUND", Outcome: "not_sent"},
	}
}

// writeAuditLog is the script command auditlog FILE: it adds the session's records to a log.
func writeAuditLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("use it as: auditlog FILE")
	}
	l, err := audit.Open(ts.MkAbs(args[0]), audit.Options{})
	for _, r := range auditRecords() {
		if err == nil {
			err = l.Append(r)
		}
	}
	ts.Check(err)
	ts.Check(l.Close())
}

func TestDefaultAuditPath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct{ named, state, want string }{
		{"log.jsonl", "/state", "log.jsonl"},
		{"", "/state", "/state/toolhost/audit.jsonl"},
		{"", "", filepath.Join(home, ".local/state/toolhost/audit.jsonl")},
		{"", "relative", filepath.Join(home, ".local/state/toolhost/audit.jsonl")},
	} {
		t.Setenv("TOOLHOST_AUDIT", c.named)
		t.Setenv("XDG_STATE_HOME", c.state)
		if got, err := bootstrap.AuditPath("", ""); err != nil || got != c.want {
			t.Errorf("with %+v: %q, %v", c, got, err)
		}
	}
	t.Setenv("HOME", "")
	if got, err := bootstrap.AuditPath("", ""); err == nil || !strings.Contains(err.Error(), "TOOLHOST_AUDIT") {
		t.Errorf("without a home: %q, %v", got, err)
	}
}

// Escaped JSON means the same as before.
func TestEscapedJSON(t *testing.T) {
	for _, text := range []string{"plain é", "\u202e\u061c\u2066", "\u0085\u009b31m\x7f", "\x1b[31m\x00\t\n"} {
		var line bytes.Buffer
		g := &options{terminal: &terminal{out: &stdoutWriter{w: &line}}}
		if err := g.printRecord(audit.Record{Reason: text}, "  "); err != nil {
			t.Fatal(err)
		}
		var back audit.Record
		if err := json.Unmarshal(line.Bytes(), &back); err != nil || back.Reason != text {
			t.Errorf("%q became %q, %v", text, back.Reason, err)
		}
		if replaceForTerminal(line.String()) != line.String() {
			t.Errorf("%q is printed as %q", text, line.String())
		}
	}
}

func TestInterruptedAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append(audit.Record{Kind: audit.KindStart}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := &options{terminal: &terminal{out: &stdoutWriter{w: &bytes.Buffer{}}}}
	if err := g.showAudit(ctx, path, "c1"); !errors.Is(err, errInterrupted) {
		t.Errorf("show: %v", err)
	}
	if err := g.verifyAudit(ctx, path); !errors.Is(err, errInterrupted) {
		t.Errorf("verify: %v", err)
	}
	if err := g.verifyAudit(t.Context(), path); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// The outcome of each failed call is shown, in the list and in the whole record.
func TestAuditReportsOutcomes(t *testing.T) {
	dir := t.TempDir()
	config, record := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "audit.jsonl")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writeConfig(t, config, fmt.Sprintf("plugin \"faulty\" {\n  command = [%q]\n  env     = { %s = %q }\n}\naudit {\n  "+
		"path = %q\n}\n",
		program, faultyVar, filepath.Join(dir, "ran"), record))
	toolhost := func(args ...string) string {
		var out, errs bytes.Buffer
		run(append([]string{"--config", config, "--workdir", dir}, args...), strings.NewReader(""), &out, &errs)
		return out.String() + errs.String()
	}
	for _, c := range []struct{ tool, arguments, outcome string }{
		{"fails", `{"text":7}`, "not_sent"}, {"fails", `{}`, "failed"}, {"dies", `{}`, "outcome_unknown"},
	} {
		id := lastCall(t, record, func() { toolhost("call", "--approve", "always", "faulty__"+c.tool, c.arguments) })
		if out := toolhost("audit", "show", id); !strings.Contains(out, `"outcome": "`+c.outcome+`"`) {
			t.Errorf("%s %s: show does not tell %s but:\n%s", c.tool, c.arguments, c.outcome, out)
		}
		reported := regexp.MustCompile(`call +` + id + ` .* error +E_[A-Z_]+ +` + c.outcome + ` +[0-9.]+ ms\n`)
		if out := toolhost("audit", "tail", "-n", "20"); !reported.MatchString(out) {
			t.Errorf("%s %s: tail does not tell %s but:\n%s", c.tool, c.arguments, c.outcome, out)
		}
	}
}

// lastCall returns the id of the call that do makes.
func lastCall(t *testing.T, record string, do func()) (id string) {
	t.Helper()
	do()
	for r, err := range audit.Read(record) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == audit.KindCall {
			id = r.CallID
		}
	}
	return id
}
