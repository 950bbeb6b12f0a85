package sdk

import (
	"fmt"
	"log/slog"
	"time"
)

// Limits of the events of one call: of each, and of all together. Events are for people who watch, and the result stands
// by itself, so what is over them is dropped, and told when the call ends. Both ends hold them; the plugin's end cannot
// be over the host's, however bad its connection is, but for a plugin that holds to no limit. Such a call is ended.
const (
	maxEventText  = 8 << 10  // bytes of a progress message, a log line, a log line's attributes
	maxEventData  = 64 << 10 // bytes of output in one event
	eventRate     = 1000     // events a second, in the long run
	eventBurst    = 4000
	eventBytes    = 2 << 20 // bytes a second, in the long run
	eventBytesMax = 8 << 20 // at once

	maxDropped = 200_000  // events that are dropped before the call is ended
	maxCut     = 16 << 20 // bytes of events that are dropped, likewise
)

// A bucket leaks at a steady rate and is full at its brim.
type bucket struct{ rate, brim, level float64 }

// pour puts n in, and says whether it has room. What has none is not kept.
func (b *bucket) pour(n int, since time.Duration) bool {
	b.level = max(0, b.level-b.rate*since.Seconds())
	if b.level+float64(n) > b.brim {
		return false
	}
	b.level += float64(n)
	return true
}

// A meter counts the events of one call. Its owner sees to it that one goroutine at a time uses it.
type meter struct {
	last        time.Time
	started     bool
	count, size bucket
	dropped     int // events
	cut         int // bytes, of those and of others
}

// newMeter makes a meter of the limits times wider.
func newMeter(wider float64) meter {
	return meter{last: time.Now(),
		count: bucket{rate: wider * eventRate, brim: wider * eventBurst}, size: bucket{rate: wider * eventBytes, brim: wider * eventBytesMax}}
}

// pass says whether an event is within the limits, and shortens one that is too long.
func (m *meter) pass(e *Event) bool {
	m.shorten(e)
	since, size := m.tick(), e.size()
	if e.Type == EventStarted && m.started || !m.count.pour(1, since) || !m.size.pour(size, since) {
		m.dropped++
		m.cut += size
		return false
	}
	m.started = m.started || e.Type == EventStarted
	return true
}

// flooded says that the plugin holds to no limit, or gives nil. Reading on would only cost time.
func (m *meter) flooded() *Error {
	if m.dropped <= maxDropped && m.cut <= maxCut {
		return nil
	}
	e := tooLarge(fmt.Sprintf("the call was ended: of what it told of itself, more than %d events or %d bytes had to be left out", maxDropped, maxCut))
	e.Name, e.Suggestion, e.Outcome = "TooManyEvents", "Have it print less.", OutcomeUnknown
	e.Details = Details(map[string]int{"limit": maxCut, "events": maxDropped})
	return e
}

func (m *meter) tick() time.Duration {
	now := time.Now()
	defer func() { m.last = now }()
	return now.Sub(m.last)
}

func (m *meter) shorten(e *Event) {
	if n := len(e.Message) - maxEventText; n > 0 {
		e.Message = clean(string(WholeEnd([]byte(e.Message[:maxEventText])))) + "... (cut)"
		m.cut += n
	}
	if n := len(e.Attributes); n > maxEventText {
		e.Attributes = Details(map[string]string{"left_out": fmt.Sprintf("attributes of %d bytes, at most %d are allowed", n, maxEventText)})
		m.cut += n
	}
	if n := len(e.Data) - maxEventData; n > 0 {
		e.Data = e.Data[:maxEventData]
		m.cut += n
	}
}

func (e *Event) size() int { return len(e.Message) + len(e.Attributes) + len(e.Data) }

// told is the word on what was left out, if anything was.
func (m *meter) told() (Event, bool) {
	if m.dropped == 0 && m.cut == 0 {
		return Event{}, false
	}
	facts := Details(map[string]int{"events": m.dropped, "bytes": m.cut})
	return Event{Type: EventLog, Level: slog.LevelWarn, Attributes: facts,
		Message: fmt.Sprintf("the call told too much of itself: %d events and %d bytes were left out; %d events and %d bytes a second are allowed",
			m.dropped, m.cut, eventRate, eventBytes)}, true
}
