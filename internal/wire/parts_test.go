package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// A pipe passes what a Sender sends to a Receiver, encoded as bytes.
type pipe struct {
	in      Receiver
	sent    int
	largest int
	result  *pluginv1.Result
	err     error
}

func (p *pipe) Send(sent *pluginv1.CallEvent) error {
	p.sent++
	wire, err := proto.Marshal(sent)
	if err != nil {
		return err
	}
	p.largest = max(p.largest, len(wire))
	var got pluginv1.CallEvent
	if err := proto.Unmarshal(wire, &got); err != nil {
		return err
	}
	if p.result == nil && p.err == nil {
		_, p.result, p.err = p.in.Take(&got)
	}
	return nil
}

// through sends r and returns what arrives.
func through(r *pluginv1.Result) (*pipe, error) {
	p := &pipe{in: NewReceiver()}
	if err := NewSender(p).Result(r); err != nil {
		return p, err
	}
	return p, p.err
}

func text(n int) *pluginv1.Content {
	return &pluginv1.Content{Type: "text", Text: []byte(strings.Repeat("é", n/2) + strings.Repeat("x", n%2))}
}

func data(n int) *pluginv1.Content {
	return &pluginv1.Content{Type: "image", Data: bytes.Repeat([]byte{0xff}, n), MimeType: "image/png"}
}

func TestResultsInPieces(t *testing.T) {
	file := &pluginv1.Content{Type: "resource", Uri: "file:///a", MimeType: "application/zip"}
	raw := &pluginv1.Content{Type: "odd", Raw: []byte(`{"type":"odd","a":"` + strings.Repeat("x", maxPiece+1) + `"}`)}
	both := &pluginv1.Content{Type: "resource", Uri: "a", Text: bytes.Repeat([]byte("t"), 2*maxPiece),
		Data: bytes.Repeat([]byte("d"), 2*maxPiece)}
	other := &pluginv1.Content{Type: "resource", Uri: "a", MimeType: "text/plain",
		Text: bytes.Repeat([]byte("t"), 2*maxPiece)}
	for name, parts := range map[string][]*pluginv1.Content{
		"one byte below a piece": {text(maxPiece - 1)},
		"one piece":              {text(maxPiece)},
		"one byte over a piece":  {text(maxPiece + 1)},
		"two pieces":             {data(2 * maxPiece)},
		"two pieces and a byte":  {data(2*maxPiece + 1)},
		"the largest text":       {text(MaxResult)},
		"the largest data":       {data(MaxResult)},
		"the largest in two":     {text(MaxResult / 2), data(MaxResult / 2)},
		"large ones between small": {text(3), data(maxPiece + 7), text(0), file, text(2*maxPiece + 1), raw, data(1),
			text(0)},
		"text that is empty, then much": {text(0), data(2 * maxPiece)},
		"both bodies in one part":       {both},
		"text of another kind":          {other},
		"much of many":                  slices.Repeat([]*pluginv1.Content{text(2000)}, 2000),
	} {
		t.Run(name, func(t *testing.T) {
			in := &pluginv1.Result{Content: parts, Truncated: true, Error: &pluginv1.Error{Code: "E_TOOL",
				Message: "and an error"}}
			p, err := through(proto.CloneOf(in))
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(in, p.result) {
				t.Errorf("the result is %.300v", p.result)
			}
			if p.largest > maxMessage {
				t.Errorf("one message has %d bytes", p.largest)
			}
		})
	}
}

// gRPC forbids sending after the handler has returned, and goroutines that it left behind may try.
func TestNothingIsSentAfterTheResult(t *testing.T) {
	p := &pipe{in: NewReceiver()}
	s := NewSender(p)
	s.Event(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}})
	if err := s.Result(&pluginv1.Result{}); err != nil {
		t.Fatal(err)
	}
	s.Event(progressEvent("late"))
	if p.sent != 2 {
		t.Errorf("%d messages were sent, want 2", p.sent)
	}
}

func TestResultsOverTheLimit(t *testing.T) {
	for name, r := range map[string]*pluginv1.Result{
		"one byte of text":    {Content: []*pluginv1.Content{text(MaxResult + 1)}},
		"in two parts":        {Content: []*pluginv1.Content{text(MaxResult), text(1)}},
		"with the structured": {Content: []*pluginv1.Content{text(MaxResult)}, Structured: []byte("1")},
		"structured alone":    {Structured: []byte(`"` + xs(MaxResult) + `"`)},
		"raw":                 {Content: []*pluginv1.Content{{Raw: []byte(`{"a":"` + xs(MaxResult) + `"}`)}}},
		"in names":            {Content: []*pluginv1.Content{{Uri: xs(maxEnvelope)}}},
		"in the error":        {Error: &pluginv1.Error{Message: xs(maxEnvelope + 1)}},
		"in empty parts":      {Content: emptyContents(maxEnvelope/64 + 1)},
		"in depth":            {Structured: nestedJSON(65)},
		"in a MIME type":      {Content: []*pluginv1.Content{{Type: "image", MimeType: xs(256)}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := through(r)
			if err != nil {
				t.Fatal(err)
			}
			if e := p.result.GetError(); e.GetCode() != codeTooLarge || len(p.result.GetContent()) > 0 {
				t.Errorf("the result is %.300v", p.result)
			}
		})
	}
}

func TestAnyResultInPieces(t *testing.T) {
	anyBytes := rapid.SliceOfN(rapid.Byte(), 0, 40)
	longer := rapid.SampledFrom([]int{1, 1000, 30_000})
	rapid.Check(t, func(t *rapid.T) {
		in := &pluginv1.Result{Structured: anyBytes.Draw(t, "structured"), Truncated: rapid.Bool().Draw(t, "truncated")}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			in.Content = append(in.Content, &pluginv1.Content{Type: rapid.SampledFrom([]string{"text", "image", ""}).Draw(t,
				"type"),
				Text: bytes.Repeat(anyBytes.Draw(t, "text"), longer.Draw(t, "longer text")),
				Data: bytes.Repeat(anyBytes.Draw(t, "data"), longer.Draw(t, "longer data")),
				Uri:  rapid.String().Draw(t, "URI"), Raw: anyBytes.Draw(t, "raw")})
		}
		want := proto.CloneOf(in)
		var w weight
		w.add(in.GetContent()...)
		w.addRest(in)
		if e := w.check("result"); e != nil {
			want = &pluginv1.Result{Error: e}
		}
		p, err := through(in)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(want, p.result) {
			t.Fatalf("the result is %.300v, want %.300v", p.result, want)
		}
	})
}

var zeros = make([]byte, maxMessage)

// drawEvent is any event of a call, within the rules or not, with true sizes or not.
func drawEvent(t *rapid.T) *pluginv1.CallEvent {
	size := rapid.SampledFrom([]int{0, 1, 2, 100, maxPiece, maxPiece + 1, MaxResult, maxMessage})
	blob := func(label string) []byte { n := size.Draw(t, label); return zeros[:n:n] }
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0, 1:
		c := &pluginv1.Content{Type: rapid.SampledFrom([]string{"text", "image", ""}).Draw(t, "type")}
		rapid.SampledFrom([]func(){func() { c.Text = blob("text") }, func() { c.Data = blob("data") }, func() {},
			func() { c.Uri = string(blob("uri")) }}).Draw(t, "body")()
		reported := rapid.OneOf(rapid.Int64(), rapid.Map(size, func(n int) int64 { return int64(n) }),
			rapid.Just(int64(len(c.Text)+len(c.Data)))).Draw(t, "reported")
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: c, Size: reported}}}
	case 2, 3:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: blob("more")}}}
	case 4:
		r := &pluginv1.Result{Structured: blob("structured"), Content: []*pluginv1.Content{{Text: blob("last")}}}
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: r}}
	case 5:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{}}
	}
	return &pluginv1.CallEvent{}
}

// reassembles feeds arbitrary events to a Receiver and checks the limits after every one.
func reassembles(t *rapid.T) {
	in := NewReceiver()
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		_, result, err := in.Take(drawEvent(t))
		switch {
		case err != nil:
			if e, ok := errors.AsType[*ExceededError](err); ok && e.Failure.GetCode() != codeTooLarge {
				t.Fatalf("the error %v has the code %s", err, e.Failure.GetCode())
			}
			return
		case result != nil:
			within(t, result.Content, len(result.Structured))
			return
		}
		within(t, in.parts, cap(in.tail)-in.missing)
	}
}

func within(t *rapid.T, parts []*pluginv1.Content, more int) {
	held := more
	for _, c := range parts {
		held += len(c.GetText()) + cap(c.GetData()) + len(c.GetRaw()) + len(c.GetUri()) + len(c.GetName())
	}
	if held > 2*maxMessage { // an incomplete part and its first piece are held twice
		t.Fatalf("%d bytes are held", held)
	}
}

func TestReassemblyOfAnything(t *testing.T) { rapid.Check(t, reassembles) }

func FuzzReassembly(f *testing.F) { f.Fuzz(rapid.MakeFuzz(reassembles)) }

func part(c *pluginv1.Content, size int64) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: c, Size: size}}}
}

func textPart(text string, size int64) *pluginv1.CallEvent {
	return part(&pluginv1.Content{Type: "text", Text: []byte(text)}, size)
}

func piece(data string) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: []byte(data)}}}
}

func last(r *pluginv1.Result) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: r}}
}

// An announced size takes no memory; received bytes take at most twenty times as much.
func TestAnnouncedSizeTakesNoMemory(t *testing.T) {
	in := NewReceiver()
	if _, _, err := in.Take(textPart("a", MaxResult)); err != nil {
		t.Fatal(err)
	}
	if cap(in.tail) > 64 {
		t.Errorf("%d bytes are held for one that has come", cap(in.tail))
	}
	for got := 1; in.missing > 0; {
		n := min(1000, in.missing)
		if _, _, err := in.Take(piece(xs(n))); err != nil {
			t.Fatal(err)
		}
		if got += n; cap(in.tail) > 20*got+1000 {
			t.Fatalf("%d bytes are held for %d that have come", cap(in.tail), got)
		}
	}
	if n := len(in.parts[0].Text); n != MaxResult {
		t.Errorf("the text has %d bytes", n)
	}
}
