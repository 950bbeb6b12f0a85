package httptransport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/sdk"
)

var dialer = net.Dialer{Timeout: connectTimeout}

const (
	maxRedirects = 5
	// maxErrorBody bounds what is read of an answer that is an error.
	maxErrorBody = 8 << 10
)

// An outgoing is a request that may be sent again to another place of the same origin.
type outgoing struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// exchange sends a request and returns the answer's beginning. It follows redirects within the origin, and asks the
// Authorizer when the server refuses the credentials. The answer's body ends with ctx.
func (t *Transport) exchange(ctx context.Context, o outgoing) (*response, error) {
	for attempt := 0; ; attempt++ {
		credentials, err := t.authorize(ctx, &o)
		if err != nil {
			return nil, err
		}
		answer, err := t.followRedirects(ctx, o)
		if err != nil {
			return nil, err
		}
		refused := answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden
		if !refused || t.o.Authorizer == nil || o.header.Get("Authorization") != credentials || attempt > 1 {
			return answer, nil
		}
		if answer.StatusCode == http.StatusForbidden && !insufficientScope(answer) {
			return answer, nil
		}
		err = t.o.Authorizer.Challenge(ctx, credentials, answer.Response)
		_ = answer.Body.Close()
		if err != nil {
			return nil, notRun(t.redactedError(err))
		}
	}
}

// authorize sets the Authorization header, unless the operator has, and returns it.
func (t *Transport) authorize(ctx context.Context, o *outgoing) (string, error) {
	if t.o.Authorizer == nil || t.o.Header.Get("Authorization") != "" {
		return "", nil
	}
	value, err := t.o.Authorizer.Authorization(ctx)
	if err != nil {
		return "", notRun(t.redactedError(err))
	}
	o.header.Del("Authorization")
	if value != "" {
		o.header.Set("Authorization", value)
	}
	return value, nil
}

func insufficientScope(answer *response) bool {
	return strings.Contains(strings.Join(answer.Header.Values("WWW-Authenticate"), ","), "insufficient_scope")
}

// followRedirects sends a request, and again to where the server redirects it, within its origin.
func (t *Transport) followRedirects(ctx context.Context, o outgoing) (*response, error) {
	for hops := 0; ; hops++ {
		answer, err := t.roundTrip(ctx, o)
		if err != nil {
			return nil, err
		}
		location := answer.Header.Get("Location")
		if answer.StatusCode < 300 || answer.StatusCode > 399 || location == "" {
			return answer, nil
		}
		_ = answer.Body.Close()
		to, err := o.url.Parse(location)
		switch {
		case err != nil:
			return nil, t.redirectError("", "its Location cannot be read as a URL")
		case origin(to) != origin(o.url):
			return nil, t.redirectError(originShown(to), whyNotFollowed(o.url, to))
		case hops >= maxRedirects:
			return nil, t.redirectError(originShown(to), fmt.Sprintf("it is redirect %d of one request", hops+1))
		case o.body != nil && answer.StatusCode != http.StatusTemporaryRedirect &&
			answer.StatusCode != http.StatusPermanentRedirect:
			return nil, t.redirectError(originShown(to), fmt.Sprintf("status %d drops the message that was sent",
				answer.StatusCode))
		}
		o.url = to
	}
}

func originShown(u *url.URL) string { return visible(origin(u), 200) }

// whyNotFollowed words a redirect out of the origin.
func whyNotFollowed(from, to *url.URL) string {
	if a, err := netip.ParseAddr(to.Hostname()); err == nil && !loopback.IsPublic(a) {
		return "that is a private address, and messages and credentials are for the configured server alone"
	}
	if to.Host == from.Host && from.Scheme == "https" {
		return "it leads from https to " + visible(to.Scheme, 20)
	}
	return "messages and credentials are for the configured server alone"
}

func (t *Transport) redirectError(to, why string) error {
	if to != "" {
		to = " to " + to
	}
	return notRun(&sdk.Error{Name: "RedirectRefused",
		Message: fmt.Sprintf("the MCP server at %s redirects%s, which is not followed: %s", t.shown(), to, why),
		Suggestion: "If the server has moved, the operator sets its new url in the plugin's configuration, after checking " +
			"whose it is."})
}

// roundTrip sends one request. Closing the answer's body releases everything. A header that comes too slowly, byte by
// byte, ends it.
func (t *Transport) roundTrip(parent context.Context, o outgoing) (*response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	detachCaller := context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })
	detach := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	b := &body{ctx: ctx}
	var once sync.Once
	header := time.AfterFunc(time.Hour, func() { cancel(t.slowError("the header of its answer")) })
	header.Stop()
	b.release = func() {
		detachCaller()
		detach()
		header.Stop()
		cancel(context.Canceled)
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { once.Do(func() { header.Reset(t.o.grace) }) }})
	r, err := http.NewRequestWithContext(traced, o.method, o.url.String(), bytes.NewReader(o.body))
	if err != nil {
		b.release()
		return nil, err
	}
	if o.body == nil {
		r.Body, r.GetBody = nil, nil
	}
	r.Header = o.header
	got, err := t.http.Do(r) //nolint:bodyclose // it becomes the answer's, which the caller closes
	if err != nil {
		err = t.failure(ctx, err)
		b.release()
		return nil, err
	}
	header.Stop()
	b.in = got.Body
	got.Body = b
	return &response{Response: got, abort: cancel, detachCaller: detachCaller}, nil
}

// A response is one whose exchange can be ended with a reason, which reading the body then returns.
type response struct {
	*http.Response
	abort context.CancelCauseFunc
	// detachCaller lets the exchange outlive the caller's context.
	detachCaller func() bool
}

// A body is that of an answer.
type body struct {
	in      io.ReadCloser
	ctx     context.Context
	release func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	b.release()
	return b.in.Close()
}
