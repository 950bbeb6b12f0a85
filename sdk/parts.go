package sdk

import (
	"fmt"

	"github.com/toolhost/toolhost/sdk/internal/pluginv1"
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
)

// result sends the large parts ahead, piece by piece, and then the result with the rest.
func (s *sender) result(r *Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	var w weight
	w.add(r.Content...)
	inPieces := w.payload > maxPiece
	w.addRest(r)
	if e := w.check(); e != nil {
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
type weight struct{ payload, envelope int }

func (w *weight) add(parts ...Content) {
	const head = 64 // more than the wire needs for an empty part
	for _, c := range parts {
		w.payload += len(c.Text) + len(c.Data) + len(c.Raw)
		w.envelope += head + len(c.Type) + len(c.MIMEType) + len(c.URI) + len(c.Name)
	}
}

// addRest adds what a result has besides its parts.
func (w *weight) addRest(r *Result) {
	w.payload += len(r.Structured)
	if e := r.Error; e != nil {
		w.envelope += len(e.Code) + len(e.Name) + len(e.Message) + len(e.Suggestion) + len(e.HelpURL) + len(e.Details)
	}
}

// check tells that a result is too large to travel, or nil.
func (w *weight) check() *Error {
	if w.payload <= MaxResult && w.envelope <= maxEnvelope {
		return nil
	}
	return tooLarge(fmt.Sprintf("the result has %d bytes and %d around them, at most %d and %d are allowed",
		w.payload, w.envelope, MaxResult, maxEnvelope))
}

func tooLarge(message string) *Error {
	return &Error{Code: CodeResultTooLarge, Name: "ResultTooLarge", Message: message,
		Suggestion: "Ask for less, such as a range, a filter, or a file to write the result to.",
		Details:    Details(map[string]any{"limit": MaxResult})}
}

// A reassembly puts a result together from the parts sent ahead and the last message. A part tells its size first, and
// the size counts at once: a plugin cannot make its host hold more than the limits.
type reassembly struct {
	weight  weight
	parts   []Content
	tail    []byte // of the last part, while it is incomplete
	missing int    // how many bytes the tail lacks
}

// take gives the result once it is there. Events go to those who watch r.
func (in *reassembly) take(e *pluginv1.CallEvent, r *Request) (*Result, error) {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Part:
		return nil, in.begin(v.Part)
	case *pluginv1.CallEvent_More:
		return nil, in.more(v.More.GetData())
	case *pluginv1.CallEvent_Result:
		return in.end(resultFromWire(v.Result))
	}
	if event, ok := eventFromWire(e); ok {
		r.emit(event)
	}
	return nil, nil
}

func (in *reassembly) begin(p *pluginv1.Part) error {
	c := contentFromWire(p.GetContent())
	missing := p.GetSize() - int64(len(c.Text)+len(c.Data))
	switch {
	case in.missing > 0:
		return broke("a part began while the one before it lacked %d bytes", in.missing)
	case missing < 0:
		return broke("a part of %d bytes says that it has %d", len(c.Text)+len(c.Data), p.GetSize())
	case missing > MaxResult:
		return tooLarge(fmt.Sprintf("the result has a part of %d bytes, at most %d are allowed", p.GetSize(), MaxResult))
	}
	in.missing = int(missing)
	in.weight.add(c)
	in.weight.payload += in.missing
	if err := in.weight.check(); err != nil {
		return err
	}
	in.parts = append(in.parts, c)
	if in.missing > 0 {
		first := p.GetContent().GetData()
		if inText(c) {
			first = p.GetContent().GetText()
		}
		in.tail = append(make([]byte, 0, len(first)+in.missing), first...)
	}
	return nil
}

func (in *reassembly) more(data []byte) error {
	if len(data) > in.missing {
		return broke("a piece of %d bytes came where %d were to come", len(data), in.missing)
	}
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

func (in *reassembly) end(r *Result) (*Result, error) {
	if in.missing > 0 {
		return nil, broke("the result came while a part lacked %d bytes", in.missing)
	}
	in.weight.add(r.Content...)
	in.weight.addRest(r)
	if err := in.weight.check(); err != nil {
		return nil, err
	}
	r.Content = append(in.parts, r.Content...)
	return r, nil
}

func broke(format string, a ...any) *BrokenError {
	return &BrokenError{Delivered: true, Err: fmt.Errorf(format, a...)}
}
