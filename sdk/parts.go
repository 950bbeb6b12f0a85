package sdk

import (
	"fmt"
	"strconv"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file cuts large results into pieces, puts them together again, and has both ends hold the same limits.

// Limits of the wire, in bytes. Both ends hold them.
const (
	// MaxArguments is the largest arguments object.
	MaxArguments = 1 << 20
	// MaxResult is the largest result: the bytes of all parts and of the structured result, together.
	MaxResult = 4 << 20

	maxPiece    = 256 << 10               // a part larger than this travels in pieces
	maxEnvelope = 256 << 10               // what a result may have around its bytes: types, names, its error
	maxMessage  = MaxResult + maxEnvelope // the largest message
	maxParts    = 4000                    // parts of a result, or of a preview
	maxPieces   = 1 << 16                 // that follow the first of their parts
)

// result sends the large parts ahead, piece by piece, and then the result with the rest.
func (s *sender) result(r *Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if e, ok := s.meter.told(); ok {
		if err := s.stream.Send(eventToWire(e)); err != nil {
			return err
		}
	}
	var w weight
	w.add(r.Content...)
	inPieces := w.payload > maxPiece
	w.addRest(r)
	if e := w.check("result"); e != nil {
		r, inPieces = failed(e), false
	}
	if inPieces {
		for _, c := range r.Content {
			if err := s.part(c); err != nil {
				return err
			}
		}
		r = &Result{Structured: r.Structured, Error: r.Error, Truncated: r.Truncated}
	}
	return s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: resultToWire(r)}})
}

func (s *sender) part(c Content) error {
	head := contentToWire(c)
	rest := &head.Data
	if inText(c) {
		rest = &head.Text
	}
	size := len(c.Text) + len(c.Data)
	tail := cut(rest)
	err := s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: head, Size: int64(size)}}})
	for err == nil && len(tail) > 0 {
		piece := tail
		tail = cut(&piece)
		err = s.stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: piece}}})
	}
	return err
}

// cut shortens b to one piece and gives the rest.
func cut(b *[]byte) []byte {
	n := min(len(*b), maxPiece)
	rest := (*b)[n:]
	*b = (*b)[:n]
	return rest
}

// inText says which of a part's two bodies is cut, and so where later pieces belong.
func inText(c Content) bool { return c.Text != "" || c.Type == "text" }

// A weight is what counts against the limits of a result.
type weight struct {
	payload, envelope, parts int
	excess                   string // what is wrong with the first part, or JSON, that is over a limit of its own
}

func (w *weight) add(parts ...Content) {
	const head = 64 // more than the wire needs for an empty part
	for _, c := range parts {
		w.payload += len(c.Text) + len(c.Data) + len(c.Raw)
		w.envelope += head + len(c.Type) + len(c.MIMEType) + len(c.URI) + len(c.Name)
		w.parts++
		if excess := partExcess(c); excess != "" {
			w.note("part "+strconv.Itoa(w.parts), excess)
		}
	}
}

func (w *weight) note(what, excess string) {
	if w.excess == "" && excess != "" {
		w.excess = what + " of it: " + excess
	}
}

func partExcess(c Content) string {
	words := tooLong(bounded{"type", c.Type, maxType}, bounded{"MIME type", c.MIMEType, maxMIME}, bounded{"URI", c.URI, maxURI}, bounded{"name", c.Name, maxName})
	if words == "" && jsonExcess(c.Raw) != "" {
		return "its JSON " + jsonExcess(c.Raw)
	}
	return words
}

// addRest adds what a result has besides its parts.
func (w *weight) addRest(r *Result) {
	w.payload += len(r.Structured)
	w.note("the JSON", jsonExcess(r.Structured))
	if e := r.Error; e != nil {
		w.note("the details of the error", jsonExcess(e.Details))
		w.envelope += len(e.Code) + len(e.Name) + len(e.Message) + len(e.Suggestion) + len(e.HelpURL) + len(e.Details)
	}
}

// check tells that a result, or what else it is, is too large to travel, or nil.
func (w *weight) check(what string) *Error {
	switch {
	case w.payload > MaxResult || w.envelope > maxEnvelope:
		return tooLarge(fmt.Sprintf("the %s has %d bytes and %d around them, at most %d and %d are allowed",
			what, w.payload, w.envelope, MaxResult, maxEnvelope))
	case w.parts > maxParts:
		return tooLarge(fmt.Sprintf("the %s has %d parts, at most %d are allowed", what, w.parts, maxParts))
	case w.excess != "":
		return tooLarge(fmt.Sprintf("the %s is over a limit; %s", what, w.excess))
	}
	return nil
}

func tooLarge(message string) *Error {
	return &Error{Code: CodeResultTooLarge, Name: "ResultTooLarge", Message: message, Outcome: OutcomeFailed,
		Suggestion: "Ask for less, such as a range, a filter, or a file to write the result to.",
		Details:    Details(map[string]any{"limit": MaxResult})}
}

// A reassembly puts a result together from the parts sent ahead and the last message. A part tells its size first, and
// the size counts at once, but takes no memory until its bytes come: a plugin cannot make its host hold more than the
// limits, nor more than it has sent.
type reassembly struct {
	weight  weight
	parts   []Content
	raws    [][]byte // the JSON of the parts, as it came
	tail    []byte   // of the last part, while it is incomplete
	missing int      // how many bytes the tail lacks
	pieces  int      // that came after the first of their parts
	meter   meter
}

// take gives the result once it is there. Events go to those who watch r.
func (in *reassembly) take(e *pluginv1.CallEvent, r *Request) (*Result, error) {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Part:
		return nil, in.begin(v.Part)
	case *pluginv1.CallEvent_More:
		return nil, in.more(v.More.GetData())
	case *pluginv1.CallEvent_Result:
		return in.end(v.Result, r)
	}
	return nil, in.event(e, r)
}

func (in *reassembly) event(e *pluginv1.CallEvent, r *Request) error {
	event, known := eventFromWire(e)
	if in.meter.pass(&event) && known {
		r.emit(event)
	}
	if flood := in.meter.flooded(); flood != nil {
		return flood
	}
	return nil
}

func (in *reassembly) begin(p *pluginv1.Part) error {
	c := contentFromWire(p.GetContent())
	had := len(p.GetContent().GetText()) + len(p.GetContent().GetData())
	missing := p.GetSize() - int64(had)
	switch {
	case in.missing > 0:
		return broke("a part began while the one before it lacked %d bytes", in.missing)
	case missing < 0:
		return broke("a part of %d bytes says that it has %d", had, p.GetSize())
	case missing > MaxResult:
		return tooLarge(fmt.Sprintf("the result has a part of %d bytes, at most %d are allowed", p.GetSize(), MaxResult))
	}
	in.missing = int(missing)
	in.weight.add(c)
	in.weight.payload += in.missing
	if err := in.weight.check("result"); err != nil {
		return err
	}
	in.parts, in.raws = append(in.parts, c), append(in.raws, p.GetContent().GetRaw())
	if in.missing > 0 {
		first := p.GetContent().GetData()
		if inText(c) {
			first = p.GetContent().GetText()
		}
		in.tail = append(make([]byte, 0, len(first)), first...)
	}
	return nil
}

func (in *reassembly) more(data []byte) error {
	if in.pieces++; in.pieces > maxPieces { // each costs time, however little is in it
		return tooLarge(fmt.Sprintf("the result comes in more than %d pieces", maxPieces))
	}
	if len(data) > in.missing {
		return broke("a piece of %d bytes came where %d were to come", len(data), in.missing)
	}
	in.grow(len(data))
	in.tail = append(in.tail, data...)
	in.missing -= len(data)
	if in.missing > 0 || in.tail == nil {
		return nil
	}
	if last := &in.parts[len(in.parts)-1]; inText(*last) {
		last.Text = string(in.tail)
	} else {
		last.Data = in.tail
	}
	in.tail = nil
	return nil
}

// grow makes room for n bytes: twice what there was, so that each byte is copied about once, but no more than is to come.
func (in *reassembly) grow(n int) {
	if cap(in.tail)-len(in.tail) >= n {
		return
	}
	room := min(max(2*cap(in.tail), len(in.tail)+n), len(in.tail)+in.missing)
	in.tail = append(make([]byte, 0, room), in.tail...)
}

func (in *reassembly) end(w *pluginv1.Result, watched *Request) (*Result, error) {
	r := resultFromWire(w)
	if in.missing > 0 {
		return nil, broke("the result came while a part lacked %d bytes", in.missing)
	}
	in.weight.add(r.Content...)
	in.weight.addRest(r)
	if err := in.weight.check("result"); err != nil {
		return nil, err
	}
	if e, ok := in.meter.told(); ok {
		watched.emit(e)
	}
	for _, c := range w.GetContent() {
		in.raws = append(in.raws, c.GetRaw())
	}
	return mended(r, legible(append(in.parts, r.Content...)), func(i int) []byte { return in.raws[i] }, w), nil
}

func broke(format string, a ...any) *BrokenError {
	return &BrokenError{Delivered: true, Err: fmt.Errorf(format, a...)}
}
