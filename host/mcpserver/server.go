// Package mcpserver serves the tools of a host to MCP clients, over standard input and output and over streamable HTTP,
// in all revisions from 2024-11-05 to 2026-07-28.
//
// A Server makes a host for each identity when that first needs it, with Options.Open. Calls take the route of every
// call of that host: policy, approval, limits and record are the host's. What needs a person is asked through the
// client whose call caused it.
package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/netlimit"
)

// Options of a Server.
type Options struct {
	// Open makes the host of an identity; the zero one is who needs none. The hooks belong into the options of that host.
	Open func(ctx context.Context, who Identity, hooks Hooks) (Backend, error)
	// Version is the version of the program, which clients show.
	Version string
	// ServerName is this server's name for clients, which put mcp__NAME__ before the names of tools. "" is "toolhost".
	ServerName string
	// PlainNames serves each tool under its own name, without the plugin. Of two with one name, neither is served.
	PlainNames bool
	// StateKey authenticates what clients of revision 2026-07-28 send back with an answer, 32 random bytes. Servers with
	// the same key accept each other's; nil makes one for this server alone.
	StateKey []byte
	// Deferred lists two tools instead of all: one finds tools, the other calls them. Policy, approval, limits and record
	// are about the tool that is called. List are globs of full names of tools that are listed beside them.
	Deferred bool
	List     []string
	// Instructions are for the model; "" has none.
	Instructions string
	// Identities are who may use the server over HTTP; without them everyone may who reaches it. SetIdentities replaces
	// them.
	Identities []Identity
	// Stateless serves all revisions over HTTP without sessions: such clients can be asked nothing, unless theirs is
	// 2026-07-28.
	Stateless bool
	// Logger gets the log; nil drops it.
	Logger *slog.Logger
}

// A Backend is a host that is served, such as a *bootstrap.Instance.
type Backend interface {
	// Catalog holds the tools that are served. It may be another one after a reload.
	Catalog() *host.Catalog
	// Close ends the host and its plugins.
	Close() error
}

// Hooks connect a host with the clients that it is served to.
type Hooks struct {
	// Approver and Input belong into the fields of host.Options with these names: they ask the client whose call it is.
	Approver host.Approver
	Input    host.InputHandler
	// ToolsChanged belongs into host.Options.OnToolsChanged. With "" it is for all plugins, such as after a reload.
	ToolsChanged func(plugin string)
}

// A Server serves hosts to MCP clients. Make one with New, and Close it.
type Server struct {
	options Options
	ctx     context.Context
	end     context.CancelFunc

	streams    context.Context // ends before the server does, with streams of HTTP that carry no calls
	endStreams context.CancelFunc
	events     *eventStore
	limits     limits
	load       netlimit.Load

	mu         sync.Mutex
	closed     bool
	endpoints  map[string]*endpoint // by identity
	identities []Identity
	guarded    bool           // there are or were identities
	closing    sync.WaitGroup // of endpoints whose identity was removed
}

var errClosed = errors.New("the server is closed")

// minStateKey is how many bytes a key has at least.
const minStateKey = 32

// New returns a server. Nothing is opened before the first request.
func New(o Options) (*Server, error) {
	if o.Open == nil {
		return nil, errors.New("mcpserver: Options.Open is nil")
	}
	if err := checkIdentities(o.Identities); err != nil {
		return nil, err
	}
	if err := checkGlobs(o.List); err != nil {
		return nil, err
	}
	if o.StateKey == nil {
		o.StateKey = make([]byte, minStateKey)
		_, _ = rand.Read(o.StateKey) // it never fails
	}
	if len(o.StateKey) < minStateKey {
		return nil, fmt.Errorf("mcpserver: Options.StateKey has %d bytes; it needs %d", len(o.StateKey), minStateKey)
	}
	o.ServerName = cmp.Or(o.ServerName, "toolhost")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, endpoints: map[string]*endpoint{}, events: newEventStore(),
		limits: defaultLimits, identities: slices.Clone(o.Identities), guarded: len(o.Identities) > 0}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.streams, s.endStreams = context.WithCancel(s.ctx)
	return s, nil
}

// Close ends all sessions, hosts and plugins.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	all := s.endpoints
	s.endpoints = nil
	s.mu.Unlock()
	s.end()
	var err error
	for _, e := range all {
		err = errors.Join(err, e.close())
	}
	s.closing.Wait()
	return err
}

// endpoint opens the host of an identity, if that has not been done; nil is who does not come over HTTP.
func (s *Server) endpoint(ctx context.Context, who *Identity) (*endpoint, error) {
	var identity string
	if who != nil {
		identity = who.Name
	}
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return nil, errClosed
	case who != nil && !s.allows(*who):
		s.mu.Unlock()
		return nil, errRemoved
	}
	e := s.endpoints[identity]
	if e == nil {
		e = &endpoint{server: s, identity: identity, who: who, opened: make(chan struct{}), use: newSessionUse()}
		e.ctx, e.end = context.WithCancel(s.ctx)
		s.endpoints[identity] = e
		go e.open()
	}
	s.mu.Unlock()
	select {
	case <-e.opened:
		if e.err != nil { // the next request tries again
			s.mu.Lock()
			if s.endpoints[identity] == e {
				delete(s.endpoints, identity)
			}
			s.mu.Unlock()
		}
		return e, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An endpoint serves the host of one identity.
type endpoint struct {
	server   *Server
	identity string
	who      *Identity       // nil if not over HTTP
	ctx      context.Context // ends when nothing is served any more
	end      context.CancelFunc
	opened   chan struct{} // closed when the fields below are set
	err      error
	backend  Backend
	catalog  *catalog
	mcp      *mcp.Server
	http     httpHandlers
	events   *identityEvents
	streams  openStreams
	use      *sessionUse
	seal     *seal
	levels   logLevels

	headers   map[string]bool // tools in the SDK's list; used by one goroutine at a time
	announced atomic.Bool     // clients were notified of a change
}

func (e *endpoint) open() {
	defer close(e.opened)
	defer func() {
		if cause := recover(); cause != nil {
			callback.LogPanic(e.server.options.Logger, cause, "callback", "mcpserver.Options.Open")
			e.err = fmt.Errorf("opening the host panicked: %v", cause)
		}
		if e.err != nil { // the next request makes another endpoint
			e.end()
		}
	}()
	var mu sync.Mutex
	var list *catalog // hooks may be called before there is one, which then lists all anyway
	hooks := Hooks{Approver: clientAsker{}, Input: clientAsker{}, ToolsChanged: func(plugin string) {
		mu.Lock()
		c := list
		mu.Unlock()
		switch {
		case c == nil:
		case plugin == "":
			c.refreshAll()
		default:
			c.refresh(plugin)
		}
	}}
	var who Identity
	if e.who != nil {
		who = *e.who
	}
	if e.backend, e.err = e.server.options.Open(e.ctx, who, hooks); e.err != nil {
		return
	}
	e.mcp = e.newMCP()
	e.events = e.server.events.identity()
	e.http = e.newHTTP()
	e.seal = newSeal(e.server.options.StateKey, e.identity)
	e.catalog = newCatalog(e.ctx, e.backend.Catalog, &e.server.options, e.listChanged)
	mu.Lock()
	list = e.catalog
	mu.Unlock()
}

func (e *endpoint) close() error {
	e.end()
	<-e.opened
	if e.err != nil {
		return nil //nolint:nilerr // it was reported to who needed the host
	}
	for session := range e.mcp.Sessions() {
		go func() { _ = session.Close() }() // it waits for calls, which end when the host closes
	}
	err := e.backend.Close()
	e.catalog.close()
	e.server.events.drop(e.events)
	return err
}
