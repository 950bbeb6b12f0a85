package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

// The arms of the API beside ours, which is over the API of `toolhost serve`. Parts is one call in process and one round
// trip, in turn: a plugin that waited for the round trip takes longer to answer than one that is called without a pause,
// so that the sum of both alone would be less than any server can reach.
const (
	parts  = "Host.Call in process plus a bare connect-go round trip"
	inside = "Host.Call in a bare connect-go handler"
)

// api compares calls over the API with what they are made of. All servers are in this process, and all clients are of
// gRPC on a Unix socket. Only the host that is served has what the server adds, the register of its calls.
func (b *bench) api(ctx context.Context) error {
	const size = 100
	plain, err := b.open(1)
	if err != nil {
		return err
	}
	defer plain.Close()
	calls := server.NewCalls(nil)
	h, err := b.openWith(b.plugin(0), calls.Middleware)
	if err != nil {
		return err
	}
	defer h.Close()
	over, stop, err := b.serveAPI(h, calls)
	if err != nil {
		return err
	}
	defer stop()
	bare, stop, err := b.serveBare(func(context.Context, *apiv1.CallRequest) *apiv1.CallResult {
		text := string(payload.Text(size))
		return &apiv1.CallResult{CallId: "0123456789ABCDEF0123456789", Tool: "bench0__echo", Plugin: "bench0", Status: "ok",
			Attempts: 1, Content: []*apiv1.Content{{Type: "text", Text: text}}, Text: text}
	})
	if err != nil {
		return err
	}
	defer stop()
	around, stop, err := b.serveBare(func(ctx context.Context, r *apiv1.CallRequest) *apiv1.CallResult {
		result := plain.Host().Call(ctx, host.Call{Tool: r.Tool, Arguments: json.RawMessage(r.Arguments)})
		out := convert.Result(result)
		out.Text = convert.Text(result.Text())
		return out
	})
	if err != nil {
		return err
	}
	defer stop()
	callOn := func(client apiv1.HostServiceClient) error {
		r, err := client.CallOnce(ctx, &apiv1.CallRequest{Tool: "bench0__echo", Arguments: string(payload.Arguments(size))})
		switch {
		case err != nil:
			return err
		case r.Status != "ok":
			return errors.New(r.Error.GetMessage())
		}
		return expect(len(r.Content[0].Text), size, nil)
	}
	for _, callers := range []int{1, 16} {
		arms := []*arm{
			{name: ours, pids: h.pids, call: func(int) error { return callOn(over) }},
			{name: inside, pids: plain.pids, call: func(int) error { return callOn(around) }},
			{name: parts, pids: plain.pids, call: func(int) error {
				return errors.Join(callOn(bare), plain.call("echo", payload.Arguments(size), size))
			}},
		}
		for _, a := range arms {
			a.callers, a.close = callers, func() {}
		}
		group, what, value := "API, 1 caller", "p50", p50
		if callers > 1 {
			group, what, value = fmt.Sprintf("API, %d callers", callers), "processor time", sample.cpuPerCall
		}
		all, err := b.compare(ctx, group, arms)
		if err != nil {
			return err
		}
		b.add(figure{name: group + ", " + what, against: parts, ratios: ratios(all, ours, parts, value), must: 1.3})
		b.add(figure{name: group + ", " + what, against: inside, ratios: ratios(all, ours, inside, value)})
	}
	return nil
}

// serveAPI serves the host as toolhost serve does.
func (b *bench) serveAPI(h *toolhost, calls *server.Calls) (apiv1.HostServiceClient, func(), error) {
	s, err := server.New(server.Options{Backend: h, Calls: calls})
	if err != nil {
		return nil, nil, err
	}
	l, err := b.listen()
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, func() time.Duration { return patience }, server.Listener{Listener: l}) }()
	return dial(l, func() { stop(); <-ended })
}

// A bareHandler answers CallOnce, and checks nothing.
type bareHandler struct {
	apiv1connect.UnimplementedHostServiceHandler
	answer func(context.Context, *apiv1.CallRequest) *apiv1.CallResult
}

// CallOnce answers a call.
func (h bareHandler) CallOnce(ctx context.Context, r *connect.Request[apiv1.CallRequest]) (
	*connect.Response[apiv1.CallResult], error) {
	return connect.NewResponse(h.answer(ctx, r.Msg)), nil
}

func (b *bench) serveBare(answer func(context.Context, *apiv1.CallRequest) *apiv1.CallResult) (apiv1.HostServiceClient,
	func(), error) {
	l, err := b.listen()
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(apiv1connect.NewHostServiceHandler(bareHandler{answer: answer}))
	s := &http.Server{Handler: mux, Protocols: &http.Protocols{}}
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(l) }() // until it is closed
	return dial(l, func() { _ = s.Close() })
}

func (b *bench) listen() (net.Listener, error) {
	return server.ListenUnix(context.Background(), filepath.Join(b.dir, fmt.Sprintf("api%d", time.Now().UnixNano())))
}

// dial returns a client of what is served there, and what ends it and then the server.
func dial(l net.Listener, stop func()) (apiv1.HostServiceClient, func(), error) {
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		stop()
		return nil, nil, err
	}
	return apiv1.NewHostServiceClient(conn), func() { _ = conn.Close(); stop() }, nil
}
