package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
)

const maxRanges = 100 // that a result lists

// A lineRange is a run of lines, from 1, both ends included.
type lineRange struct {
	Start int `json:"start_line"`
	End   int `json:"end_line"`
}

// inWords tells of ranges: "line 5", "lines 5-9", or where each of several starts.
func inWords(ranges []lineRange) string {
	if len(ranges) == 1 && ranges[0].Start == ranges[0].End {
		return fmt.Sprintf("line %d", ranges[0].Start)
	}
	if len(ranges) == 1 {
		return fmt.Sprintf("lines %d-%d", ranges[0].Start, ranges[0].End)
	}
	var starts []string
	for _, r := range ranges[:min(len(ranges), 10)] {
		starts = append(starts, strconv.Itoa(r.Start))
	}
	if len(ranges) > len(starts) {
		starts = append(starts, "...")
	}
	return "lines " + strings.Join(starts, ", ")
}

// rangesAfter tells where the places of a plan are in the text after it. A place where everything was deleted is the line
// that stands there now.
func rangesAfter(p *match.Plan, after []byte) (out []lineRange) {
	m := mover{edits: p.Edits}
	lines := counter{text: after}
	at := func(offset int) int { return lines.at(max(lines.done, min(offset, len(after)-1))) }
	for _, place := range p.Places[:min(len(p.Places), maxRanges)] {
		start := m.start(place.Start)
		first := at(start)
		out = append(out, lineRange{first, at(max(start, m.end(place.End)-1))})
	}
	return out
}

// A mover tells where offsets are after edits. It is asked for rising offsets.
type mover struct {
	edits []match.Edit
	shift int
}

// start moves an offset at which something starts: what edits put there, or around it, belongs to it.
func (m *mover) start(at int) int {
	m.pass(at, false)
	if len(m.edits) > 0 {
		at = min(at, m.edits[0].Start)
	}
	return at + m.shift
}

// end moves an offset at which something ends, likewise.
func (m *mover) end(at int) int {
	m.pass(at, true)
	if len(m.edits) > 0 && m.edits[0].Start < at {
		at = m.edits[0].Start + len(m.edits[0].With)
	}
	return at + m.shift
}

func (m *mover) pass(at int, inserts bool) {
	for len(m.edits) > 0 {
		e := m.edits[0]
		if e.End > at || e.End == at && !inserts && e.Start == at {
			return
		}
		m.shift += len(e.With) - (e.End - e.Start)
		m.edits = m.edits[1:]
	}
}
