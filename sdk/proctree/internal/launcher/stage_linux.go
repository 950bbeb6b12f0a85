package launcher

import (
	"io"
	"os"
	"runtime"
	"syscall"
)

// StageName is the argv[0] that makes this executable a stage: the process that becomes the program once it has taken from
// itself what that is not to have. There is one where the launcher cannot do that to itself. It is started as a launcher is,
// and says only what went wrong; its end of the status closes when it has become the program.
const StageName = "toolhost-confine"

func init() {
	if len(os.Args) > 0 && os.Args[0] == StageName {
		runtime.LockOSThread() // what is taken away is taken from this thread
		syscall.Exit(stage())
	}
}

// stage becomes the program. If it returns, that failed, which it has told.
func stage() int {
	if !startedByUs(StageName) {
		return usage
	}
	keepFiles()
	control, status := os.NewFile(controlFile, "control"), os.NewFile(statusFile, "status")
	p, err := decodeProgram(control)
	if err != nil {
		tellFailure(status, "restrict", failed("reading the orders", syscall.EBADMSG))
		return 1
	}
	step, err := "restrict", p.Orders.follow()
	if err == nil {
		step, err = "exec", syscall.Exec(p.Path, p.Argv, p.Env)
	}
	tellFailure(status, step, err)
	return 1
}

// startStage starts the program behind a stage, and returns when that has become the program, or cannot. An error is a
// *told; of a stage that the parent calls off nothing more is known.
func (l *launcher) startStage(p Program) (err error) {
	var control, status [2]int
	if err := syscall.Pipe2(control[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	if err := syscall.Pipe2(status[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	l.pid, err = syscall.ForkExec("/proc/self/exe", []string{StageName}, &syscall.ProcAttr{
		Env:   os.Environ(), // what the launcher was loaded with
		Files: []uintptr{0, 1, 2, uintptr(control[0]), uintptr(status[1])},
		Sys:   l.attributes(p),
	})
	_, _ = syscall.Close(control[0]), syscall.Close(status[1])
	if err != nil {
		return err
	}
	orders, answer := os.NewFile(uintptr(control[1]), "orders"), os.NewFile(uintptr(status[0]), "answer")
	defer answer.Close()
	_, _ = orders.Write(p.Encode()) // of one that has died the answer tells
	_ = orders.Close()
	return l.hear(answer)
}

// hear waits for what a stage has to say, which is nothing if all went well. It waits no longer than the parent does.
func (l *launcher) hear(answer *os.File) error {
	fds := []pollFD{{fd: controlFile, events: pollIn}, {fd: int32(answer.Fd()), events: pollIn}}
	for fds[1].revents == 0 {
		poll(fds, tick)
		if fds[0].revents != 0 && !l.obey() {
			return nil
		}
	}
	text, err := io.ReadAll(answer)
	if err != nil || len(text) == 0 {
		return err
	}
	_, _ = syscall.Wait4(l.pid, nil, 0, nil) // it has said its last
	return &told{text}
}

// told is the failure of a stage, as it has told it.
type told struct{ line []byte }

func (e *told) Error() string { return string(e.line) }
