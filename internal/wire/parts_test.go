package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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
	in, sinks := NewReceiver(), &largeSinks{}
	in.TakeLarge(3<<20, sinks.open)
	defer func() {
		in.Close()
		for _, s := range sinks.all {
			if s.ended != 1 || int64(len(s.got)) > s.size {
				t.Fatalf("a large part of %d bytes has %d, and ended %d times", s.size, len(s.got), s.ended)
			}
		}
	}()
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

// largeSinks are large parts in memory.
type largeSinks struct{ all []*largeSink }

type largeSink struct {
	size  int64
	got   []byte
	ended int
}

func (l *largeSinks) open(c *pluginv1.Content, size int64) LargePart {
	if len(c.GetText())+len(c.GetData()) > 0 {
		panic("a large part begins with bytes")
	}
	s := &largeSink{size: size}
	l.all = append(l.all, s)
	return s
}

func (s *largeSink) Write(b []byte) { s.got = append(s.got, b...) }
func (s *largeSink) Discard()       { s.ended++ }
func (s *largeSink) Done() *pluginv1.Content {
	s.ended++
	return &pluginv1.Content{Type: "text", Text: []byte("kept")}
}

// Large parts of a result over the limit go to sinks, in both forms and from both kinds of senders; the rest is taken
// as ever.
func TestLargeParts(t *testing.T) {
	whole := []*pluginv1.Content{text(3 << 20), text(10), data(2<<20 + 1), text(70 << 10)}
	for name, c := range map[string]struct {
		sends, takes int64
		want         string // the error
	}{
		"taken":               {6 << 20, 6 << 20, ""},
		"just fitting":        {5<<20 + 1, 5<<20 + 1, ""},
		"over the limit":      {5 << 20, 5 << 20, "the large parts of the result have 5242881 bytes; the limit is 5242880"},
		"not asked for":       {0, 0, "the result has 5314571 bytes; the limit is 4194304 (4 MiB)"},
		"more than asked for": {6 << 20, 4 << 20, "the large parts of the result have 5242881 bytes; the limit is 4194304"},
	} {
		for kind, newSender := range map[string]func(eventStream) *Sender{"call": NewSender, "session": NewSessionSender} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				sinks := &largeSinks{}
				p := &pipe{in: NewReceiver()}
				p.in.TakeLarge(c.takes, sinks.open)
				s := newSender(p)
				s.TakesLarge(c.sends)
				r := &pluginv1.Result{}
				for _, part := range whole {
					r.Content = append(r.Content, proto.CloneOf(part))
				}
				if err := s.Result(r); err != nil {
					t.Fatal(err)
				}
				p.in.Close()
				failure := p.result.GetError().GetMessage()
				if e, ok := errors.AsType[*ExceededError](p.err); ok {
					failure = e.Error()
				}
				if failure != c.want {
					t.Fatalf("error %q, want %q", failure, c.want)
				}
				if c.want != "" {
					return
				}
				kept := &pluginv1.Content{Type: "text", Text: []byte("kept")}
				want := &pluginv1.Result{Content: []*pluginv1.Content{kept, whole[1], kept, whole[3]}}
				if !proto.Equal(p.result, want) {
					t.Errorf("the result has %d parts", len(p.result.GetContent()))
				}
				if len(sinks.all) != 2 || !bytes.Equal(sinks.all[0].got, whole[0].GetText()) ||
					!bytes.Equal(sinks.all[1].got, whole[2].GetData()) {
					t.Error("other bytes came than were sent")
				}
			})
		}
	}
}

// A result within the limit has no large parts, and a host that takes none refuses them.
func TestLargePartsThatAreNone(t *testing.T) {
	sinks := &largeSinks{}
	p := &pipe{in: NewReceiver()}
	p.in.TakeLarge(MaxLarge, sinks.open)
	s := NewSender(p)
	s.TakesLarge(MaxLarge)
	if err := s.Result(&pluginv1.Result{Content: []*pluginv1.Content{text(4 << 20)}}); err != nil || p.result == nil ||
		len(sinks.all) > 0 {
		t.Errorf("%v, %v, %d large parts", err, p.err, len(sinks.all))
	}
	large := func(c *pluginv1.Content, size int64) *pluginv1.CallEvent {
		e := part(c, size)
		e.GetPart().Large = true
		return e
	}
	plain, hosting := NewReceiver(), NewReceiver()
	if _, _, err := plain.Take(large(text(2), 5<<20)); err == nil {
		t.Error("a host that takes no large parts takes one")
	}
	hosting.TakeLarge(8<<20, sinks.open)
	for _, size := range []int64{-1, 1, 1 << 20, 9 << 20, 1 << 62} {
		if _, _, err := hosting.Take(large(text(2), size)); err == nil {
			t.Errorf("a large part of %d bytes is taken", size)
		}
	}
}

// A result is refused with the limit that holds for it.
func TestResultTooLarge(t *testing.T) {
	for large, want := range map[int64]string{
		0:        "the result has 83886080 bytes; the limit is 4194304 (4 MiB)",
		64 << 20: "the result has 83886080 bytes; the limit is 71303168 (68 MiB), of which 4 MiB may be in parts of up to 1 MiB",
	} {
		if e := ResultTooLarge(80<<20, large); e.GetMessage() != want {
			t.Errorf("%s\nwant %s", e.GetMessage(), want)
		}
	}
}

// An error about a limit has the true size, and the limit of its text in its details, whatever a plugin announces.
func TestTooLargeNamesItsLimit(t *testing.T) {
	large := func(size int64) *pluginv1.CallEvent {
		e := part(text(2), size)
		e.GetPart().Large = true
		return e
	}
	many := make([]*pluginv1.Content, maxParts+1)
	for i := range many {
		many[i] = &pluginv1.Content{}
	}
	for name, c := range map[string]struct {
		first, event *pluginv1.CallEvent
		want         string // in the text
		limit        int    // in the details, 0 for none
	}{
		"a large part":           {nil, large(1 << 40), " 1099511627776 bytes; the limit is 67108864", 64 << 20},
		"the largest number":     {nil, large(math.MaxInt64), " 9223372036854775807 bytes; the limit is 67108864", 64 << 20},
		"one after another":      {large(2 << 20), large(1 << 40), " 1099513724928 bytes; the limit is 67108864", 64 << 20},
		"a sum over all numbers": {large(2 << 20), large(math.MaxInt64), " 9223372036854775807 bytes", 64 << 20},
		"a part":                 {nil, part(text(2), 1<<40), " 1099511627776 bytes", MaxResult},
		"a negative part":        {nil, part(text(2), math.MinInt64), "announces -9223372036854775808 bytes", 0},
		"the result": {nil, last(&pluginv1.Result{Structured: make([]byte, MaxResult+1)}), " 4194305 bytes",
			MaxResult},
		"types and names": {nil, last(&pluginv1.Result{Error: &pluginv1.Error{Message: string(make([]byte, maxEnvelope+1))}}),
			" 262145 bytes", maxEnvelope},
		"parts": {nil, last(&pluginv1.Result{Content: many}), "4001 parts", maxParts},
		"one text": {nil, last(&pluginv1.Result{Content: []*pluginv1.Content{{Type: strings.Repeat("x", maxType+1)}}}),
			"has 65 bytes; the limit is 64", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := NewReceiver()
			in.TakeLarge(64<<20, (&largeSinks{}).open)
			defer in.Close()
			if c.first != nil {
				if _, _, err := in.Take(c.first); err != nil {
					t.Fatal(err)
				}
				if err := in.More(make([]byte, 2<<20-2)); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := in.Take(c.event)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %s", err, c.want)
			}
			want := ""
			if c.limit > 0 {
				want = fmt.Sprintf(`{"limit":%d}`, c.limit)
			}
			if e, ok := errors.AsType[*ExceededError](err); ok && string(e.Failure.GetDetails()) != want {
				t.Errorf("details %s, want %s", e.Failure.GetDetails(), want)
			}
		})
	}
}
