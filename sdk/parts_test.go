package sdk

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A pipe hands what a sender sends to a reassembly, by way of its bytes.
type pipe struct {
	grpc.ServerStream
	in      reassembly
	sent    int
	largest int
	result  *Result
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
		p.result, p.err = p.in.take(&got, &Request{})
	}
	return nil
}

// through sends r and gives what comes out.
func through(r *Result) (*pipe, error) {
	p := &pipe{}
	if err := (&sender{stream: p}).result(r); err != nil {
		return p, err
	}
	return p, p.err
}

func TestResultsInPieces(t *testing.T) {
	text := func(n int) Content { return TextContent(strings.Repeat("é", n/2) + strings.Repeat("x", n%2)) }
	data := func(n int) Content { return ImageContent(bytes.Repeat([]byte{0xff}, n), "image/png") }
	file := Content{Type: "resource", URI: "file:///a", MIMEType: "application/zip"}
	raw := Content{Type: "odd", Raw: []byte(`{"type":"odd","a":"` + strings.Repeat("x", maxPiece+1) + `"}`)}
	for name, parts := range map[string][]Content{
		"one byte below a piece":        {text(maxPiece - 1)},
		"one piece":                     {text(maxPiece)},
		"one byte over a piece":         {text(maxPiece + 1)},
		"two pieces":                    {data(2 * maxPiece)},
		"two pieces and a byte":         {data(2*maxPiece + 1)},
		"the largest text":              {text(MaxResult)},
		"the largest data":              {data(MaxResult)},
		"the largest in two":            {text(MaxResult / 2), data(MaxResult / 2)},
		"large ones between small":      {text(3), data(maxPiece + 7), text(0), file, text(2*maxPiece + 1), raw, data(1), text(0)},
		"text that is empty, then much": {text(0), data(2 * maxPiece)},
		"both bodies in one part":       {{Type: "resource", URI: "a", Text: strings.Repeat("t", 2*maxPiece), Data: bytes.Repeat([]byte("d"), 2*maxPiece)}},
		"text of another kind":          {FileContent("a", "text/plain", bytes.Repeat([]byte("t"), 2*maxPiece))},
		"much of many":                  slicesOf(text(2000), 2000),
	} {
		t.Run(name, func(t *testing.T) {
			in := &Result{Content: parts, Truncated: true, Error: &Error{Code: CodeTool, Message: "and an error", Outcome: OutcomeFailed}}
			p, err := through(in)
			if err != nil {
				t.Fatal(err)
			}
			same(t, in, p.result)
			if p.largest > maxMessage {
				t.Errorf("one message has %d bytes", p.largest)
			}
		})
	}
}

// gRPC forbids to send when the handler has returned, and goroutines that it left behind may try.
func TestNothingIsSentAfterTheResult(t *testing.T) {
	p := &pipe{}
	s := &sender{stream: p}
	s.event(Event{Type: EventStarted})
	if err := s.result(Text("done")); err != nil {
		t.Fatal(err)
	}
	s.event(Event{Type: EventProgress})
	if p.sent != 2 {
		t.Errorf("%d messages were sent, want 2", p.sent)
	}
}

func slicesOf(c Content, n int) []Content {
	out := make([]Content, n)
	for i := range out {
		out[i] = c
	}
	return out
}

func TestResultsOverTheLimit(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, r := range map[string]*Result{
		"one byte of text":    Text(long(MaxResult + 1)),
		"in two parts":        Text(long(MaxResult)).Add(TextContent("x")),
		"with the structured": {Content: []Content{TextContent(long(MaxResult))}, Structured: []byte("1")},
		"structured alone":    {Structured: []byte(`"` + long(MaxResult) + `"`)},
		"raw":                 {Content: []Content{{Raw: []byte(`{"a":"` + long(MaxResult) + `"}`)}}},
		"in names":            {Content: []Content{LinkContent(long(maxEnvelope), "", "")}},
		"in the error":        {Error: &Error{Message: long(maxEnvelope + 1)}},
		"in empty parts":      {Content: make([]Content, maxEnvelope/64+1)},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := through(r)
			if err != nil {
				t.Fatal(err)
			}
			if e := p.result.Error; e == nil || e.Code != CodeResultTooLarge || len(p.result.Content) > 0 {
				t.Errorf("the result is %.300v", p.result)
			}
		})
	}
}

func TestAnyResultInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawResult(t)
		for i := range in.Content {
			c := &in.Content[i]
			c.Text = strings.Repeat(c.Text, rapid.SampledFrom([]int{1, 1000, 30_000}).Draw(t, "longer text"))
			c.Data = bytes.Repeat(c.Data, rapid.SampledFrom([]int{1, 1000, 30_000}).Draw(t, "longer data"))
			c.Data = orNil(c.Data)
		}
		p, err := through(in)
		if err != nil {
			t.Fatal(err)
		}
		want := arrived(in)
		raw := func(i int) []byte { return in.Content[i].Raw }
		var faults []string
		want.Content, faults = readable(want.Content, raw)
		if len(in.Structured) > 0 && want.Structured == nil {
			faults = append(faults, "the structured JSON "+jsonFault(in.Structured))
		}
		want.Error = brokenResult(want.Error, faults)
		var w weight
		w.add(in.Content...)
		w.addRest(in)
		if e := w.check("result"); e != nil {
			want = arrived(failed(e))
		}
		cleanTexts(want)
		same(t, want, p.result)
	})
}

var zeros = make([]byte, maxMessage)

// drawEvent is any event of a call: rule or not, sizes true or not.
func drawEvent(t *rapid.T) *pluginv1.CallEvent {
	size := rapid.SampledFrom([]int{0, 1, 2, 100, maxPiece, maxPiece + 1, MaxResult, maxMessage})
	blob := func(label string) []byte { n := size.Draw(t, label); return zeros[:n:n] }
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0, 1:
		c := &pluginv1.Content{Type: rapid.SampledFrom([]string{"text", "image", ""}).Draw(t, "type")}
		rapid.SampledFrom([]func(){func() { c.Text = blob("text") }, func() { c.Data = blob("data") }, func() {}, func() { c.Uri = string(blob("uri")) }}).Draw(t, "body")()
		told := rapid.OneOf(rapid.Int64(), rapid.Map(size, func(n int) int64 { return int64(n) }),
			rapid.Just(int64(len(c.Text)+len(c.Data)))).Draw(t, "told")
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: c, Size: told}}}
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

// reassembles feeds a reassembly anything and holds it against the limits after every event.
func reassembles(t *rapid.T) {
	var in reassembly
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		result, err := in.take(drawEvent(t), &Request{})
		switch {
		case err != nil:
			if _, ok := errors.AsType[*BrokenError](err); !ok && CodeOf(err) != CodeResultTooLarge {
				t.Fatalf("the error %v has no type to go by", err)
			}
			return
		case result != nil:
			within(t, result.Content, len(result.Structured))
			return
		}
		within(t, in.parts, cap(in.tail)-in.missing)
	}
}

func within(t *rapid.T, parts []Content, more int) {
	held := more
	for _, c := range parts {
		held += len(c.Text) + cap(c.Data) + len(c.Raw) + len(c.URI) + len(c.Name)
	}
	if held > 2*maxMessage { // a part in the making and its first piece are held twice
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
