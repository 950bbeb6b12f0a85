package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// An edge is a limit, with the check that enforces it on something of size n.
type edge struct {
	limit int
	check func(n int) error // nil within the limit
	words string            // required in the error
}

// checkEdges checks each limit, and one above it.
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

func TestLimitsOfARequest(t *testing.T) {
	of := func(with func(n int) *pluginv1.CallRequest) func(int) error {
		return func(n int) error { return exceeded(CheckRequest(with(n))) }
	}
	paths := func(n, size int) [][]byte { return slices.Repeat([][]byte{[]byte(xs(size))}, n) }
	checkEdges(t, map[string]edge{
		"arguments": {MaxArguments,
			of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{Arguments: make([]byte, n)} }), "1048577 bytes"},
		"call id": {256, of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{CallId: xs(n)} }),
			"the call id has 257 bytes"},
		"session id": {256, of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{SessionId: xs(n)} }),
			"the session id has 257 bytes"},
		"tool": {256, of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{Tool: xs(n)} }),
			"the tool's name has 257 bytes"},
		"work folder": {4096, of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{Workdir: xs(n)} }),
			"the work folder has 4097 bytes"},
		"leave out": {MaxPaths, of(func(n int) *pluginv1.CallRequest {
			return &pluginv1.CallRequest{LeaveOut: paths(n, 1)}
		}), "10001 paths to leave out"},
		"roots": {MaxPaths, of(func(n int) *pluginv1.CallRequest { return &pluginv1.CallRequest{Roots: paths(n, 1)} }),
			"10001 roots"},
	})
	if e := CheckRequest(&pluginv1.CallRequest{Roots: paths(1025, 1024)}); e.GetName() != "TooManyPaths" {
		t.Errorf("paths of more than 1 MiB give %v", e)
	}
	if e := CheckRequest(&pluginv1.CallRequest{Workdir: "/\xff"}); e.GetName() != "BadWorkdir" {
		t.Errorf("a work folder that is not UTF-8 gives %v", e)
	}
}

// received returns what a host makes of the events of one call.
func received(events ...*pluginv1.CallEvent) (result *pluginv1.Result, err error) {
	in := NewReceiver()
	for _, e := range events {
		if _, result, err = in.Take(e); result != nil || err != nil {
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
			if e, ok := errors.AsType[*ExceededError](err); ok && e.Failure.GetCode() != codeTooLarge {
				t.Errorf("the code is %s", e.Failure.GetCode())
			}
			return err
		}
	}
	content := func(with func(n int) *pluginv1.Content) func(int) error {
		return of(func(n int, r *pluginv1.Result) { r.Content = []*pluginv1.Content{with(n)} })
	}
	checkEdges(t, map[string]edge{
		"bytes of a text": {MaxResult, content(func(n int) *pluginv1.Content {
			return &pluginv1.Content{Text: make([]byte, n)}
		}), "4194305 bytes"},
		"bytes of data": {MaxResult, content(func(n int) *pluginv1.Content {
			return &pluginv1.Content{Data: make([]byte, n)}
		}), "4194305 bytes"},
		"type": {64, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Type: xs(n)} }),
			"part 1: type has 65 bytes"},
		"MIME type": {255, content(func(n int) *pluginv1.Content { return &pluginv1.Content{MimeType: xs(n)} }),
			"MIME type has 256 bytes"},
		"URI": {8192, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Uri: xs(n)} }),
			"URI has 8193 bytes"},
		"name": {1024, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Name: xs(n)} }),
			"name has 1025 bytes"},
		"depth of raw": {64, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Raw: nestedJSON(n)} }),
			"part 1: the JSON is nested 65 deep"},
		"values of raw": {100_000, content(func(n int) *pluginv1.Content { return &pluginv1.Content{Raw: manyJSON(n)} }),
			"part 1: the JSON has 100001 values"},
		"depth":  {64, of(func(n int, r *pluginv1.Result) { r.Structured = nestedJSON(n) }), "nested 65 deep"},
		"values": {100_000, of(func(n int, r *pluginv1.Result) { r.Structured = manyJSON(n) }), "has 100001 values"},
		"depth of details": {64, of(func(n int, r *pluginv1.Result) { r.Error = &pluginv1.Error{Details: nestedJSON(n)} }),
			"the details of its error: the JSON is nested 65 deep"},
		"words of the error": {maxEnvelope, of(func(n int, r *pluginv1.Result) {
			r.Error = &pluginv1.Error{Message: xs(n)}
		}), "262145 bytes of types"},
		"parts": {4000, of(func(n int, r *pluginv1.Result) { r.Content = make([]*pluginv1.Content, n) }),
			"4001 parts"},
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

func TestLimitsOfAPreview(t *testing.T) {
	of := func(with func(n int) *pluginv1.PreviewResponse) func(int) error {
		return func(n int) error { return exceeded(CheckPreview(with(n))) }
	}
	checkEdges(t, map[string]edge{
		"bytes": {MaxResult, of(func(n int) *pluginv1.PreviewResponse {
			return &pluginv1.PreviewResponse{Content: []*pluginv1.Content{{Text: make([]byte, n)}}}
		}), "the preview has 4194305 bytes"},
		"reason": {maxEnvelope,
			of(func(n int) *pluginv1.PreviewResponse { return &pluginv1.PreviewResponse{Reason: xs(n)} }),
			"262145 bytes of types"},
		"depth": {64,
			of(func(n int) *pluginv1.PreviewResponse { return &pluginv1.PreviewResponse{Structured: nestedJSON(n)} }),
			"nested 65 deep"},
		"parts": {4000,
			of(func(n int) *pluginv1.PreviewResponse { return &pluginv1.PreviewResponse{Content: emptyContents(n)} }),
			"the preview has 4001 parts"},
	})
}

func TestLimitOfDetails(t *testing.T) {
	of := func(n int) string { return `{"a":"` + xs(n-8) + `"}` }
	for size, want := range map[int]string{32768: of(32768),
		32769: `{"left_out":"details of 32769 bytes; the limit is 32768"}`} {
		e := &pluginv1.Error{Details: []byte(of(size))}
		if LimitDetails(e); string(e.GetDetails()) != want {
			t.Errorf("%d bytes become %.100s", size, e.GetDetails())
		}
	}
	LimitDetails(nil)
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
			return hostCodec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire[:half]), mem.SliceBuffer(wire[half:])}, into)
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
		"kinds of notices": {16384, of(func(n int) (proto.Message, any) {
			return &pluginv1.DescribeResponse{NoticeKinds: make([]string, n)}, &pluginv1.DescribeResponse{}
		}), "16385 elements"},
		"notices": {16384, of(func(n int) (proto.Message, any) {
			return &pluginv1.DescribeResponse{Notices: make([]string, n)}, &pluginv1.DescribeResponse{}
		}), "16385 elements"},
	})
}

// Several results in one message are one to protobuf, so they count together; malformed messages are left to the
// decoder.
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
	err = hostCodec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(one[:len(one)-1])}, &e)
	if err == nil || TooManyElements(err) {
		t.Errorf("a broken message gives %v", err)
	}
	if hostCodec.Name() != encoding.GetCodecV2("proto").Name() {
		t.Errorf("the codec is called %q", hostCodec.Name())
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
