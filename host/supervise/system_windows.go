package supervise

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// tcpLoopback is true where plugins may listen at a port of the machine itself: not every Windows has Unix sockets.
const tcpLoopback = true

// tempVariables name the folder for temporary files.
var tempVariables = []string{"TMPDIR", "TEMP", "TMP"}

// inheritedHere are further variables that plugins get, without which programs find neither libraries nor folders.
var inheritedHere = []string{"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME", "USERPROFILE",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
	"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "NUMBER_OF_PROCESSORS",
	"PROCESSOR_ARCHITECTURE", "TEMP", "TMP"}

// isInherited reports whether plugins get a variable of the host; case does not count.
func isInherited(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(inherited, name) || slices.Contains(inheritedHere, name) || strings.HasPrefix(name, "LC_")
}

// signalGroup does nothing: there are no signals, and the end of the job object ends all of it.
func signalGroup(int, syscall.Signal) {}

// isRunning reports whether a process has not ended.
func isRunning(p *os.Process) bool { return !processHasEnded(p) }

// processHasEnded reports whether the process has ended, also before it is waited for.
func processHasEnded(p *os.Process) (ended bool) {
	err := p.WithHandle(func(handle uintptr) {
		at, err := windows.WaitForSingleObject(windows.Handle(handle), 0)
		ended = err == nil && at == windows.WAIT_OBJECT_0
	})
	return ended || errors.Is(err, os.ErrProcessDone)
}

// outputPipe makes a pipe for the output of a process. Reading takes deadlines, which that of os.Pipe does not here.
func outputPipe() (r, w *os.File, err error) {
	const size = 64 << 10
	name := `\\.\pipe\toolhost-` + rand.Text()
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, nil, err
	}
	read, err := windows.CreateNamedPipe(path,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, size, size, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	r = os.NewFile(uintptr(read), name)
	write, err := windows.CreateFile(path, windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("CreateFile", err), r.Close())
	}
	return r, os.NewFile(uintptr(write), name), nil
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// readNow reads what is in the read end of an outputPipe, and does not wait: -1 where that is nothing yet.
func readNow(fd uintptr, b []byte) (int, error) {
	pipe := windows.Handle(fd)
	var there, n uint32
	if ok, _, err := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&there)), 0); ok == 0 {
		return atEnd(0, err)
	} else if there == 0 {
		return -1, nil
	}
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(event) }()
	reading := windows.Overlapped{HEvent: event | 1} // which keeps it from the runtime's completion port
	err = windows.ReadFile(pipe, b[:min(len(b), int(there))], nil, &reading)
	if err == nil || errors.Is(err, windows.ERROR_IO_PENDING) {
		err = windows.GetOverlappedResult(pipe, &reading, &n, true)
	}
	return atEnd(int(n), err)
}

// atEnd makes the error of a pipe that was closed its end.
func atEnd(n int, err error) (int, error) {
	if errors.Is(err, windows.ERROR_BROKEN_PIPE) {
		return 0, nil
	}
	return n, err
}

// errnoName is not known.
func errnoName(syscall.Errno) string { return "" }

// ownFolder is true for a folder. That of temporary files is the user's own.
func ownFolder(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}

// maxRunBase keeps socket paths within 107 bytes, for a usual user: a plugin whose path is longer listens on TCP.
const maxRunBase = 48

// makeLocked makes a folder with a locked file in it. A folder with an open file cannot be renamed: another host may
// take the lock first, and then fails to remove it.
func makeLocked(base string) (path string, lock *os.File, err error) {
	for range 3 {
		if path, err = os.MkdirTemp(base, runPrefix); err != nil {
			return "", nil, err
		}
		if lock, err = fsutil.TryLock(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE); err == nil {
			return path, lock, nil
		}
		removeUnfinished(path)
	}
	return "", nil, err
}
