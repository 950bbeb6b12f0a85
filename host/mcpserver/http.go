package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/netlimit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

const (
	// Path is where Serve answers.
	Path = "/mcp"

	maxHeader = 64 << 10
	// stopGrace is how long calls may take to end once the server stops.
	stopGrace = 5 * time.Second
)

// Listen listens on an address for Serve. It refuses one that others can reach unless there are identities. A port
// alone is one of the loopback address.
func (s *Server) Listen(address string) (net.Listener, error) {
	s.mu.Lock()
	guarded := s.guarded
	s.mu.Unlock()
	return loopback.Listen(s.ctx, address, guarded, "no token is required",
		"set TOOLHOST_MCP_TOKEN, name identities in an mcp block of the configuration")
}

// EndStreams ends the streams of HTTP that carry no calls, for a program that serves Handler and stops.
func (s *Server) EndStreams() { s.endStreams() }

// Serve serves HTTP on the listener, at Path, until ctx ends. Then it lets calls end, for five seconds at most, and
// closes the server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle(Path, s.Handler())
	server := &http.Server{Handler: s.bounded(mux), ReadHeaderTimeout: s.limits.header, IdleTimeout: s.limits.idle,
		MaxHeaderBytes: maxHeader, ConnContext: netlimit.WithConnection}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netlimit.New(l, s.limits.connections)) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.endStreams()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		_ = server.Shutdown(limited) // what has not ended is ended below
	}
	err = errors.Join(err, s.Close(), server.Close())
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Limits of HTTP.
const (
	maxBody        = 4 << 20       // bytes of a request
	maxSessions    = 200           // of an identity
	sessionTimeout = 8 * time.Hour // without a request
)

// limits bound what clients take of the server.
type limits struct {
	header, body time.Duration // for those of a request
	write        time.Duration // for each piece of a response
	idle         time.Duration // between two requests of a connection
	session      time.Duration // without a request, before a session makes room for another one
	connections  int
	load         netlimit.Limits
}

var defaultLimits = limits{header: 10 * time.Second, body: 30 * time.Second, write: 30 * time.Second,
	idle: 2 * time.Minute, session: 10 * time.Minute, connections: netlimit.Connections(1000),
	load: netlimit.Limits{Requests: 400, Bodies: 64 << 20, AllBodies: 256 << 20}}

// Handler serves the streamable HTTP transport: clients of the handshake revisions have sessions, requests of revision
// 2026-07-28 need none. With Options.Identities each request needs the bearer token of one. Requests from the pages of
// other origins are refused, and on a loopback address those for another host.
func (s *Server) Handler() http.Handler {
	return s.bounded(http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.serveHTTP)))
}

// bounded bounds the time for the body of a request, also of one that is refused without it: then net/http reads some
// of it first.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// a writer of a test may have no deadlines
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.limits.body))
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if !isForHere(r) { // the SDK refuses it too, but only when the request has had effects
		refuse(w, http.StatusForbidden, fmt.Sprintf("this server is not %.200q: reach it at localhost or a loopback "+
			"address; a proxy before it sends one of these as Host", r.Host))
		return
	}
	if !sameOrigin(r) { // the protection leaves out requests that only read
		refuse(w, http.StatusForbidden, "cross-origin request refused: the page's origin is not this server")
		return
	}
	who, ok := s.authenticate(r)
	if !ok {
		refuseToken(w)
		return
	}
	if nesting.IsOwn(r.Header.Get(nesting.Header)) {
		refuse(w, http.StatusForbidden, "this is the toolhost that runs the plugin which asks: its list of tools would have "+
			"itself in it, without end. Fix: take the plugin out, or give it the url of another server")
		return
	}
	done, ok := netlimit.Serving(r.Context(), who.Name, s.limits.connections) // it has fewer requests
	if !ok {
		refuseFor(w, retryBusy, fmt.Sprintf("too many active connections; the limit is %d", s.limits.connections))
		return
	}
	defer done()
	taken, ok := s.load.Begin(who.Name, &s.limits.load)
	if !ok {
		refuseFor(w, retryBusy, fmt.Sprintf("too many requests of this identity at once; the limit is %d",
			s.limits.load.Requests))
		return
	}
	defer taken.End()
	out := &streamWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: s.limits.write,
		header: http.Header{}}
	defer out.close()
	body, err := io.ReadAll(http.MaxBytesReader(w, taken.Reader(r.Body), maxBody))
	switch {
	case errors.Is(err, netlimit.ErrBodies):
		refuseFor(out, retryBusy, err.Error())
		return
	case err != nil:
		status, why := bodyFailure(err)
		refuse(out, status, why)
		return
	}
	_ = out.control.SetReadDeadline(time.Time{})
	e, err := s.endpoint(r.Context(), &who)
	switch {
	case errors.Is(err, errRemoved):
		refuseToken(out)
		return
	case err != nil:
		s.options.Logger.Error("the host cannot be opened", "identity", who.Name, "error", err)
		refuse(out, http.StatusServiceUnavailable, "the host cannot be opened; the log of toolhost says why")
		return
	}
	e.serveHTTP(out, r, body)
}

// refuse answers a request without reading more of it.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}

func refuseToken(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuse(w, http.StatusUnauthorized, "a valid bearer token is needed")
}

// refuseFor is refuse for a client that may come again after some seconds.
func refuseFor(w http.ResponseWriter, seconds, why string) {
	w.Header().Set("Retry-After", seconds)
	refuse(w, http.StatusServiceUnavailable, why)
}

const (
	retryBusy     = "10"
	retrySessions = "60"
)

func bodyFailure(err error) (status int, why string) {
	why = "the body cannot be read: " + err.Error()
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the message is longer than %d MiB", maxBody>>20)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, why
	}
	return http.StatusBadRequest, why
}

// isForHere reports whether a request that came to a loopback address is for one, too: the name of another host may
// resolve here by DNS rebinding.
func isForHere(r *http.Request) bool {
	to, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || !isLoopback(to.String()) || isLoopback(r.Host)
}

// isLoopback is loopback.Is for a host that may have a port.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return loopback.Is(name)
}

// sameOrigin reports whether a request is not one of a page of another origin.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// httpHandlers are the two forms in which the SDK serves HTTP.
type httpHandlers struct{ stateful, stateless http.Handler }

func (e *endpoint) newHTTP() httpHandlers {
	server := func(*http.Request) *mcp.Server { return e.mcp }
	log := slog.New(debugHandler{e.server.options.Logger.Handler()})
	return httpHandlers{
		mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody,
			SessionTimeout: sessionTimeout, EventStore: e.events}),
		mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody,
			Stateless: true, PropagateRequestCancellation: true}),
	}
}

// serveHTTP hands the request to the form of the SDK that serves its revision, together with the bytes of its params.
func (e *endpoint) serveHTTP(w *streamWriter, r *http.Request, body []byte) {
	body = withoutMark(body)
	if err := rawjson.Check(body); err != nil && len(body) > 0 { // the SDK ignores what follows the first value
		answerFailure(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "the message is not JSON: "+err.Error())
		return
	}
	message := rawjson.ObjectOf(body)
	params := message.Get("params")
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(e.ctx, end)() // of an identity that was removed
	r = r.Clone(ctx)
	if id := message.Get("id"); isLossy(id) && message.Get("method") != nil {
		answerFailure(w, http.StatusBadRequest, id, jsonrpc.CodeInvalidRequest, lossyID)
		return
	}
	switch modern := isModern(r, params); {
	case rawjson.First(body) == '[':
		body = exactBatch(body)
	case modern:
		body = exactMessage(body, message)
	default:
		body = sessionMessage(body, message)
	}
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	if rawjson.First(params) == '{' {
		r.Header[paramsHeader] = []string{string(params)}
	}
	w.single = rawjson.First(body) != '['
	number, forget := e.streams.number(w)
	defer forget()
	r.Header[responseHeader] = []string{number}
	switch {
	case e.server.options.Stateless, isModern(r, params):
		if r.Method == http.MethodGet || text(message.Get("method")) == "subscriptions/listen" {
			defer context.AfterFunc(e.server.streams, end)() // a stream without calls ends when the server shuts down
		}
		e.http.stateless.ServeHTTP(w, r)
	case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && !e.admitSession():
		refuseFor(w, retrySessions, fmt.Sprintf("there are %d sessions, which is the limit; end one with DELETE",
			maxSessions))
	default:
		e.serveSession(w, r)
	}
}

// isModern reports whether a request follows the revision without sessions. What it says twice and differently is
// refused there.
func isModern(r *http.Request, params json.RawMessage) bool {
	return r.Header.Get("Mcp-Protocol-Version") >= modern ||
		text(rawjson.ObjectOf(rawjson.ObjectOf(params).Get("_meta")).Get(mcp.MetaKeyProtocolVersion)) >= modern
}

// A sessionUse knows when each session was used last: many clients end without a DELETE.
type sessionUse struct {
	mu     sync.Mutex
	open   map[string]int                 // requests that are served, also streams
	last   map[string]time.Time           // when the last one ended
	calls  map[*context.CancelFunc]string // the sessions of calls that run
	ending map[string]bool                // sessions whose end waits for their calls
}

func newSessionUse() *sessionUse {
	return &sessionUse{open: map[string]int{}, last: map[string]time.Time{}, calls: map[*context.CancelFunc]string{},
		ending: map[string]bool{}}
}

// call returns the context of a call, which ends when its session is to end.
func (u *sessionUse) call(ctx context.Context, session string) (of context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls[&cancel] = session
	if u.ending[session] {
		cancel()
	}
	return ctx, func() {
		cancel()
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.calls, &cancel)
	}
}

// end cancels the calls of a session that ends, for which the SDK waits. What it returns is called afterwards.
func (u *sessionUse) end(session string) (ended func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ending[session] = true
	for cancel, of := range u.calls {
		if of == session {
			(*cancel)()
		}
	}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.ending, session)
	}
}

// begin notes a request of a session. The returned function notes its end, and the session that it may have made.
func (u *sessionUse) begin(session string) (end func(made string)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[session]++
	return func(made string) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.open[session]--; u.open[session] == 0 {
			delete(u.open, session)
		}
		u.last[cmp.Or(session, made)] = time.Now()
	}
}

// admitSession reports whether there is room for another session. At the limit the one that has been idle for longest
// ends, if that is long enough.
func (e *endpoint) admitSession() bool {
	var idlest *mcp.ServerSession
	var since time.Time
	last, n := map[string]time.Time{}, 0
	e.use.mu.Lock()
	for s := range e.mcp.Sessions() {
		id := s.ID()
		if id == "" {
			continue
		}
		n++
		used, known := e.use.last[id]
		if !known {
			continue
		}
		last[id] = used
		if e.use.open[id] == 0 && (idlest == nil || used.Before(since)) {
			idlest, since = s, used
		}
	}
	e.use.last = last // without those that have ended
	e.use.mu.Unlock()
	if n < maxSessions {
		return true
	}
	if idlest == nil || time.Since(since) < e.server.limits.session {
		return false
	}
	defer e.use.end(idlest.ID())()
	_ = idlest.Close() // its client begins another one
	return true
}

// minToken is how many characters a token has at least.
const minToken = 16

// An Identity is someone who may use the server over HTTP.
type Identity struct {
	// Name is for rules and the record; Options.Open makes a host for it.
	Name string
	// Token is the bearer token.
	Token string
	// Rights are passed to Options.Open, such as the name of a profile. The server only compares it.
	Rights string
}

// checkIdentities refuses tokens that can be guessed, and those that several identities share.
func checkIdentities(all []Identity) error {
	names, tokens := map[string]bool{}, map[string]string{}
	for _, i := range all {
		other, same := tokens[i.Token]
		switch {
		case len(i.Token) < minToken:
			return fmt.Errorf("mcpserver: the token of identity %q has %d characters; it needs %d at least, such as those "+
				"that `openssl rand -hex 32` prints", i.Name, len(i.Token), minToken)
		case same:
			return fmt.Errorf("mcpserver: the identities %q and %q have the same token", other, i.Name)
		case names[i.Name]:
			return fmt.Errorf("mcpserver: there are two identities %q", i.Name)
		}
		names[i.Name], tokens[i.Token] = true, i.Name
	}
	return nil
}

// SetIdentities replaces those who may use the server over HTTP. One that is gone, or has another token or other
// rights, loses access at once: its sessions, its calls and its host end. Without any, no one has access; a server that
// began without identities needs none as long as it is given none. An error means that nothing has changed.
func (s *Server) SetIdentities(all []Identity) error {
	if err := checkIdentities(all); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.identities, s.guarded = slices.Clone(all), s.guarded || len(all) > 0
	for name, e := range s.endpoints {
		if e.who == nil || s.allows(*e.who) { // without who it serves streams, not HTTP
			continue
		}
		delete(s.endpoints, name)
		e.end()
		s.closing.Go(func() {
			if err := e.close(); err != nil {
				s.options.Logger.Error("the host of an identity that was removed did not end as it should", "identity", name,
					"error", err)
			}
		})
	}
	return nil
}

// errRemoved is the error of a request whose identity was removed while it came.
var errRemoved = errors.New("the identity was removed")

// allows reports whether someone may use the server over HTTP. The caller holds the lock.
func (s *Server) allows(who Identity) bool {
	return !s.guarded && who == Identity{} || slices.Contains(s.identities, who)
}

// authenticate takes as long for each wrong token.
func (s *Server) authenticate(r *http.Request) (who Identity, ok bool) {
	s.mu.Lock()
	all, guarded := s.identities, s.guarded
	s.mu.Unlock()
	if !guarded {
		return Identity{}, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	for _, i := range all {
		want := sha256.Sum256([]byte(i.Token))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			who, ok = i, true
		}
	}
	return who, ok && strings.EqualFold(scheme, "Bearer")
}
