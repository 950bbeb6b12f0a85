package console_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/server/console"
	"github.com/toolhost/toolhost/host/server/internal/session"
)

const token = "a-token-of-the-tests"

// A fake has as much of everything as a test asks for, and texts that try to be more than texts.
type fake struct {
	apiv1connect.UnimplementedHostServiceHandler
	apiv1connect.UnimplementedHistoryServiceHandler
	apiv1connect.UnimplementedPolicyServiceHandler

	role  apiv1.Role
	tools []*apiv1.Tool
	calls int

	mu       sync.Mutex
	called   []string          // arguments of calls, and answers
	answered map[string]string // how questions ended, by their ids
	changed  chan struct{}     // closed when questions have changed

	// What pictures show in place of what tests need; see inUse.
	approvals []*apiv1.Approval
	running   []*apiv1.Plugin
	result    []*apiv1.Content
	output    []string // what a call prints, in parts
	busy      bool

	reloading     func()       // called by a reload of a plugin; may be nil
	reloadFailure atomic.Value // string
	queued        atomic.Int32
	untrusted     atomic.Bool // whether the file on the disk is to be trusted

	began time.Time    // when the newest call of the record began
	more  atomic.Int32 // calls that began later
	ended atomic.Bool  // whether the call that runs has ended

	watches chan int // how many watches are open, the newest figure
	open    atomic.Int32
	watched atomic.Int32 // how many were ever opened
}

// hostile is put wherever a plugin may write.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>&lt;b&gt;` + "\u202e\u200b"

const nested = `{"type":"object","required":["name","steps"],"properties":{
	"name":{"type":"string","description":"What it is called. ` + "`" + `<b>` + "`" + `"},
	"count":{"type":"integer","minimum":1,"maximum":9},
	"kind":{"enum":["small","large"]},
	"dry":{"type":"boolean","description":"Only say what would be done."},
	"owner":{"type":"object","required":["mail"],"properties":{"mail":{"type":"string"},"age":{"type":"integer"}}},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"steps":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/step"}}},
	"$defs":{"step":{"type":"object","required":["run"],"properties":{"run":{"type":"string"},
		"args":{"type":"array","items":{"type":"string"}}}}}}`

func newFake(tools, calls int) *fake {
	f := &fake{role: apiv1.Role_ROLE_OPERATOR, calls: calls, watches: make(chan int, 1),
		began: time.Now(), answered: map[string]string{}, changed: make(chan struct{})}
	f.tools = append(f.tools,
		&apiv1.Tool{Name: "demo__nested", Plugin: "demo", Description: "Takes nested arguments. " + hostile, InputSchema: nested,
			Title: "Nested", Previews: true, Hints: &apiv1.Hints{Destructive: new(true)}, HintsBelieved: true},
		&apiv1.Tool{Name: "demo__hostile", Plugin: "demo", Description: hostile, Title: hostile,
			InputSchema: `{"type":"object","title":` + quote(hostile) + `,"properties":{"a":{"type":"string","title":` + quote(hostile) +
				`,"description":` + quote(hostile+"{{constructor.constructor('document.title=1')()}}") + `,"format":"button",
				"links":[{"href":"javascript:document.title='owned'","rel":"x"}],"headerTemplate":"{{self}}","template":"{{x}}",
				"pattern":"(a+)+$","enum":["x",` + quote(hostile) + `],"options":{"infoText":` + quote(hostile) + `}},
				"<img src=x onerror=alert(1)>":{"type":"string"}}}`},
		&apiv1.Tool{Name: "demo__names", Plugin: "demo", Description: "Has names that are no names.", InputSchema: `{"type":"object",
			"properties":{"a.b":{"type":"string"},"a b":{"type":"string"},"[0]":{"type":"string"},"é\"'":{"type":"string"},
			"#":{"type":"object","properties":{"":{"type":"string"},"x.y":{"type":"integer"}}}},"required":["a.b"]}`},
		&apiv1.Tool{Name: "demo__proto", Plugin: "demo", Description: "Has names of JavaScript's own.", InputSchema: `{"type":"object",
			"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}`},
		&apiv1.Tool{Name: "demo__bomb", Plugin: "demo", Description: "Has a schema that grows.", InputSchema: bomb()},
		&apiv1.Tool{Name: "demo__loop", Plugin: "demo", Description: "Has a schema that holds itself.", InputSchema: `{"type":"object",
			"properties":{"next":{"$ref":"#"},"remote":{"$ref":"https://schemas.example.com/x"}}}`})
	for i := range max(0, tools-len(f.tools)) {
		f.tools = append(f.tools, &apiv1.Tool{Name: fmt.Sprintf("many__tool_%04d", i), Plugin: "many", Description: fmt.Sprintf(
			"Tool number %d of many.", i), InputSchema: `{"type":"object","properties":{"x":{"type":"string"}}}`})
	}
	return f
}

// watch holds a stream open until its client ends it.
func (f *fake) watch(ctx context.Context) error {
	f.watched.Add(1)
	f.note(f.open.Add(1))
	<-ctx.Done()
	f.note(f.open.Add(-1))
	return nil
}

func (f *fake) note(n int32) {
	for {
		select {
		case f.watches <- int(n):
			return
		case <-f.watches: // an older figure
		}
	}
}

// awaitWatches waits until the number of open watches is right.
func (f *fake) awaitWatches(t testing.TB, right func(int) bool) {
	t.Helper()
	limit := time.After(patience)
	for !right(int(f.open.Load())) {
		select {
		case <-f.watches:
		case <-limit:
			t.Fatalf("%d watches are open", f.open.Load())
		}
	}
}

// bomb is a schema of a few hundred bytes that refers to itself two to the power of thirty times.
func bomb() string {
	var defs []string
	for i := range 30 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`,
			i, i+1, i+1))
	}
	return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d30":{"type":"string"}}}`
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// serve starts the console with the fake behind it, as toolhost-server does with the real one.
func (f *fake) serve(t testing.TB) *httptest.Server {
	mux := http.NewServeMux()
	for _, register := range []func() (string, http.Handler){
		func() (string, http.Handler) { return apiv1connect.NewHostServiceHandler(f) },
		func() (string, http.Handler) { return apiv1connect.NewApprovalServiceHandler(approvalFake{fake: f}) },
		func() (string, http.Handler) { return apiv1connect.NewPluginServiceHandler(pluginFake{fake: f}) },
		func() (string, http.Handler) { return apiv1connect.NewHistoryServiceHandler(f) },
		func() (string, http.Handler) { return apiv1connect.NewPolicyServiceHandler(f) },
		func() (string, http.Handler) {
			return apiv1connect.NewConfigurationServiceHandler(configurationFake{fake: f})
		},
	} {
		path, handler := register()
		mux.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if session.Find(r, []string{token}) < 0 {
				_ = connect.NewErrorWriter().Write(w, r, connect.NewError(connect.CodeUnauthenticated, errors.New("sign in")))
				return
			}
			handler.ServeHTTP(w, r)
		}))
	}
	mux.HandleFunc("POST /session", func(w http.ResponseWriter, r *http.Request) {
		if value, err := session.ReadToken(w, r); err != nil || value != token {
			http.Error(w, "the token is not valid", http.StatusUnauthorized)
			return
		}
		session.Start(w, r, token)
	})
	mux.HandleFunc("DELETE /session", session.End)
	mux.Handle("/", console.New())
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

type (
	approvalFake struct {
		apiv1connect.UnimplementedApprovalServiceHandler
		*fake
	}
	pluginFake struct {
		apiv1connect.UnimplementedPluginServiceHandler
		*fake
	}
	configurationFake struct {
		apiv1connect.UnimplementedConfigurationServiceHandler
		*fake
	}
)

func answer[T any](m *T) (*connect.Response[T], error) { return connect.NewResponse(m), nil }

func (f *fake) GetInfo(context.Context, *connect.Request[apiv1.GetInfoRequest]) (*connect.Response[apiv1.GetInfoResponse],
	error) {
	failure, _ := f.reloadFailure.Load().(string)
	return answer(&apiv1.GetInfoResponse{ReloadFailure: failure, QueuedCalls: f.queued.Load(),
		Version: "0.0.0-test", Role: f.role, Started: timestamppb.Now(), Mode: "ask",
		Configuration: "/home/me/config.hcl", Workdir: "/home/me", Trusted: true})
}

func (f *fake) ListTools(_ context.Context, r *connect.Request[apiv1.ListToolsRequest]) (
	*connect.Response[apiv1.ListToolsResponse], error) {
	const page = 400
	from, _ := strconv.Atoi(r.Msg.PageToken)
	to := min(from+page, len(f.tools))
	next := strconv.Itoa(to)
	if to == len(f.tools) {
		next = ""
	}
	return answer(&apiv1.ListToolsResponse{Tools: f.tools[from:to], NextPageToken: next, Total: int32(len(f.tools))})
}

func (f *fake) DescribeTool(_ context.Context, r *connect.Request[apiv1.DescribeToolRequest]) (
	*connect.Response[apiv1.DescribeToolResponse], error) {
	for _, t := range f.tools {
		if t.Name == r.Msg.Tool {
			return answer(&apiv1.DescribeToolResponse{Tool: t})
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no tool "+r.Msg.Tool))
}

// png is an image of one red pixel.
var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82")

const diff = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n one\n-two <b>old</b>\n+two <b>new</b>\n three\n"

func (f *fake) Call(ctx context.Context, r *connect.Request[apiv1.CallRequest],
	s *connect.ServerStream[apiv1.CallResponse]) error {
	f.mu.Lock()
	f.called = append(f.called, r.Msg.Arguments)
	f.mu.Unlock()
	event := func(e *apiv1.Event) { _ = s.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Event{Event: e}}) }
	_ = s.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Accepted{Accepted: &apiv1.CallAccepted{CallId: "call-1"}}})
	if f.busy {
		return s.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Result{Result: &apiv1.CallResult{CallId: "call-1",
			Status: "ok", Content: f.result}}})
	}
	if f.output != nil {
		for _, part := range f.output {
			event(&apiv1.Event{Type: "output", Stream: "stdout", Data: []byte(part)})
		}
		return s.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Result{Result: &apiv1.CallResult{CallId: "call-1",
			Status: "ok", Content: f.result, Structured: `{"exit_code":0}`}}})
	}
	event(&apiv1.Event{Type: "progress", Done: 1, Total: 3, Message: "one of three"})
	event(&apiv1.Event{Type: "output", Stream: "stdout", Data: []byte("first line " + hostile + "\n")})
	event(&apiv1.Event{Type: "log", Level: "warn", Message: "careful"})
	return s.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Result{Result: &apiv1.CallResult{CallId: "call-1",
		Tool: r.Msg.Tool, Status: "ok", Content: []*apiv1.Content{{Type: "text", Text: hostile}, {Type: "text", Text: diff},
			{Type: "image", MimeType: "image/png", Data: png},
			{Type: "image", MimeType: "image/svg+xml", Data: []byte("<svg onload=alert(1)>")},
			{Type: "resource_link", Uri: "javascript:alert(1)", Name: "a link"}}}}})
}

func (f *fake) Preview(context.Context, *connect.Request[apiv1.PreviewRequest]) (*connect.Response[apiv1.PreviewResponse],
	error) {
	return answer(&apiv1.PreviewResponse{Decision: decision, Preview: &apiv1.CallPreview{
		Content: []*apiv1.Content{{Type: "text", Text: diff}}, Reason: hostile}})
}

var decision = &apiv1.Decision{Effect: "ask", Rule: "writes", Layer: "configuration", Source: "config.hcl:12",
	Reason: "it changes files", Trace: []*apiv1.DecisionStep{
		{Layer: "configuration", Rule: "reads", Source: "config.hcl:8", Effect: "allow"},
		{Layer: "configuration", Rule: "writes", Source: "config.hcl:12", Matched: true, Effect: "ask", Reason: hostile}}}

func (f *fake) WatchCalls(ctx context.Context, _ *connect.Request[apiv1.WatchCallsRequest],
	s *connect.ServerStream[apiv1.WatchCallsResponse]) error {
	_ = s.Send(&apiv1.WatchCallsResponse{Snapshot: true, Calls: f.runningCalls()})
	return f.watch(ctx)
}

func (f *fake) ListRunningCalls(context.Context, *connect.Request[apiv1.ListRunningCallsRequest]) (
	*connect.Response[apiv1.ListRunningCallsResponse], error) {
	return answer(&apiv1.ListRunningCallsResponse{Calls: f.runningCalls()})
}

func (f *fake) ListSessions(context.Context, *connect.Request[apiv1.ListSessionsRequest]) (
	*connect.Response[apiv1.ListSessionsResponse], error) {
	return answer(&apiv1.ListSessionsResponse{})
}

// waiting is what was not answered yet.
func (f *fake) waiting() []*apiv1.Approval {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(f.questions(), func(a *apiv1.Approval) bool { return f.answered[a.Id] != "" })
}

func (f *fake) questions() []*apiv1.Approval {
	if f.approvals != nil {
		return slices.Clone(f.approvals)
	}
	return []*apiv1.Approval{
		{Id: "1", Kind: apiv1.Approval_KIND_CALL, Hash: "h1", Tool: f.tools[0], Arguments: `{"name":` + quote(hostile) + `}`,
			Decision: decision, Caller: "cli", SessionId: "s1", Workdir: "/home/me/work", Risk: "medium", RiskReason: "it changes files",
			Preview: &apiv1.CallPreview{Content: []*apiv1.Content{{Type: "text", Text: diff}}}, Asked: timestamppb.Now(),
			Expires: timestamppb.New(time.Now().Add(5 * time.Minute)), Prefix: []string{"git", "status"}},
		{Id: "2", Kind: apiv1.Approval_KIND_CALL, Hash: "h2", Tool: f.tools[1], Arguments: `{"a":"x"}`, Decision: decision,
			Caller: hostile, Risk: "high", RiskReason: hostile, Asked: timestamppb.Now(), OnceOnly: true},
		{Id: "3", Kind: apiv1.Approval_KIND_INPUT, Hash: "h3", Tool: f.tools[0], Asked: timestamppb.Now(), Risk: "low",
			Input: &apiv1.InputRequired{Requests: map[string]string{"q": `{"method":"elicitation/create","params":{"message":"Which branch?",` +
				`"requestedSchema":{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]}}}`}}}}
}

func (f approvalFake) List(context.Context, *connect.Request[apiv1.ListApprovalsRequest]) (
	*connect.Response[apiv1.ListApprovalsResponse], error) {
	return answer(&apiv1.ListApprovalsResponse{Approvals: f.waiting()})
}

func (f approvalFake) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchApprovalsRequest],
	s *connect.ServerStream[apiv1.WatchApprovalsResponse]) error {
	f.mu.Lock()
	changed := f.changed
	f.mu.Unlock()
	before := f.waiting()
	_ = s.Send(&apiv1.WatchApprovalsResponse{Snapshot: true, Approvals: before})
	over := make(chan error, 1)
	go func() { over <- f.watch(ctx) }()
	has := func(in []*apiv1.Approval, id string) bool {
		return slices.ContainsFunc(in, func(a *apiv1.Approval) bool { return a.Id == id })
	}
	for {
		select {
		case err := <-over:
			return err
		case <-changed:
		}
		f.mu.Lock()
		changed = f.changed
		answers := maps.Clone(f.answered)
		f.mu.Unlock()
		now := f.waiting()
		m := &apiv1.WatchApprovalsResponse{}
		for _, a := range before {
			if !has(now, a.Id) {
				a = proto.CloneOf(a)
				a.Outcome = &apiv1.ApprovalOutcome{Answer: answers[a.Id], By: "console"}
				m.Approvals = append(m.Approvals, a)
			}
		}
		for _, a := range now {
			if !has(before, a.Id) {
				m.Approvals = append(m.Approvals, a)
			}
		}
		before = now
		_ = s.Send(m)
	}
}

// change has the watches of approvals send what is new.
func (f *fake) change(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f approvalFake) ListRemembered(context.Context, *connect.Request[apiv1.ListRememberedRequest]) (
	*connect.Response[apiv1.ListRememberedResponse], error) {
	return answer(&apiv1.ListRememberedResponse{Remembered: []*apiv1.Remembered{{Id: "r1", Tool: "demo__nested", Scope: "tool",
		Saved: true, Created: timestamppb.Now()}}})
}

func (f approvalFake) Answer(_ context.Context, r *connect.Request[apiv1.AnswerApprovalRequest]) (
	*connect.Response[apiv1.AnswerApprovalResponse], error) {
	text := "rejected"
	if r.Msg.Approved {
		text = "approved"
	}
	if r.Msg.Arguments != "" { // it is asked about again
		text = "changed"
	}
	f.change(func() {
		f.answered[r.Msg.Id] = text
		if i := slices.IndexFunc(f.approvals, func(a *apiv1.Approval) bool { return a.Id == r.Msg.Id }); i >= 0 && text == "changed" {
			a := proto.CloneOf(f.approvals[i])
			a.Id, a.Hash, a.Arguments = a.Id+"b", "of "+r.Msg.Arguments, r.Msg.Arguments
			f.approvals = append(f.approvals, a)
		}
		f.called = append(f.called, fmt.Sprintf("%s %s %s %s %v", r.Msg.Id, r.Msg.Hash, text, r.Msg.Scope, r.Msg.InputResponses))
	})
	return answer(&apiv1.AnswerApprovalResponse{Outcome: &apiv1.ApprovalOutcome{Answer: text, By: "console"}})
}

func (f pluginFake) plugins() []*apiv1.Plugin {
	if f.running != nil {
		return f.running
	}
	return []*apiv1.Plugin{
		{Name: "demo", State: "ready", Since: timestamppb.New(time.Now().Add(-time.Hour)), Pid: 4711, Generation: 3, Restarts: 2,
			Tools: 2, Version: "1.0", MemoryBytes: 24 << 20, Cpu: durationpb.New(3 * time.Second), Source: "config.hcl:20",
			Sandbox:   &apiv1.Sandbox{Requested: "confined", Effective: "confined"},
			LastCrash: &apiv1.Crash{Time: timestamppb.Now(), Generation: 2, Error: "exit code 2", Stderr: []string{"panic: " + hostile}}},
		{Name: "many", State: "quarantined", Since: timestamppb.Now(), LastError: "crashed 4 times", Stderr: []string{hostile},
			Crashes: 4, Sandbox: &apiv1.Sandbox{Requested: "isolated", Effective: "supervised", Missing: []string{"no namespaces"}},
			RetryAt: timestamppb.New(time.Now().Add(4 * time.Minute)), Notices: []string{hostile}},
	}
}

func (f pluginFake) List(context.Context, *connect.Request[apiv1.ListPluginsRequest]) (
	*connect.Response[apiv1.ListPluginsResponse], error) {
	return answer(&apiv1.ListPluginsResponse{Plugins: f.plugins()})
}

func (f pluginFake) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchPluginsRequest],
	s *connect.ServerStream[apiv1.WatchPluginsResponse]) error {
	_ = s.Send(&apiv1.WatchPluginsResponse{Snapshot: true, Plugins: f.plugins()})
	return f.watch(ctx)
}

func (f pluginFake) Reload(context.Context, *connect.Request[apiv1.ReloadPluginsRequest]) (
	*connect.Response[apiv1.ReloadPluginsResponse], error) {
	if f.reloading != nil {
		f.reloading()
	}
	return answer(&apiv1.ReloadPluginsResponse{})
}

func (f pluginFake) Logs(ctx context.Context, r *connect.Request[apiv1.LogsRequest],
	s *connect.ServerStream[apiv1.LogsResponse]) error {
	lines := []string{"a line", hostile, "the log of " + r.Msg.Plugin}
	if r.Msg.Plugin == "quiet" {
		lines = nil
	}
	_ = s.Send(&apiv1.LogsResponse{Lines: lines})
	if !r.Msg.Follow {
		return nil
	}
	return f.watch(ctx)
}

// Of the recorded calls one runs until it is ended, and one has no end.
const (
	runningCall = 5
	endlessCall = 8
)

// begin has n more calls begin: the record has them first.
func (f *fake) begin(n int32) { f.more.Add(n) }

// runningCalls are those that the host knows to run.
func (f *fake) runningCalls() []*apiv1.CallSummary {
	c := f.recorded(runningCall)
	if f.calls <= runningCall || c.Status != "unfinished" {
		return nil
	}
	return []*apiv1.CallSummary{{CallId: c.CallId, Tool: c.Tool, Plugin: c.Plugin, Caller: c.Caller, SessionId: c.SessionId,
		Status: "calling", Began: c.Decided, Arguments: c.Arguments}}
}

func (f *fake) recorded(i int) *apiv1.RecordedCall {
	at := f.began.Add(-time.Duration(i) * time.Second)
	c := &apiv1.RecordedCall{CallId: fmt.Sprintf("call-%05d", i), Decided: timestamppb.New(at), Ended: timestamppb.New(at),
		Tool: "demo__nested", Plugin: "demo", Caller: "cli", SessionId: "s1", Effect: "allow", Status: "ok",
		Duration: durationpb.New(time.Duration(max(i, 0)%900) * time.Millisecond), Arguments: `{"name":"x"}`, ResultBytes: 1000}
	if i%17 == 3 {
		c.Status, c.Code, c.ErrorReason = "error", "E_TOOL", hostile
	}
	if f.busy {
		c.Tool, c.Plugin = f.tools[i%len(f.tools)].Name, f.tools[i%len(f.tools)].Plugin
	}
	if i == endlessCall || i == runningCall && !f.ended.Load() {
		c.Status, c.Ended, c.Duration, c.ResultBytes = "unfinished", nil, nil, 0
	}
	return c
}

func (f *fake) Search(_ context.Context, r *connect.Request[apiv1.SearchCallsRequest]) (
	*connect.Response[apiv1.SearchCallsResponse], error) {
	from, _ := strconv.Atoi(r.Msg.PageToken)
	out := &apiv1.SearchCallsResponse{Total: int64(f.calls)}
	i := from - int(f.more.Load())
	is := func(filter, value string) bool { return filter == "" || filter == value }
	for ; i < f.calls && len(out.Calls) < int(r.Msg.PageSize); i++ {
		c, want := f.recorded(i), r.Msg.Filter
		tool, err := path.Match(cmp.Or(want.GetTool(), "*"), c.Tool)
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, err)
		}
		if tool && is(want.GetStatus(), c.Status) && is(want.GetPlugin(), c.Plugin) && is(want.GetCaller(), c.Caller) &&
			(len(want.GetCodes()) == 0 || slices.Contains(want.Codes, c.Code)) {
			out.Calls = append(out.Calls, c)
		}
	}
	if i < f.calls {
		out.NextPageToken = strconv.Itoa(i + int(f.more.Load()))
	}
	return answer(out)
}

func (f *fake) GetCall(_ context.Context, r *connect.Request[apiv1.GetCallRequest]) (*connect.Response[apiv1.GetCallResponse],
	error) {
	i, err := strconv.Atoi(strings.TrimPrefix(r.Msg.CallId, "call-"))
	if err != nil || i >= f.calls {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("the record has no such call"))
	}
	if f.busy {
		d := f.approvals[0].Decision
		return answer(&apiv1.GetCallResponse{Call: f.story(i), Decision: d, Records: []string{`{"seq":71}`, `{"seq":72}`},
			Stages: []*apiv1.Stage{{Name: "decide", Duration: durationpb.New(time.Millisecond)},
				{Name: "approval", Duration: durationpb.New(3900 * time.Millisecond)},
				{Name: "start", Duration: durationpb.New(31 * time.Millisecond)}, {Name: "call", Duration: durationpb.New(240 * time.Millisecond)}},
			Result: &apiv1.CallResult{Status: "ok", Content: []*apiv1.Content{{Type: "text", Text: editDiff}}}})
	}
	if i == endlessCall {
		return answer(&apiv1.GetCallResponse{Call: f.recorded(i), Decision: decision})
	}
	if running := f.runningCalls(); i == runningCall && len(running) > 0 {
		return answer(&apiv1.GetCallResponse{Call: f.recorded(i), Decision: decision, Summary: running[0]})
	}
	return answer(&apiv1.GetCallResponse{Call: f.recorded(i), Decision: decision, Records: []string{`{"seq":1,"kind":"decision"}`},
		Stages: []*apiv1.Stage{{Name: "decide", Duration: durationpb.New(time.Millisecond)},
			{Name: "approval", Duration: durationpb.New(3 * time.Second)}, {Name: "call", Duration: durationpb.New(time.Second)}},
		Events: []*apiv1.Event{{Type: "output", Stream: "stdout", Data: []byte(hostile), Time: timestamppb.Now()}},
		Result: &apiv1.CallResult{Status: "ok", Content: []*apiv1.Content{{Type: "text", Text: hostile}}}})
}

func (f *fake) Stats(_ context.Context, r *connect.Request[apiv1.StatsRequest]) (*connect.Response[apiv1.StatsResponse],
	error) {
	out := &apiv1.StatsResponse{Calls: 5000, Errors: 40, Step: durationpb.New(time.Minute)}
	s := &apiv1.Series{}
	since, until := r.Msg.Filter.GetSince().AsTime(), r.Msg.Filter.GetUntil().AsTime()
	for i := range int(r.Msg.Steps) {
		out.Times = append(out.Times, timestamppb.New(since.Add(until.Sub(since)/time.Duration(r.Msg.Steps)*time.Duration(i))))
		if f.busy {
			calls, errors, p50, p95, p99 := day(i)
			s.Calls, s.Errors = append(s.Calls, calls), append(s.Errors, errors)
			s.P50Ms, s.P95Ms, s.P99Ms = append(s.P50Ms, p50), append(s.P95Ms, p95), append(s.P99Ms, p99)
			continue
		}
		s.Calls, s.Errors = append(s.Calls, int64(40+i*7%23)), append(s.Errors, int64(i%5))
		s.P50Ms, s.P95Ms = append(s.P50Ms, 20+float64(i%7)), append(s.P95Ms, 120+float64(i*13%70))
		s.P99Ms = append(s.P99Ms, 300+float64(i*31%170))
	}
	out.Series = []*apiv1.Series{s}
	return answer(out)
}

func (f *fake) Layers(context.Context, *connect.Request[apiv1.LayersRequest]) (*connect.Response[apiv1.LayersResponse],
	error) {
	return answer(&apiv1.LayersResponse{Mode: "ask", Floor: true, Layers: []*apiv1.PolicyLayer{
		{Name: "organization", TightenOnly: true, Rules: []*apiv1.PolicyRule{{Name: "no-root", Source: "/etc/toolhost/policy.hcl:3",
			Tools: []string{"shell__*"}, Effect: "deny", Reason: hostile, Conditional: true, Arguments: []string{"command"}}}},
		{Name: "configuration", Rules: []*apiv1.PolicyRule{{Name: "writes", Source: "config.hcl:12", Tools: []string{"*__write"},
			Effect: "ask"}}}}})
}

func (f *fake) Explain(context.Context, *connect.Request[apiv1.ExplainRequest]) (*connect.Response[apiv1.ExplainResponse],
	error) {
	return answer(&apiv1.ExplainResponse{Decision: decision, OtherModes: []*apiv1.ModeDecision{
		{Mode: "never_ask", Decision: &apiv1.Decision{Effect: "deny", Reason: "no person is asked"}}}})
}

var configuration = &apiv1.Configuration{Path: "/home/me/config.hcl", Sha256: "00ff", Trusted: true, Loaded: timestamppb.Now(),
	Settings: []*apiv1.Setting{{Block: "", Key: "workdir", Value: "/home/me", Place: "config.hcl:1"},
		{Block: `plugin "demo"`, Key: "command", Value: "demo", Place: "config.hcl:20"},
		{Block: `plugin "demo"`, Key: "timeout", Value: "30s"}},
	Warnings: []*apiv1.Mistake{{Place: "config.hcl:8:2", Message: "the rule is never reached " + hostile}},
	Text:     "workdir = \"/home/me\"\n\nplugin \"demo\" {\n  command = \"demo\"\n}\n"}

func (f configurationFake) Get(context.Context, *connect.Request[apiv1.GetConfigurationRequest]) (
	*connect.Response[apiv1.GetConfigurationResponse], error) {
	return answer(&apiv1.GetConfigurationResponse{Configuration: configuration})
}

func (f configurationFake) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchConfigurationRequest],
	s *connect.ServerStream[apiv1.WatchConfigurationResponse]) error {
	_ = s.Send(&apiv1.WatchConfigurationResponse{Configuration: configuration})
	return f.watch(ctx)
}

func (f configurationFake) Check(context.Context, *connect.Request[apiv1.CheckConfigurationRequest]) (
	*connect.Response[apiv1.CheckConfigurationResponse], error) {
	return answer(&apiv1.CheckConfigurationResponse{Changed: true, Untrusted: f.untrusted.Load(), Mistakes: []*apiv1.Mistake{{Place: "config.hcl:31:1",
		Message: "there is no block plugn; did you mean plugin?"}}})
}
