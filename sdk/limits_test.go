package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// An edge is a limit, with what is told of something of size n that is held against it.
type edge struct {
	limit int
	check func(n int) error // nil within the limit
	words string            // that the error must hold
}

// checkEdges goes to each limit and one above.
func checkEdges(t *testing.T, edges map[string]edge) {
	t.Helper()
	for name, e := range edges {
		t.Run(name, func(t *testing.T) {
			if err := e.check(e.limit); err != nil {
				t.Errorf("%d is refused: %.300v", e.limit, err)
			}
			err := e.check(e.limit + 1)
			if err == nil || !strings.Contains(err.Error(), e.words) || !strings.Contains(err.Error(), fmt.Sprint(e.limit)) {
				t.Errorf("%d gives %.300v, want an error with %q and the limit %d", e.limit+1, err, e.words, e.limit)
			}
		})
	}
}

func xs(n int) string { return strings.Repeat("x", n) }

// orNone keeps a nil *Error from being an error.
func orNone(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestLimitsOfARequest(t *testing.T) {
	of := func(with func(n int) Request) func(int) error {
		return func(n int) error { return orNone(new(with(n)).check()) }
	}
	checkEdges(t, map[string]edge{
		"arguments":   {MaxArguments, of(func(n int) Request { return Request{Arguments: make([]byte, n)} }), "1048577 bytes"},
		"call id":     {256, of(func(n int) Request { return Request{CallID: xs(n)} }), "the call id has 257 bytes"},
		"session id":  {256, of(func(n int) Request { return Request{SessionID: xs(n)} }), "the session id has 257 bytes"},
		"tool":        {256, of(func(n int) Request { return Request{Tool: xs(n)} }), "the tool's name has 257 bytes"},
		"work folder": {4096, of(func(n int) Request { return Request{Workdir: xs(n)} }), "the work folder has 4097 bytes"},
	})
}

func TestLimitsOfATool(t *testing.T) {
	of := func(with func(n int, t *Tool)) func(int) error {
		return func(n int) error {
			d := Tool{Name: "x", Description: "d", InputSchema: json.RawMessage(`{}`)}
			with(n, &d)
			return d.Check()
		}
	}
	checkEdges(t, map[string]edge{
		"name":          {61, of(func(n int, d *Tool) { d.Name = xs(n) }), "62 characters"},
		"title":         {256, of(func(n int, d *Tool) { d.Title = xs(n) }), "the title has 257 bytes"},
		"description":   {8192, of(func(n int, d *Tool) { d.Description = xs(n) }), "the description has 8193 bytes"},
		"category":      {64, of(func(n int, d *Tool) { d.Category = xs(n) }), "the category has 65 bytes"},
		"original name": {1024, of(func(n int, d *Tool) { d.OriginalName = xs(n) }), "the original name has 1025 bytes"},
	})
}

// received is what a host makes of the events of one call.
func received(events ...*pluginv1.CallEvent) (result *Result, err error) {
	in := reassembly{meter: newMeter(2)}
	for _, e := range events {
		if result, err = in.take(e, &Request{}); result != nil || err != nil {
			break
		}
	}
	return result, err
}

func nestedJSON(n int) []byte {
	return []byte(`{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`)
}

func manyJSON(n int) []byte { return []byte(`{"a":[1` + strings.Repeat(",1", n-3) + `]}`) }

func TestLimitsOfAResult(t *testing.T) {
	of := func(with func(n int, r *pluginv1.Result)) func(int) error {
		return func(n int) error {
			var r pluginv1.Result
			with(n, &r)
			_, err := received(last(&r))
			if err != nil && CodeOf(err) != CodeResultTooLarge {
				return fmt.Errorf("of another code: %w", errors.ErrUnsupported)
			}
			return err
		}
	}
	content := func(with func(n int) *pluginv1.Content) func(int) error {
		return of(func(n int, r *pluginv1.Result) { r.Content = []*pluginv1.Content{with(n)} })
	}
	checkEdges(t, map[string]edge{
		"bytes of a text": {MaxResult, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Text: make([]byte, n)} }), "4194305 bytes"},
		"bytes of data":   {MaxResult, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Data: make([]byte, n)} }), "4194305 bytes"},
		"type":            {64, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Type: xs(n)} }), "part 1 of it: type has 65 bytes"},
		"MIME type":       {255, content(func(n int) *pluginv1.Content { return &pluginv1.Content{MimeType: xs(n)} }), "MIME type has 256 bytes"},
		"URI":             {8192, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Uri: xs(n)} }), "URI has 8193 bytes"},
		"name":            {1024, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Name: xs(n)} }), "name has 1025 bytes"},
		"depth of raw":    {64, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Raw: nestedJSON(n)} }), "its JSON is nested 65 deep"},
		"values of raw":   {100_000, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Raw: manyJSON(n)} }), "its JSON has 100001 values"},
		"depth":           {64, of(func(n int, r *pluginv1.Result) { r.Structured = nestedJSON(n) }), "nested 65 deep"},
		"values":          {100_000, of(func(n int, r *pluginv1.Result) { r.Structured = manyJSON(n) }), "has 100001 values"},
		"depth of details": {64, of(func(n int, r *pluginv1.Result) { r.Error = &pluginv1.Error{Details: nestedJSON(n)} }),
			"the details of the error of it: is nested 65 deep"},
		"words of the error": {maxEnvelope, of(func(n int, r *pluginv1.Result) { r.Error = &pluginv1.Error{Message: xs(n - len(CodeTool))} }), "262145 around"},
		"parts":              {4000, of(func(n int, r *pluginv1.Result) { r.Content = make([]*pluginv1.Content, n) }), "4001 parts"},
		"pieces": {maxPieces, func(n int) error {
			events := []*pluginv1.CallEvent{textPart("", int64(n))}
			for range n {
				events = append(events, piece("x"))
			}
			_, err := received(events...)
			return err
		}, "more than 65536 pieces"},
	})
}

// What counts as much on both ends, so that a plugin of this kit tells its author what a host would tell it.
func TestBothEndsHoldTheLimitsOfAResult(t *testing.T) {
	for name, r := range map[string]*Result{
		"MIME type": {Content: []Content{ImageContent(nil, xs(256))}},
		"parts":     {Content: make([]Content, 4001)},
		"depth":     {Structured: nestedJSON(65)},
	} {
		p, err := through(r)
		if err != nil || p.result.Error == nil || p.result.Error.Code != CodeResultTooLarge {
			t.Errorf("%s: %+v, %v", name, p.result, err)
		}
	}
}

// A size that is told takes no memory; what has come takes twice as much at most.
func TestToldSizeTakesNoMemory(t *testing.T) {
	var in reassembly
	if _, err := in.take(textPart("a", MaxResult), &Request{}); err != nil {
		t.Fatal(err)
	}
	if cap(in.tail) > 64 {
		t.Errorf("%d bytes are held for one that has come", cap(in.tail))
	}
	for got := 1; in.missing > 0; {
		n := min(1000, in.missing)
		if _, err := in.take(piece(xs(n)), &Request{}); err != nil {
			t.Fatal(err)
		}
		if got += n; cap(in.tail) > 2*got+1000 {
			t.Fatalf("%d bytes are held for %d that have come", cap(in.tail), got)
		}
	}
	if n := len(in.parts[0].Text); n != MaxResult {
		t.Errorf("the text has %d bytes", n)
	}
}

func emptyContents(n int) []*pluginv1.Content {
	out := make([]*pluginv1.Content, n)
	for i := range out {
		out[i] = &pluginv1.Content{}
	}
	return out
}

func emptyTools(n int) []*pluginv1.Tool {
	out := make([]*pluginv1.Tool, n)
	for i := range out {
		out[i] = &pluginv1.Tool{}
	}
	return out
}

// Empty elements are counted before they take memory.
func TestLimitsOfElements(t *testing.T) {
	of := func(with func(n int) (proto.Message, any)) func(int) error {
		return func(n int) error {
			m, into := with(n)
			wire, err := proto.Marshal(m)
			if err != nil {
				return err
			}
			half := len(wire) / 2
			return sparing.Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire[:half]), mem.SliceBuffer(wire[half:])}, into)
		}
	}
	checkEdges(t, map[string]edge{
		"of a result": {4000, of(func(n int) (proto.Message, any) {
			return last(&pluginv1.Result{Content: emptyContents(n)}), &pluginv1.CallEvent{}
		}), "4001 elements"},
		"of a preview": {4000, of(func(n int) (proto.Message, any) {
			return &pluginv1.PreviewResponse{Content: emptyContents(n)}, &pluginv1.PreviewResponse{}
		}), "4001 elements"},
		"tools": {16384, of(func(n int) (proto.Message, any) {
			return &pluginv1.DescribeResponse{Tools: emptyTools(n)}, &pluginv1.DescribeResponse{}
		}), "16385 elements"},
		"notices": {16384, of(func(n int) (proto.Message, any) {
			return &pluginv1.DescribeResponse{Notices: make([]string, n)}, &pluginv1.DescribeResponse{}
		}), "16385 elements"},
	})
}

// Several results in one message are one to protobuf, so they count together; whatever is broken is the decoder's to say.
func TestElementsOfOddMessages(t *testing.T) {
	one, err := proto.Marshal(last(&pluginv1.Result{Content: emptyContents(3000)}))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := elements(append(one, one...), &pluginv1.CallEvent{}); n != 6000 {
		t.Errorf("%d elements are counted", n)
	}
	for cut := range len(one) {
		n, _ := elements(one[:cut], &pluginv1.CallEvent{})
		if n > 3000 {
			t.Fatalf("%d elements are counted in %d bytes", n, cut)
		}
	}
	var e pluginv1.CallEvent
	err = sparing.Unmarshal(mem.BufferSlice{mem.SliceBuffer(one[:len(one)-1])}, &e)
	if err == nil || strings.Contains(err.Error(), crowded) {
		t.Errorf("a broken message gives %v", err)
	}
	if sparing.Name() != encoding.GetCodecV2("proto").Name() {
		t.Errorf("the codec is called %q", sparing.Name())
	}
}

func FuzzElements(f *testing.F) {
	one, _ := proto.Marshal(last(&pluginv1.Result{Content: emptyContents(3)}))
	f.Add(one)
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0a})
	f.Add([]byte{0x3b, 0x3b, 0x3c, 0x3a, 0x02, 0x0a, 0x00})
	f.Fuzz(func(t *testing.T, wire []byte) {
		n, _ := elements(wire, &pluginv1.CallEvent{})
		var e pluginv1.CallEvent
		if err := proto.Unmarshal(wire, &e); err == nil && len(e.GetResult().GetContent()) > n {
			t.Errorf("%d elements, %d were counted", len(e.GetResult().GetContent()), n)
		}
	})
}

// A message with too many elements costs its call; a description of that kind is a broken wire.
func TestCrowdedMessages(t *testing.T) {
	c := clientOf(t, &crowd{stranger: script(nil, last(&pluginv1.Result{Content: emptyContents(1 << 20)}))})
	_, err := c.Call(t.Context(), &Request{Tool: "x"})
	if CodeOf(err) != CodeResultTooLarge || !strings.Contains(err.Error(), "1048576 elements in one message, at most 4000") {
		t.Errorf("Call gives %v", err)
	}
	_, err = c.Preview(t.Context(), &Request{Tool: "x"})
	if CodeOf(err) != CodeResultTooLarge {
		t.Errorf("Preview gives %v", err)
	}
	_, err = c.Describe(t.Context())
	if _, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(err.Error(), "1048576 elements in one message, at most 16384") {
		t.Errorf("Describe gives %v", err)
	}
}

func TestLimitsOfAPreview(t *testing.T) {
	of := func(with func(n int) *Preview) func(int) error {
		return func(n int) error { return orNone(with(n).excess(nil)) }
	}
	checkEdges(t, map[string]edge{
		"bytes":  {MaxResult, of(func(n int) *Preview { return &Preview{Content: []Content{{Text: xs(n)}}} }), "the preview has 4194305 bytes"},
		"reason": {maxEnvelope, of(func(n int) *Preview { return &Preview{Reason: xs(n)} }), "262145 around"},
		"depth":  {64, of(func(n int) *Preview { return &Preview{Structured: nestedJSON(n)} }), "nested 65 deep"},
		"parts":  {4000, of(func(n int) *Preview { return &Preview{Content: make([]Content, n)} }), "the preview has 4001 parts"},
	})
}

func TestWeightOfJSON(t *testing.T) {
	for text, want := range map[string][2]int{
		`1`: {0, 1}, `"[{,"`: {0, 1}, `"\"[,"`: {0, 1}, `"\\"`: {0, 1}, `["\\",1]`: {1, 3}, `{"a":{"b":[1,2]},"c":3}`: {3, 6},
		`"`: {0, 1}, `"\`: {0, 1}, `]]]`: {0, 1},
	} {
		depth, nodes := jsonWeight([]byte(text))
		if depth != want[0] || nodes != want[1] {
			t.Errorf("%s weighs %d, %d; want %v", text, depth, nodes, want)
		}
	}
}

func TestWhatIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "a\x1b[2Jb\x00": "a[2Jb", "a\u202eb\u200bc\U000E0041": "abc", "a\xffb": "a\uFFFDb",
		xs(10): xs(10), xs(11): xs(10) + "... (cut)", strings.Repeat("é", 11): strings.Repeat("é", 10) + "... (cut)",
	} {
		if got := shown(text, 10); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// What a plugin calls itself is cut where it is too long to be shown.
func TestLimitsOfWords(t *testing.T) {
	for n, want := range map[int]string{100: xs(100), 101: xs(100) + "... (cut)"} {
		d, err := clientOf(t, boaster{&stranger{}, xs(n)}).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Description{Name: want, Version: want, SDK: want}, d); diff != "" {
			t.Errorf("of %d characters: %s", n, diff)
		}
	}
}

func TestNotices(t *testing.T) {
	long := make([]string, 65)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	long[0], long[1], long[2] = xs(2001), xs(2000), "two\nlines\x1b"
	if got := notices(long[:64]); len(got) != 64 || got[0] != xs(2000)+"... (cut)" || got[1] != xs(2000) || got[2] != "two\nlines" || got[63] != "63" {
		t.Errorf("notices are %q", got)
	}
	if got := notices(long); len(got) != 65 || got[64] != "... and 1 more notices; at most 64 are shown" {
		t.Errorf("notices are %q", got)
	}
}

func TestNumbersThatJSONLacks(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		e, _ := eventFromWire(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: f, Total: f}}})
		if diff := cmp.Diff(Event{Type: EventProgress}, e); diff != "" {
			t.Errorf("%v: %s", f, diff)
		}
	}
	huge, _ := eventFromWire(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: math.MaxFloat64}}})
	if _, err := json.Marshal(huge); err != nil || huge.Done != math.MaxFloat64 {
		t.Errorf("%+v: %v", huge, err)
	}
}

func TestLimitOfDetails(t *testing.T) {
	of := func(n int) string { return `{"a":"` + xs(n-8) + `"}` }
	for size, want := range map[int]string{32768: of(32768), 32769: `{"left_out":"details of 32769 bytes, at most 32768 are allowed"}`} {
		if e := errorFromWire(&pluginv1.Error{Details: []byte(of(size))}); string(e.Details) != want {
			t.Errorf("%d bytes become %.100s", size, e.Details)
		}
	}
}
