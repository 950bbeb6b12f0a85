// Package gotrace finds, in what a Go program prints, how it says that it ends: the first line of a panic or a fatal
// error, and the place in the author's code.
package gotrace

import (
	"bytes"
	"regexp"
	"slices"
)

// marks begin the lines with which a Go program explains its end: a panic, a fatal error of its runtime, or a signal.
var marks = [][]byte{[]byte("panic: "), []byte("fatal error: "), []byte("SIG")}

// begins reports whether a line is the first of a trace.
func begins(line []byte) bool {
	for _, mark := range marks[:2] {
		if bytes.HasPrefix(line, mark) {
			return true
		}
	}
	name, _, ok := bytes.Cut(line, []byte(": "))
	return ok && len(name) > 3 && bytes.HasPrefix(name, marks[2]) && bytes.Equal(name, bytes.ToUpper(name))
}

// MayBegin reports whether some line of the text may be the first of a trace.
func MayBegin(text []byte) bool {
	return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(text, mark) })
}

const (
	gap      = 250 // most lines between a panic and the first goroutine of its trace, or between two goroutines
	maxFirst = 2 << 10
	maxName  = 300

	sdk = "github.com/toolhost/toolhost/sdk" // and the packages below it
)

// A Finder is given the lines of a program's standard error. A trace may have thousands: it remembers where it began.
type Finder struct {
	first    []byte // the first line of the trace that the newest lines may be; or empty
	place    string
	function []byte // whose line in the trace comes next
	since    int    // lines since the first, or since the newest goroutine of the trace
}

// Add takes the next line.
func (f *Finder) Add(line []byte) {
	switch f.since++; {
	case begins(line):
		f.first, f.since, f.place = append(f.first[:0], line[:min(len(line), maxFirst)]...), 0, ""
	case len(f.first) == 0:
	case bytes.HasPrefix(line, []byte("goroutine ")):
		f.since = 0
	case f.since > gap:
		f.first = f.first[:0]
	case f.place == "":
		f.findPlace(line)
	}
}

// InTrace reports whether the newest lines may be a trace.
func (f *Finder) InTrace() bool { return len(f.first) > 0 }

// First returns the first line of the trace that is at the end, such as "panic: boom". It is valid until the next Add.
func (f *Finder) First() []byte { return f.first }

// Place returns the innermost line of the trace that is neither of Go nor of the sdk, such as main.go:12; or "".
func (f *Finder) Place() string { return f.place }

// frame matches the line with the place of a function.
var frame = regexp.MustCompile(`^\s+(?:\S*/)?([^\s/:]+\.go:[0-9]+)(?: \+0x|$)`)

// findPlace looks for the first line that the author wrote. A package that is neither main nor on a host is of the
// standard library.
func (f *Finder) findPlace(line []byte) {
	at := frame.FindSubmatch(line)
	if at == nil {
		f.function = append(f.function[:0], line[:min(len(line), maxName)]...)
		return
	}
	first, _, inFolder := bytes.Cut(f.function, []byte("/"))
	onHost := inFolder && bytes.ContainsRune(first, '.')
	below, inSDK := bytes.CutPrefix(f.function, []byte(sdk))
	inSDK = inSDK && (bytes.HasPrefix(below, []byte(".")) || bytes.HasPrefix(below, []byte("/")))
	if (onHost || bytes.HasPrefix(f.function, []byte("main."))) && !inSDK {
		f.place = string(at[1])
	}
}
