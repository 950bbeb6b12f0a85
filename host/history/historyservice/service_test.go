package historyservice_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/history"
	"github.com/toolhost/toolhost/host/history/historyservice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var day = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// served returns a client of the history of these records.
func served(t *testing.T, o historyservice.Options, all ...audit.Record) apiv1connect.HistoryServiceClient {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := audit.Open(path, audit.Options{Content: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	index, err := history.Open(t.Context(), history.Options{Record: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, handler := apiv1connect.NewHistoryServiceHandler(historyservice.New(index, o))
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.Close(); index.Close() })
	return apiv1connect.NewHistoryServiceClient(s.Client(), s.URL)
}

// call are the records of call n, of which each third fails.
func call(n int) []audit.Record {
	decision := audit.Record{Time: day.Add(time.Duration(n) * time.Minute), Kind: audit.KindDecision,
		CallID: fmt.Sprint("c", n), Tool: "shell__exec", Plugin: "shell", Caller: "ann", SessionID: "s", Workdir: "/w",
		Arguments: []byte(`{"command": "ls"}`), Effect: "ask", Rule: "r", Layer: "user", Source: "config.hcl:1",
		Approval: &audit.Approval{By: "terminal", Answer: "approved", Scope: "once"}}
	end := decision
	end.Kind, end.Status, end.DurationMS, end.Attempts, end.Generation = audit.KindCall, "ok", 1.5, 1, 2
	end.Result = []byte(`{"content": []}`)
	if n%3 == 0 {
		end.Status, end.Code, end.Name, end.Outcome, end.Reason = "error", "E_TOOL", "Bad", "failed", "it broke"
	}
	return []audit.Record{decision, end}
}

func TestACallOverTheAPI(t *testing.T) {
	nested := audit.Record{Time: day, Kind: audit.KindCall, CallID: "inner", ViaCallID: "c3", ViaTool: "shell__exec"}
	recent := func(id string, out *apiv1.GetCallResponse) bool {
		out.Decision = &apiv1.Decision{Reason: "known of " + id}
		return id == "running"
	}
	c := served(t, historyservice.Options{Recent: recent}, append(call(3), nested)...)
	r, err := c.GetCall(t.Context(), connect.NewRequest(&apiv1.GetCallRequest{CallId: "c3"}))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Msg.Call
	if got.Tool != "shell__exec" || got.Caller != "ann" || got.SessionId != "s" || got.Effect != "ask" || got.Rule != "r" ||
		got.ApprovalBy != "terminal" || got.ApprovalAnswer != "approved" || got.ApprovalScope != "once" ||
		got.Status != "error" || got.Code != "E_TOOL" || got.Name != "Bad" || got.Outcome != "failed" ||
		got.ErrorReason != "it broke" || got.Duration.AsDuration() != 1500*time.Microsecond || got.Generation != 2 ||
		got.Arguments != `{"command":"ls"}` || got.Result != `{"content":[]}` || got.ArgumentsBytes != 17 ||
		!got.Decided.AsTime().Equal(day.Add(3*time.Minute)) || !got.Ended.AsTime().Equal(day.Add(3*time.Minute)) {
		t.Errorf("%v", got)
	}
	if len(r.Msg.Records) != 2 || !strings.HasPrefix(r.Msg.Records[0], `{"seq":1,`) || len(r.Msg.Nested) != 1 ||
		r.Msg.Nested[0].CallId != "inner" || r.Msg.Decision.Reason != "known of c3" {
		t.Errorf("%v", r.Msg)
	}
	if r, err := c.GetCall(t.Context(), connect.NewRequest(&apiv1.GetCallRequest{CallId: "running"})); err != nil ||
		r.Msg.Call != nil || r.Msg.Decision == nil {
		t.Errorf("a call that only the host knows: %v, %v", r, err)
	}
}

// An id may be used again: what is shown is of the newest call, and of no other.
func TestCallsWithOneID(t *testing.T) {
	var all []audit.Record
	const uses = 150
	for n := range uses {
		again := call(n + 1)
		nested := audit.Record{Time: again[0].Time, Kind: audit.KindDecision, CallID: fmt.Sprint("inner", n), ViaCallID: "c",
			ViaTool: "shell__exec"}
		for i := range again {
			again[i].CallID = "c"
		}
		again[0].Arguments = fmt.Appendf(nil, `{"use":%d}`, n)
		again[1].Arguments, again[1].Result = nil, fmt.Appendf(nil, `{"of":%d}`, n)
		if n == uses-1 { // it is denied: without arguments and a result
			again[0].Arguments, again[1].Result, again[1].Status = nil, nil, "error"
		}
		all = append(all, again[0], nested, again[1])
	}
	get := func(recent *apiv1.CallSummary) *apiv1.GetCallResponse {
		t.Helper()
		o := historyservice.Options{Recent: func(_ string, out *apiv1.GetCallResponse) bool {
			if out.Summary = recent; recent != nil {
				out.Result = &apiv1.CallResult{Text: "of the recent call"}
			}
			return recent != nil
		}}
		r, err := served(t, o, all...).GetCall(t.Context(), connect.NewRequest(&apiv1.GetCallRequest{CallId: "c"}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	newest := day.Add(uses * time.Minute)
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(newest.Add(d)) }
	for name, c := range map[string]struct {
		recent       *apiv1.CallSummary
		call, result bool
		nested       string
	}{
		"only the record":      {nil, true, false, fmt.Sprint("inner", uses-1)},
		"the newest is recent": {&apiv1.CallSummary{Began: at(-time.Millisecond), Ended: at(time.Millisecond)}, true, true, fmt.Sprint("inner", uses-1)},
		"one before is recent": {&apiv1.CallSummary{Began: at(-time.Hour), Ended: at(-time.Minute)}, true, false, fmt.Sprint("inner", uses-1)},
		"one after it runs":    {&apiv1.CallSummary{Began: at(time.Minute)}, false, true, ""},
	} {
		r := get(c.recent)
		if (r.Call != nil) != c.call || r.Call != nil && (!r.Call.Decided.AsTime().Equal(newest) || r.Call.Arguments != "" ||
			r.Call.Result != "") {
			t.Errorf("%s: the call is %v", name, r.Call)
		}
		if (r.Result != nil) != c.result || (r.Summary != nil) != c.result {
			t.Errorf("%s: the recent call is %v, %v", name, r.Summary, r.Result)
		}
		var nested []string
		for _, n := range r.Nested {
			nested = append(nested, n.CallId)
		}
		if got := strings.Join(nested, " "); got != c.nested {
			t.Errorf("%s: the nested calls are %s", name, got)
		}
		if last := r.Records[len(r.Records)-1]; len(r.Records) != 200 || !strings.Contains(last, `"seq":450,`) {
			t.Errorf("%s: %d lines, the last is %s", name, len(r.Records), last)
		}
	}
}

func TestPagesAndCountsOverTheAPI(t *testing.T) {
	var all []audit.Record
	for n := range 30 {
		all = append(all, call(n)...)
	}
	c := served(t, historyservice.Options{}, all...)
	filter := &apiv1.CallFilter{Tool: "shell__*", Plugin: "shell", SessionId: "s", Caller: "ann", Status: "error",
		Codes: []string{"E_TOOL"}, Effects: []string{"ask", "deny"}, Since: timestamppb.New(day),
		Until: timestamppb.New(day.Add(time.Hour)), Text: "broke", AtLeast: durationpb.New(time.Millisecond), Workdir: "/w",
		Rule: "r", ApprovalAnswer: "approved", Name: "Bad", Outcome: "failed"}
	var ids []string
	for token := ""; ; {
		r, err := c.Search(t.Context(), connect.NewRequest(&apiv1.SearchCallsRequest{Filter: filter, PageSize: 4, Count: true,
			PageToken: token}))
		if err != nil {
			t.Fatal(err)
		}
		if r.Msg.Total != 10 || r.Msg.TotalIsLeast || r.Msg.UnreadBytes != 0 {
			t.Errorf("%d calls, %v, %d bytes", r.Msg.Total, r.Msg.TotalIsLeast, r.Msg.UnreadBytes)
		}
		for _, call := range r.Msg.Calls {
			ids = append(ids, call.CallId)
		}
		if token = r.Msg.NextPageToken; token == "" {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "c27 c24 c21 c18 c15 c12 c9 c6 c3 c0" {
		t.Error(got)
	}
	s, err := c.Stats(t.Context(), connect.NewRequest(&apiv1.StatsRequest{Filter: &apiv1.CallFilter{
		Since: timestamppb.New(day), Until: timestamppb.New(day.Add(30 * time.Minute))}, Steps: 3, GroupBy: "tool"}))
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Msg; m.Calls != 30 || m.Errors != 10 || len(m.Times) != 3 || len(m.Series) != 1 ||
		m.Series[0].Name != "shell__exec" || m.Series[0].Calls[1] != 10 || m.Series[0].P99Ms[0] < 1.4 ||
		m.Series[0].P99Ms[0] > 1.6 || m.Step.AsDuration() != 10*time.Minute {
		t.Errorf("%v", m)
	}
}

func TestExportOverTheAPIHasWholeLines(t *testing.T) {
	var all []audit.Record
	for n := range 300 {
		pair := call(n)
		pair[0].Arguments = []byte(`"` + strings.Repeat("x", 20_000) + `"`)
		all = append(all, pair...)
	}
	c := served(t, historyservice.Options{}, all...)
	for format, want := range map[string]int{"": 600, "jsonl": 600, "csv": 301} {
		stream, err := c.Export(t.Context(), connect.NewRequest(&apiv1.ExportRequest{Format: format}))
		if err != nil {
			t.Fatal(err)
		}
		var lines int
		for stream.Receive() {
			data := stream.Msg().Data
			if !bytes.HasSuffix(data, []byte("\n")) || len(data) > 4<<20 {
				t.Errorf("a message of %d bytes ends in %q", len(data), data[len(data)-1:])
			}
			lines += bytes.Count(data, []byte("\n"))
		}
		if err := stream.Err(); err != nil || lines != want {
			t.Errorf("%s: %d lines, %v", format, lines, err)
		}
	}
}

func TestRequestsThatCannotBeAreRefused(t *testing.T) {
	c := served(t, historyservice.Options{}, call(1)...)
	search := func(r *apiv1.SearchCallsRequest) error {
		_, err := c.Search(t.Context(), connect.NewRequest(r))
		return err
	}
	for name, err := range map[string]error{
		"pattern":  search(&apiv1.SearchCallsRequest{Filter: &apiv1.CallFilter{Tool: "["}}),
		"text":     search(&apiv1.SearchCallsRequest{Filter: &apiv1.CallFilter{Text: "?!"}}),
		"token":    search(&apiv1.SearchCallsRequest{PageToken: "x"}),
		"size":     search(&apiv1.SearchCallsRequest{PageSize: 1001}),
		"negative": search(&apiv1.SearchCallsRequest{PageSize: -1}),
		"time":     search(&apiv1.SearchCallsRequest{Filter: &apiv1.CallFilter{Since: &timestamppb.Timestamp{Nanos: -1}}}),
		"duration": search(&apiv1.SearchCallsRequest{Filter: &apiv1.CallFilter{AtLeast: &durationpb.Duration{Nanos: -1,
			Seconds: 1}}}),
	} {
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id, want := range map[string]connect.Code{"": connect.CodeInvalidArgument, "nope": connect.CodeNotFound} {
		_, err := c.GetCall(t.Context(), connect.NewRequest(&apiv1.GetCallRequest{CallId: id}))
		if connect.CodeOf(err) != want {
			t.Errorf("%q: %v", id, err)
		}
	}
}
