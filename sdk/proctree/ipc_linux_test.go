//go:build !proctree_group

package proctree

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { roles["ipc"] = lookForIPC }

// Flags of ipc(5), the same on all architectures.
const (
	ipcCreate = 0o1000
	ipcRemove = 0
)

// An ipcObject is one way in which processes of a user that know a name reach each other.
type ipcObject struct {
	name   string
	open   func(flags int) error
	remove func()
}

// ipcObjects are those of a key, and a queue with a name that is made from it.
func ipcObjects(key int) []ipcObject {
	k := uintptr(key)
	sysv := func(name string, find func(flags uintptr) (uintptr, syscall.Errno), remove func(id uintptr)) ipcObject {
		open := func(flags int) error {
			if _, e := find(uintptr(flags) | 0o600); e != 0 {
				return e
			}
			return nil
		}
		return ipcObject{name, open, func() { id, _ := find(0); remove(id) }}
	}
	return []ipcObject{
		sysv("shared memory",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_SHMGET, k, 4096, f)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, ipcRemove, 0) }),
		sysv("semaphores",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_SEMGET, k, 1, f)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall6(unix.SYS_SEMCTL, id, 0, ipcRemove, 0, 0, 0) }),
		sysv("message queue",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_MSGGET, k, f, 0)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, ipcRemove, 0) }),
		posixQueue("proctree-" + strconv.Itoa(key)),
	}
}

func posixQueue(name string) ipcObject {
	c := unsafe.Pointer(unsafe.StringData(name + "\x00"))
	open := func(flags int) error {
		how := os.O_RDWR
		if flags&ipcCreate != 0 {
			how |= os.O_CREATE
		}
		fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(c), uintptr(how), 0o600, 0, 0, 0)
		if e != 0 {
			return e
		}
		return syscall.Close(int(fd))
	}
	return ipcObject{"POSIX message queue", open, func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(c), 0, 0) }}
}

// lookForIPC says which objects of the key in the arguments there are.
func lookForIPC() {
	key, _ := strconv.Atoi(os.Args[1])
	for _, o := range ipcObjects(key) {
		if o.open(0) == nil {
			fmt.Println(o.name)
		}
	}
}

// seenIPC is what a program finds of the key's objects.
func seenIPC(t *testing.T, key int, namespace bool) string {
	t.Helper()
	var out strings.Builder
	c := Command(self(t), strconv.Itoa(key))
	c.Sandbox.Namespaces, c.Env, c.Stdout = namespace, append(os.Environ(), roleVar+"=ipc"), &out
	mustRun(t, c)
	return out.String()
}

// What processes of the user share by a key or a name is not for those in a namespace.
func TestNamespaceKeepsIPC(t *testing.T) {
	key, made := os.Getpid()<<8|0x5a, ""
	for _, o := range ipcObjects(key) {
		if err := o.open(ipcCreate); err != nil {
			t.Logf("this machine has no %s: %v", o.name, err)
			continue
		}
		defer o.remove()
		made += o.name + "\n"
	}
	if got := seenIPC(t, key, false); got != made {
		t.Errorf("without a namespace %q are seen, want %q", got, made)
	}
	if !allowed(t) {
		return
	}
	if got := seenIPC(t, key, true); got != "" {
		t.Errorf("in a namespace %q are seen", got)
	}
}

// A queue can be opened by its path too, where the system shows them.
func TestNamespaceShowsItsOwnQueues(t *testing.T) {
	if !allowed(t) {
		return
	}
	queue := posixQueue("proctree-" + strconv.Itoa(os.Getpid()))
	if err := queue.open(ipcCreate); err == nil {
		defer queue.remove()
	}
	want := ""
	if info, err := os.Stat("/dev/mqueue"); err == nil && info.IsDir() {
		want = "shown\n"
	}
	c, out := script("grep -q ' /dev/mqueue mqueue ' /proc/mounts && echo shown; ls -A /dev/mqueue 2>/dev/null")
	c.Sandbox.Namespaces = true
	mustRun(t, c)
	if out.String() != want {
		t.Errorf("it sees %q, want %q", out, want)
	}
}
