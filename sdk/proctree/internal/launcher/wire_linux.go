package launcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	// Orders restrict it.
	Orders Orders
	// Sealed and the paths are for fix, which needs a namespace.
	Sealed                                   bool
	Writable, Fixed, ReadOnly, Hidden, Links []string
}

// Encode returns the program as the launcher first reads it from the control
// pipe: the length of a text in four bytes, then the text, in which NUL bytes
// divide the fields. So no field may contain one.
func (p Program) Encode() []byte {
	fields := []string{p.Path, p.Dir, string(p.Orders.encode()), strconv.FormatBool(p.Terminal), strconv.FormatBool(p.Sealed)}
	for _, list := range [][]string{p.Argv, p.Writable, p.Fixed, p.ReadOnly, p.Hidden, p.Links} {
		fields = append(append(fields, strconv.Itoa(len(list))), list...)
	}
	text := make([]byte, 4)
	for _, field := range append(fields, p.Env...) {
		text = append(append(text, field...), 0)
	}
	text = text[:len(text)-1]
	binary.LittleEndian.PutUint32(text, uint32(len(text)-4))
	return text
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
	if len(text) != int(length) {
		return Program{}, io.ErrUnexpectedEOF
	}
	var fields []string
	for _, field := range bytes.Split(text, []byte{0}) {
		fields = append(fields, string(field))
	}
	return parseProgram(fields)
}

func parseProgram(fields []string) (p Program, err error) {
	if len(fields) < 5 {
		return Program{}, io.ErrUnexpectedEOF
	}
	orders, wrongOrders := decodeOrders([]byte(fields[2]))
	terminal, wrongTerminal := strconv.ParseBool(fields[3])
	sealed, wrongSealed := strconv.ParseBool(fields[4])
	p = Program{Path: fields[0], Dir: fields[1], Terminal: terminal, Sealed: sealed}
	rest := fields[5:]
	for _, list := range []*[]string{&p.Argv, &p.Writable, &p.Fixed, &p.ReadOnly, &p.Hidden, &p.Links} {
		if *list, rest = takeList(rest); rest == nil {
			break
		}
	}
	if wrongOrders != nil || wrongTerminal != nil || wrongSealed != nil || rest == nil {
		return Program{}, errors.New("malformed program")
	}
	p.Orders, p.Env = *orders, rest
	return p, nil
}

// takeList parts a list, which its length precedes, from the fields. The rest is nil if it is not whole.
func takeList(fields []string) (list, rest []string) {
	if len(fields) == 0 {
		return nil, nil
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil || n < 0 || n >= len(fields) {
		return nil, nil
	}
	return fields[1 : 1+n], fields[1+n:]
}

// The status pipe carries lines to the parent: either one "failed", or
// "started", "sweeping" and, if the program could be followed to its end, "ended";
// "left" follows if there are processes that do not die.
const (
	failedLine  = "failed %s %d %s\n"       // step, errno, what it was about
	startedLine = "started %d\n"            // pid, as the launcher sees it
	sweepLine   = "sweeping\n"              // the program has ended, or is to
	endedLine   = "ended %d %d %d\n"        // wait status, nanoseconds, processes killed
	leftLine    = "left %d processes: %s\n" // how many, pids joined by commas
)

// Report is what the launcher said.
type Report struct {
	Failed string        // the step that failed before the program ran: "proc", "mount", "fix", "capset", "prctl", "chdir", "stage", "restrict" or "exec"
	Errno  syscall.Errno // and why
	Call   string        // and what the system was asked for, of "restrict" and "fix"
	PID    int           // of the program, which is also its process group, in the launcher's namespace
	Sweeps bool          // the launcher has begun to kill what is there
	Ended  bool          // the launcher could follow the program to its end
	Status syscall.WaitStatus
	Took   time.Duration // by the program
	Killed int           // processes killed after it, that it left behind
	Left   int           // processes that do not die
	PIDs   string        // some of those, to tell the user
}

// Furnished says that the launcher has come past the making of its namespace, if it was to make one.
func (r Report) Furnished() bool {
	return r.PID > 0 || r.Failed != "" && r.Failed != "mount" && r.Failed != "capset"
}

// ParseReport reads all that came over the status pipe.
func ParseReport(text string) Report {
	var r Report
	for line := range bytes.Lines([]byte(text)) {
		r.parseLine(string(line))
	}
	return r
}

func (r *Report) parseLine(line string) {
	var n int
	var errno uint
	var wait uint32
	switch word, _, _ := bytes.Cut([]byte(line), []byte(" ")); string(word) {
	case "failed":
		_, _ = fmt.Sscanf(line, "failed %s %d", &r.Failed, &errno)
		r.Errno = syscall.Errno(errno)
		r.Call = fromFourth(line)
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

// fromFourth gives what follows the third word of a line.
func fromFourth(line string) string {
	words := bytes.SplitN([]byte(line), []byte(" "), 4)
	if len(words) < 4 {
		return ""
	}
	return string(bytes.TrimSuffix(words[3], []byte("\n")))
}
