// Package httptransport carries MCP messages over HTTP: Streamable HTTP of all revisions, and the HTTP with SSE of
// 2024-11-05, to which it falls back by itself.
package httptransport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// Options say which server a Transport talks to, and how.
type Options struct {
	// URL is the server's endpoint, http or https.
	URL string
	// Header has the operator's headers, with secrets resolved. They go to the endpoint's origin alone, and are in no
	// error.
	Header http.Header
	// Authorizer gives the Authorization header; nil: there is none besides the one in Header.
	Authorizer Authorizer
	// LegacySSE begins with the transport of 2024-11-05, for a server that is known to have no other.
	LegacySSE bool
	// StreamableOnly never tries the transport of 2024-11-05; without it a server that refuses to be posted to may have
	// that one.
	StreamableOnly bool
	// ProxyFromEnvironment uses the proxies that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
	ProxyFromEnvironment bool
	// MaxMessage bounds one message of the server, in bytes; 0 is 64 MiB.
	MaxMessage int
	// TLS is for tests; nil is the system's trust.
	TLS *tls.Config

	// grace replaces messageGrace in tests.
	grace time.Duration
}

// An Authorizer gives credentials to requests. It may be used from several goroutines.
type Authorizer interface {
	// Authorization returns the value of the Authorization header, "" for none.
	Authorization(ctx context.Context) (string, error)
	// Challenge is called when the server refused a request, with status 401 or 403, that had this value. After nil the
	// request is sent once more.
	Challenge(ctx context.Context, value string, answer *http.Response) error
}

const (
	maxMessage       = 64 << 20
	maxHeaderBytes   = 64 << 10
	queued           = 64 // messages that wait for Receive
	connectTimeout   = 15 * time.Second
	closeTimeout     = 3 * time.Second
	modernEra        = "2026-07-28"
	headerSession    = "Mcp-Session-Id"
	headerVersion    = "Mcp-Protocol-Version"
	headerLastEvent  = "Last-Event-Id"
	contentJSON      = "application/json"
	contentSSE       = "text/event-stream"
	methodInitialize = "initialize"
)

// A Transport talks to one server over HTTP; it implements client.Transport. Nothing that a server may have run is sent
// twice.
type Transport struct {
	o        Options
	base     *url.URL
	http     *http.Client
	redactor *redact.Redactor

	ctx     context.Context // of everything that runs
	end     context.CancelCauseFunc
	deaf    chan struct{} // closed when there is no stream beside requests, or no more
	tasks   sync.WaitGroup
	inbox   chan client.Received
	closing sync.Once

	mu      sync.Mutex
	session string // Mcp-Session-Id
	version string // of the session, of the handshake era
	legacy  *legacy
	pending map[string]context.CancelCauseFunc // requests that wait for their answer, by id
	stopped bool                               // no more tasks begin
}

var _ client.Transport = (*Transport)(nil)

// New returns a transport that connects with the first message. An error is about the options.
func New(o Options) (*Transport, error) {
	base, err := parseEndpoint(o.URL)
	if err != nil {
		return nil, err
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, maxMessage)
	o.grace = cmp.Or(o.grace, messageGrace)
	o.Header = o.Header.Clone()
	if base.User != nil {
		if o.Header == nil {
			o.Header = http.Header{}
		}
		if o.Header.Get("Authorization") == "" {
			password, _ := base.User.Password()
			r := &http.Request{Header: o.Header}
			r.SetBasicAuth(base.User.Username(), password)
		}
		bare := *base
		bare.User = nil
		base = &bare
	}
	t := &Transport{o: o, base: base, inbox: make(chan client.Received, queued), deaf: make(chan struct{}),
		pending: map[string]context.CancelCauseFunc{}, redactor: redact.New(secrets(o)...), http: newHTTPClient(o)}
	t.ctx, t.end = context.WithCancelCause(context.Background())
	return t, nil
}

// parseEndpoint reads the URL of a server. Its errors show nothing that may be secret.
func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, errors.New("the url of the MCP server cannot be read as a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the url of the MCP server begins with %q; it must begin with https:// or http://", u.Scheme)
	case u.Host == "":
		return nil, errors.New("the url of the MCP server names no host")
	}
	u.Fragment = ""
	return u, nil
}

// secrets are the texts that no error may have.
func secrets(o Options) []string {
	var out []string
	for _, values := range o.Header {
		for _, v := range values {
			out = append(out, v)
			if _, credentials, ok := strings.Cut(v, " "); ok {
				out = append(out, credentials)
			}
		}
	}
	if u, err := url.Parse(o.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			out = append(out, password)
		}
		for _, values := range u.Query() {
			out = append(out, values...)
		}
	}
	return out
}

func newHTTPClient(o Options) *http.Client {
	tr := &http.Transport{
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        o.TLS,
		DialContext:            dialer.DialContext,
	}
	if o.ProxyFromEnvironment {
		tr.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Receive returns the next message of the server, or the failure of a request.
func (t *Transport) Receive() (client.Received, error) {
	select {
	case r := <-t.inbox:
		return r, nil
	default:
	}
	select {
	case r := <-t.inbox:
		return r, nil
	case <-t.ctx.Done():
		return client.Received{}, context.Cause(t.ctx)
	}
}

// Deaf is closed when nothing comes but answers: the server offers no stream for the rest, or has ended it for good.
func (t *Transport) Deaf() <-chan struct{} { return t.deaf }

// deliver hands something to Receive; it waits while the queue is full.
func (t *Transport) deliver(ctx context.Context, r client.Received) error {
	select {
	case t.inbox <- r:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// start runs f, which ends with its context, beside the callers. It reports false when the transport is closed.
func (t *Transport) start(f func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	t.tasks.Go(func() { f(t.ctx) })
	return true
}

// errClosed is why Receive ends after Close.
var errClosed = errors.New("the connection to the MCP server is closed")

// Close ends the session at the server, drops all streams, and returns when nothing runs anymore. It takes 3 seconds at
// most.
func (t *Transport) Close() error {
	t.closing.Do(func() {
		t.mu.Lock()
		t.stopped = true
		session, legacy := t.session, t.legacy
		t.mu.Unlock()
		if session != "" && legacy == nil && t.ctx.Err() == nil {
			t.deleteSession(session)
		}
		t.end(errClosed)
		t.tasks.Wait()
		t.http.CloseIdleConnections()
	})
	return nil
}

// deleteSession ends the session at the server. Servers may refuse that; nothing depends on it.
func (t *Transport) deleteSession(session string) {
	ctx, cancel := context.WithTimeout(t.ctx, closeTimeout)
	defer cancel()
	header := t.header("")
	header.Set(headerSession, session)
	answer, err := t.exchange(ctx, outgoing{method: http.MethodDelete, url: t.base, header: header})
	if err == nil {
		_ = answer.Body.Close()
	}
}

// header has what all requests to the server have.
func (t *Transport) header(accept string) http.Header {
	h := http.Header{"User-Agent": {"toolhost"}}
	maps.Copy(h, t.o.Header)
	if accept != "" {
		h.Set("Accept", accept)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != "" {
		h.Set(headerSession, t.session)
	}
	if t.version != "" {
		h.Set(headerVersion, t.version)
	}
	return h
}

// A sessionEndedError is the refusal of a request because the server does not know the session anymore.
type sessionEndedError struct{ error }

func (e *sessionEndedError) Unwrap() error { return e.error }

func (t *Transport) sessionEnded() error {
	return &sessionEndedError{notRun(&sdk.Error{Name: "SessionEnded", Retryable: true,
		Message:    fmt.Sprintf("the MCP server at %s has ended the session; it did not run this call", t.shown()),
		Suggestion: "Call again: the next call begins a new session."})}
}

// endSession ends the transport if that is why a request failed: no other request can be answered either.
func (t *Transport) endSession(err error) {
	if _, ok := errors.AsType[*sessionEndedError](err); ok {
		t.end(&sdk.Error{Name: "SessionEnded", Retryable: true,
			Message: fmt.Sprintf("the MCP server at %s has ended the session", t.shown())})
	}
}

// shown is the server as errors have it: its origin. Paths and queries of endpoints may hold keys.
func (t *Transport) shown() string { return origin(t.base) }

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
