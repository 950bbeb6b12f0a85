package audit

import "fmt"

// maxProblems is how many problems a report holds; the rest are counted.
const maxProblems = 100

// Fault is a word for what is wrong with a line.
type Fault string

// The faults. One act may leave several: a line that was moved is missing at one place and too many at another.
const (
	FaultFormat  Fault = "format"  // the line is no record
	FaultTorn    Fault = "torn"    // the last line is unfinished
	FaultContent Fault = "content" // the line's own hash is wrong: its content was changed
	FaultOrder   Fault = "order"   // it does not follow the line above: a line was removed, added, moved or replaced
	FaultNumber  Fault = "number"  // its seq is not the next
	FaultCut     Fault = "cut"     // lines were missing at the end when this one was written
	FaultHead    Fault = "head"    // the end is not what the head says: lines were cut off, or the head is gone
)

// A Problem is one reason not to trust a log.
type Problem struct {
	// Line counts from 1; it is 0 when no line is to blame.
	Line  int
	Fault Fault
	// Text says what is wrong. It holds nothing that stands in the log but numbers and hashes.
	Text string
}

// A Report is what Verify has found.
type Report struct {
	// Records is how many lines are records, and Torn how many are unfinished ones of a crash that the record below them
	// explains.
	Records, Torn int
	// Newer is how many records came after the one that the head names. A crash can leave some.
	Newer int64
	// Last is the last record. Kept somewhere else, it shows later whether the history was written anew.
	Last Head
	// Problems has the first 100, in the order of the lines; More counts the rest.
	Problems []Problem
	More     int
}

// OK says that the chain is whole.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(line int, f Fault, format string, args ...any) {
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{Line: line, Fault: f, Text: fmt.Sprintf(format, args...)})
}
