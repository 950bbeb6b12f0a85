package host

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

const (
	// enoughMisses is how many calls of one tool in a row may have unusable arguments before the answer speaks of it.
	enoughMisses = 3
	// maxRows bounds what a tally remembers; what it forgets begins anew at one.
	maxRows = 1024
)

// refuse is the end of every call with unusable arguments: it adds the schema to what is wrong, and from the third such
// call in a row on, how often that was and what would do.
func (h *Host) refuse(c *Call, e *sdk.Error) *sdk.Error {
	schema := json.RawMessage("{}")
	if json.Valid(c.Definition.InputSchema) {
		schema = c.Definition.InputSchema
	}
	details := map[string]any{"schema": schema}
	if n := h.misses.add(c); n >= enoughMisses {
		sample := example(schema)
		details["in_a_row"], details["example"] = n, sample
		e.Message = fmt.Sprintf("this is the %s call of %s in a row whose arguments cannot be used, so stop and think: %s", ordinal(n), c.Tool, e.Message)
		if len(sample) <= maxUsage {
			e.Suggestion = fmt.Sprintf("Send one JSON object such as %s, with your own values. %s", sample, e.Suggestion)
		}
	}
	e.Details = addDetails(e.Details, details)
	return e
}

// addDetails puts more beside what is in an object.
func addDetails(object json.RawMessage, more map[string]any) json.RawMessage {
	var old map[string]json.RawMessage
	_ = json.Unmarshal(object, &old) // nil is no object, and adds nothing
	for k, v := range old {
		more[k] = v
	}
	return sdk.Details(more)
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprint(n, "st")
	case n%10 == 2:
		return fmt.Sprint(n, "nd")
	case n%10 == 3:
		return fmt.Sprint(n, "rd")
	}
	return fmt.Sprint(n, "th")
}

// A tally counts, for each tool in each session, the calls in a row whose arguments could not be used.
type tally struct {
	mu   sync.Mutex
	rows map[uint64]int // a session and a tool, hashed: names of any length take the same room
	ring []uint64       // in the order in which the rows began
	next int
}

var tallySeed = maphash.MakeSeed()

func rowOf(c *Call) uint64 {
	return maphash.Comparable(tallySeed, [2]string{c.SessionID, c.Definition.Name})
}

// add gives the number of such calls in a row, this one included.
func (t *tally) add(c *Call) int {
	row := rowOf(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows, t.ring = map[uint64]int{}, make([]uint64, maxRows)
	}
	if t.rows[row] == 0 {
		delete(t.rows, t.ring[t.next])
		t.ring[t.next] = row
		t.next = (t.next + 1) % maxRows
	}
	t.rows[row]++
	return t.rows[row]
}

// reset ends the row: the arguments of a call could be used.
func (t *tally) reset(c *Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) > 0 {
		delete(t.rows, rowOf(c))
	}
}
