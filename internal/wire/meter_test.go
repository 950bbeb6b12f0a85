package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestLimitsOfAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		within, over, want *pluginv1.CallEvent
		cut                int
	}{
		"message":    {logEvent(xs(8192), ""), logEvent(xs(8193), ""), logEvent(xs(8192)+"... (cut)", ""), 1},
		"progress":   {progressEvent(xs(8192)), progressEvent(xs(8193)), progressEvent(xs(8192) + "... (cut)"), 1},
		"characters": {logEvent("x", ""), logEvent(xs(8191)+"é", ""), logEvent(xs(8191)+"... (cut)", ""), 1},
		"not UTF-8":  {logEvent("\x80", ""), logEvent(strings.Repeat("\x80", 8193), ""), logEvent("... (cut)", ""), 1},
		"attributes": {logEvent("", `"`+xs(8190)+`"`), logEvent("", `"`+xs(8191)+`"`),
			logEvent("", `{"left_out":"attributes of 8193 bytes; the limit is 8192"}`), 8193},
		"output": {outputEvent(65536), outputEvent(65537), outputEvent(65536), 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, e := newMeter(1), proto.CloneOf(c.within)
			if !m.pass(e) || m.droppedBytes != 0 || !proto.Equal(e, c.within) {
				t.Errorf("%d bytes are cut of one within the limit", m.droppedBytes)
			}
			if !m.pass(c.over) || m.droppedBytes != c.cut {
				t.Errorf("%d bytes are cut of one over the limit, want %d", m.droppedBytes, c.cut)
			}
			if !proto.Equal(c.over, c.want) {
				t.Errorf("it becomes %.100v, want %.100v", c.over, c.want)
			}
		})
	}
}

// passed counts how many of n events pass.
func passed(m *meter, n int, e *pluginv1.CallEvent) (out int) {
	for range n {
		if m.pass(e) {
			out++
		}
	}
	return out
}

func TestRateOfEvents(t *testing.T) {
	progress, output := progressEvent(""), outputEvent(64<<10)
	level, stream := logEvent("", ""), outputEvent(0)
	level.GetLog().Level, stream.GetOutput().Stream = xs(64<<10), xs(64<<10)
	field := protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), make([]byte, 64<<10))
	member, event := progressEvent(""), &pluginv1.CallEvent{}
	member.GetProgress().ProtoReflect().SetUnknown(field)
	event.ProtoReflect().SetUnknown(field)
	for name, c := range map[string]struct {
		e            *pluginv1.CallEvent
		burst, after int // at once, and one second later
	}{
		"events": {progress, 4000, 1000},
		"bytes":  {output, 128, 32},
		// also where no text is shown, or of what this version does not know
		"bytes of a level":         {level, 128, 32},
		"bytes of a stream":        {stream, 128, 32},
		"bytes of unknown members": {member, 128, 32},
		"bytes of unknown events":  {event, 128, 32},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(1)
				if got := passed(&m, c.burst, c.e); got != c.burst || m.droppedEvents != 0 {
					t.Errorf("%d of %d pass at once", got, c.burst)
				}
				if m.dropped() != nil {
					t.Error("events of a call within its limits are said to be dropped")
				}
				if got := passed(&m, 1, c.e); got != 0 || m.droppedEvents != 1 {
					t.Errorf("%d of one more pass, %d are dropped", got, m.droppedEvents)
				}
				<-time.After(time.Second)
				if got := passed(&m, c.after+1, c.e); got != c.after {
					t.Errorf("%d of %d pass a second later", got, c.after)
				}
				e := m.dropped().GetLog()
				if !strings.Contains(e.GetMessage(), "2 events and") || !json.Valid(e.GetAttributes()) {
					t.Errorf("the last event is %v", e)
				}
			})
		})
	}
}

// The limits of bytes are exact.
func TestBytesOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1)
		for _, full := range []int{8<<20/(64<<10) - 1, 2<<20/(64<<10) - 1} { // at once, and one second later
			if got := passed(&m, full, outputEvent(64<<10)) + passed(&m, 1, outputEvent(64<<10-1)); got != full+1 {
				t.Errorf("%d of %d events pass", got, full+1)
			}
			if two, one := passed(&m, 1, outputEvent(2)), passed(&m, 1, outputEvent(1)); two != 0 || one != 1 {
				t.Errorf("where there is room for one byte, %d events of two and %d of one pass", two, one)
			}
			<-time.After(time.Second)
		}
	})
}

func TestFloodOfEvents(t *testing.T) {
	for name, c := range map[string]struct {
		e      *pluginv1.CallEvent
		passes int // before any is dropped
		drops  int // before the call is ended
	}{
		"events": {progressEvent(""), 8000, 200_000},
		"bytes":  {outputEvent(64 << 10), 256, 256},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(2)
				if got := passed(&m, c.passes+c.drops, c.e); got != c.passes || m.flooded() != nil {
					t.Errorf("%d pass, want %d; the call is ended: %v", got, c.passes, m.flooded())
				}
				passed(&m, 1, c.e)
				e := m.flooded()
				if e == nil || e.GetCode() != codeTooLarge || e.GetName() != "TooManyEvents" ||
					!strings.Contains(e.GetMessage(), "200000 of its events, or 16777216 bytes") {
					t.Errorf("one more gives %+v", e)
				}
			})
		})
	}
}

// A plugin within its limits is never over those of its host, even if its events of a while arrive at once.
func TestHostsLimitsAreWider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin, host := newMeter(1), newMeter(2)
		late := 0
		for range 20 { // seconds
			sent := passed(&plugin, 5000, progressEvent(""))
			late += sent
			<-time.After(time.Second)
		}
		if got := passed(&host, min(late, 8000), progressEvent("")); got != min(late, 8000) {
			t.Errorf("%d of %d that came at once pass", got, late)
		}
	})
}

func progressEvent(message string) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Message: message}}}
}

func logEvent(message, attributes string) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{Message: message,
		Attributes: []byte(attributes)}}}
}

func outputEvent(size int) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{Data: make([]byte, size)}}}
}
