package sdk

import (
	"cmp"
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A server is the plugin's end of the wire.
type server struct {
	pluginv1.UnimplementedPluginServiceServer
	plugin  *Plugin
	base    context.Context // ends when the plugin is to stop
	running sync.RWMutex    // held for reading while a handler runs
	calls   memory
	overdue overdue
}

// version is what the Go author kit calls itself on the wire.
const version = "go/0.1.0"

func (s *server) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	p := s.plugin
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &pluginv1.DescribeResponse{Name: clean(p.name), Version: clean(p.version), Sdk: version,
		ConfigSchema: p.configSchema, Dynamic: p.dynamic}
	for _, e := range p.tools {
		out.Tools = append(out.Tools, toolToWire(&e.Tool))
	}
	for _, n := range p.notices {
		out.Notices = append(out.Notices, clean(n))
	}
	return out, nil
}

// begin makes a handler count as running until end is called, and gives it a context that also ends with the plugin.
func (s *server) begin(ctx context.Context) (_ context.Context, end func()) {
	s.running.RLock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.base, cancel)
	returned := s.overdue.watch(ctx)
	return ctx, func() { returned(); stop(); cancel(); s.running.RUnlock() }
}

func (s *server) Configure(ctx context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	ctx, end := s.begin(ctx)
	defer end()
	if s.plugin.configure == nil {
		return &pluginv1.ConfigureResponse{Error: &pluginv1.Error{Message: "this plugin takes no configuration"}}, nil
	}
	request := &Request{Arguments: r.GetConfig(), Workdir: r.GetWorkdir()}
	_, failure := guard(request, "the plugin's configuration", func() (struct{}, error) {
		return struct{}{}, s.plugin.configure(ctx, request)
	})
	return &pluginv1.ConfigureResponse{Error: errorToWire(failure)}, nil
}

func (s *server) Preview(ctx context.Context, r *pluginv1.PreviewRequest) (*pluginv1.PreviewResponse, error) {
	ctx, end := s.begin(ctx)
	defer end()
	e := s.plugin.tool(r.GetTool())
	if e == nil || e.preview == nil {
		return &pluginv1.PreviewResponse{}, nil
	}
	request := previewRequestFromWire(r)
	if failure := request.check(); failure != nil {
		return &pluginv1.PreviewResponse{Error: errorToWire(failure)}, nil
	}
	preview, failure := guard(request, "the preview of "+r.GetTool(), func() (*Preview, error) { return e.preview(ctx, request) })
	return previewToWire(preview, failure), nil
}

func (s *server) Call(r *pluginv1.CallRequest, stream grpc.ServerStreamingServer[pluginv1.CallEvent]) (err error) {
	ctx, end := s.begin(stream.Context())
	defer end()
	id := cmp.Or(r.GetRunId(), r.GetCallId())
	if !s.calls.begin(id) {
		return repeated(r)
	}
	defer s.calls.end(id)
	out := &sender{stream: stream, meter: newMeter(1)}
	request := requestFromWire(r)
	request.Events = out.event
	out.event(Event{Type: EventStarted})
	result := failed(&Error{Name: "Exited", Message: "the tool " + r.GetTool() + " ended its goroutine instead of returning"})
	defer func() { err = out.result(result) }() // deferred, since runtime.Goexit (testing's FailNow) runs nothing else
	if failure := request.check(); failure != nil {
		result = failed(failure)
		return nil
	}
	result = s.plugin.run(ctx, request)
	return nil
}

func (s *server) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchEvent]) error {
	for {
		changed := s.plugin.change()
		// The first message says that the watch stands: changes from here on are told.
		if err := stream.Send(&pluginv1.WatchEvent{Event: &pluginv1.WatchEvent_ToolsChanged{ToolsChanged: &pluginv1.ToolsChanged{}}}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		case <-s.base.Done():
			return nil
		}
	}
}

func (p *Plugin) change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// A sender puts a call's events on its stream. gRPC streams do not take two Sends at once, and handlers may be many
// goroutines. What comes after the result is dropped.
type sender struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[pluginv1.CallEvent]
	done   bool
	meter  meter
}

func (s *sender) event(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || !s.meter.pass(&e) {
		return
	}
	if m := eventToWire(e); m != nil {
		_ = s.stream.Send(m) // a broken stream ends the call's context too
	}
}
