package httptransport

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sdkServer is a server of the official SDK with tools that try the transport.
func sdkServer(canceled chan<- struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tried", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult,
		error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "progress", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (
		*mcp.CallToolResult, error) {
		for i := range 20 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
				Progress: float64(i), Total: 20})
		}
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (
		*mcp.CallToolResult, error) {
		<-ctx.Done()
		canceled <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (
		*mcp.CallToolResult, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?"})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil
	})
	return s
}

func openTo(o Options) client.OpenFunc {
	return func(context.Context) (client.Transport, error) { return New(o) }
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func call(ctx context.Context, s *client.Session, tool, arguments string, o *client.CallOptions) (string, error) {
	out, err := s.Call(ctx, "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)), o)
	return string(out), err
}

func decline(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
	return json.RawMessage(`{"action":"decline"}`), nil
}

func TestServersOfTheSDK(t *testing.T) {
	for _, tt := range []struct {
		name     string
		o        mcp.StreamableHTTPOptions
		legacy   bool
		pin      string
		revision string
	}{
		{name: "stateful SSE", revision: "2025-11-25"},
		{name: "stateful JSON", o: mcp.StreamableHTTPOptions{JSONResponse: true}, revision: "2025-11-25"},
		{name: "stateless SSE", o: mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true},
			revision: "2026-07-28"},
		{name: "stateless JSON", o: mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true,
			PropagateRequestCancellation: true}, revision: "2026-07-28"},
		{name: "resumable", o: mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, revision: "2025-11-25"},
		{name: "old revision", pin: "2025-03-26", revision: "2025-03-26"},
		{name: "HTTP with SSE", legacy: true, revision: "2025-11-25"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			canceled := make(chan struct{}, 1)
			server := sdkServer(canceled)
			get := func(*http.Request) *mcp.Server { return server }
			var h http.Handler = mcp.NewStreamableHTTPHandler(get, &tt.o)
			if tt.legacy {
				h = mcp.NewSSEHandler(get, nil)
			}
			var versions atomic.Value
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				versions.Store(r.Header.Get("Mcp-Protocol-Version") + " " + r.Header.Get("Mcp-Method") + " " +
					r.Header.Get("Mcp-Name"))
				h.ServeHTTP(w, r)
			}))
			defer web.Close()
			ctx := limited(t)
			s, err := client.Dial(ctx, openTo(Options{URL: web.URL + "/mcp"}), client.Options{Name: "test", Version: "1",
				Revision: tt.pin, Capabilities: json.RawMessage(`{"elicitation":{}}`), Request: decline})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Server().Revision != tt.revision {
				t.Errorf("revision %s, want %s", s.Server().Revision, tt.revision)
			}
			list, err := s.List(ctx, client.Tools)
			if err != nil || len(list.Items) != 4 {
				t.Fatalf("%d tools, %v", len(list.Items), err)
			}
			out, err := call(ctx, s, "echo", `{"n":9007199254740993}`, nil)
			if err != nil || !strings.Contains(out, `9007199254740993`) {
				t.Errorf("echo gives %s, %v", out, err)
			}
			if tt.revision >= modernEra && versions.Load() != "2026-07-28 tools/call echo" {
				t.Errorf("headers %q", versions.Load())
			}
			seen := 0
			if _, err := call(ctx, s, "progress", `{}`, &client.CallOptions{Progress: func(client.Progress) { seen++ }}); err != nil ||
				!tt.o.JSONResponse && seen != 20 {
				t.Errorf("%d notes of progress before the result, %v", seen, err)
			}
			waiting, stop := context.WithCancel(ctx)
			time.AfterFunc(50*time.Millisecond, stop)
			if _, err := call(waiting, s, "wait", `{}`, nil); err == nil {
				t.Error("a canceled call has a result")
			}
			select {
			case <-canceled:
			case <-ctx.Done():
				t.Error("the server's handler goes on after the call was canceled")
			}
			if tt.revision < modernEra && !tt.o.JSONResponse {
				out, err := call(ctx, s, "ask", `{}`, &client.CallOptions{Request: decline})
				if err != nil || !strings.Contains(out, "decline") {
					t.Errorf("ask gives %s, %v", out, err)
				}
			}
		})
	}
}
