package wire

import (
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// someRequest is a request of which each field may be there or not.
func someRequest(r *rand.Rand) *pluginv1.CallRequest {
	texts := []string{"", "x", "é", string(make([]byte, 200)), "{\"a\":1}"}
	text := func() string { return texts[r.IntN(len(texts))] }
	bytes := func() []byte {
		if s := []string{"", "\xff\xfe", text()}[r.IntN(3)]; s != "" {
			return []byte(s)
		}
		return nil
	}
	out := &pluginv1.CallRequest{CallId: text(), Tool: text(), Arguments: bytes(), Workdir: text(), SessionId: text(),
		Attempt: []int32{0, 1, 300, -1}[r.IntN(4)], RunId: text(), SingleCall: r.IntN(2) == 0, RequestState: bytes(),
		DuringQuestions: r.IntN(2) == 0,
		Capabilities:    bytes(), Meta: bytes(), MaxLargeBytes: []int64{0, 1 << 20, -1}[r.IntN(3)],
		TraceParent: text(), TraceState: text()}
	if r.IntN(4) == 0 {
		out.LeaveOut = [][]byte{[]byte("a"), []byte("b")}
	}
	if r.IntN(8) == 0 {
		out.InputResponses = map[string][]byte{"k": []byte("v")}
	}
	return out
}

// What is written by hand is what the library reads, and the other way round.
func TestCallsWrittenByHand(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var last Repeated
	for range 3000 {
		want := &pluginv1.SessionRequest{Id: r.Uint64N(1000), TimeoutUs: r.Int64N(1 << 40)}
		m := &SessionCall{ID: want.GetId(), Call: someRequest(r),
			Timeout: time.Duration(want.GetTimeoutUs()) * time.Microsecond}
		want.Request = &pluginv1.SessionRequest_Call{Call: m.Call}
		framed, err := m.AppendTo([]byte("head"))
		var got pluginv1.SessionRequest
		if err != nil || proto.Unmarshal(framed[4:], &got) != nil || !proto.Equal(&got, want) {
			t.Fatalf("%v is read as %v, %v", want, &got, err)
		}
		if m.Size() != proto.Size(m.Call) {
			t.Fatalf("%v takes %d bytes, not %d", m.Call, proto.Size(m.Call), m.Size())
		}
		whole, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var call pluginv1.CallRequest
		read, ok := DecodeSessionCall(whole, &call, &last)
		switch {
		case ok == hasLists(m.Call):
			t.Fatalf("%v is plain: %v", want, ok)
		case ok && (read.ID != m.ID || read.Timeout != m.Timeout || !proto.Equal(read.Call, m.Call)):
			t.Fatalf("%v is read as %+v", want, read)
		}
	}
}

// Each field that plugin.proto has crosses a session, written and read by hand or by the library. A new field that
// plain.go does not know fails here.
func TestEachFieldCrosses(t *testing.T) {
	for _, m := range withOneField(&pluginv1.CallRequest{}) {
		call := m.(*pluginv1.CallRequest)
		want := &pluginv1.SessionRequest{Id: 7, Request: &pluginv1.SessionRequest_Call{Call: call}}
		written, err := (&SessionCall{ID: 7, Call: call}).AppendTo(nil)
		var got pluginv1.SessionRequest
		if err != nil || proto.Unmarshal(written, &got) != nil || !proto.Equal(&got, want) {
			t.Errorf("a request with %v is written as %v, %v: see SessionCall.AppendTo", call, &got, err)
		}
		if size := (&SessionCall{Call: call}).Size(); size != proto.Size(call) {
			t.Errorf("a request with %v has %d bytes, not %d: see requestSize", call, proto.Size(call), size)
		}
		var read pluginv1.CallRequest
		whole, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := DecodeSessionCall(whole, &read, &Repeated{}); ok && !proto.Equal(&read, call) {
			t.Errorf("a request with %v is read as %v: see decodeField", call, &read)
		}
	}
	results := withOneField(&pluginv1.Result{})
	for _, part := range withOneField(&pluginv1.Content{}) {
		results = append(results, &pluginv1.Result{Content: []*pluginv1.Content{part.(*pluginv1.Content)}})
	}
	for _, m := range results {
		event := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: m.(*pluginv1.Result)}}
		written, err := AppendSessionEvent(nil, 7, false, event)
		var got pluginv1.SessionEvent
		want := &pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{event}}
		if err != nil || proto.Unmarshal(written, &got) != nil || !proto.Equal(&got, want) {
			t.Errorf("a result with %v is written as %v, %v: see isPlain", m, &got, err)
		}
	}
}

// withOneField returns messages like empty, each with another one of its fields.
func withOneField(empty proto.Message) (out []proto.Message) {
	for fields, i := empty.ProtoReflect().Descriptor().Fields(), 0; i < fields.Len(); i++ {
		m := empty.ProtoReflect().New()
		switch f := fields.Get(i); {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), someValue(f.MapValue()))
		case f.IsList() && f.Message() != nil:
			m.Mutable(f).List().AppendMutable()
		case f.IsList():
			m.Mutable(f).List().Append(someValue(f))
		case f.Message() != nil:
			m.Mutable(f)
		default:
			m.Set(f, someValue(f))
		}
		out = append(out, m.Interface())
	}
	return out
}

func someValue(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("bytes"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(300)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(300)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(0.5)
	}
	panic("no value for a field of kind " + f.Kind().String() + ": add one")
}

// What the library refuses, or reads in another way, is left to it.
func TestMessagesThatAreNotPlain(t *testing.T) {
	valid, err := proto.Marshal(&pluginv1.SessionRequest{Id: 7,
		Request: &pluginv1.SessionRequest_Call{Call: &pluginv1.CallRequest{CallId: "id", Arguments: []byte("{}")}}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		frame := append([]byte{}, valid[:r.IntN(len(valid)+1)]...)
		for range r.IntN(3) {
			if len(frame) > 0 {
				frame[r.IntN(len(frame))] = byte(r.Uint32())
			}
		}
		var call pluginv1.CallRequest
		var last Repeated
		read, ok := DecodeSessionCall(frame, &call, &last)
		var want pluginv1.SessionRequest
		err := proto.Unmarshal(frame, &want)
		if ok && (err != nil || read.ID != want.GetId() || read.Timeout.Microseconds() != want.GetTimeoutUs() ||
			!proto.Equal(read.Call, want.GetCall())) {
			t.Fatalf("%x is read as %+v; the library: %v, %v", frame, read, &want, err)
		}
	}
}

func TestEventsWrittenByHand(t *testing.T) {
	text := &pluginv1.Content{Type: "text", Text: []byte("hello \xff")}
	event := func(r *pluginv1.Result) *pluginv1.CallEvent {
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: r}}
	}
	started := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}
	for name, e := range map[string]*pluginv1.CallEvent{
		"a text":       event(&pluginv1.Result{Content: []*pluginv1.Content{text}}),
		"texts":        event(&pluginv1.Result{Content: []*pluginv1.Content{text, {}, {Type: "text"}, text}}),
		"a large text": event(&pluginv1.Result{Content: []*pluginv1.Content{{Type: "text", Text: make([]byte, 300_000)}}}),
		"nothing":      event(&pluginv1.Result{}),
		"structured":   event(&pluginv1.Result{Structured: []byte("{}")}),
		"an error":     event(&pluginv1.Result{Error: &pluginv1.Error{Message: "no"}}),
		"an image":     event(&pluginv1.Result{Content: []*pluginv1.Content{text, {Type: "image", Data: []byte{1}}}}),
		"no text": event(&pluginv1.Result{Content: []*pluginv1.Content{{Type: "text", Source: []byte("{}")}},
			Truncated: true}),
		"started":  started,
		"progress": progressEvent("half"),
		"a piece":  {Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: []byte("x")}}},
	} {
		for _, first := range []bool{false, true} {
			want := &pluginv1.SessionEvent{Id: 9, Events: []*pluginv1.CallEvent{e}}
			if first {
				want.Events = []*pluginv1.CallEvent{started, e}
			}
			out, err := AppendSessionEvent([]byte("head"), 9, first, e)
			var got pluginv1.SessionEvent
			if err != nil || proto.Unmarshal(out[4:], &got) != nil || !proto.Equal(&got, want) {
				t.Errorf("%s is read as %v, %v", name, &got, err)
			}
		}
	}
}
