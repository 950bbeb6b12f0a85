package httptransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// A legacy is a connection of the transport of 2024-11-05: one stream brings all messages of the server, and its first
// event says where to post ours.
type legacy struct {
	t        *Transport
	endpoint *url.URL
}

// maxEndpoint bounds the URL in the first event, in bytes.
const maxEndpoint = 8 << 10

// legacyStream returns the connection of that transport if it is in use, nil if it is not. With LegacySSE the first
// message makes it.
func (t *Transport) legacyStream(ctx context.Context, m *client.Message) (*legacy, error) {
	t.mu.Lock()
	l := t.legacy
	t.mu.Unlock()
	if l != nil || !t.o.LegacySSE {
		return l, nil
	}
	if m.Version >= modernEra {
		return nil, notRun(errors.New("the transport of 2024-11-05 carries no requests of " + m.Version))
	}
	return t.connectLegacy(ctx)
}

// tryLegacy is for a server that refused to be posted to: it may have the old transport. If not, the refusal is the
// error.
func (t *Transport) tryLegacy(ctx context.Context, m *client.Message, refusal *fallbackError) error {
	l, err := t.connectLegacy(ctx)
	if err != nil {
		return refusal.error
	}
	return l.post(ctx, m)
}

// connectLegacy opens the stream and waits for its first event.
func (t *Transport) connectLegacy(ctx context.Context) (*legacy, error) {
	a, err := t.exchange(ctx, outgoing{method: http.MethodGet, url: t.base, header: t.header(contentSSE)})
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK || mediaType(a) != contentSSE {
		defer func() { _ = a.Body.Close() }()
		return nil, t.statusError(a, nil)
	}
	r := newEventReader(a.Body, t.o.MaxMessage, newPace(t.o.grace, func() { a.abort(t.slowError("an event")) }))
	l := &legacy{t: t}
	if l.endpoint, err = l.first(a, r); err != nil {
		_ = a.Body.Close()
		return nil, err
	}
	a.detachCaller()
	t.mu.Lock()
	t.legacy = l
	t.mu.Unlock()
	if !t.start(func(ctx context.Context) { l.read(ctx, a, r) }) {
		_ = a.Body.Close()
		return nil, errClosed
	}
	return l, nil
}

// first reads the event that names the endpoint, which must be of the same origin: credentials go there.
func (l *legacy) first(a *response, r *eventReader) (*url.URL, error) {
	timer := time.AfterFunc(l.t.o.grace, func() { a.abort(l.t.slowError("its first event")) })
	e, err := r.next()
	timer.Stop()
	if err != nil {
		return nil, l.t.broken(err)
	}
	text := strings.TrimSpace(string(e.data))
	if e.name != "endpoint" || text == "" || len(text) > maxEndpoint {
		return nil, &sdk.Error{Name: "BadReply",
			Message: fmt.Sprintf("the event stream of the MCP server at %s does not begin with an endpoint", l.t.shown())}
	}
	endpoint, err := l.t.base.Parse(text)
	if err != nil || origin(endpoint) != origin(l.t.base) || endpoint.User != nil {
		return nil, &sdk.Error{Name: "RedirectRefused",
			Message: fmt.Sprintf("the MCP server at %s wants messages to be sent to another server, which is refused: "+
				"messages and credentials are for the configured server alone", l.t.shown())}
	}
	return endpoint, nil
}

// read delivers the messages of the stream. The connection ends with it.
func (l *legacy) read(ctx context.Context, a *response, r *eventReader) {
	defer func() { _ = a.Body.Close() }()
	for {
		e, err := r.next()
		if err != nil {
			if err = l.t.broken(err); ctx.Err() == nil {
				l.t.end(err)
			}
			return
		}
		if e.name != "" && e.name != "message" || len(e.data) == 0 {
			continue
		}
		if l.t.deliver(ctx, client.Received{JSON: e.data}) != nil {
			return
		}
	}
}

// post sends a message; its answer comes by the stream.
func (l *legacy) post(ctx context.Context, m *client.Message) error {
	t := l.t
	h := t.header("")
	h.Set("Content-Type", contentJSON)
	o := outgoing{method: http.MethodPost, url: l.endpoint, header: h, body: m.JSON}
	a, err := t.exchange(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(a.Body, maxErrorBody)) // usually "Accepted"
	if a.StatusCode >= 300 {
		return t.statusError(a, text)
	}
	return nil
}
