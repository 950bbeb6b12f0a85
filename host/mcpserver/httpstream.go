package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveSession serves a request of a session. A client that asks for the rest of a stream gets it, also while the
// connection on which it had the stream looks alive here: that one is ended.
func (e *endpoint) serveSession(w *streamWriter, r *http.Request) {
	session, version := r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version")
	used := e.use.begin(session)
	defer func() { used(w.Header().Get("Mcp-Session-Id")) }()
	stream, _, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "_")
	ctx, end := context.WithCancel(r.Context())
	defer end()
	if r.Method == http.MethodGet && stream == "" { // it carries no call
		defer context.AfterFunc(e.server.streams, end)()
	}
	w.streams, w.session, w.end, w.finished = &e.streams, session, end, make(chan struct{})
	defer w.finish()
	if r.Method == http.MethodGet && !e.streams.takeOver(ctx, streamKey{session, stream}, w) {
		return // the client is gone
	}
	if stream != "" && version >= lastOfLegacy {
		w.resumes = r.Header.Get("Last-Event-ID")
	}
	if session != "" { // a session keeps the context of the request that begins it
		ctx = context.WithValue(ctx, writerKey{}, w)
	}
	// A DELETE with another revision is refused. Calls without a session have an empty name of one.
	known := version == "" || slices.Contains(mcp.SupportedProtocolVersions(), version)
	if known && r.Method == http.MethodDelete && session != "" {
		defer e.use.end(session)()
	}
	e.http.stateful.ServeHTTP(w, r.WithContext(ctx))
}

// openStreams are the responses that are being sent, and of those of sessions, which streams they are.
type openStreams struct {
	mu        sync.Mutex
	all       map[streamKey]*streamWriter
	responses map[string]*streamWriter // by number
	last      int                      // number
}

// takeOver ends what is being sent of a stream, waits until it has ended, and makes w its writer; ok is false if ctx
// ends first.
func (o *openStreams) takeOver(ctx context.Context, key streamKey, w *streamWriter) (ok bool) {
	for {
		o.mu.Lock()
		before := o.all[key]
		if before == nil {
			o.put(key, w)
		}
		o.mu.Unlock()
		if before == nil {
			return true
		}
		before.cut()
		select {
		case <-before.finished:
		case <-ctx.Done():
			return false
		}
	}
}

// put makes w the writer of a stream. The caller holds the lock.
func (o *openStreams) put(key streamKey, w *streamWriter) {
	if o.all == nil {
		o.all = map[streamKey]*streamWriter{}
	}
	o.all[key], w.key, w.known = w, key, true
}

// A streamWriter is a response that gives up on a client that does not read, and keeps a connection alive on which
// nothing happens. Of a stream of events it knows which it is, and another connection can take that over.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // for each write
	header  http.Header   // what is set; it is the response's once that begins

	single   bool         // it is for one message, not a batch
	resumes  string       // the ID of the last event that the client has, if its revision has events without data
	streams  *openStreams // nil outside sessions
	session  string
	end      context.CancelFunc
	finished chan struct{} // closed when nothing more is written

	// Those of streams.mu.
	key   streamKey
	known bool

	mu      sync.Mutex // held to set the deadline of writes
	stopped bool

	writing  sync.Mutex  // held while something is written, and for the fields below
	begun    bool        // the header was sent
	events   bool        // it is a stream of events
	promised http.Header // the header with which a comment may begin it; nil when none may
	canceled bool        // its only request was canceled
	wrote    time.Time
	timer    *time.Timer // of the next comment
	over     bool
}

func (w *streamWriter) finish() {
	w.streams.mu.Lock()
	if w.known && w.streams.all[w.key] == w {
		delete(w.streams.all, w.key)
	}
	w.streams.mu.Unlock()
	close(w.finished)
}

// cut ends the response, also while something is being written.
func (w *streamWriter) cut() {
	w.mu.Lock()
	w.stopped = true
	_ = w.control.SetWriteDeadline(time.Now()) // a writer of a test may have none
	w.mu.Unlock()
	w.end()
}

var errTakenOver = errors.New("another connection has the stream now")

// Header is the response's own only once that begins: a comment may begin it while the SDK sets another.
func (w *streamWriter) Header() http.Header { return w.header }

func (w *streamWriter) WriteHeader(status int) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.sendHeader(status, w.header)
}

// sendHeader sends the header, unless it was sent. The caller holds the lock.
func (w *streamWriter) sendHeader(status int, header http.Header) {
	if w.begun {
		return
	}
	w.begun = true
	maps.Copy(w.ResponseWriter.Header(), header)
	w.ResponseWriter.WriteHeader(status)
	if status == http.StatusOK && isEvents(header) {
		w.events = true
		w.wrote = time.Now()
		w.comment(commentEvery)
	}
}

func (w *streamWriter) Write(p []byte) (int, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.sendHeader(http.StatusOK, w.header)
	if w.canceled && !w.isKnown() {
		return len(p), nil
	}
	sent := withNumberIDs(eventWithCode(p))
	if w.events && !isEvents(w.header) { // an error with a status, for which it is too late
		sent = slices.Concat([]byte("event: message\ndata: "), sent, []byte("\n\n"))
	}
	if err := w.send(sent, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// send writes what an event became, or a comment, for which event is nil. The caller holds the lock.
func (w *streamWriter) send(sent, event []byte) error {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return errTakenOver
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.limit)) // a writer of a test may have none
	w.mu.Unlock()
	if w.streams != nil && event != nil {
		w.learn(event)
	}
	w.wrote = time.Now()
	_, err := w.ResponseWriter.Write(sent)
	return err
}

// FlushError is for http.ResponseController.
func (w *streamWriter) FlushError() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.sendHeader(http.StatusOK, w.header)
	return w.control.Flush()
}

// learn notes which stream it is from the ID of its first event: a client that has not got that cannot resume it.
func (w *streamWriter) learn(event []byte) {
	w.streams.mu.Lock()
	defer w.streams.mu.Unlock()
	if w.known {
		return
	}
	head, _, _ := bytes.Cut(event, []byte("\ndata:"))
	_, id, ok := strings.Cut(string(head), "\nid: ")
	if stream, _, complete := strings.Cut(id, "_"); ok && complete {
		w.streams.put(streamKey{w.session, stream}, w)
	}
}

// Unwrap is for http.ResponseController.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Proxies and clients give up on a response of which nothing comes for some time, often a minute. The SDK sends nothing
// while a call says nothing, in most revisions not even the header. So a stream of events gets comments, which clients
// ignore.

const (
	// firstComment is how long a call may take before its response begins with a comment. Until then it may still become
	// an error with a status.
	firstComment = time.Second
	// commentEvery is how long a stream is silent at most.
	commentEvery = 15 * time.Second
)

// commentLine is a comment of a stream of events.
const commentLine = ": \n\n"

// isEvents reports whether a header is that of a stream of events.
func isEvents(header http.Header) bool { return header.Get("Content-Type") == "text/event-stream" }

// comment lets one come after a time. The caller holds the lock.
func (w *streamWriter) comment(after time.Duration) {
	switch {
	case w.over:
	case w.timer == nil:
		w.timer = time.AfterFunc(after, w.sendComment)
	default:
		w.timer.Reset(after)
	}
}

// sendComment sends a comment, unless something was sent meanwhile.
func (w *streamWriter) sendComment() {
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.over {
		return
	}
	if silent := time.Since(w.wrote); w.begun && silent < commentEvery {
		w.comment(commentEvery - silent)
		return
	}
	w.sendHeader(http.StatusOK, w.promised)
	if w.send([]byte(commentLine), nil) != nil || w.control.Flush() != nil {
		return // the client is gone
	}
	w.comment(commentEvery)
}

// promise lets a comment begin the response, which the SDK will begin as a stream of events: it has set the header, and
// serves the request now.
func (w *streamWriter) promise() {
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.begun || w.over || w.promised != nil || !isEvents(w.header) {
		return
	}
	w.promised = w.header.Clone() // the SDK may still set another
	w.comment(firstComment)
}

// cancel lets a canceled request have no answer, as the protocol wants it, where its client knows no ID of the stream.
// With one, clients take the end of a stream without an answer for a connection that was lost, and ask for the rest;
// that of the Rust SDK without end, whatever it is answered.
func (w *streamWriter) cancel() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.canceled = w.single
}

// isKnown reports whether an event of the stream was sent, and with it an ID.
func (w *streamWriter) isKnown() bool {
	if w.streams == nil {
		return false
	}
	w.streams.mu.Lock()
	defer w.streams.mu.Unlock()
	return w.known
}

// resume begins the rest of a stream, of which nothing may come for long. The official client knows an ID only from an
// event of the same connection: when it lost this one before an event, it would ask for another stream.
func (w *streamWriter) resume() {
	w.header.Set("Content-Type", "text/event-stream")
	w.header.Set("Cache-Control", "no-cache, no-transform")
	begin := commentLine
	if w.resumes != "" {
		begin = "event: prime\nid: " + w.resumes + "\ndata: \n\n"
	}
	if _, err := w.Write([]byte(begin)); err == nil {
		_ = w.FlushError() // the next event is, too
	}
}

// writerKey is the context key of the writer of a response.
type writerKey struct{}

// close ends the comments, and sends the header if nothing else was sent.
func (w *streamWriter) close() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.sendHeader(http.StatusOK, w.header)
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// responseHeader is the name under which a request says to which response it belongs. No header that comes over HTTP
// has such a name.
const responseHeader = "\x00response"

// number gives a response a number until it ends.
func (o *openStreams) number(w *streamWriter) (number string, forget func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.responses == nil {
		o.responses = map[string]*streamWriter{}
	}
	o.last++
	number = strconv.Itoa(o.last)
	o.responses[number] = w
	return number, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.responses, number)
	}
}

// response returns the writer of the response to a request; nil if it is not over HTTP, or the client has gone.
func (o *openStreams) response(r *mcp.RequestExtra) *streamWriter {
	if r == nil || len(r.Header[responseHeader]) != 1 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.responses[r.Header[responseHeader][0]]
}
