// Package client is an MCP client that passes on what servers send byte for byte. It speaks all revisions from
// 2024-11-05 to 2026-07-28, expects servers to be wrong in every way, and decodes no result. [Dial] connects to a
// server over a [Transport], of which this package has the one for processes, [Command].
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// Options are the client's side of a session.
type Options struct {
	// Name and Version identify the client to servers.
	Name, Version string
	// Capabilities are declared to the server: the client capabilities of MCP, a JSON object; nil means none. At
	// 2026-07-28 each call declares its own, see [CallOptions].
	Capabilities json.RawMessage
	// Revision pins the protocol revision, such as "2025-11-25"; empty means to negotiate.
	Revision string
	// Expected is the revision that an earlier session with the server agreed on, or "". One with a handshake is tried
	// first, so that a server which is silent on server/discover costs no wait.
	Expected string
	// DiscoverTimeout is how long a server may take to answer server/discover before it gets an initialize request; zero
	// means 3 s.
	DiscoverTimeout time.Duration

	// ListChanged is called after the server said that one of its lists changed: "tools", "prompts" or "resources". It is
	// called once for many such notifications, not twice at a time for one list, at most ten times a second for each, and
	// perhaps before Dial returns.
	ListChanged func(list string)
	// Log receives the log messages of the server that belong to no call. Nothing else is received while it runs.
	Log func(LogMessage)
	// Request answers requests of the server that came on the stream of no call, as all do over standard input and output;
	// nil refuses them. It has to find out itself whom to ask. It runs in its own goroutine. Its context ends when the
	// session ends, or the server cancels the request.
	Request RequestFunc
	// Completed is called with the id of a visit to an address (elicitation of the mode "url") when the server says that
	// it is completed. Nothing else is received while it runs.
	Completed func(id string)
	// Warn receives what is wrong with the server but fails no call, such as lines that are no messages. Each kind is
	// reported once.
	Warn func(text string)
}

// A RequestFunc answers a request of a server, such as elicitation/create, with a result or an error.
type RequestFunc func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *RPCError)

// A LogMessage is one of a server's.
type LogMessage struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger"`
	Data   json.RawMessage `json:"data"`
}

// The protocol revisions, newest first.
const (
	Revision20260728 = "2026-07-28"
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20250326 = "2025-03-26"
	Revision20241105 = "2024-11-05"
)

// A Session is a connection to a server that has agreed on a protocol revision. Its methods may be called from several
// goroutines.
type Session struct {
	transport Transport
	options   Options
	server    atomic.Pointer[ServerInfo]

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	ended  chan struct{} // closed when the connection has ended

	mu       sync.Mutex
	err      error // why the connection ended; to be read after ended
	last     int64 // id of the newest request
	pending  map[int64]*call
	requests map[string]context.CancelFunc // of the server that run, by id
	level    int                           // of logging, as set with logging/setLevel
	warned   map[string]string             // what was reported, by kind

	changed      map[string]chan struct{} // lists that have changed; each has room for one
	acknowledged chan struct{}            // a subscription; has room for one
	deaf         chan struct{}            // closed when the server has not acknowledged one
}

// ServerInfo is a server's description of itself.
type ServerInfo struct {
	Revision     string          // of the protocol, that was agreed on
	Capabilities json.RawMessage // a JSON object
	Info         json.RawMessage // serverInfo, a JSON object; nil if the server has not sent it
}

// Has reports whether the server has a capability, such as "tools".
func (i *ServerInfo) Has(capability string) bool {
	return rawjson.ObjectOf(i.Capabilities).Get(capability) != nil
}

// Server returns what the server said of itself when the session began. It is not to be changed.
func (s *Session) Server() *ServerInfo { return s.server.Load() }

// modern reports a session without a handshake, where each request says what it needs.
func (s *Session) modern() bool { return s.Server().Revision >= Revision20260728 }

// Done is closed when the connection has ended, for whatever reason.
func (s *Session) Done() <-chan struct{} { return s.ended }

// Err is why the connection ended; nil before that. It is an *[ExitError] if the server's process ended.
func (s *Session) Err() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}

// Close ends the session and the connection. Calls in flight fail.
func (s *Session) Close() error {
	s.cancel()
	err := s.transport.Close()
	<-s.ended
	return err
}

func start(ctx context.Context, open OpenFunc, o *Options) (*Session, error) {
	t, err := open(ctx)
	if err != nil {
		return nil, err
	}
	s := &Session{transport: t, options: *o, ended: make(chan struct{}),
		pending: map[int64]*call{}, requests: map[string]context.CancelFunc{}, warned: map[string]string{},
		level:        len(levels),
		acknowledged: make(chan struct{}, 1), deaf: make(chan struct{})}
	s.server.Store(&ServerInfo{})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.startAnnouncing()
	go s.receive()
	return s, nil
}

// warn reports what is wrong with the server, once for each kind.
func (s *Session) warn(kind, text string) {
	s.mu.Lock()
	first := s.warned[kind] == ""
	s.warned[kind] = cmp.Or(s.warned[kind], text)
	s.mu.Unlock()
	if first && s.options.Warn != nil {
		s.options.Warn(text)
	}
}

// Lost begins what Session.Junk says.
const Lost = ". Perhaps the answer was lost: "

// Junk says which line of the server was the first that is no message, as a sentence behind another one, or is "".
func (s *Session) Junk() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warned["junk"] == "" {
		return ""
	}
	return Lost + s.warned["junk"]
}

// levels are those of log messages, the most talkative first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevelLimit is how long a call waits for the answer to logging/setLevel.
const setLevelLimit = 5 * time.Second

// raiseLogLevel has a server of the handshake revisions send what a call wants. The level is that of the session: it
// only ever becomes more talkative.
func (s *Session) raiseLogLevel(ctx context.Context, level string) {
	wanted := slices.Index(levels, level)
	if wanted < 0 || s.modern() || !s.Server().Has("logging") {
		return
	}
	s.mu.Lock()
	enough := wanted >= s.level
	s.level = min(s.level, wanted)
	s.mu.Unlock()
	if enough {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, setLevelLimit)
	defer cancel()
	_, _ = s.request(ctx, &call{method: "logging/setLevel", revision: s.Server().Revision},
		append(rawjson.AppendText([]byte(`{"level":`), level), '}')) // a server that refuses sends what it likes
}

// wants reports whether a call wants a log message of this level. Unknown levels are wanted.
func (o *CallOptions) wants(params json.RawMessage) bool {
	if o.Log == nil || o.LogLevel == "" {
		return o.Log != nil
	}
	var level string
	_ = json.Unmarshal(rawjson.ObjectOf(params).Get("level"), &level)
	at := slices.Index(levels, level)
	return at < 0 || at >= slices.Index(levels, o.LogLevel)
}
