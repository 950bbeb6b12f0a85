package sdk

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/idlemem"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A server is the plugin's end of the wire. It has one method for each rpc of plugin.proto.
type server struct {
	pluginv1.UnimplementedPluginServiceServer
	plugin     *Plugin
	base       context.Context // ends when the plugin stops
	token      string          // that hosts send; "" accepts all
	running    sync.RWMutex    // held for reading while a handler runs
	runs       runIDs
	replies    atomic.Bool // the host answers requests
	configured atomic.Bool
	requests   hostRequests
	suspended  elicit.Waiting[*question] // also those whose handler's result is kept
	sessions   sync.WaitGroup
	overdue    overdue
	cpus       processors
	memory     *idlemem.Trimmer // nil in a process that is not the plugin's own
	calls      atomic.Int64     // that began
	kept       []byte           // see ballast
}

// kitVersion is the Go sdk's identification on the wire.
const kitVersion = "go/0.1.0"

// begin counts a handler as running until end is called, and gives it a context that also ends with the plugin.
func (s *server) begin(ctx context.Context) (_ context.Context, end func()) {
	s.running.RLock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.base, cancel)
	returned := s.overdue.watch(ctx)
	return ctx, func() { returned(); stop(); cancel(); s.running.RUnlock() }
}

func (s *server) Describe(_ context.Context, r *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	s.replies.Store(r.GetReplies())
	return s.description(), nil
}

func (s *server) description() *pluginv1.DescribeResponse {
	p := s.plugin
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = s.memory != nil && !p.dynamic && (p.configure == nil || s.configured.Load())
	out := &pluginv1.DescribeResponse{Name: textutil.Clean(p.name), Version: textutil.Clean(p.version), Sdk: kitVersion,
		ConfigSchema: p.configSchema, Sessions: true, Dynamic: p.dynamic, Cacheable: p.cacheable,
		Missing: textutil.Clean(p.missing), Pending: p.pending, Memory: textutil.Clean(p.memory)}
	for _, e := range p.tools {
		out.Tools = append(out.Tools, toolToWire(&e.Tool))
	}
	for _, n := range p.notices {
		out.Notices = append(out.Notices, textutil.Clean(n.Text))
		out.NoticeKinds = append(out.NoticeKinds, textutil.Clean(string(n.Kind)))
	}
	return out
}

func (s *server) Configure(ctx context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	ctx, end := s.begin(ctx)
	defer end()
	if s.plugin.configure == nil {
		return &pluginv1.ConfigureResponse{Error: &pluginv1.Error{Message: "this plugin takes no configuration"}}, nil
	}
	request := &Request{Arguments: r.GetConfig(), Workdir: r.GetWorkdir(), Remembered: r.GetMemory()}
	for _, t := range r.GetKnownTools() {
		request.KnownTools = append(request.KnownTools, toolFromWire(t))
	}
	_, failure := guard(request, "the plugin's configuration", func() (struct{}, error) {
		return struct{}{}, s.plugin.configure(ctx, request)
	})
	s.configured.Store(failure == nil)
	return &pluginv1.ConfigureResponse{Error: errorToWire(failure)}, nil
}

func (s *server) Preview(ctx context.Context, r *pluginv1.PreviewRequest) (*pluginv1.PreviewResponse, error) {
	ctx, end := s.begin(ctx)
	defer end()
	e := s.plugin.tool(r.GetTool())
	if e == nil || e.preview == nil {
		return &pluginv1.PreviewResponse{}, nil
	}
	call := &pluginv1.CallRequest{CallId: r.GetCallId(), Tool: r.GetTool(), Arguments: r.GetArguments(),
		Workdir: r.GetWorkdir(), SessionId: r.GetSessionId(), SingleCall: r.GetSingleCall()}
	if failure := wire.CheckRequest(call); failure != nil {
		return &pluginv1.PreviewResponse{Error: failure}, nil
	}
	request := new(requestFromWire(call))
	preview, failure := guard(request, "the preview of "+r.GetTool(), func() (*Preview, error) {
		return e.preview(ctx, request)
	})
	return previewToWire(preview, failure), nil
}

func (s *server) Call(r *pluginv1.CallRequest, stream grpc.ServerStreamingServer[pluginv1.CallEvent]) error {
	ctx, end := s.begin(stream.Context())
	defer end()
	s.cpus.begin()
	defer s.cpus.end()
	return s.call(ctx, r, wire.NewSender(stream))
}

// call runs a call, over Call or a session. Its error is the status that ends the call without a result.
func (s *server) call(ctx context.Context, r *pluginv1.CallRequest, out *wire.Sender) (err error) {
	id := cmp.Or(r.GetRunId(), r.GetCallId())
	if !s.runs.begin(id) { // a status and no result: the result of the first run is not known here
		return status.Errorf(codes.AlreadyExists, "call %.100q of %.100s is a repeat of one that this plugin has had; it is "+
			"not run again", r.GetCallId(), r.GetTool())
	}
	defer s.runs.end(id)
	if s.memory != nil {
		if s.calls.Add(1) == ballastCalls {
			s.kept = idlemem.Ballast(ballast)
		}
		s.memory.Begin()
		defer s.memory.End()
	}
	large := max(0, min(r.GetMaxLargeBytes(), wire.MaxLarge))
	out.TakesLarge(large)
	out.Event(eventToWire(Event{Type: EventStarted}))
	if failure := wire.CheckRequest(r); failure != nil {
		return out.Result(&pluginv1.Result{Error: failure})
	}
	if continues, err := s.continues(ctx, r, out); continues {
		return err
	}
	served := &struct { // one allocation for both
		Request
		hostEnd
	}{requestFromWire(r), hostEnd{s, out, ctx, nil}}
	request := &served.Request
	request.Services = &served.hostEnd
	request.Events = func(e Event) {
		if m := eventToWire(e); m != nil {
			out.Event(m)
		}
	}
	if mightAsk(request.Capabilities) {
		asks := newSuspension(s, r, ctx, out)
		served.asks, ctx = asks, &asks.ctx
		request.Events = asks.event
	}
	var result *Result
	defer func() { // deferred, since runtime.Goexit (testing's FailNow) runs nothing else
		if result == nil {
			result = failed(&Error{Name: "Exited",
				Message:    "the tool " + r.GetTool() + " ended its goroutine instead of returning",
				Suggestion: "This is a bug in the plugin; other arguments may avoid it."})
		}
		if served.asks != nil {
			err = served.asks.finish(resultToWire(result, large))
			return
		}
		err = out.Result(resultToWire(result, large))
	}()
	result = s.plugin.run(ctx, request)
	return nil
}

func (s *server) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchEvent]) error {
	for {
		s.plugin.mu.Lock()
		changed := s.plugin.changed
		s.plugin.mu.Unlock()
		// The first message says that the watch is established: the host receives every change from here on.
		event := &pluginv1.WatchEvent_ToolsChanged{ToolsChanged: &pluginv1.ToolsChanged{}}
		if err := stream.Send(&pluginv1.WatchEvent{Event: event}); err != nil {
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

func (s *server) Overdue(_ context.Context, r *pluginv1.OverdueRequest) (*pluginv1.OverdueResponse, error) {
	grace := min(max(r.GetGraceMs(), 0), math.MaxInt64/int64(time.Millisecond))
	handlers, late := s.overdue.count(time.Duration(grace) * time.Millisecond)
	return &pluginv1.OverdueResponse{Handlers: int64(handlers), Late: int64(late)}, nil
}
