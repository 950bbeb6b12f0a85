package server

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// bare is a handler of connect-go that does nothing.
type bare struct {
	apiv1connect.UnimplementedHostServiceHandler
}

func (bare) CallOnce(context.Context, *connect.Request[apiv1.CallRequest]) (*connect.Response[apiv1.CallResult],
	error) {
	return connect.NewResponse(&apiv1.CallResult{CallId: "one", Tool: "p__echo", Status: "ok",
		Content: []*apiv1.Content{{Type: "text", Text: `{"a":1}`}}}), nil
}

// BenchmarkCall compares a call over the API with its parts: the call in process, and a bare round trip of connect-go
// with messages of the same size. Compare them within one run.
func BenchmarkCall(b *testing.B) {
	calls := NewCalls(nil)
	rules, err := policy.New()
	if err != nil {
		b.Fatal(err)
	}
	plugin := &fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"echo": func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			return sdk.Text(string(r.Arguments)), nil
		}}}
	h, err := host.New(map[string]host.Plugin{"p": plugin}, host.Options{Policy: rules,
		Middleware: []host.Middleware{calls.Middleware}, Workdir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	c, err := h.Catalog(host.Filter{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Backend: &backend{h, c}, Calls: calls, Tokens: []Token{{"", operatorToken, Operator}}})
	if err != nil {
		b.Fatal(err)
	}
	in := &apiv1.CallRequest{Tool: "p__echo", Arguments: `{"a":1}`}
	b.Run("in process", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := c.Call(b.Context(), host.Call{Tool: in.Tool, Arguments: json.RawMessage(in.Arguments)}); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	})
	mux := http.NewServeMux()
	mux.Handle(apiv1connect.NewHostServiceHandler(bare{}))
	for name, handler := range map[string]http.Handler{"bare round trip": mux, "over the API": s.Handler()} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewUnstartedServer(handler)
			protocols := &http.Protocols{}
			protocols.SetUnencryptedHTTP2(true)
			server.Config.Protocols = protocols
			server.Start()
			defer server.Close()
			conn, err := grpc.NewClient("passthrough:///"+server.Listener.Addr().String(),
				grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(
					func(ctx context.Context, address string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, "tcp", address)
					}), grpc.WithPerRPCCredentials(token(operatorToken)))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			client := apiv1.NewHostServiceClient(conn)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := client.CallOnce(b.Context(), in); err != nil || r.Status != "ok" {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// token is sent with each call.
type token string

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

func (token) RequireTransportSecurity() bool { return false }
