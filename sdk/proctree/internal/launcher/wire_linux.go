package launcher

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The orders, a byte each on the control pipe. The end of the pipe is the order to
// kill the tree.
const (
	TerminateOrder = 'T' // send SIGTERM to the tree
	FoundOrder     = 'F' // the parent has heard of the program, which may be reaped from now on
)

// Program is what execve needs to know, and the directory to be in.
type Program struct {
	Path, Dir string
	Argv, Env []string
	// Terminal says that standard input is a terminal, to control the program.
	Terminal bool
}

// Encode returns the program as the launcher first reads it from the control
// pipe: the length of a text in four bytes, then the text, in which NUL bytes
// divide the fields. So no field may contain one.
func (p Program) Encode() []byte {
	fields := []string{p.Path, p.Dir, strconv.FormatBool(p.Terminal), strconv.Itoa(len(p.Argv))}
	fields = append(append(fields, p.Argv...), p.Env...)
	text := strings.Join(fields, "\x00")
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// decodeProgram reads what Encode wrote.
func decodeProgram(r io.Reader) (Program, error) {
	var length uint32
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return Program{}, err
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil {
		return Program{}, err
	}
	fields := strings.Split(string(text), "\x00")
	if len(text) != int(length) || len(fields) < 4 {
		return Program{}, io.ErrUnexpectedEOF
	}
	terminal, wrongBool := strconv.ParseBool(fields[2])
	argc, wrongCount := strconv.Atoi(fields[3])
	rest := fields[4:]
	if wrongBool != nil || wrongCount != nil || argc < 0 || argc > len(rest) {
		return Program{}, errors.New("malformed program")
	}
	return Program{Path: fields[0], Dir: fields[1], Argv: rest[:argc], Env: rest[argc:], Terminal: terminal}, nil
}

// The status pipe carries lines to the parent: either one "failed", or
// "started", "sweeping" and, if the program could be followed to its end, "ended";
// "left" follows if there are processes that do not die.
const (
	failedLine  = "failed %s %d\n"          // step, errno
	startedLine = "started %d\n"            // pid, as the launcher sees it
	sweepLine   = "sweeping\n"              // the program has ended, or is to
	endedLine   = "ended %d %d %d\n"        // wait status, nanoseconds, processes killed
	leftLine    = "left %d processes: %s\n" // how many, pids joined by commas
)

// Report is what the launcher said.
type Report struct {
	Failed string        // the step that failed before the program ran: "proc", "mount", "capset", "prctl", "chdir" or "exec"
	Errno  syscall.Errno // and why
	PID    int           // of the program, which is also its process group, in the launcher's namespace
	Sweeps bool          // the launcher has begun to kill what is there
	Ended  bool          // the launcher could follow the program to its end
	Status syscall.WaitStatus
	Took   time.Duration // by the program
	Killed int           // processes killed after it, that it left behind
	Left   int           // processes that do not die
	PIDs   string        // some of those, to tell the user
}

// ParseReport reads all that came over the status pipe.
func ParseReport(text string) Report {
	var r Report
	for line := range strings.Lines(text) {
		r.parseLine(line)
	}
	return r
}

func (r *Report) parseLine(line string) {
	var n int
	var errno uint
	var wait uint32
	switch word, _, _ := strings.Cut(line, " "); word {
	case "failed":
		_, _ = fmt.Sscanf(line, failedLine, &r.Failed, &errno)
		r.Errno = syscall.Errno(errno)
	case "started":
		_, _ = fmt.Sscanf(line, startedLine, &r.PID)
	case "sweeping\n":
		r.Sweeps = true
	case "ended":
		n, _ = fmt.Sscanf(line, endedLine, &wait, &r.Took, &r.Killed)
		r.Ended = n == 3
		r.Status = syscall.WaitStatus(wait)
	case "left":
		_, _ = fmt.Sscanf(line, leftLine, &r.Left, &r.PIDs)
	}
}
