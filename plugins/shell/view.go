package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// maxSwitches is how often a text changes between the streams. Beyond that the marks would cost more than they tell.
const maxSwitches = 1000

// A view is what a result shows of a transcript from some point on.
type view struct {
	combined  string // both streams, line by line as they came
	streams   [2]string
	totals    [2]int64
	next      [2]int64 // where the next view begins
	truncated bool
	files     []string // a line for each stream that is not shown in full
	paths     [2]string
}

// since gives what was printed after those points.
func (t *transcript) since(from [2]int64) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := view{}
	var now [2]snapshot
	for i := range t.streams {
		s := &t.streams[i]
		now[i] = s.kept.snapshot()
		var leftOut int64
		v.streams[i], leftOut = now[i].text(from[i])
		v.totals[i], v.next[i] = s.kept.total, s.kept.total-int64(unfinished(&now[i]))
		if leftOut > 0 {
			v.truncated = true
			v.files = append(v.files, s.file.tell(s.kept.total))
			v.paths[i] = s.file.path()
		}
	}
	v.combined = t.combined(&now, from)
	if t.typing != nil {
		v.combined += valid(t.typing.line)
		v.streams[stdout] += valid(t.typing.line)
	}
	return v
}

// unfinished is how much of a character is at the end; the rest of it may come.
func unfinished(s *snapshot) int {
	end := s.head
	if len(s.tail) > 0 {
		end = s.tail
	}
	return len(end) - len(sdk.WholeEnd(end))
}

// combined interleaves the streams by lines. When they change too often to mark it, one follows the other.
func (t *transcript) combined(now *[2]snapshot, from [2]int64) string {
	rest := []run{{stdout, t.streams[stdout].lines, now[stdout].total}, {stderr, t.streams[stderr].lines, now[stderr].total}}
	w := interleaver{now: now, from: from}
	for _, r := range append(t.runs[:len(t.runs):len(t.runs)], rest...) {
		w.add(r)
	}
	if w.switches <= maxSwitches {
		return w.end()
	}
	w = interleaver{now: now, from: from}
	w.add(run{stdout, 0, now[stdout].total})
	w.add(run{stderr, 0, now[stderr].total})
	return endLine(w.end()) + fmt.Sprintf("[the order of stdout and stderr is not shown: they alternated more than %d times]\n", maxSwitches)
}

// An interleaver writes runs one after the other, with a mark where the stream changes, and where something is missing.
type interleaver struct {
	now      *[2]snapshot
	from     [2]int64
	out      bytes.Buffer
	current  int
	missing  [2]int64
	switches int
}

func (w *interleaver) add(r run) {
	if w.switches > maxSwitches {
		return
	}
	a := max(r.from, w.from[r.stream])
	if a >= r.to {
		return
	}
	w.catchUp(r.stream, a)
	start, missing, end := w.now[r.stream].cut(a, r.to)
	w.from[r.stream] = r.to
	w.write(r.stream, start)
	w.missing[r.stream] += missing
	w.write(r.stream, end)
}

// catchUp counts what lies between runs: those of which nothing is kept are forgotten.
func (w *interleaver) catchUp(i int, to int64) {
	w.missing[i] += to - w.from[i]
	w.from[i] = to
}

func (w *interleaver) write(i int, p []byte) {
	if len(p) == 0 {
		return
	}
	w.turn(i)
	w.out.Write(p)
}

// turn makes the stream the current one, and tells what is missing before what follows.
func (w *interleaver) turn(i int) {
	if i != w.current {
		w.newLine()
		w.out.WriteString("[" + streamNames[i] + "]\n")
		w.current = i
		w.switches++
	}
	if w.missing[i] > 0 {
		w.newLine()
		w.out.WriteString(leftOutMark(w.missing[i]))
		w.missing[i] = 0
	}
}

func (w *interleaver) newLine() {
	if b := w.out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		w.out.WriteByte('\n')
	}
}

func (w *interleaver) end() string {
	for i := range w.missing {
		if w.missing[i] > 0 {
			w.turn(i)
		}
	}
	return valid(w.out.Bytes())
}

// last keeps the last lines only.
func (v *view) last(lines int) {
	for i, text := range []*string{&v.combined, &v.streams[stdout], &v.streams[stderr]} {
		short := lastLines(*text, lines)
		v.truncated = v.truncated || short != *text
		if dropped := strings.TrimSuffix(*text, short); i == 0 && inStderr(dropped) && !strings.HasPrefix(short, "[stdout]\n") {
			short = "[stderr]\n" + short
		}
		*text = short
	}
}

// inStderr says whose lines follow a text.
func inStderr(combined string) bool {
	return strings.LastIndex(combined, "[stderr]\n") > strings.LastIndex(combined, "[stdout]\n")
}

func lastLines(text string, n int) string {
	end := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0; n-- {
		if end = strings.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}
