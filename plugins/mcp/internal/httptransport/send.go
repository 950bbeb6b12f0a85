package httptransport

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// Send posts a message. What becomes of a request is for Receive; for all others Send waits until the server has
// accepted them.
func (t *Transport) Send(ctx context.Context, m *client.Message) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	switch {
	case m.Cancels != "":
		return t.cancel(ctx, m)
	case m.ID != "":
		return t.begin(ctx, m)
	}
	err := t.sendOne(ctx, m)
	t.endSession(err)
	if err == nil && m.Method == "notifications/initialized" {
		t.mu.Lock()
		t.version = m.Version
		legacy := t.legacy != nil
		t.mu.Unlock()
		if !legacy {
			t.openStream(ctx)
		}
	}
	return err
}

// begin sends a request in the background, until its answer is delivered.
func (t *Transport) begin(ctx context.Context, m *client.Message) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.mu.Lock()
	t.pending[m.ID] = cancel
	t.mu.Unlock()
	started := t.start(func(transport context.Context) {
		defer func() {
			t.mu.Lock()
			delete(t.pending, m.ID)
			t.mu.Unlock()
			cancel(context.Canceled)
		}()
		if err := t.sendOne(ctx, m); err != nil {
			_ = t.deliver(transport, client.Received{For: m.ID, Err: mayHaveRun(err)})
			t.endSession(err)
		}
	})
	if !started {
		cancel(errClosed)
		return errClosed
	}
	return nil
}

// cancel drops the stream of a request, which cancels it at a server of 2026-07-28. Servers of before are sent the
// notification.
func (t *Transport) cancel(ctx context.Context, m *client.Message) error {
	if m.Version >= modernEra {
		t.drop(m.Cancels)
		return nil
	}
	defer t.drop(m.Cancels)
	return t.sendOne(ctx, m)
}

func (t *Transport) drop(id string) {
	t.mu.Lock()
	drop := t.pending[id]
	t.mu.Unlock()
	if drop != nil {
		drop(context.Canceled)
	}
}

// sendOne sends a message by the transport that the server has, and delivers its answers.
func (t *Transport) sendOne(ctx context.Context, m *client.Message) error {
	l, err := t.legacyStream(ctx, m)
	if err != nil {
		return err
	}
	if l != nil {
		return l.post(ctx, m)
	}
	err = t.post(ctx, m)
	if fallback, ok := errors.AsType[*fallbackError](err); ok {
		return t.tryLegacy(ctx, m, fallback)
	}
	return err
}

func (t *Transport) outgoing(m *client.Message) outgoing {
	h := t.header(contentJSON + ", " + contentSSE)
	h.Set("Content-Type", contentJSON)
	if m.Version != "" {
		h.Set(headerVersion, m.Version)
	}
	if m.Version >= modernEra {
		h.Del(headerSession)
		h.Set("Mcp-Method", m.Method)
		if m.Name != "" {
			h.Set("Mcp-Name", EncodeHeader(m.Name))
		}
		for name, value := range m.Headers {
			h.Set(name, value)
		}
	}
	return outgoing{method: http.MethodPost, url: t.base, header: h, body: m.JSON}
}

// EncodeHeader writes a value as MCP does: in base64 if a header cannot have it as it stands, or if it looks encoded.
func EncodeHeader(value string) string {
	encoded := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=")
	if isHeaderText(strings.ReplaceAll(value, "\t", " ")) && !encoded && strings.TrimSpace(value) == value {
		return value
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// post sends a message to the endpoint and delivers what the server answers.
func (t *Transport) post(ctx context.Context, m *client.Message) error {
	o := t.outgoing(m)
	a, err := t.exchange(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	switch {
	case a.StatusCode >= 300:
		return t.refused(ctx, m, o, a)
	case m.ID == "":
		return nil
	}
	if m.Method == methodInitialize {
		if err := t.beginSession(a); err != nil {
			return err
		}
	}
	switch mediaType(a) {
	case contentJSON:
		return t.deliverBody(ctx, m, a)
	case contentSSE:
		return t.deliverStream(ctx, m, a)
	}
	return mayHaveRun(&sdk.Error{Name: "BadReply",
		Message: fmt.Sprintf("the MCP server at %s answered with status %d and the content type %q instead of JSON or an "+
			"event stream", t.shown(), a.StatusCode, visible(a.Header.Get("Content-Type"), 100)),
		Suggestion: "Check that the url is that of an MCP endpoint."})
}

func mediaType(a *response) string {
	kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// beginSession keeps the session's id, which the answer to initialize may have.
func (t *Transport) beginSession(a *response) error {
	id := a.Header.Get(headerSession)
	if len(id) > maxEventID || !isHeaderText(id) {
		return &sdk.Error{Name: "BadReply",
			Message: fmt.Sprintf("the MCP server at %s gave a session id of %d bytes that is not a header value", t.shown(),
				len(id))}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = id
	return nil
}

// refused handles an answer that is an HTTP error: an error of JSON-RPC is an answer like others.
func (t *Transport) refused(ctx context.Context, m *client.Message, o outgoing, a *response) error {
	p := newPace(t.o.grace, func() { a.abort(t.slowError("its answer")) })
	text, _ := io.ReadAll(io.LimitReader(&pacedReader{a.Body, p}, maxErrorBody))
	p.stop()
	rpc := rpcError(text)
	if o.header.Get(headerSession) != "" && isSessionEnd(a.StatusCode, rpc) {
		return t.sessionEnded()
	}
	err := t.statusError(a, text)
	if m.Method == methodInitialize && slices.Contains(legacyRefusals, a.StatusCode) && !t.o.StreamableOnly {
		return &fallbackError{err}
	}
	auth := a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden
	if rpc != nil && m.ID != "" && !auth {
		return t.deliver(ctx, client.Received{JSON: rpc.as(m.ID), For: m.ID})
	}
	return err
}

// legacyRefusals are the statuses with which servers of the transport of 2024-11-05 answer a POST to their stream.
var legacyRefusals = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusNotAcceptable, http.StatusUnsupportedMediaType}

// A fallbackError is the refusal of initialize by a server that may speak the transport of 2024-11-05.
type fallbackError struct{ error }

func (e *fallbackError) Unwrap() error { return e.error }

// isSessionEnd says whether a server refuses a request because it does not know its session. The revisions ask for 404;
// servers made after a common example answer 400.
func isSessionEnd(status int, rpc *rpcErrorMessage) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest && rpc != nil && rpc.Code == -32000 &&
		strings.Contains(strings.ToLower(rpc.Message), "session")
}

// An rpcErrorMessage is the error of a JSON-RPC response.
type rpcErrorMessage struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// rpcError reads a response that is an error, nil if the text is none.
func rpcError(text []byte) *rpcErrorMessage {
	var m struct {
		Error *rpcErrorMessage `json:"error"`
	}
	if json.Unmarshal(text, &m) != nil || m.Error == nil || m.Error.Code == 0 {
		return nil
	}
	return m.Error
}

// as makes the error the response to a request: servers often leave out whose it is.
func (e *rpcErrorMessage) as(id string) json.RawMessage {
	key := json.RawMessage(id)
	if !json.Valid(key) {
		key = json.RawMessage(strconv.Quote(id))
	}
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": key, "error": e})
	if err != nil { // no server can cause it: its data was JSON
		return nil
	}
	return out
}

// deliverBody delivers an answer in JSON: a message, or several in an array as 2025-03-26 has them.
func (t *Transport) deliverBody(ctx context.Context, m *client.Message, a *response) error {
	p := newPace(t.o.grace, func() { a.abort(t.slowError("its answer")) })
	text, err := io.ReadAll(io.LimitReader(&pacedReader{a.Body, p}, int64(t.o.MaxMessage)+1))
	p.stop()
	if err == nil && len(text) > t.o.MaxMessage {
		err = &tooLargeError{"its answer", t.o.MaxMessage}
	}
	if err != nil {
		return t.broken(err)
	}
	answered, err := t.take(ctx, m, bytes.TrimPrefix(text, []byte("\ufeff")))
	if err == nil && !answered {
		err = mayHaveRun(&sdk.Error{Name: "BadReply",
			Message: fmt.Sprintf("the answer of the MCP server at %s does not belong to the request", t.shown())})
	}
	return err
}

// take delivers a message and says whether it is, or has, the response to m.
func (t *Transport) take(ctx context.Context, m *client.Message, text json.RawMessage) (answered bool, err error) {
	if m == nil {
		err := t.deliver(ctx, client.Received{JSON: text})
		t.answeredElsewhere(text)
		return false, err
	}
	if rawjson.First(text) == '[' {
		var batch []head
		err = json.Unmarshal(text, &batch)
		for _, h := range batch {
			answered = answered || h.answers(m)
		}
	} else {
		var h head
		err = json.Unmarshal(text, &h)
		answered = h.answers(m)
	}
	if err != nil {
		return false, mayHaveRun(&sdk.Error{Name: "BadReply",
			Message: fmt.Sprintf("the MCP server at %s answered with what is no JSON-RPC message", t.shown())})
	}
	return answered, t.deliver(ctx, client.Received{JSON: text, For: m.ID})
}

// answeredElsewhere drops the stream of a request whose response came on the stream beside requests: it is not resumed
// anymore.
func (t *Transport) answeredElsewhere(text json.RawMessage) {
	var h head
	if json.Unmarshal(text, &h) == nil && h.Method == nil && h.ID != nil {
		t.drop(strings.Trim(string(h.ID), `"`))
	}
}

// A head has the members that distinguish messages.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Error  json.RawMessage `json:"error"`
}

// answers says whether a message is the response to m. An error without an id is that of the request on whose stream it
// comes.
func (h head) answers(m *client.Message) bool {
	id := string(h.ID)
	return h.Method == nil && (id == m.ID || id == strconv.Quote(m.ID) || (id == "" || id == "null") && h.Error != nil)
}

// deliverStream delivers the messages of an event stream up to the response. A stream of the handshake era that ends
// before is resumed, if the server has given it ids.
func (t *Transport) deliverStream(ctx context.Context, m *client.Message, a *response) error {
	s := &stream{t: t, m: m, retry: -1}
	answered, err := s.read(ctx, a)
	if answered || err != nil {
		return err
	}
	if m.Version >= modernEra || s.lastID == "" {
		return t.broken(errLost)
	}
	return s.resume(ctx)
}

// A stream is an event stream over all its connections.
type stream struct {
	t *Transport
	m *client.Message // the request that it answers, nil for the stream that the transport listens to

	lastID string
	retry  time.Duration // that the server asked for, -1 for none
	empty  int           // connections in a row that brought neither a message nor another id
}

// read delivers the messages of one connection. Without an error, it has ended, and answered says whether the response
// was among them.
func (s *stream) read(ctx context.Context, a *response) (answered bool, err error) {
	t := s.t
	p := newPace(t.o.grace, func() { a.abort(t.slowError("an event")) })
	r := newEventReader(a.Body, t.o.MaxMessage, p)
	r.lastID, r.retry = s.lastID, s.retry
	s.empty++
	for {
		e, err := r.next()
		if r.lastID != s.lastID {
			s.empty = 0
		}
		s.lastID, s.retry = r.lastID, r.retry
		if err != nil {
			if lost(err) {
				return false, nil
			}
			return false, t.broken(err)
		}
		if e.name != "" && e.name != "message" || len(bytes.TrimSpace(e.data)) == 0 {
			continue
		}
		s.empty = 0
		answered, err := t.take(ctx, s.m, e.data)
		if err != nil {
			return false, err
		}
		if answered {
			t.finish(a)
			return true, nil
		}
	}
}

// errLost is the end of a stream before the response.
var errLost = errors.New("the stream ended")

// lost says whether a stream ended as connections end, and not for a reason of this side.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errClosed) {
		return false
	}
	_, worded := errors.AsType[*sdk.Error](err)
	_, large := errors.AsType[*tooLargeError](err)
	return !worded && !large
}

// drainTime is how long a server may take to end a stream after the response, so that the connection is used again.
const drainTime = 250 * time.Millisecond

// finish reads the end of a stream in the background.
func (t *Transport) finish(a *response) {
	in := a.Body
	timer := time.AfterFunc(drainTime, func() { a.abort(context.Canceled) })
	a.detachCaller()
	if t.start(func(context.Context) {
		_, _ = io.CopyN(io.Discard, in, 4<<10)
		timer.Stop()
		_ = in.Close()
	}) {
		a.Body = http.NoBody // it is not the caller's to close
	}
}
