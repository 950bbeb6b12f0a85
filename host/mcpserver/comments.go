package mcpserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// resume begins the rest of a stream, of which nothing may come for long.
func (w *streamWriter) resume() {
	w.header.Set("Content-Type", "text/event-stream")
	w.header.Set("Cache-Control", "no-cache, no-transform")
	if _, err := w.Write([]byte(commentLine)); err == nil {
		_ = w.FlushError() // the next event is, too
	}
}

// resumingKey is the context key of the writer of a response that resumes a stream.
type resumingKey struct{}

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

// serving notes that a request is being served.
func (o *openStreams) serving(r *mcp.RequestExtra) {
	if r == nil || len(r.Header[responseHeader]) != 1 {
		return
	}
	o.mu.Lock()
	w := o.responses[r.Header[responseHeader][0]]
	o.mu.Unlock()
	if w != nil {
		w.promise()
	}
}
