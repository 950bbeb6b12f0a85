package host_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func slogTo(r *recorder) *slog.Logger { return slog.New(r) }

func TestAuditLines(t *testing.T) {
	t.Parallel()
	deny := before(func(c *host.Call) error {
		if strings.Contains(string(c.Arguments), "secret") {
			return &sdk.Error{Code: "E_DENIED", Name: "Denied", Message: "no secrets"}
		}
		return nil
	})
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Attempt, r.Generation = 2, 7 // as a supervisor does
		if strings.Contains(string(r.Arguments), "fail") {
			return &sdk.Result{Error: &sdk.Error{Name: "MatchNotFound", Message: "no match"}}, nil
		}
		return sdk.Text("the answer"), nil
	})
	cases := map[string]struct {
		tool, arguments string
		want            map[string]string
	}{
		"ok": {"test__run", `{"a":1}`, map[string]string{"status": "ok", "attempts": "2", "generation": "7"}},
		"failed": {"test__run", `{"a":"fail"}`,
			map[string]string{"status": "error", "code": "E_TOOL", "name": "MatchNotFound", "outcome": "failed", "attempts": "2",
				"generation": "7"}},
		"denied": {"test__run", `{"a":"secret"}`,
			map[string]string{"status": "error", "code": "E_DENIED", "name": "Denied", "outcome": "not_sent", "attempts": "0",
				"generation": "0"}},
		"malformed": {"test__run", `{`,
			map[string]string{"status": "error", "code": "E_TOOL_INVALID_ARGS", "name": "MalformedArguments",
				"outcome": "not_sent", "attempts": "0", "generation": "0"}},
		"not found": {"test__none", ``,
			map[string]string{"status": "error", "code": "E_TOOL_NOT_FOUND", "name": "ToolNotFound", "outcome": "not_sent",
				"attempts": "0", "generation": "0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &recorder{}
			h := single(t, p, host.Options{Logger: slogTo(log), Middleware: []host.Middleware{deny}})
			h.Call(t.Context(), host.Call{ID: "c-1", SessionID: "s-1", Tool: c.tool, Arguments: []byte(c.arguments)})
			lines := log.all()
			if len(lines) != 1 {
				t.Fatalf("log %+v", lines)
			}
			got := lines[0].Attrs
			if d, err := time.ParseDuration(got["duration"]); err != nil || d <= 0 {
				t.Errorf("duration %q", got["duration"])
			}
			delete(got, "duration")
			c.want["call_id"], c.want["session_id"], c.want["tool"] = "c-1", "s-1", c.tool
			c.want["arguments_bytes"] = strconv.Itoa(len(c.arguments))
			diff(t, line{Level: slog.LevelInfo, Message: "call", Attrs: c.want}, lines[0])
		})
	}
}

func TestAuditCutsNames(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	h := single(t, answering(nil, nil), host.Options{Logger: slogTo(log)})
	h.Call(t.Context(), call(strings.Repeat("x", 1<<20), ""))
	if got := log.all()[0].Attrs["tool"]; got != strings.Repeat("x", 100)+"... (truncated)" {
		t.Errorf("%d bytes", len(got))
	}
}

// records is a Recorder that keeps records in memory, and fails on demand.
type records struct {
	mu     sync.Mutex
	all    []audit.Record
	broken error
}

func (r *records) Append(record audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	r.all = append(r.all, record)
	return nil
}

// soFar returns the current records, while calls run.
func (r *records) soFar() []audit.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func TestRecords(t *testing.T) {
	t.Parallel()
	no := host.No("not today")
	rules := must(policy.New(policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "never", Tools: []string{"*__never"}, Effect: policy.Deny, Source: "config.hcl:3"}}}))
	type line struct {
		Kind                         audit.Kind
		Effect, Rule, Status, Answer string
		By                           string
		Sync, Later                  bool
		Attempts                     int
	}
	cases := map[string]struct {
		tool   string
		answer host.Answer
		want   []line
	}{
		"reads": {"look", no, []line{{audit.KindDecision, "allow", "read_only", "", "", "", false, true, 0},
			{audit.KindCall, "allow", "read_only", "ok", "", "", false, true, 1}}},
		"writes": {"write", host.Answer{Approved: true, By: "terminal"},
			[]line{{audit.KindDecision, "ask", "not_read_only", "", "approved", "terminal", true, false, 0},
				{audit.KindCall, "ask", "not_read_only", "ok", "approved", "terminal", false, true, 1}}},
		"no":     {"write", no, []line{{audit.KindCall, "ask", "not_read_only", "error", "rejected", "", false, true, 0}}},
		"denied": {"never", no, []line{{audit.KindCall, "deny", "never", "error", "", "", false, true, 0}}},
		"absent": {"absent", no, []line{{audit.KindCall, "", "", "error", "", "", false, true, 0}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &records{}
			h := single(t, echoing(tool("look"), writes("write"), writes("never")),
				host.Options{Audit: log, Policy: rules, Approver: &asked{answers: []host.Answer{c.answer}}})
			r := h.Call(t.Context(), call("test__"+c.tool, `{"a":1}`))
			var got []line
			for _, l := range log.all {
				out := line{Kind: l.Kind, Effect: l.Effect, Rule: l.Rule, Status: l.Status, Sync: l.Sync,
					Later: l.Later, Attempts: l.Attempts}
				if l.Approval != nil {
					out.Answer, out.By = l.Approval.Answer, l.Approval.By
				}
				got = append(got, out)
				if l.CallID != r.CallID || l.Tool != "test__"+c.tool || string(l.Arguments) != `{"a":1}` {
					t.Errorf("record %+v", l)
				}
			}
			diff(t, c.want, got)
		})
	}
}

// A call that cannot be recorded does not run.
func TestNothingChangesUnrecorded(t *testing.T) {
	t.Parallel()
	log := &records{broken: errors.New("the disk is full")}
	p := echoing(tool("look"), writes("write"))
	h := single(t, p, host.Options{Audit: log, Approver: agreeing})
	e := failed(t, h.Call(t.Context(), call("test__write", "")), sdk.CodeDenied)
	if e.Name != "NotRecorded" || e.Suggestion == "" || p.called.Load() != 0 {
		t.Errorf("%+v, %d calls", e, p.called.Load())
	}
	succeeded(t, h.Call(t.Context(), call("test__look", "")))
}

// What is missing from a record that was taken away while the host runs is counted and logged at once, also of calls that
// only read; what changes something does not run.
func TestARecordThatIsRemovedWhileTheHostRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	said := &recorder{}
	o := host.Options{Audit: log, Approver: agreeing, Logger: slog.New(said)}
	seen := observe(t, &o)
	p := echoing(tool("look"), writes("write"))
	h := single(t, p, o)
	succeeded(t, h.Call(t.Context(), call("test__write", "{}")))
	if err := h.Reload(map[string]host.Plugin{"test": p}, o); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	succeeded(t, h.Call(t.Context(), call("test__look", "{}"))) // one call, after which nothing comes
	for deadline := time.Now().Add(time.Minute); seen.metric("toolhost.record.failures")[""] < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("%v records are counted as missing", seen.metric("toolhost.record.failures"))
		}
		time.Sleep(time.Millisecond)
	}
	if len(said.named("calls are missing from the record")) == 0 {
		t.Errorf("the log has %v", said.all())
	}
	e := failed(t, h.Call(t.Context(), call("test__write", "{}")), sdk.CodeDenied)
	if e.Name != "NotRecorded" {
		t.Error(e)
	}
}

// A call after the end of the host and of its record is refused, and nothing about the record is logged.
func TestCallAfterTheRecordIsClosed(t *testing.T) {
	t.Parallel()
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := &recorder{}
	h := single(t, echoing(tool("look")), host.Options{Audit: log, Logger: slog.New(said)})
	if err := errors.Join(h.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	failed(t, h.Call(t.Context(), call("test__look", "{}")), sdk.CodeCanceled)
	if about := said.named("the end of a call is missing from the record"); len(about) > 0 {
		t.Errorf("the log has %v", about)
	}
}

// End to end: a host that writes a log which verifies, with content.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{Content: true, Secrets: []string{"hunter2hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	h := single(t, echoing(tool("look"), writes("write")), host.Options{Audit: log, Approver: agreeing})
	succeeded(t, h.Call(t.Context(), call("test__look", `{"q":"hunter2hunter2"}`)))
	succeeded(t, h.Call(t.Context(), call("test__write", `{}`)))
	failed(t, h.Call(t.Context(), call("test__write", `{"open`)), sdk.CodeInvalidArgs)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(path)
	if err != nil || !report.OK() || report.Records != 5 {
		t.Fatalf("%+v, %v", report, err)
	}
	var all []audit.Record
	for r, err := range audit.Read(path) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if string(all[0].Arguments) != `{"q":"[redacted]"}` ||
		!slices.ContainsFunc(all, func(r audit.Record) bool { return r.Result != nil }) {
		t.Errorf("records %+v", all)
	}
}
