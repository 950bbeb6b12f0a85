package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file is how the messages of one call travel: the plugin's Sender cuts a large result into pieces, the host's
// Receiver reassembles it, and both enforce the same limits.

// A Sender sends the events of one call and its result. It is safe for concurrent use: gRPC streams do not allow
// concurrent Sends, and handlers may use many goroutines. Everything after the result is dropped.
type Sender struct {
	stream eventStream
	piece  int // bytes of a part in one message
	large  int // bytes that the large parts of the result may have

	mu       sync.Mutex
	done     bool
	meter    meter
	requests chan struct{} // a token for each open one; made for the first
}

type eventStream interface {
	Send(*pluginv1.CallEvent) error
}

// NewSender sends on a stream of Call.
func NewSender(stream eventStream) *Sender {
	return &Sender{stream: stream, piece: maxPiece, meter: newMeter(1)}
}

// NewSessionSender sends on a session, in pieces that other calls need not wait for.
func NewSessionSender(stream eventStream) *Sender {
	return &Sender{stream: stream, piece: sessionPiece, meter: newMeter(1)}
}

// TakesLarge says how many bytes the large parts of the result may have together, as the request of the call does. It
// is called before the first event.
func (s *Sender) TakesLarge(most int64) { s.large = int(most) }

// Event sends an event, unless it is over the limits. A broken stream also ends the call's context, so it is no error
// here.
func (s *Sender) Event(e *pluginv1.CallEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done && s.meter.pass(e) {
		_ = s.stream.Send(e)
	}
}

// MaxRequests is how many requests of one call to its host may be open.
const MaxRequests = 16

// ErrEnded is the error of a request after the result.
var ErrEnded = errors.New("the call has ended")

// Request sends a request to the host when fewer than MaxRequests are open. The caller calls Answered when it waits for
// it no longer.
func (s *Sender) Request(ctx context.Context, r *pluginv1.HostRequest) error {
	s.mu.Lock()
	if s.requests == nil {
		s.requests = make(chan struct{}, MaxRequests)
	}
	open := s.requests
	s.mu.Unlock()
	select {
	case open <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.sendRequest(r)
	if err != nil {
		s.Answered()
	}
	return err
}

func (s *Sender) sendRequest(r *pluginv1.HostRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: r}}
	switch {
	case s.done:
		return ErrEnded
	case !s.meter.pass(e):
		return fmt.Errorf("the call sends more than its host accepts: %d events, or %d bytes, a second", eventRate,
			eventBytes)
	}
	return s.stream.Send(e)
}

// Answered ends a request.
func (s *Sender) Answered() { <-s.requests }

// Withdraw notifies the host that a request is not wanted any more. It is not metered: the request was, and runs on
// without it.
func (s *Sender) Withdraw(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		_ = s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: &pluginv1.HostRequest{Id: id,
			Request: &pluginv1.HostRequest_Cancel{Cancel: &pluginv1.Cancel{}}}}})
	}
}

// Result sends the result of the call, large parts first, piece by piece. A result over the limits is replaced by the
// error that says so.
func (s *Sender) Result(r *pluginv1.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if e := s.meter.dropped(); e != nil {
		if err := s.stream.Send(e); err != nil {
			return err
		}
	}
	var w weight
	w.add(r.GetContent()...)
	inPieces := w.payload > s.piece
	w.addRest(r)
	large := 0
	if s.large > 0 && w.payload > MaxResult {
		for _, c := range r.GetContent() {
			large += largeSize(c)
		}
		w.payload -= large
	}
	e := w.check("result")
	if e == nil && large > s.large {
		e = largeExcess(int64(large), s.large)
	}
	if e != nil {
		r, inPieces = &pluginv1.Result{Error: e}, false
	}
	if inPieces {
		for _, c := range r.GetContent() {
			if err := s.part(c, large > 0 && largeSize(c) > 0); err != nil {
				return err
			}
		}
		r = &pluginv1.Result{Structured: r.GetStructured(), Error: r.GetError(), Truncated: r.GetTruncated(),
			Extra: r.GetExtra(), InputRequired: r.GetInputRequired()}
	}
	return s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: r}})
}

// part sends a part; its size is sent before its bytes.
func (s *Sender) part(c *pluginv1.Content, large bool) error {
	size := int64(len(c.GetText()) + len(c.GetData()))
	body := body(c)
	rest := cut(body, s.piece)
	err := s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: c,
		Size: size, Large: large}}})
	for err == nil && len(rest) > 0 {
		piece := rest
		rest = cut(&piece, s.piece)
		err = s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: piece}}})
	}
	return err
}

// leastLarge is the minimum size of a large part, in bytes, so that a result does not create many small files.
const leastLarge = 1 << 20

// largeSize is the bytes of a part that may be sent as a large one, else 0.
func largeSize(c *pluginv1.Content) int {
	if n := len(c.GetText()) + len(c.GetData()); n > leastLarge {
		return n
	}
	return 0
}

// largeExcess takes a size that a plugin may have chosen freely.
func largeExcess(large int64, most int) *pluginv1.Error {
	return TooLarge(most, "the large parts of the result have %d bytes; the limit is %d", large, most)
}

// body is the one of a part's two bodies that is cut, to which later pieces belong.
func body(c *pluginv1.Content) *[]byte {
	if len(c.GetText()) > 0 || c.GetType() == "text" {
		return &c.Text
	}
	return &c.Data
}

// cut shortens b to one piece and returns the rest.
func cut(b *[]byte, piece int) []byte {
	n := min(len(*b), piece)
	rest := (*b)[n:]
	*b = (*b)[:n]
	return rest
}

// A Receiver takes the messages of one call. A part's size is sent first and counts at once, but takes memory only as
// its bytes arrive: a plugin cannot make its host hold more than the limits, nor more than twenty times what it has
// sent.
type Receiver struct {
	meter   meter
	weight  weight
	parts   []*pluginv1.Content
	tail    []byte // the body of the last part, while it is incomplete
	missing int    // bytes still missing from the tail
	pieces  int    // pieces after the first of their parts

	open  OpenLarge
	most  int       // bytes of large parts
	large int       // those of the parts that began
	sink  LargePart // of the last part, while it is incomplete; nil for one in memory
}

// A LargePart takes the bytes of a part that is too large for memory. It is used by one goroutine at a time.
type LargePart interface {
	// Write takes the next bytes. They are not used after it returns.
	Write(b []byte)
	// Done ends the part, and returns what stands in the result for it.
	Done() *pluginv1.Content
	// Discard ends a part that stays incomplete.
	Discard()
}

// OpenLarge begins a large part of so many bytes. The content has its head, without a body.
type OpenLarge func(c *pluginv1.Content, size int64) LargePart

// TakeLarge has the receiver take large parts of so many bytes together. Close follows when the call has ended.
func (in *Receiver) TakeLarge(most int64, open OpenLarge) {
	in.most, in.open = int(max(0, min(most, MaxLarge))), open
}

// Close discards a part that is incomplete. Nothing is taken after it.
func (in *Receiver) Close() {
	if in.sink != nil {
		in.sink.Discard()
		in.sink = nil
	}
}

// growth is by how much the memory of a part grows while its bytes arrive, or twice that if all of it fits then. A part
// of 1 MB is copied once, one of 4 MB twice.
const growth = 9

// NewReceiver makes the receiver of one call.
func NewReceiver() Receiver { return Receiver{meter: newMeter(2)} }

// An ExceededError means that the plugin's messages are over a limit.
type ExceededError struct{ Failure *pluginv1.Error }

// Error names the limit.
func (e *ExceededError) Error() string { return e.Failure.GetMessage() }

// Take takes the next message. It returns the event for people who watch, if there is one, and the result once it is
// complete. The error is an *ExceededError, or says how the messages violate the protocol; the call has ended then.
func (in *Receiver) Take(e *pluginv1.CallEvent) (event *pluginv1.CallEvent, result *pluginv1.Result, err error) {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Part:
		return nil, nil, in.begin(v.Part)
	case *pluginv1.CallEvent_More:
		return nil, nil, in.More(v.More.GetData())
	case *pluginv1.CallEvent_Result:
		if result, err = in.end(v.Result); err != nil {
			return nil, nil, err
		}
		return in.meter.dropped(), result, nil
	}
	switch {
	case in.meter.pass(e):
		event = e
	case e.GetRequest() != nil:
		return nil, nil, exceeded(tooManyRequests())
	}
	return event, nil, exceeded(in.meter.flooded())
}

// Drop counts an event of so many bytes that Take has returned, and that its caller will not get. One that is a request
// to the host cannot be dropped: the error ends the call.
func (in *Receiver) Drop(e *pluginv1.CallEvent, size int) error {
	if e.GetRequest() != nil {
		return exceeded(tooManyRequests())
	}
	in.meter.unread++
	in.meter.unreadBytes += size
	return nil
}

func exceeded(failure *pluginv1.Error) error {
	if failure == nil {
		return nil
	}
	return &ExceededError{failure}
}

func (in *Receiver) begin(p *pluginv1.Part) error {
	c := p.GetContent()
	if c == nil {
		c = &pluginv1.Content{}
	}
	had := len(c.GetText()) + len(c.GetData())
	missing := p.GetSize() - int64(had)
	switch {
	case in.missing > 0:
		return fmt.Errorf("a part began while the one before it lacked %d bytes", in.missing)
	case p.GetLarge() && in.open != nil:
		return in.beginLarge(c, p.GetSize(), had)
	case p.GetSize() < int64(had):
		return fmt.Errorf("a part announces %d bytes, but has %d already", p.GetSize(), had)
	case missing > MaxResult:
		return exceeded(TooLarge(MaxResult, "the result has a part of %d bytes; the limit is %d (4 MiB)",
			p.GetSize(), MaxResult))
	}
	in.missing = int(missing)
	in.weight.add(c)
	in.weight.payload += in.missing
	if failure := in.weight.check("result"); failure != nil {
		return exceeded(failure)
	}
	in.parts = append(in.parts, c)
	if in.missing > 0 {
		first := *body(c)
		in.tail = append(make([]byte, 0, len(first)), first...)
	}
	return nil
}

// beginLarge begins a part that goes to a file.
func (in *Receiver) beginLarge(c *pluginv1.Content, size int64, had int) error {
	switch {
	case size < int64(had) || size <= leastLarge:
		return fmt.Errorf("a large part announces %d bytes; it must have more than %d, and not fewer than were sent with it",
			size, leastLarge)
	case size > int64(in.most-in.large):
		return exceeded(largeExcess(size+min(int64(in.large), math.MaxInt64-size), in.most))
	}
	in.large += int(size)
	first := *body(c)
	*body(c) = nil
	in.weight.add(c)
	if failure := in.weight.check("result"); failure != nil {
		return exceeded(failure)
	}
	in.missing = int(size)
	in.parts = append(in.parts, c)
	in.sink = in.open(c, size)
	in.write(first)
	return nil
}

func (in *Receiver) write(b []byte) {
	in.sink.Write(b)
	if in.missing -= len(b); in.missing == 0 {
		in.parts[len(in.parts)-1] = in.sink.Done()
		in.sink = nil
	}
}

// More takes the next piece of the last part, and copies it. Its error is like that of Take.
func (in *Receiver) More(data []byte) error {
	most := maxPieces + in.large/leastPiece
	if in.pieces++; in.pieces > most { // each costs time, however small it is
		return exceeded(TooLarge(most, "the result comes in more than %d pieces", most))
	}
	if len(data) > in.missing {
		return fmt.Errorf("a piece of %d bytes came where %d were to come", len(data), in.missing)
	}
	if in.sink != nil {
		in.write(data)
		return nil
	}
	if cap(in.tail)-len(in.tail) < len(data) {
		whole := len(in.tail) + in.missing
		room := max(growth*cap(in.tail), len(in.tail)+len(data))
		if 2*room >= whole {
			room = whole
		}
		in.tail = append(make([]byte, 0, room), in.tail...)
	}
	in.tail = append(in.tail, data...)
	in.missing -= len(data)
	if in.missing == 0 && in.tail != nil {
		*body(in.parts[len(in.parts)-1]) = in.tail
		in.tail = nil
	}
	return nil
}

func (in *Receiver) end(r *pluginv1.Result) (*pluginv1.Result, error) {
	if in.missing > 0 {
		return nil, fmt.Errorf("the result came while a part lacked %d bytes", in.missing)
	}
	LimitDetails(r.GetError())
	in.weight.add(r.GetContent()...)
	in.weight.addRest(r)
	if failure := in.weight.check("result"); failure != nil {
		return nil, exceeded(failure)
	}
	if len(in.parts) > 0 {
		r = &pluginv1.Result{Content: append(in.parts, r.GetContent()...), Structured: r.GetStructured(),
			Error: r.GetError(), Truncated: r.GetTruncated(), Extra: r.GetExtra(), InputRequired: r.GetInputRequired()}
	} else if r == nil {
		r = &pluginv1.Result{}
	}
	return r, nil
}
