package wire

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// Limits of the events of one call: of each, and of all together. Events are for people who watch, and the result
// does not depend on them, so the excess is dropped, and a log event reports that when the call ends. Both ends
// enforce them; the host's are twice as wide, so that a plugin within its limits is within the host's, however bad
// its connection is. A call that ignores them is ended.
const (
	maxEventText  = 8 << 10  // bytes of a progress message, a log line, a log line's attributes
	MaxEventData  = 64 << 10 // bytes of output in one event
	eventRate     = 1000     // events a second, on average
	eventBurst    = 4000
	eventBytes    = 2 << 20 // bytes a second, on average
	eventBytesMax = 8 << 20 // at once
	eventFrame    = 64      // bytes of an event that are not counted, for what its fields take beside their content

	maxDropped = 200_000  // events that are dropped before the call is ended
	maxCut     = 16 << 20 // bytes of dropped events, likewise
)

// A bucket is a leaky bucket: it empties at a steady rate and holds no more than its size.
type bucket struct{ rate, size, level float64 }

// pour adds n, and reports whether there was room. Otherwise nothing is added.
func (b *bucket) pour(n int, since time.Duration) bool {
	b.level = max(0, b.level-b.rate*since.Seconds())
	if b.level+float64(n) > b.size {
		return false
	}
	b.level += float64(n)
	return true
}

// A meter counts the events of one call. It is not safe for concurrent use.
type meter struct {
	last          time.Time
	started       bool
	count, size   bucket
	droppedEvents int
	droppedBytes  int // of those and of the cut parts of others
	unread        int // events that were within the limits, and dropped because their caller was slow
	unreadBytes   int
}

func newMeter(wider float64) meter {
	return meter{
		count: bucket{rate: wider * eventRate, size: wider * eventBurst},
		size:  bucket{rate: wider * eventBytes, size: wider * eventBytesMax}}
}

// pass reports whether an event is within the limits, and shortens one that is too long.
func (m *meter) pass(e *pluginv1.CallEvent) bool {
	_, starts := e.GetEvent().(*pluginv1.CallEvent_Started)
	if starts && !m.started { // of each call, so it costs nothing
		m.started = true
		return true
	}
	// What an event has beside its text and data is small, but a plugin may send anything there, also members and
	// events that this version does not know.
	size := max(m.shorten(e), proto.Size(e)-eventFrame)
	now := time.Now()
	since := now.Sub(m.last) // the first time longer than it takes to be empty, which it is
	m.last = now
	if starts || !m.count.pour(1, since) || !m.size.pour(size, since) {
		m.droppedEvents++
		m.droppedBytes += size
		return false
	}
	return true
}

// shorten returns the remaining number of bytes of text and data.
func (m *meter) shorten(e *pluginv1.CallEvent) int {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Progress:
		return m.shortenText(&v.Progress.Message)
	case *pluginv1.CallEvent_Log:
		size := m.shortenText(&v.Log.Message)
		if n := len(v.Log.GetAttributes()); n > maxEventText {
			v.Log.Attributes = details(map[string]string{"left_out": fmt.Sprintf("attributes of %d bytes; the limit is %d", n,
				maxEventText)})
			m.droppedBytes += n
		}
		return size + len(v.Log.GetAttributes())
	case *pluginv1.CallEvent_Output:
		if n := len(v.Output.GetData()) - MaxEventData; n > 0 {
			v.Output.Data = v.Output.GetData()[:MaxEventData]
			m.droppedBytes += n
		}
		return len(v.Output.GetData())
	case *pluginv1.CallEvent_Request: // is never cut: it is not for people who watch
		return len(v.Request.GetCall().GetArguments()) + len(v.Request.GetCall().GetTool())
	}
	return 0
}

func (m *meter) shortenText(text *string) int {
	if n := len(*text) - maxEventText; n > 0 {
		*text = textutil.Cut(*text, maxEventText) + "... (cut)"
		m.droppedBytes += n
	}
	return len(*text)
}

// flooded is the error of a call whose plugin ignores all limits, or nil. Reading on would only cost time.
func (m *meter) flooded() *pluginv1.Error {
	if m.droppedEvents <= maxDropped && m.droppedBytes <= maxCut {
		return nil
	}
	e := TooLarge(maxCut, "the call was ended: more than %d of its events, or %d bytes of them, had to be dropped",
		maxDropped, maxCut)
	e.Name, e.Suggestion, e.OutcomeUnknown = "TooManyEvents", "Have it print less.", true
	e.Details = details(map[string]int{"limit": maxCut, "events": maxDropped})
	return e
}

// tooManyRequests is the error of a call with a request to its host that is over the limits: its handler would wait in
// vain for the answer to one that is dropped.
func tooManyRequests() *pluginv1.Error {
	e := TooLarge(0, "the call was ended: it has sent requests to its host faster than that could take them")
	e.Name, e.Suggestion, e.OutcomeUnknown = "TooManyRequests", "Have it call fewer tools at once.", true
	return e
}

// dropped is the log event that reports dropped events, or nil.
func (m *meter) dropped() *pluginv1.CallEvent {
	events, size := m.droppedEvents+m.unread, m.droppedBytes+m.unreadBytes
	if events == 0 && size == 0 {
		return nil
	}
	text := fmt.Sprintf("the call has too many events: %d events and %d bytes were dropped; the limits are %d events and "+
		"%d bytes a second", events, size, eventRate, eventBytes)
	if m.unread > 0 {
		text += fmt.Sprintf("; %d of the events came while earlier ones were still waiting for their reader", m.unread)
	}
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{Level: "warn", Message: text,
		Attributes: details(map[string]int{"events": events, "bytes": size})}}}
}
