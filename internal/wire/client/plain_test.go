package client

import (
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
	"google.golang.org/protobuf/proto"
)

func text(s string) *pluginv1.Content { return &pluginv1.Content{Type: "text", Text: []byte(s)} }

// messages are some that decodePlain takes, and some that it must leave.
func messages() (taken, left []*pluginv1.SessionEvent) {
	event := func(events ...*pluginv1.CallEvent) *pluginv1.SessionEvent {
		return &pluginv1.SessionEvent{Id: 1 << 40, Events: events}
	}
	result := func(parts ...*pluginv1.Content) *pluginv1.CallEvent { return last(&pluginv1.Result{Content: parts}) }
	of := func(r *pluginv1.Result) *pluginv1.SessionEvent { return event(last(r)) }
	taken = []*pluginv1.SessionEvent{event(result()), event(startedEvent, result(text("done"))),
		event(result(text("one"), text("two\xff"), text(""))), {Events: []*pluginv1.CallEvent{result(text("no id"))}}}
	many := make([]*pluginv1.Content, maxPlainParts+1)
	for i := range many {
		many[i] = text("x")
	}
	left = []*pluginv1.SessionEvent{{}, {Id: 1}, event(), event(startedEvent), event(startedEvent, startedEvent, result()),
		event(result(), result()), event(result(), startedEvent), event(progressEvent(1), result()), event(nil, result()),
		event(result(&pluginv1.Content{})), event(result(&pluginv1.Content{Type: "text", Data: []byte("x")})),
		event(result(&pluginv1.Content{Type: "image", Data: []byte("x")})), event(result(text("x"), nil)),
		event(result(&pluginv1.Content{Type: "text", Raw: []byte("{}")})), event(result(many...)),
		event(result(&pluginv1.Content{Type: "text", Text: []byte("x"), Uri: "file:x"})),
		event(result(text(xs(maxPlain)))), event(textPart("x", 2)), event(piece("x"), result()),
		of(&pluginv1.Result{Structured: []byte("{}")}), of(&pluginv1.Result{Error: &pluginv1.Error{}}),
		of(&pluginv1.Result{Truncated: true}), of(&pluginv1.Result{Extra: []byte("{}")}),
		of(&pluginv1.Result{InputRequired: &pluginv1.InputRequired{}}),
		{Id: 1, Events: []*pluginv1.CallEvent{result()}, Status: &pluginv1.Status{}}}
	return taken, left
}

// decodeWhole decodes a message as a call does that takes it from its inbox.
func decodeWhole(t *testing.T, frame []byte) (id uint64, started int, r *sdk.Result) {
	t.Helper()
	var m pluginv1.SessionEvent
	if err := wire.Decode(frame, &m); err != nil {
		t.Fatalf("%x is not a message: %v", frame, err)
	}
	c := &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
	c.deliver(&m)
	r, err := c.take(t.Context(), &receiver{request: &sdk.Request{Events: func(e sdk.Event) {
		if e.Type != sdk.EventStarted {
			t.Errorf("event %+v", e)
		}
		started++
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return m.GetId(), started, r
}

func checkPlain(t *testing.T, frame []byte, got plainAnswer) {
	t.Helper()
	id, started, r := decodeWhole(t, frame)
	if id != got.id || (started == 1) != got.started || started > 1 || !reflect.DeepEqual(r, got.result) {
		t.Errorf("%x gives call %d, started %v and %+v; want %d, %d and %+v", frame, got.id, got.started, got.result, id,
			started, r)
	}
}

// What decodePlain takes means the same to it as to the decoder of messages.
func TestDecodePlain(t *testing.T) {
	taken, left := messages()
	for _, m := range taken {
		frame, _ := proto.Marshal(m)
		got, ok := decodePlain(frame)
		if !ok {
			t.Errorf("%v is left", m)
			continue
		}
		checkPlain(t, frame, got)
	}
	for _, m := range left {
		frame, _ := proto.Marshal(m)
		if got, ok := decodePlain(frame); ok {
			t.Errorf("%v is taken: %+v", m, got)
		}
	}
}

func FuzzDecodePlain(f *testing.F) {
	taken, left := messages()
	for _, m := range append(taken, left...) {
		frame, _ := proto.Marshal(m)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if got, ok := decodePlain(frame); ok {
			checkPlain(t, frame, got)
		}
	})
}

// A piece of a result means the same to decodePiece as to the decoder of messages, and nothing else is taken for one.
func TestDecodePiece(t *testing.T) {
	more := func(data []byte) *pluginv1.CallEvent {
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: data}}}
	}
	for _, c := range []struct {
		m     *pluginv1.SessionEvent
		piece string
	}{
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{more([]byte("abc"))}}, "abc"},
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{more([]byte(xs(60 << 10)))}}, xs(60 << 10)},
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{more(nil)}}, ""},
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{more([]byte("a")), more([]byte("b"))}}, ""},
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{more([]byte("a"))}, Status: &pluginv1.Status{}}, ""},
		{&pluginv1.SessionEvent{Id: 7, Events: []*pluginv1.CallEvent{progressEvent(1)}}, ""},
		{&pluginv1.SessionEvent{Id: 7}, ""},
	} {
		frame, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		id, data, ok := decodePiece(frame)
		if ok != (c.piece != "") || ok && (id != 7 || string(data) != c.piece) {
			t.Errorf("%.200s is a piece %t of call %d: %.80q", c.m, ok, id, data)
		}
	}
}
