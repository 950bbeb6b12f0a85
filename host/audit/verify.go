package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Verify reads the whole log at path, and its head, and reports what does not fit. It holds one line in memory, however
// long the log is, and does not read what is written meanwhile. A log that is missing while its head is there is a
// problem of the report. The error is for a log that cannot be read, or never existed (fs.ErrNotExist).
func Verify(path string) (Report, error) {
	s, err := openView(path)
	if gone, ok := errors.AsType[*removedLogError](err); ok {
		r := Report{Last: Head{Hash: noHash}}
		r.add(0, FaultHead, "the record is gone, and its head knows %s: it was removed, or moved without its head",
			gone.head.records())
		return r, nil
	}
	if err != nil {
		return Report{}, err
	}
	defer s.file.Close()
	report, err := verify(io.NewSectionReader(s.file, 0, s.size), s.head, s.headErr)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

func verify(log io.Reader, head Head, headErr error) (Report, error) {
	w := verifier{head: head, last: Head{Hash: noHash}}
	for l, err := range Lines(log) {
		if err != nil {
			return Report{}, err
		}
		w.line(l)
	}
	w.end(headErr)
	w.report.Last = w.last
	return w.report, nil
}

type verifier struct {
	report Report
	head   Head
	number int      // of the line last read
	last   Head     // the record last read
	bad    *badLine // the line above, if it is not a record
}

// A badLine is not a record. A torn record may follow that explains it.
type badLine struct {
	line  int
	torn  Torn
	fault Fault
	text  string
}

func (w *verifier) line(l Line) {
	w.number = l.Number
	k, err := unseal(l.Text)
	if err != nil {
		w.reportBad()
		w.bad = &badLine{line: l.Number, torn: Torn{Bytes: int64(len(l.Text)), SHA256: Hash(l.Text)}, fault: FaultFormat,
			text: err.Error()}
		if l.Text == nil {
			w.bad.text = fmt.Sprintf("it is longer than the %d bytes of a record", maxLine)
		}
		if !l.Ended {
			w.bad.fault = FaultTorn
			w.bad.text = fmt.Sprintf("it is unfinished, after %d bytes; a crash leaves such a line, and the next record sets "+
				"it aside", len(l.Text))
		}
		return
	}
	w.explain(k)
	w.record(k)
}

// explain accepts a torn record as the explanation of the line above it.
func (w *verifier) explain(k *link) {
	if w.bad != nil && k.Kind == KindTorn && k.Torn != nil && *k.Torn == w.bad.torn {
		w.report.Torn++
		w.bad = nil
	}
	w.reportBad()
}

// reportBad reports the line above if no record explains it.
func (w *verifier) reportBad() {
	if w.bad != nil {
		w.report.add(w.bad.line, w.bad.fault, "%s", w.bad.text)
	}
	w.bad = nil
}

func (w *verifier) record(k *link) {
	w.report.Records++
	if k.Hash != k.right {
		w.report.add(w.number, FaultContent, "its content was changed: its hash is %s, and the line says %s", k.right, k.Hash)
	}
	switch {
	case k.Prev != w.last.Hash:
		w.report.add(w.number, FaultOrder, "%s", w.misplaced(k.Seq))
	case k.Kind == KindCut:
		w.report.add(w.number, FaultCut, "%s", w.missed(k))
	case k.Seq != w.last.Seq+1:
		w.report.add(w.number, FaultNumber, "it is record %d, where %d belongs", k.Seq, w.last.Seq+1)
	}
	if k.Seq == w.head.Seq && k.Hash != w.head.Hash {
		w.report.add(w.number, FaultHead, "the head knows another record %d, with the hash %s", k.Seq, w.head.Hash)
	}
	w.last = k.place()
}

// misplaced says what the numbers show about a line that does not follow the one above.
func (w *verifier) misplaced(seq int64) string {
	why := "the line above was replaced or added"
	switch next := w.last.Seq + 1; {
	case seq > next:
		why = numbered(next, seq-1, "is", "are") + " missing before it"
	case seq < next:
		why = fmt.Sprintf("it is record %d, after record %d: it was moved or added", seq, w.last.Seq)
	}
	return "it does not follow the line above: " + why
}

func (w *verifier) missed(k *link) string {
	switch {
	case k.Head == nil || k.Head.Hash == "":
		return "the head was missing or unreadable when this was written: lines may have been cut off here"
	case k.Head.Seq > w.last.Seq:
		return numbered(w.last.Seq+1, k.Head.Seq, "was", "were") +
			" missing when this was written: cut off, or lost with the machine's power"
	}
	return fmt.Sprintf("the head knew another record %d when this was written, with the hash %s", k.Head.Seq, k.Head.Hash)
}

func (w *verifier) end(headErr error) {
	w.reportBad()
	switch {
	case errors.Is(headErr, fs.ErrNotExist):
		w.report.add(0, FaultHead,
			"its head is missing, so it is not known whether lines were cut off the end; the head moves with the log")
	case errors.Is(headErr, errEmptyHead) && w.number == 0:
		w.report.add(0, FaultHead, "it is empty, and so is its head: nothing was recorded yet, as on a disk that was full "+
			"at the start, or both were emptied; the next start begins it")
	case headErr != nil:
		w.report.add(0, FaultHead, "its head cannot be read: %v", headErr)
	case w.last.Seq < w.head.Seq:
		w.report.add(w.number, FaultHead, "it ends with record %d, and the head knows record %d: lines were cut off the end",
			w.last.Seq, w.head.Seq)
	default:
		w.report.Newer = w.last.Seq - w.head.Seq
	}
}

// numbered names one record, or several, with the verb that goes with them.
func numbered(first, last int64, is, are string) string {
	if first == last {
		return fmt.Sprintf("record %d %s", first, is)
	}
	return fmt.Sprintf("records %d to %d %s", first, last, are)
}

const maxProblems = 100 // how many problems a report holds; the rest are counted

// Fault names what is wrong with a line.
type Fault string

// The faults. One change may leave several: a line that was moved is missing at one place and extra at another.
const (
	FaultFormat  Fault = "format"  // the line is not a record
	FaultTorn    Fault = "torn"    // the last line is unfinished
	FaultContent Fault = "content" // the line's own hash is wrong: its content was changed
	FaultOrder   Fault = "order"   // it does not follow the line above: a line was removed, added, moved or replaced
	FaultNumber  Fault = "number"  // its seq is not the next
	FaultCut     Fault = "cut"     // lines were missing at the end when this one was written
	FaultHead    Fault = "head"    // the end is not what the head says: lines were cut off, or the head is gone
)

// A Problem is one reason not to trust a log.
type Problem struct {
	// Line counts from 1; it is 0 for the log as a whole.
	Line  int
	Fault Fault
	// Text says what is wrong. Of the log it quotes only numbers and hashes.
	Text string
}

// A Report is the result of Verify.
type Report struct {
	// Records is how many lines are records, and Torn how many are unfinished lines of a crash that the next record
	// explains.
	Records, Torn int
	// Newer is how many records came after the one that the head names. A crash can leave some.
	Newer int64
	// Last is the last record. A copy elsewhere shows later whether the history was rewritten.
	Last Head
	// Problems has the first 100, in the order of the lines; More counts the rest.
	Problems []Problem
	More     int
}

// OK reports that there are no problems.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(line int, f Fault, format string, args ...any) {
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{Line: line, Fault: f, Text: fmt.Sprintf(format, args...)})
}
