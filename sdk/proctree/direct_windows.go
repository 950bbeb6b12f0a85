package proctree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const containment = inJob

// startProcess starts a program with a console of its own, without a window: ^C in ours is not for it.
func startProcess(p program, files [3]*os.File) (*os.Process, error) {
	path, err := executable(p)
	if err != nil {
		return nil, err
	}
	proc, err := os.StartProcess(path, p.argv, &os.ProcAttr{Dir: p.dir, Env: p.env, Files: files[:],
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW}})
	if err != nil {
		return nil, startError(p, err)
	}
	job, err := enclose(proc)
	if err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		return nil, startError(p, err)
	}
	jobs.Store(proc, job)
	return proc, nil
}

// jobs are the job objects of running programs, by *os.Process.
var jobs sync.Map

// enclose puts a suspended program into a job object, with all that it will start, and lets it run. The system ends all
// of the job when its last handle is closed: also when this process dies.
func enclose(proc *os.Process) (job windows.Handle, err error) {
	if job, err = windows.CreateJobObject(nil, nil); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = windows.CloseHandle(job)
		}
	}()
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}}
	if _, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return 0, err
	}
	failed := proc.WithHandle(func(handle uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(handle)) })
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return job, resume(uint32(proc.Pid))
}

// resume lets the one thread of a program run that was started suspended.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(all) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return err // there is none: it has ended
}

// executable completes the path, with an extension where the system has those.
func executable(p program) (string, error) {
	path := p.path
	if p.dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", startError(p, err)
	}
	return filepath.Abs(found)
}

func startError(p program, err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &StartError{p.name, err.Error(), err}
}

// terminate does nothing: no gentle way works for every program.
func (t *tree) terminate() {}

// kill ends the program and all that it has started.
func (t *tree) kill() {
	if job, running := jobs.LoadAndDelete(t.proc); running {
		_ = windows.TerminateJobObject(job.(windows.Handle), 1)
		_ = windows.CloseHandle(job.(windows.Handle))
	}
}

// A lane is one of two pipes.
type lane struct {
	name string
	pipe *os.File
	to   io.Writer
}

// inOrder returns two copies to run at the same time. Their order is that in which the system wakes them.
func inOrder(stdout, stderr *lane) ([]func() error, error) {
	return []func() error{
		func() error { return copied(stdout.name, stdout.pipe, stdout.to, stdout.pipe) },
		func() error { return copied(stderr.name, stderr.pipe, stderr.to, stderr.pipe) },
	}, nil
}

// SignalName is for systems with signals.
func (e Exit) SignalName() string { return "" }

// readsKeys is for systems with terminals.
func readsKeys(*os.File) bool { return false }
