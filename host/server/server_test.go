package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(dialVar); path != "" {
		dialAsChild(path)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what should be there at once.
const patience = time.Minute

const (
	operatorToken = "token-of-the-operator"
	approverToken = "token-of-the-approver"
	viewerToken   = "token-of-the-viewer"
)

// fake is a plugin in the memory of the test.
type fake struct {
	tools  map[string]func(ctx context.Context, r *sdk.Request) (*sdk.Result, error)
	starts func(ctx context.Context) error // before it lists its tools; nil does nothing
	awaits func(ctx context.Context)       // tools that it expects; nil does nothing
}

func (f *fake) AwaitTools(ctx context.Context, _ func(string)) error {
	if f.awaits != nil {
		f.awaits(ctx)
	}
	return nil
}

func (f *fake) Tools(ctx context.Context) (out []sdk.Tool, _ error) {
	if f.starts != nil {
		if err := f.starts(ctx); err != nil {
			return nil, err
		}
	}
	for name := range f.tools {
		out = append(out, sdk.Tool{Name: name, Description: "Tool " + name,
			InputSchema: json.RawMessage(`{"type":"object"}`), Hints: sdk.Hints{ReadOnly: sdk.Yes}})
	}
	return out, nil
}

func (f *fake) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	return f.tools[r.Tool](ctx, r)
}

func (f *fake) Close() error { return nil }

type backend struct {
	host    *host.Host
	catalog *host.Catalog
}

func (b *backend) Host() *host.Host       { return b.host }
func (b *backend) Catalog() *host.Catalog { return b.catalog }

// A setup is a server on TCP and on a Unix socket, with a plugin "p".
type setup struct {
	t       *testing.T
	plugin  fake
	most    int         // calls of the host at once; 0 is the default
	each    host.Limits // of the plugin
	limits  func(*limits)
	drain   time.Duration
	hosts   []string
	server  *Server
	url     string
	address string
	socket  string
	stop    context.CancelFunc
	ended   chan error
}

// begun is closed when the tool "wait" runs; it runs until its call ends or released is closed.
func waitTool(begun chan<- struct{}, released <-chan struct{}) func(context.Context, *sdk.Request) (*sdk.Result, error) {
	return func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, sdk.EndedError(ctx)
		case <-released:
			return sdk.Text("released"), nil
		}
	}
}

func (s *setup) start(t *testing.T) *setup {
	t.Helper()
	s.t = t
	if s.plugin.tools == nil {
		s.plugin.tools = map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){}
	}
	s.plugin.tools["echo"] = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(1, 2, "half")
		r.Output("stdout", []byte("printed"))
		return sdk.Text(string(r.Arguments)), nil
	}
	calls := NewCalls(nil)
	rules, err := policy.New()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(map[string]host.Plugin{"p": &s.plugin}, host.Options{Policy: rules,
		Middleware: []host.Middleware{calls.Middleware}, Workdir: t.TempDir(),
		MaxConcurrency: s.most, Plugins: map[string]host.PluginOptions{"p": {Limits: s.each}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Catalog(host.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	s.server, err = New(Options{Backend: &backend{h, c}, Calls: calls, Version: "test", Hosts: s.hosts,
		Tokens: []Token{{"", operatorToken, Operator}, {"ann", approverToken, Approver}, {"bob", viewerToken, Viewer}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.limits != nil {
		s.limits(&s.server.limits)
	}
	tcp, err := ListenTCP(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	s.socket = filepath.Join(dir, "s")
	unix, err := ListenUnix(t.Context(), s.socket)
	if err != nil {
		t.Fatal(err)
	}
	s.address, s.url = tcp.Addr().String(), "http://"+tcp.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.ended = cancel, make(chan error, 1)
	if s.drain == 0 {
		s.drain = patience
	}
	go func() {
		s.ended <- s.server.Serve(ctx, func() time.Duration { return s.drain }, Listener{Listener: tcp},
			Listener{Listener: unix})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-s.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * patience):
			t.Error("the server does not end")
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// client is one over TCP with a token.
func (s *setup) client(token string, o ...connect.ClientOption) apiv1connect.HostServiceClient {
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	with := connect.WithInterceptors(bearer(token))
	return apiv1connect.NewHostServiceClient(&http.Client{Transport: transport}, s.url, append(o, with)...)
}

// bearer sends a token.
type bearer string

func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		r.Header().Set("Authorization", "Bearer "+string(b))
		return next(ctx, r)
	}
}

func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		c := next(ctx, spec)
		c.RequestHeader().Set("Authorization", "Bearer "+string(b))
		return c
	}
}

func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// post sends a request of plain HTTP, and returns its status and body.
func (s *setup) post(procedure, body string, header map[string]string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+procedure, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// unharmed fails unless another client is served.
func (s *setup) unharmed() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	_, err := s.client(operatorToken).CallOnce(ctx, connect.NewRequest(&apiv1.CallRequest{Tool: "p__echo"}))
	if err != nil {
		s.t.Errorf("another client: %v", err)
	}
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !holds(); {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// stream makes a call, and returns its messages as words.
func words(receive func() (*apiv1.CallResponse, error)) (out []string, result *apiv1.CallResult, err error) {
	for {
		m, err := receive()
		switch {
		case errors.Is(err, io.EOF):
			return out, result, nil
		case err != nil:
			return out, result, err
		}
		switch m := m.Message.(type) {
		case *apiv1.CallResponse_Accepted:
			out = append(out, "accepted")
		case *apiv1.CallResponse_Event:
			out = append(out, m.Event.Type+" "+m.Event.Message+string(m.Event.Data))
		case *apiv1.CallResponse_Result:
			out, result = append(out, "result"), m.Result
		}
	}
}

func TestCallOverEachProtocol(t *testing.T) {
	s := new(setup).start(t)
	want := "accepted|status calling|progress half|output printed|status done|result"
	in := &apiv1.CallRequest{Tool: "p__echo", Arguments: `{"a": 1.50}`, CallId: "one"}
	check := func(t *testing.T, got []string, result *apiv1.CallResult, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("messages %q", got)
		}
		if result.CallId != "one" || result.Content[0].Text != `{"a": 1.50}` || result.Status != "ok" {
			t.Errorf("result %v", result)
		}
	}
	for name, o := range map[string]connect.ClientOption{"gRPC-Web": connect.WithGRPCWeb(),
		"Connect with JSON": connect.WithProtoJSON()} {
		t.Run(name, func(t *testing.T) {
			stream, err := s.client(operatorToken, o).Call(t.Context(), connect.NewRequest(in))
			if err != nil {
				t.Fatal(err)
			}
			got, result, err := words(func() (*apiv1.CallResponse, error) {
				if !stream.Receive() {
					return nil, errors.Join(stream.Err(), io.EOF)
				}
				return stream.Msg(), nil
			})
			check(t, got, result, errors.Join(err, stream.Err()))
		})
	}
	t.Run("gRPC on the socket", func(t *testing.T) {
		stream, err := apiv1.NewHostServiceClient(s.grpc()).Call(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, result, err := words(stream.Recv)
		check(t, got, result, err)
	})
	t.Run("plain JSON", func(t *testing.T) {
		status, body := s.post(apiv1connect.HostServiceCallOnceProcedure, `{"tool":"p__echo","arguments":"{\"b\":2}"}`,
			map[string]string{"Authorization": "Bearer " + operatorToken})
		if status != http.StatusOK || !strings.Contains(body, `{\"b\":2}`) {
			t.Errorf("%d %s", status, body)
		}
	})
}

// grpc is a client on the Unix socket.
func (s *setup) grpc() *grpc.ClientConn {
	c, err := grpc.NewClient("passthrough:///s", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.socket)
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestErrorsHaveDetails(t *testing.T) {
	s := new(setup).start(t)
	c := s.client(operatorToken)
	_, err := c.DescribeTool(t.Context(), connect.NewRequest(&apiv1.DescribeToolRequest{Tool: "p__ecko"}))
	e, is := errors.AsType[*connect.Error](err)
	if !is || e.Code() != connect.CodeNotFound || len(e.Details()) != 1 {
		t.Fatalf("%v", err)
	}
	value, err := e.Details()[0].Value()
	if d, is := value.(*apiv1.ErrorDetail); err != nil || !is || d.Code != string(sdk.CodeToolNotFound) ||
		!strings.Contains(d.Hint, "p__echo") {
		t.Errorf("%v %v", value, err)
	}
	_, err = apiv1connect.NewHistoryServiceClient(http.DefaultClient, s.url, connect.WithInterceptors(
		bearer(operatorToken))).Search(t.Context(), connect.NewRequest(&apiv1.SearchCallsRequest{}))
	if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "no such part") {
		t.Errorf("%v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	result, err := c.CallOnce(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__ecko"}))
	if err != nil || result.Msg.Error.GetCode() != string(sdk.CodeToolNotFound) {
		t.Errorf("a call of an unknown tool is a result: %v %v", result, err)
	}
}

func TestToolsAreListedInPages(t *testing.T) {
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){}}}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.plugin.tools[name] = nil
	}
	s.start(t)
	var names []string
	for token := ""; ; {
		r, err := s.client(viewerToken).ListTools(t.Context(), connect.NewRequest(&apiv1.ListToolsRequest{PageSize: 2,
			PageToken: token}))
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range r.Msg.Tools {
			names = append(names, tool.Name)
		}
		if token = r.Msg.NextPageToken; token == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "p__a p__b p__c p__d p__echo" {
		t.Error(got)
	}
	for limit, want := range map[int32]int{2: 2, 0: 5, 1000: 5} {
		r, err := s.client(viewerToken).SearchTools(t.Context(), connect.NewRequest(&apiv1.SearchToolsRequest{Query: "p",
			Limit: limit}))
		if err != nil || len(r.Msg.Hits) != want {
			t.Errorf("a search for at most %d finds %v, %v", limit, r, err)
		}
	}
}

// A list waits for tools that a plugin expects, if it is asked to, and no longer than the server serves.
func TestListAwaitsTools(t *testing.T) {
	for name, await := range map[string]func(s *setup){
		"they come":       func(*setup) {},
		"the server ends": func(s *setup) { s.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			s := &setup{}
			s.plugin.awaits = func(ctx context.Context) {
				if await(s); name != "they come" {
					<-ctx.Done()
				}
				s.plugin.tools["late"] = nil
			}
			s.start(t)
			for _, awaits := range []bool{false, true} {
				r, err := s.client(viewerToken).ListTools(t.Context(), connect.NewRequest(&apiv1.ListToolsRequest{Await: awaits}))
				if err != nil || r.Msg.Total != map[bool]int32{false: 1, true: 2}[awaits] {
					t.Errorf("asked to wait: %t: %v, %v", awaits, r, err)
				}
			}
		})
	}
}

// Calls that wait for a slot, of the plugin or of the host, are counted as running, and apart.
func TestQueuedCallsAreCounted(t *testing.T) {
	for name, s := range map[string]*setup{
		"plugin": {each: host.Limits{Concurrency: 1, Queue: 4}},
		"host":   {most: 1},
	} {
		t.Run(name, func(t *testing.T) { s.queuedCalls(t) })
	}
}

func (s *setup) queuedCalls(t *testing.T) {
	begun, released := make(chan struct{}, 3), make(chan struct{})
	s.plugin.tools = map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}
	s.start(t)
	c := s.client(operatorToken)
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			if _, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"})); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	expect := func(running, queued int32) {
		t.Helper()
		limit := time.Now().Add(patience)
		for {
			info, err := c.GetInfo(t.Context(), connect.NewRequest(&apiv1.GetInfoRequest{}))
			if err != nil {
				t.Fatal(err)
			}
			if info.Msg.RunningCalls == running && info.Msg.QueuedCalls == queued {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("%d run and %d are queued, want %d and %d", info.Msg.RunningCalls, info.Msg.QueuedCalls, running, queued)
			}
		}
	}
	expect(3, 2)
	close(released)
	calls.Wait()
	expect(0, 0)
}

// The end of a session cancels its calls, not those of others.
func TestSessionsAreEnded(t *testing.T) {
	begun, released := make(chan struct{}, 2), make(chan struct{})
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}}}
	s.start(t)
	c := s.client(operatorToken)
	results := map[string]chan string{}
	for _, session := range []string{"one", "other"} {
		result := make(chan string, 1)
		results[session] = result
		go func() {
			r, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait", SessionId: session}))
			if err != nil {
				result <- err.Error()
				return
			}
			result <- r.Msg.GetError().GetMessage()
		}()
		<-begun
	}
	ended, err := c.EndSession(t.Context(), connect.NewRequest(&apiv1.EndSessionRequest{SessionId: "one"}))
	if err != nil || ended.Msg.Canceled != 1 {
		t.Errorf("%v, %v", ended, err)
	}
	if got := <-results["one"]; !strings.HasPrefix(got, "the session was ended: ") {
		t.Errorf("the call of the session ends with %q", got)
	}
	close(released)
	if got := <-results["other"]; got != "" {
		t.Errorf("the call of the other session ends with %q", got)
	}
}

// Sessions without an ID are of their callers: they are listed apart, and a caller ends its own one alone.
func TestSessionsWithoutAnID(t *testing.T) {
	begun, released := make(chan struct{}), make(chan struct{})
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}}}
	s.start(t)
	const second = "another operator's token"
	own, other := s.client(operatorToken), s.client(second)
	if err := s.server.SetTokens([]Token{{Name: "own", Value: operatorToken, Role: Operator},
		{Name: "other", Value: second, Role: Operator}}); err != nil {
		t.Fatal(err)
	}
	codes := map[string]chan string{}
	for name, c := range map[string]apiv1connect.HostServiceClient{"own": own, "other": other} {
		code := make(chan string, 1)
		codes[name] = code
		go func() {
			r, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
			if err != nil {
				code <- err.Error()
				return
			}
			code <- r.Msg.GetError().GetCode()
		}()
		<-begun
	}
	list, err := own.ListSessions(t.Context(), connect.NewRequest(&apiv1.ListSessionsRequest{}))
	if err != nil || len(list.Msg.Sessions) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	unknown, err := own.EndSession(t.Context(), connect.NewRequest(&apiv1.EndSessionRequest{SessionId: "nope"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("an unknown session: %v, %v", unknown, err)
	}
	ended, err := own.EndSession(t.Context(), connect.NewRequest(&apiv1.EndSessionRequest{}))
	if err != nil || ended.Msg.Canceled != 1 {
		t.Errorf("%v, %v", ended, err)
	}
	if got := <-codes["own"]; got != string(sdk.CodeCanceled) {
		t.Errorf("the own call ends with %q", got)
	}
	close(released)
	if got := <-codes["other"]; got != "" {
		t.Errorf("the other caller's call ends with %q", got)
	}
}

func TestCallsThatRunAreWatchedAndCanceled(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, nil)}}}
	s.start(t)
	c := s.client(operatorToken)
	watch, err := s.client(viewerToken).WatchCalls(t.Context(), connect.NewRequest(&apiv1.WatchCallsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if !watch.Receive() || !watch.Msg().Snapshot {
		t.Fatal(watch.Msg(), watch.Err())
	}
	done := make(chan *apiv1.CallResult, 1)
	go func() {
		r, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait", CallId: "w",
			SessionId: "s", Arguments: `{"key":"AKIAIOSFODNN7EXAMPLE"}`}))
		if err != nil {
			t.Error(err)
			close(done)
			return
		}
		done <- r.Msg
	}()
	<-begun
	running, err := c.ListRunningCalls(t.Context(), connect.NewRequest(&apiv1.ListRunningCallsRequest{}))
	if err != nil || len(running.Msg.Calls) != 1 || running.Msg.Calls[0].CallId != "w" {
		t.Fatal(running, err)
	}
	if arguments := running.Msg.Calls[0].Arguments; strings.Contains(arguments, "AKIA") {
		t.Errorf("a secret is shown: %s", arguments)
	}
	sessions, err := c.ListSessions(t.Context(), connect.NewRequest(&apiv1.ListSessionsRequest{}))
	if err != nil || len(sessions.Msg.Sessions) != 1 || sessions.Msg.Sessions[0].Running != 1 {
		t.Fatal(sessions, err)
	}
	if _, err := c.CancelCall(t.Context(), connect.NewRequest(&apiv1.CancelCallRequest{CallId: "w"})); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.GetError().GetCode() != string(sdk.CodeCanceled) {
		t.Errorf("%v", r)
	}
	var last string
	for last != "canceled" && watch.Receive() {
		for _, call := range watch.Msg().Calls {
			last = call.Status
		}
	}
	if last != "canceled" {
		t.Errorf("the watch ended at %q: %v", last, watch.Err())
	}
	_ = watch.Close()
	var story apiv1.GetCallResponse
	if !s.server.calls.Describe("w", &story) || story.Summary.Status != "canceled" || len(story.Stages) == 0 {
		t.Errorf("%v", &story)
	}
	if _, err := c.CancelCall(t.Context(), connect.NewRequest(&apiv1.CancelCallRequest{CallId: "w"})); connect.CodeOf(
		err) != connect.CodeNotFound {
		t.Error(err)
	}
}

func TestBatchHasOneResultForEachCall(t *testing.T) {
	s := new(setup).start(t)
	stream, err := s.client(operatorToken).CallBatch(t.Context(), connect.NewRequest(&apiv1.CallBatchRequest{
		Calls: []*apiv1.CallRequest{{Tool: "p__echo", Arguments: `{"n":0}`}, {Tool: "p__none"},
			{Tool: "p__echo", Arguments: `{"n":2}`}}}))
	if err != nil {
		t.Fatal(err)
	}
	results, accepted := map[int32]string{}, 0
	for stream.Receive() {
		m := stream.Msg()
		if m.GetAccepted() != nil {
			accepted++
		}
		if r := m.GetResult(); r != nil {
			results[m.Index] += r.Status
		}
	}
	if stream.Err() != nil || accepted != 3 || len(results) != 3 || results[0] != "ok" || results[1] != "error" ||
		results[2] != "ok" {
		t.Errorf("%d accepted, results %v, %v", accepted, results, stream.Err())
	}
}

func TestResultsOfABatchComeAsItsCallsEnd(t *testing.T) {
	begun, released := make(chan struct{}, 1), make(chan struct{})
	s := (&setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}}}).start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := s.client(operatorToken).CallBatch(ctx, connect.NewRequest(&apiv1.CallBatchRequest{
		Calls: []*apiv1.CallRequest{{Tool: "p__wait"}, {Tool: "p__echo"}}}))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	var ended []string
	for stream.Receive() {
		m := stream.Msg()
		if r := m.GetResult(); r != nil {
			ended = append(ended, r.Tool)
			if m.Index == 1 { // only then may the slow call end
				close(released)
			}
		}
	}
	if got := strings.Join(ended, " "); stream.Err() != nil || got != "p__echo p__wait" {
		t.Errorf("results of %s, %v", got, stream.Err())
	}
}

func TestStopWaitsForCallsAndRefusesNewOnes(t *testing.T) {
	begun, released := make(chan struct{}, 1), make(chan struct{})
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}}}
	s.start(t)
	c := s.client(operatorToken, connect.WithGRPCWeb())
	watch, err := s.client(viewerToken).WatchCalls(t.Context(), connect.NewRequest(&apiv1.WatchCallsRequest{}))
	if err != nil || !watch.Receive() {
		t.Fatal(err, watch.Err())
	}
	stream, err := c.Call(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	s.stop()
	for watch.Receive() {
	}
	if connect.CodeOf(watch.Err()) != connect.CodeUnavailable {
		t.Errorf("the watch ends with %v", watch.Err())
	}
	_ = watch.Close()
	if err := s.server.begin(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a new call: %v", err)
	}
	close(released)
	var result *apiv1.CallResult
	for stream.Receive() {
		result = stream.Msg().GetResult()
	}
	if stream.Err() != nil || result.GetStatus() != "ok" {
		t.Errorf("the running call: %v, %v", result, stream.Err())
	}
}

func TestStopCancelsCallsThatTakeTooLong(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := &setup{drain: time.Millisecond, plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result,
		error){"wait": waitTool(begun, nil)}}}
	s.start(t)
	stream, err := s.client(operatorToken).Call(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	s.stop()
	var result *apiv1.CallResult
	for stream.Receive() {
		result = stream.Msg().GetResult()
	}
	if stream.Err() != nil || result.GetError().GetCode() != string(sdk.CodeCanceled) ||
		!strings.HasPrefix(result.GetError().GetMessage(), "the host stops, and waits no longer: ") {
		t.Errorf("%v, %v", result, stream.Err())
	}
}

// After another process has taken over, running calls have as long as their own timeouts give them: only a stop limits
// that.
func TestLeaveWaitsForCallsOfAnyLength(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		begun, released := make(chan struct{}, 1), make(chan struct{})
		s := &setup{drain: time.Millisecond, plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result,
			error){"wait": waitTool(begun, released)}}}
		s.start(t)
		watch, err := s.client(viewerToken).WatchCalls(t.Context(), connect.NewRequest(&apiv1.WatchCallsRequest{}))
		if err != nil || !watch.Receive() {
			t.Fatal(err, watch.Err())
		}
		stream, err := s.client(operatorToken).Call(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		s.server.Leave()
		for watch.Receive() {
		}
		if connect.CodeOf(watch.Err()) != connect.CodeUnavailable {
			t.Errorf("the watch ends with %v", watch.Err())
		}
		_ = watch.Close()
		select {
		case err := <-s.ended:
			t.Fatal("the server has ended", err)
		case <-time.After(100 * s.drain):
		}
		want := "ok"
		if stopped {
			want = string(sdk.CodeCanceled)
			s.stop()
		} else {
			close(released)
		}
		var result *apiv1.CallResult
		for stream.Receive() {
			result = stream.Msg().GetResult()
		}
		if got := cmp.Or(result.GetError().GetCode(), result.GetStatus()); stream.Err() != nil || got != want {
			t.Errorf("the running call: %v, want %s; %v", result, want, stream.Err())
		}
		select {
		case err := <-s.ended:
			s.ended <- err
		case <-time.After(patience):
			t.Fatal("the server does not end")
		}
	}
}

func TestEventsOfSlowClientsAreBounded(t *testing.T) {
	q := newEventQueue()
	const all = 5000
	for range all {
		q.add(0, &sdk.Event{Type: sdk.EventOutput, Data: bytes.Repeat([]byte("x"), 1000)})
	}
	q.add(0, &sdk.Event{Type: sdk.EventStatus, Message: "done"})
	if q.bytes > maxQueued {
		t.Errorf("%d bytes wait", q.bytes)
	}
	got := q.take()
	lost := int32(0)
	for _, e := range got {
		lost += e.event.Lost
	}
	if int(lost)+len(got) != all+1 || got[len(got)-1].event.Message != "done" {
		t.Errorf("%d events, %d lost", len(got), lost)
	}
}

func TestCallersAreNamedOnTheSocketOnly(t *testing.T) {
	s := new(setup).start(t)
	var mu sync.Mutex
	var callers []string
	s.plugin.tools["who"] = func(_ context.Context, _ *sdk.Request) (*sdk.Result, error) { return sdk.Text("x"), nil }
	in := &apiv1.CallRequest{Tool: "p__echo", Caller: "cli"}
	if _, err := s.client(operatorToken).CallOnce(t.Context(), connect.NewRequest(in)); connect.CodeOf(err) !=
		connect.CodePermissionDenied {
		t.Errorf("over TCP: %v", err)
	}
	if _, err := apiv1.NewHostServiceClient(s.grpc()).CallOnce(t.Context(), in); err != nil {
		t.Errorf("on the socket: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, one := range s.server.calls.listSessions() {
		callers = append(callers, one.Caller)
	}
	if len(callers) != 1 || callers[0] != "cli" {
		t.Error(callers)
	}
}

// A client that stops the server may say how long calls have, also no time, and not less than that.
func TestDrainOfAStop(t *testing.T) {
	s := new(setup).start(t)
	var stopped []string
	s.server.options.Stop = func(drain *time.Duration) {
		if drain == nil {
			stopped = append(stopped, "unset")
			return
		}
		stopped = append(stopped, drain.String())
	}
	c := s.client(operatorToken)
	for _, drain := range []*durationpb.Duration{nil, {}, durationpb.New(time.Minute)} {
		if _, err := c.Stop(t.Context(), connect.NewRequest(&apiv1.StopRequest{Drain: drain})); err != nil {
			t.Error(drain, err)
		}
	}
	for _, drain := range []*durationpb.Duration{durationpb.New(-1), {Nanos: -1, Seconds: 1}} {
		_, err := c.Stop(t.Context(), connect.NewRequest(&apiv1.StopRequest{Drain: drain}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Error(drain, err)
		}
	}
	if got := strings.Join(stopped, " "); got != "unset 0s 1m0s" {
		t.Error(got)
	}
}
