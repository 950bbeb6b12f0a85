// Package server serves a host to many clients: the API of package api over gRPC, gRPC-Web and Connect, MCP, metrics,
// and the console, on TCP and on a Unix socket. Requests over TCP need a token, whose role says what it may do; the
// Unix socket serves the user alone. An agent that runs its own host serves that with New; `toolhost serve` is such a
// program for a configuration.
package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	consolesession "github.com/toolhost/toolhost/host/server/internal/session"
	"github.com/toolhost/toolhost/internal/netlimit"
)

// A Backend is the host that is served, such as a *bootstrap.Instance. Both may be others after a reload.
type Backend interface {
	Host() *host.Host
	// Catalog holds the tools that are served.
	Catalog() *host.Catalog
}

// Options configure a Server. Only Backend is required; a part that is nil is answered with "unimplemented".
type Options struct {
	Backend Backend
	// Calls is the register of calls whose Middleware is in the host's options. Without it the server knows only the
	// calls that come through its API.
	Calls *Calls
	// Tokens are who may use the server over TCP. SetTokens replaces them.
	Tokens []Token
	// Hosts are names by which clients may reach the server over TCP, beside those of the loopback addresses: requests
	// for other hosts are refused. A name without a port counts at the ports that are served, and at those that a client
	// does not name: 80, and 443 of a proxy that speaks TLS.
	Hosts []string
	// Info returns what GetInfo says of the configuration; nil says nothing of it.
	Info func() *apiv1.GetInfoResponse
	// Version is the version of the program.
	Version string

	// The other services.
	Approvals     apiv1connect.ApprovalServiceHandler
	Plugins       apiv1connect.PluginServiceHandler
	History       apiv1connect.HistoryServiceHandler
	Policy        apiv1connect.PolicyServiceHandler
	Configuration apiv1connect.ConfigurationServiceHandler

	// MCP is served at /mcp to operators, Metrics at /metrics to viewers, and Console at / and /console/ to everyone: its
	// pages are public, what they show comes from the API.
	MCP, Metrics, Console http.Handler

	// Stop is called when a client asks the server to stop, with how long calls may take to end, nil if it did not say;
	// Upgrade when one asks for the program that is installed now: it returns the process that serves from then on. Nil
	// refuses both.
	Stop    func(drain *time.Duration)
	Upgrade func(ctx context.Context) (pid int, err error)

	// Predecessors are the processes that have handed their listeners over to this one, as local.Process names them. What
	// they have started is served on the Unix socket no more than what this process has.
	Predecessors []string

	// Logger gets the log; nil drops it.
	Logger *slog.Logger
}

// A Server serves a host. Make one with New; it is safe for concurrent use.
type Server struct {
	options Options
	calls   *Calls
	handler http.Handler
	tokens  atomic.Pointer[tokenList]
	started time.Time
	limits  limits
	load    netlimit.Load
	watches watchCounter

	// stopping ends watches, and new calls are refused from then on.
	stopping context.Context
	stop     context.CancelFunc
	// handedOver ends when another process takes over.
	handedOver context.Context
	handOver   context.CancelFunc
	asked      atomic.Int64 // when the last request of a client came, as Unix time in nanoseconds

	mu        sync.Mutex
	listeners []Listener
	addresses []string
	hosts     map[string]bool // names with ports by which the server may be reached
	inFlight  sync.WaitGroup  // calls that came through the API
}

// limits bound what clients take of the server.
type limits struct {
	header, body time.Duration // for those of a request
	write        time.Duration // for each piece of a response
	idle         time.Duration // between two requests of a connection
	connections  int           // of a listener, that serve requests
	streams      int           // of a connection at once
	watches      int           // of one token at once, and four times as many of all
	load         netlimit.Limits
	maxBody      int64
}

var defaultLimits = limits{header: 10 * time.Second, body: 30 * time.Second, write: 30 * time.Second,
	idle: 2 * time.Minute, connections: netlimit.Connections(1000), streams: 250, watches: 200, maxBody: 16 << 20,
	load: netlimit.Limits{Requests: 1000, Bodies: 64 << 20, AllBodies: 256 << 20}}

// New returns a server. It listens on nothing before Serve.
func New(o Options) (*Server, error) {
	if o.Backend == nil {
		return nil, errors.New("server: Options.Backend is required")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Server{options: o, calls: o.Calls, started: time.Now(), limits: defaultLimits, hosts: map[string]bool{},
		watches: watchCounter{of: map[string]int{}}}
	if s.calls == nil {
		s.calls = NewCalls(nil)
	}
	if err := s.SetTokens(o.Tokens); err != nil {
		return nil, err
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.handedOver, s.handOver = context.WithCancel(context.Background())
	s.asked.Store(s.started.UnixNano())
	s.handler = s.routes()
	return s, nil
}

// Handler serves everything, as Serve does on its listeners. Requests count as those over TCP.
func (s *Server) Handler() http.Handler { return s.handler }

// Stopping is a context that ends when the server begins to stop.
func (s *Server) Stopping() context.Context { return s.stopping }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	// Compressed requests are refused, since the bounds of what clients send count bytes as they come.
	o := []connect.HandlerOption{connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(int(s.limits.maxBody)), connect.WithInterceptors(failures{s}),
		connect.WithRecover(s.recovered)}
	for _, c := range codecs {
		o = append(o, connect.WithCodec(c))
	}
	mount := func(path string, h http.Handler) { mux.Handle(path, h) }
	mount(apiv1connect.NewHostServiceHandler(&hostService{Server: s}, o...))
	mount(apiv1connect.NewApprovalServiceHandler(cmp.Or[apiv1connect.ApprovalServiceHandler](s.options.Approvals,
		apiv1connect.UnimplementedApprovalServiceHandler{}), o...))
	mount(apiv1connect.NewPluginServiceHandler(cmp.Or[apiv1connect.PluginServiceHandler](s.options.Plugins,
		apiv1connect.UnimplementedPluginServiceHandler{}), o...))
	mount(apiv1connect.NewHistoryServiceHandler(cmp.Or[apiv1connect.HistoryServiceHandler](s.options.History,
		apiv1connect.UnimplementedHistoryServiceHandler{}), o...))
	mount(apiv1connect.NewPolicyServiceHandler(cmp.Or[apiv1connect.PolicyServiceHandler](s.options.Policy,
		apiv1connect.UnimplementedPolicyServiceHandler{}), o...))
	mount(apiv1connect.NewConfigurationServiceHandler(cmp.Or[apiv1connect.ConfigurationServiceHandler](
		s.options.Configuration, apiv1connect.UnimplementedConfigurationServiceHandler{}), o...))
	s.mountGRPC(mount, o...)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { ok(w) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("POST "+sessionPath, s.openSession)
	mux.HandleFunc("DELETE "+sessionPath, consolesession.End)
	if s.options.MCP != nil {
		mux.Handle(mcpPath, s.options.MCP)
	}
	if s.options.Metrics != nil {
		mux.Handle(metricsPath, s.options.Metrics)
	}
	if s.options.Console != nil {
		mux.Handle("/{$}", s.options.Console)
		mux.Handle(consolePath, s.options.Console)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, Fail(connect.CodeNotFound, "", "nothing is served at this path by this method",
			"A method of the API has a path such as "+apiv1connect.HostServiceCallOnceProcedure+"."))
	})
	return s.guard(explained(mux))
}

func ok(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // the client may be gone
}

// ready says whether the server takes calls.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.stopping.Err() != nil {
		http.Error(w, "the host is stopping", http.StatusServiceUnavailable)
		return
	}
	ok(w)
}

// begin notes a call; it fails when the server stops.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return Fail(connect.CodeUnavailable, "", "the host is stopping, and takes no new calls", "Call again in a moment.")
	}
	s.inFlight.Add(1)
	return nil
}

// watches are the methods whose streams last.
var watches = map[string]bool{
	apiv1connect.HostServiceWatchCallsProcedure:     true,
	apiv1connect.ApprovalServiceWatchProcedure:      true,
	apiv1connect.PluginServiceWatchProcedure:        true,
	apiv1connect.PluginServiceLogsProcedure:         true,
	apiv1connect.ConfigurationServiceWatchProcedure: true,
}

// watchCounter bounds the watches that are open at once.
type watchCounter struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by principal
}

// beginWatch admits a stream that lasts. The context that it returns also ends when the server stops; done must be
// called at the end.
func (s *Server) beginWatch(ctx context.Context, p principal) (_ context.Context, done func(), refused *connect.Error) {
	key, most := p.key(), s.limits.watches
	c := &s.watches
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key] >= most || c.all >= 4*most {
		return nil, nil, Fail(connect.CodeResourceExhausted, "", "too many watches are open", "Close some, and open fewer.")
	}
	c.all++
	c.of[key]++
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(s.stopping, cancel)
	return ctx, func() {
		unlink()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[key]--; c.of[key] == 0 {
			delete(c.of, key)
		}
	}, nil
}

func (c *watchCounter) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
