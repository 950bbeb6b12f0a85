package launcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Program is a program for a launcher to run, with its sandbox. Only this crosses from the parent to the launcher's
// process.
type Program struct {
	Path, Dir string
	Argv, Env []string
	Terminal  bool // standard input is a terminal, which becomes the controlling one
	Sandbox   Sandbox
}

// Sandbox restricts a program, in the kernel's own numbers; package proctree compiles it from its own Sandbox. The
// zero value restricts nothing.
type Sandbox struct {
	// ReadOnlyRoot makes all file systems read-only except Writable; Mounts are made after it, in their order. Both
	// need namespaces.
	ReadOnlyRoot bool
	Writable     []string
	Mounts       []Mount

	OOMScoreAdj      int  // the least score
	Umask            bool // sets it to 077
	NoNewPrivileges  bool // needed by Landlock and Seccomp
	Rlimits          []Rlimit
	DropCapabilities bool                 // all but KeepCapabilities
	KeepCapabilities uint32               // bits of the first 32
	Landlock         [3]uint64            // struct landlock_ruleset_attr; none without any bit
	LandlockRules    []LandlockRule       // granted by the ruleset
	Seccomp          []syscall.SockFilter // none if empty
}

// A Mount binds a file or folder to a path, which then can be neither moved, removed nor replaced.
type Mount struct {
	Path     string
	Source   string // "" is what is at Path already
	ReadOnly bool
	Symlink  bool // Path is a symbolic link, and is mounted itself
}

// Rlimit is a resource limit, soft and hard. It is not set above the launcher's.
type Rlimit struct {
	Name     string // for errors: RLIMIT_NOFILE
	Resource int
	Max      uint64
}

// LandlockRule grants rights on a path and what is below it. A path that does not exist is skipped.
type LandlockRule struct {
	Path   string
	Rights uint64
}

// Encode returns the program as the launcher reads it from the control pipe: its length in four bytes, then its
// fields.
func (p Program) Encode() []byte {
	c := codec{buf: make([]byte, 4, 4096)}
	p.fields(&c)
	binary.LittleEndian.PutUint32(c.buf, uint32(len(c.buf)-4))
	return c.buf
}

// decodeProgram reads what Encode wrote, completely or not at all.
func decodeProgram(r io.Reader) (p Program, err error) {
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
	c := codec{buf: text, decodes: true}
	if p.fields(&c); c.failed || len(c.buf) > 0 {
		return Program{}, errors.New("malformed program")
	}
	return p, nil
}

// fields encodes or decodes each field, in one order for both.
func (p *Program) fields(c *codec) {
	c.text(&p.Path)
	c.text(&p.Dir)
	list(c, &p.Argv, c.text)
	list(c, &p.Env, c.text)
	c.flag(&p.Terminal)
	s := &p.Sandbox
	c.flag(&s.ReadOnlyRoot)
	list(c, &s.Writable, c.text)
	list(c, &s.Mounts, func(m *Mount) {
		c.text(&m.Path)
		c.text(&m.Source)
		c.flag(&m.ReadOnly)
		c.flag(&m.Symlink)
	})
	number(c, &s.OOMScoreAdj)
	c.flag(&s.Umask)
	c.flag(&s.NoNewPrivileges)
	list(c, &s.Rlimits, func(l *Rlimit) {
		c.text(&l.Name)
		number(c, &l.Resource)
		number(c, &l.Max)
	})
	c.flag(&s.DropCapabilities)
	number(c, &s.KeepCapabilities)
	for i := range s.Landlock {
		number(c, &s.Landlock[i])
	}
	list(c, &s.LandlockRules, func(r *LandlockRule) {
		c.text(&r.Path)
		number(c, &r.Rights)
	})
	list(c, &s.Seccomp, func(f *syscall.SockFilter) {
		number(c, &f.Code)
		number(c, &f.Jt)
		number(c, &f.Jf)
		number(c, &f.K)
	})
}

// codec appends values to buf, or takes them from its beginning.
type codec struct {
	buf     []byte
	decodes bool
	failed  bool
}

func number[T int | uint8 | uint16 | uint32 | uint64](c *codec, value *T) {
	if !c.decodes {
		c.buf = binary.AppendUvarint(c.buf, uint64(*value))
		return
	}
	n, size := binary.Uvarint(c.buf)
	if *value = T(n); size <= 0 || uint64(*value) != n {
		*value, c.buf, c.failed = 0, nil, true
		return
	}
	c.buf = c.buf[size:]
}

func (c *codec) flag(value *bool) {
	var n uint8
	if *value {
		n = 1
	}
	number(c, &n)
	*value, c.failed = n == 1, c.failed || n > 1
}

func (c *codec) text(value *string) {
	length := len(*value)
	number(c, &length)
	switch {
	case !c.decodes:
		c.buf = append(c.buf, *value...)
	case length < 0 || length > len(c.buf):
		c.buf, c.failed = nil, true
	default:
		*value, c.buf = string(c.buf[:length]), c.buf[length:]
	}
}

// list encodes or decodes a list whose items take at least a byte each.
func list[T any](c *codec, all *[]T, item func(*T)) {
	length := len(*all)
	number(c, &length)
	if c.decodes {
		if length < 0 || length > len(c.buf) {
			c.buf, c.failed = nil, true
			return
		}
		*all = nil
		if length > 0 {
			*all = make([]T, length)
		}
	}
	for i := range *all {
		item(&(*all)[i])
	}
}

// The commands that follow the program on the control pipe, a byte each. The end of the pipe is the command to kill
// the tree.
const (
	TerminateCommand = 'T' // send SIGTERM to the tree
	FoundCommand     = 'F' // the parent has received the program's pid: it may be reaped from now on
)

// The status pipe carries lines to the parent: either one "failed", or "started", "sweeping" and, if the program
// could be followed to its end, "exited", before or after that, and "ended"; "left" follows if there are processes
// that do not die.
const (
	failedLine  = "failed %s %d %s\n"       // step, errno, the system call
	startedLine = "started %d\n"            // pid, as the launcher sees it
	exitedLine  = "exited %d %d\n"          // wait status, nanoseconds; once, as soon as the program has ended
	sweepLine   = "sweeping\n"              // the program has ended, or is being killed
	endedLine   = "ended %d %d %d\n"        // wait status, nanoseconds, processes killed
	leftLine    = "left %d processes: %s\n" // how many, pids joined by commas
)

// Report is the launcher's report on the status pipe.
type Report struct {
	Failed string        // the step that failed before the program ran, see [launcher.start]
	Errno  syscall.Errno // and why
	Call   string        // and the system call, of the steps "restrict" and "protect"
	PID    int           // of the program, which is also its process group, in the launcher's namespace
	Sweeps bool          // the launcher has begun to kill what remains
	Exited bool          // the program has ended, with Status and Took
	Ended  bool          // the launcher could follow the program to its end
	Status syscall.WaitStatus
	Took   time.Duration // by the program
	Killed int           // processes of it that were killed after its end
	Left   int           // processes that do not die
	PIDs   string        // some of those, to show the user
}

// NamespaceWorks reports whether the launcher has set up its namespaces, if it had to.
func (r Report) NamespaceWorks() bool {
	return r.PID > 0 || r.Failed != "" && r.Failed != "mount" && r.Failed != "capset"
}

// ParseReport reads lines from the status pipe, all of them or one.
func ParseReport(text string) (r Report) {
	for line := range bytes.Lines([]byte(text)) {
		r.parseLine(string(line))
	}
	return r
}

func (r *Report) parseLine(line string) {
	switch word, _, _ := bytes.Cut([]byte(line), []byte(" ")); string(word) {
	case "failed":
		var errno uint
		_, _ = fmt.Sscanf(line, "failed %s %d", &r.Failed, &errno)
		r.Errno = syscall.Errno(errno)
		if words := bytes.SplitN([]byte(line), []byte(" "), 4); len(words) == 4 {
			r.Call = string(bytes.TrimSuffix(words[3], []byte("\n")))
		}
	case "started":
		_, _ = fmt.Sscanf(line, startedLine, &r.PID)
	case "exited":
		var wait uint32
		n, _ := fmt.Sscanf(line, exitedLine, &wait, &r.Took)
		r.Exited, r.Status = n == 2, syscall.WaitStatus(wait)
	case "sweeping\n":
		r.Sweeps = true
	case "ended":
		var wait uint32
		n, _ := fmt.Sscanf(line, endedLine, &wait, &r.Took, &r.Killed)
		r.Ended, r.Status = n == 3, syscall.WaitStatus(wait)
	case "left":
		_, _ = fmt.Sscanf(line, leftLine, &r.Left, &r.PIDs)
	}
}
