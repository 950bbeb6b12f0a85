package sdk

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

func TestLimitsOfAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		within, over, want Event
		cut                int
	}{
		"message":    {Event{Message: xs(8192)}, Event{Message: xs(8193)}, Event{Message: xs(8192) + "... (cut)"}, 1},
		"characters": {Event{Message: "x"}, Event{Message: xs(8191) + "é"}, Event{Message: xs(8191) + "... (cut)"}, 1},
		"attributes": {Event{Attributes: []byte(`"` + xs(8190) + `"`)}, Event{Attributes: []byte(`"` + xs(8191) + `"`)},
			Event{Attributes: []byte(`{"left_out":"attributes of 8193 bytes, at most 8192 are allowed"}`)}, 8193},
		"output": {Event{Data: make([]byte, 65536)}, Event{Data: make([]byte, 65537)}, Event{Data: make([]byte, 65536)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, e := newMeter(1), c.within
			if !m.pass(&e) || m.cut != 0 {
				t.Errorf("%d bytes are cut of one within the limit", m.cut)
			}
			same(t, c.within, e)
			if !m.pass(&c.over) || m.cut != c.cut {
				t.Errorf("%d bytes are cut of one over the limit, want %d", m.cut, c.cut)
			}
			same(t, c.want, c.over)
		})
	}
}

// passed counts how many of n events get through.
func passed(m *meter, n int, e Event) (out int) {
	for range n {
		if one := e; m.pass(&one) {
			out++
		}
	}
	return out
}

func TestRateOfEvents(t *testing.T) {
	progress, output := Event{Type: EventProgress}, Event{Type: EventOutput, Data: make([]byte, 64<<10)}
	for name, c := range map[string]struct {
		e            Event
		burst, after int // at once, and one second later
	}{
		"events": {progress, 4000, 1000},
		"bytes":  {output, 128, 32},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(1)
				if got := passed(&m, c.burst, c.e); got != c.burst || m.dropped != 0 {
					t.Errorf("%d of %d pass at once", got, c.burst)
				}
				if _, ok := m.told(); ok {
					t.Error("something is told of a call within its limits")
				}
				if got := passed(&m, 1, c.e); got != 0 || m.dropped != 1 {
					t.Errorf("%d of one more pass, %d are dropped", got, m.dropped)
				}
				<-time.After(time.Second)
				if got := passed(&m, c.after+1, c.e); got != c.after {
					t.Errorf("%d of %d pass a second later", got, c.after)
				}
				e, ok := m.told()
				if !ok || e.Type != EventLog || !strings.Contains(e.Message, "2 events and") || !json.Valid(e.Attributes) {
					t.Errorf("told is %+v", e)
				}
			})
		})
	}
}

// The limits of bytes hold to the byte.
func TestBytesOfEvents(t *testing.T) {
	output := func(n int) Event { return Event{Type: EventOutput, Data: make([]byte, n)} }
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1)
		for _, full := range []int{8<<20/(64<<10) - 1, 2<<20/(64<<10) - 1} { // at once, and one second later
			if got := passed(&m, full, output(64<<10)) + passed(&m, 1, output(64<<10-1)); got != full+1 {
				t.Errorf("%d of %d events pass", got, full+1)
			}
			if two, one := passed(&m, 1, output(2)), passed(&m, 1, output(1)); two != 0 || one != 1 {
				t.Errorf("where there is room for one byte, %d events of two and %d of one pass", two, one)
			}
			<-time.After(time.Second)
		}
	})
}

func TestFloodOfEvents(t *testing.T) {
	for name, c := range map[string]struct {
		e      Event
		passes int // before any is dropped
		drops  int // before the call is ended
	}{
		"events": {Event{Type: EventProgress}, 8000, 200_000},
		"bytes":  {Event{Type: EventOutput, Data: make([]byte, 64<<10)}, 256, 256},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(2)
				if got := passed(&m, c.passes+c.drops, c.e); got != c.passes || m.flooded() != nil {
					t.Errorf("%d pass, want %d; the call is ended: %v", got, c.passes, m.flooded())
				}
				passed(&m, 1, c.e)
				e := m.flooded()
				if e == nil || e.Code != CodeResultTooLarge || e.Name != "TooManyEvents" || !strings.Contains(e.Message, "200000 events or 16777216 bytes") {
					t.Errorf("one more gives %+v", e)
				}
			})
		})
	}
}

// A plugin that holds to the limits is never over those of its host, even if all it said in a while comes at once.
func TestHostsLimitsAreWider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin, host := newMeter(1), newMeter(2)
		late := 0
		for range 20 { // seconds
			sent := passed(&plugin, 5000, Event{Type: EventProgress})
			late += sent
			<-time.After(time.Second)
		}
		if got := passed(&host, min(late, 8000), Event{Type: EventProgress}); got != min(late, 8000) {
			t.Errorf("%d of %d that came at once pass", got, late)
		}
	})
}

func progressEvent(done float64) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: done}}}
}

func logEvent(message string, attributes []byte) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{Level: "error", Message: message, Attributes: attributes}}}
}

func outputEvent(stream string, data []byte) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{Stream: stream, Data: data}}}
}

var startedEvent = &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}

// Odd events are put right, dropped and told, or end their call; the table says which.
func TestOddEvents(t *testing.T) {
	many := func(n int, e *pluginv1.CallEvent) *stranger {
		return &stranger{call: func(send func(*pluginv1.CallEvent) error) error {
			for range n {
				if err := send(e); err != nil {
					return err
				}
			}
			return send(last(nil))
		}}
	}
	for name, c := range map[string]struct {
		stranger *stranger
		most     int    // events that come through, besides the last word on those that do not
		told     bool   // that last word is there
		code     Code   // of the call
		words    string // of the call's error
	}{
		"no started":              {script(nil, last(nil)), 0, false, "", ""},
		"two started":             {script(nil, startedEvent, startedEvent, last(nil)), 1, true, "", ""},
		"not a number":            {script(nil, progressEvent(math.NaN()), progressEvent(math.Inf(1)), last(nil)), 2, false, "", ""},
		"a stream of its own":     {script(nil, outputEvent("\u202e", []byte("\xff")), last(nil)), 1, false, "", ""},
		"attributes of no kind":   {script(nil, logEvent("m", []byte("[1]")), last(nil)), 1, false, "", ""},
		"a long log line":         {script(nil, logEvent(xs(8193), nil), last(nil)), 1, true, "", ""},
		"an output of 1 MiB":      {script(nil, outputEvent("stdout", make([]byte, 1<<20)), last(nil)), 1, true, "", ""},
		"100 000 events":          {many(100_000, progressEvent(1)), 100_000, true, "", ""},
		"events without end":      {endless(progressEvent(1)), math.MaxInt, false, CodeResultTooLarge, "200000 events"},
		"unknown ones":            {endless(&pluginv1.CallEvent{}), 0, false, CodeResultTooLarge, "200000 events"},
		"log lines without end":   {endless(logEvent(xs(10_000), nil)), math.MaxInt, false, CodeResultTooLarge, "16777216 bytes"},
		"output without end":      {endless(outputEvent("stderr", make([]byte, 1<<20))), math.MaxInt, false, CodeResultTooLarge, "16777216 bytes"},
		"empty parts' ends":       {endless(piece("")), 0, false, CodeResultTooLarge, "more than 65536 pieces"},
		"a message of attributes": {script(nil, logEvent("m", make([]byte, maxMessage)), last(nil)), 0, false, CodeResultTooLarge, "one message that is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Event
			_, err := clientOf(t, c.stranger).Call(t.Context(), &Request{Tool: "x", Events: func(e Event) {
				if _, err := json.Marshal(e); err != nil {
					t.Errorf("%+v: %v", e, err)
				}
				got = append(got, e)
			}})
			if CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("the call gives %v, want %q with %q", err, c.code, c.words)
			}
			told := len(got) > 0 && strings.Contains(got[len(got)-1].Message, "told too much of itself")
			if told != c.told || len(got) > c.most && !told {
				t.Errorf("%d events came, with a last word: %v", len(got), told)
			}
		})
	}
}

// A plugin of this kit drops what is over its limits itself, and says so.
func TestPluginHoldsItsEventsBack(t *testing.T) {
	p := New("p", "1")
	p.AddRawTool(Tool{Name: "x", Description: "floods", InputSchema: json.RawMessage(`{}`)}, func(_ context.Context, r *Request) (*Result, error) {
		r.Output("stdout", make([]byte, 256<<20))
		return Text("done"), nil
	})
	output, told := 0, 0
	result, err := clientOf(t, &server{plugin: p, base: t.Context()}).Call(t.Context(), &Request{Tool: "x", Events: func(e Event) {
		output += len(e.Data)
		if strings.Contains(e.Message, "told too much of itself") {
			told++
		}
	}})
	if err != nil || result.Error != nil {
		t.Fatal(result, err)
	}
	if output < eventBytesMax-maxEventData || told != 1 {
		t.Errorf("%d bytes of output came, and %d last words", output, told)
	}
}

// A status is shown to people and models, so it is cut, and nothing in it is a line or a colour.
func TestTextOfAStatus(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"at the limit": {xs(4096), "broke: " + xs(4096) + " (Unknown)"},
		"one above":    {xs(4097), "broke: " + xs(4096) + "... (cut) (Unknown)"},
		"lines":        {"a\n\x1b[2Jb", "broke: a [2Jb (Unknown)"},
	} {
		_, err := clientOf(t, script(status.Error(codes.Unknown, c.sent))).Call(t.Context(), &Request{Tool: "x"})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %.5000v", name, err)
		}
	}
}
