package httptransport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// An event is one event of a text/event-stream.
type event struct {
	name string // "" is "message"
	data []byte
}

// An eventReader splits a text/event-stream into events, as
// https://html.spec.whatwg.org/multipage/server-sent-events.html says.
type eventReader struct {
	in    *bufio.Reader
	pace  *pace
	limit int // bytes of one event

	// lastID and retry outlive events: they are for the next connection. The id is that of the last event that was
	// complete: what is cut off has not come, and the server is asked for it again.
	lastID string
	retry  time.Duration

	line    []byte
	skipLF  bool // the last line ended with a CR, which may be the half of CRLF
	started bool
}

// maxEventID bounds the id of an event, which is sent back as a header.
const maxEventID = 1024

func newEventReader(in io.Reader, limit int, p *pace) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 16<<10), pace: p, limit: limit, retry: -1}
}

// next returns the next event that has data. An event that the end of the stream cuts off is dropped, as browsers do.
func (r *eventReader) next() (event, error) {
	var e event
	var hasData bool
	size, id := 0, r.lastID
	defer r.pace.stop()
	for {
		line, err := r.readLine(r.limit - size)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			r.lastID = id
			if hasData {
				return e, nil
			}
			r.pace.stop()
			e, size = event{}, 0
			continue
		}
		if line[0] == ':' { // a comment, which keeps the connection open and may come alone
			if !hasData && e.name == "" {
				r.pace.stop()
			}
			continue
		}
		size += len(line)
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				e.data = append(e.data, '\n')
			}
			e.data, hasData = append(e.data, value...), true
		case "event":
			e.name = string(value)
		case "id":
			if len(value) <= maxEventID && isHeaderText(string(value)) {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				r.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// readLine returns the next line without its end. It is valid until the next call.
func (r *eventReader) readLine(limit int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		if r.in.Buffered() == 0 {
			if _, err := r.in.Peek(1); err != nil {
				return nil, err
			}
			r.pace.add(r.in.Buffered())
		}
		part, _ := r.in.Peek(r.in.Buffered())
		if r.skipLF {
			r.skipLF = false
			if part[0] == '\n' {
				_, _ = r.in.Discard(1)
				continue
			}
		}
		r.pace.start()
		end := bytes.IndexAny(part, "\r\n")
		if end < 0 {
			r.line = append(r.line, part...)
			_, _ = r.in.Discard(len(part))
		} else {
			r.line = append(r.line, part[:end]...)
			r.skipLF = part[end] == '\r'
			_, _ = r.in.Discard(end + 1)
		}
		if len(r.line) > limit {
			return nil, &tooLargeError{what: "an event of its answer", limit: r.limit}
		}
		if end >= 0 {
			if !r.started {
				r.started = true
				r.line = bytes.TrimPrefix(r.line, []byte("\ufeff"))
			}
			return r.line, nil
		}
	}
}

// isHeaderText says whether the text can be the value of a header as it stands.
func isHeaderText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// A tooLargeError is a message over the limit.
type tooLargeError struct {
	what  string
	limit int
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%s is over %d MiB", e.what, e.limit>>20)
}

// A pace ends an exchange whose message comes too slowly: the time from its first byte is bounded, with more time for
// each byte. Silence between messages is not bounded by it.
type pace struct {
	timer *time.Timer
	until time.Time
	grace time.Duration
}

const (
	// messageGrace is how long a message may take from its first byte, besides the time for its size.
	messageGrace = 30 * time.Second
	// minRate is the least rate of a long message, in bytes a second.
	minRate = 32 << 10
)

// newPace returns a pace that calls end once, from another goroutine, when a message is too slow.
func newPace(grace time.Duration, end func()) *pace {
	p := &pace{timer: time.AfterFunc(time.Hour, end), grace: grace}
	p.timer.Stop()
	return p
}

func (p *pace) start() {
	if p.until.IsZero() {
		p.until = time.Now().Add(p.grace)
		p.timer.Reset(p.grace)
	}
}

func (p *pace) add(n int) {
	if p.until.IsZero() {
		return
	}
	p.until = p.until.Add(time.Duration(n) * time.Second / minRate)
	p.timer.Reset(time.Until(p.until))
}

func (p *pace) stop() {
	if !p.until.IsZero() {
		p.until = time.Time{}
		p.timer.Stop()
	}
}

// A pacedReader is a body that is one message.
type pacedReader struct {
	in   io.Reader
	pace *pace
}

func (r *pacedReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if n > 0 {
		r.pace.start()
		r.pace.add(n)
	}
	if err != nil {
		r.pace.stop()
	}
	return n, err
}
