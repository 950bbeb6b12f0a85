package main

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// The two streams of a command. On a terminal there is the first alone.
const (
	stdout = iota
	stderr
)

var streamNames = [2]string{"stdout", "stderr"}

// A transcript is what a command printed, bounded: of each stream the start and the end, the order of their lines, and a
// file with more of a stream that is too long to keep all of it.
type transcript struct {
	mu      sync.Mutex // a process that cannot be killed may print while the result is made
	streams [2]stream
	runs    []run
	prune   int           // how many runs are too many
	typing  *plain        // the line that a terminal is at, or nil
	begun   chan struct{} // closed when there is some output
}

// A stream is one of the two.
type stream struct {
	kept  kept
	lines int64 // where the last whole line ends
	file  overflow
}

// A run is lines of one stream that came without any of the other between them.
type run struct {
	stream   int
	from, to int64
}

const fewRuns = 1024

func newTranscript(keep int, files *shelf) *transcript {
	t := &transcript{prune: fewRuns, begun: make(chan struct{})}
	for i := range t.streams {
		t.streams[i] = stream{kept: kept{half: keep / 2}, file: overflow{shelf: files, name: streamNames[i]}}
	}
	return t
}

// add takes what was printed. It never fails: the command must not end because its output is long.
func (t *transcript) add(i int, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.append(i, p)
}

func (t *transcript) append(i int, p []byte) {
	if len(p) == 0 {
		return
	}
	t.begin()
	s := &t.streams[i]
	s.file.follow(&s.kept, p)
	before := s.kept.total
	s.kept.add(p)
	if end := bytes.LastIndexByte(p, '\n'); end >= 0 {
		t.line(i, before+int64(end)+1)
	}
}

// begin says that there is output.
func (t *transcript) begin() {
	select {
	case <-t.begun:
	default:
		close(t.begun)
	}
}

// line notes that the lines of a stream reach to here.
func (t *transcript) line(i int, to int64) {
	s := &t.streams[i]
	if n := len(t.runs); n > 0 && t.runs[n-1].stream == i {
		t.runs[n-1].to = to
	} else {
		t.runs = append(t.runs, run{i, s.lines, to})
	}
	s.lines = to
	if len(t.runs) >= t.prune {
		t.forget()
		t.prune = max(fewRuns, 2*len(t.runs))
	}
}

// forget drops runs of which nothing is kept, so that there are never more than twice as many as bytes kept.
func (t *transcript) forget() {
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool {
		k := &t.streams[r.stream].kept
		return r.from >= int64(len(k.head)) && r.to <= k.total-int64(len(k.tail))
	})
}

// close lets go of the files; they stay to be read.
func (t *transcript) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.typing != nil {
		t.append(stdout, t.typing.flush())
	}
	for i := range t.streams {
		t.streams[i].file.close()
	}
}

// A sink is the writer for one stream: those who watch the call get it as it comes, the transcript keeps what it can.
type sink struct {
	transcript *transcript
	stream     int
	live       io.Writer
}

func (s *sink) Write(p []byte) (int, error) {
	s.transcript.add(s.stream, p)
	return s.live.Write(p)
}

// A screen is the writer for a terminal: the transcript gets its text without what moves the cursor and colours.
type screen struct{ sink }

func (s *screen) Write(p []byte) (int, error) {
	t := s.transcript
	t.mu.Lock()
	t.append(stdout, t.typing.write(p))
	if len(t.typing.line) > 0 {
		t.begin()
	}
	t.mu.Unlock()
	return s.live.Write(p)
}
