//go:build !proctree_group

package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/launcher"
)

// Namespaces is nil if the system allows a process namespace to this process, otherwise the reason, as an
// [ErrNamespace]. If no run has found that out yet, it probes, which takes some milliseconds; later calls return the
// same, unless the probe could not even start.
func Namespaces() error {
	trying.Lock()
	defer trying.Unlock()
	if namespaceRefusal.first.Load() != nil {
		return NamespacesRefused()
	}
	return tryNamespace()
}

// NamespacesRefused is the result of Namespaces as far as it is known: nil also before any run or probe.
func NamespacesRefused() error { return namespaceRefusal.get() }

// trying is held during a probe, so that there is only one.
var trying sync.Mutex

// namespaceRefusal is why the system allows no namespaces, and mountsRefusal why it allows no read-only mounts in
// them. Any run can find out both; the first result stays.
var namespaceRefusal, mountsRefusal refusalCache

type refusalCache struct{ first atomic.Pointer[error] }

func (r *refusalCache) set(refusal error) { r.first.CompareAndSwap(nil, &refusal) }

func (r *refusalCache) get() error {
	if first := r.first.Load(); first != nil {
		return *first
	}
	return nil
}

// tryLimit is how long the probe may take.
const tryLimit = 5 * time.Second

// tryNamespace starts a launcher in a read-only namespace with a program that cannot exist: everything that can be
// refused comes before that, and is remembered as from any run.
func tryNamespace() error {
	t, err := start(program{name: "nothing", path: os.DevNull + "/nothing",
		sandbox: Sandbox{Namespaces: true, ReadOnlyRoot: launcher.CanMountReadOnly()}}, [3]*os.File{})
	if err != nil {
		return refusal(err)
	}
	if !within(t.done, tryLimit) {
		t.abandon()
		within(t.done, tryLimit)
	}
	_, err = t.result()
	if within(t.done, 0) && (t.report.Failed == "exec" || t.report.Failed == "protect") {
		return nil
	}
	return refusal(err)
}

// refused makes an error of a start that the system has refused, and remembers it if it was about the namespace.
// Temporary causes, such as too many processes, are not remembered.
func (t *tree) refused(reason string, err error) *StartError {
	switch {
	case !t.program.sandbox.Namespaces:
		return &StartError{t.name, reason, err}
	case temporary(err):
		return &StartError{t.name, reason + hint(err), err}
	}
	no := refusal(&StartError{t.name, reason, err})
	namespaceRefusal.set(no)
	return &StartError{t.name, no.Error(), no}
}

// mountError remembers a failure to mount that is not about one path: the system does not allow such mounts.
func (t *tree) mountError() *StartError {
	err := t.program.sandboxError(t.report.Call, t.report.Errno)
	for _, call := range []string{"mount_setattr ", "open_tree ", "move_mount "} {
		if strings.HasPrefix(t.report.Call, call) && !temporary(t.report.Errno) {
			mountsRefusal.set(err)
		}
	}
	return err
}

// temporary reports whether an error of a start may be gone the next time. ENOSPC means that there are too many
// namespaces.
func temporary(err error) bool {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	return is(syscall.EAGAIN) || is(syscall.ENOMEM) || is(syscall.EMFILE) || is(syscall.ENFILE) ||
		is(syscall.ENOSPC) && !noneAllowed()
}

// noneAllowed reports whether a limit forbids even the first namespace.
func noneAllowed() bool {
	return slices.ContainsFunc([]string{"user", "pid", "mnt", "ipc"}, func(kind string) bool {
		limit, err := os.ReadFile("/proc/sys/user/max_" + kind + "_namespaces")
		return err != nil || string(limit) == "0\n"
	})
}

// refusal converts an error of a start in a namespace.
func refusal(err error) error {
	if errors.Is(err, ErrNamespace) {
		return errors.Unwrap(err) // of the StartError
	}
	cause := hint(err)
	if e, ok := errors.AsType[*StartError](err); ok {
		err = errors.New(e.Reason)
		if refused, ok := errors.AsType[*fs.PathError](e); ok { // this program cannot be started that way
			err = refused.Err
		}
	}
	return fmt.Errorf("%w: %w%s", ErrNamespace, err, cause)
}

// hint is a possible cause of an error of a start in a namespace.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "; the limits user.max_*_namespaces of sysctl allow no more"
	case errors.Is(err, syscall.EINVAL):
		return "; the kernel was built without namespaces for users, processes or IPC"
	case errors.Is(err, syscall.EPERM):
		return "; a container that masks parts of /proc forbids it, or a setting such as" +
			" kernel.apparmor_restrict_unprivileged_userns"
	}
	return ""
}

// addNamespaces makes the launcher the first process of its own namespaces. A user namespace, which allows that to
// ordinary users, keeps their user and group.
func addNamespaces(sys *syscall.SysProcAttr) {
	sys.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		return
	}
	sys.Cloneflags |= syscall.CLONE_NEWUSER
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	sys.AmbientCaps = launcher.NamespaceCapabilities
}

// outside returns the pid in our namespace of a child of the launcher that has another inside, or 0.
func (t *tree) outside(inner int) int {
	// The launcher has one thread that starts processes, and one program: that is all to look at as a rule.
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", t.proc.Pid))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && innerPID(pid) == inner {
		return pid
	}
	for _, pid := range launcher.Children(t.proc.Pid) {
		if innerPID(pid) == inner {
			return pid
		}
	}
	return 0
}

// innerPID is the pid of a process in its innermost namespace, or 0.
func innerPID(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	inner, _ := strconv.Atoi(string(fields[len(fields)-1]))
	return inner
}

// leftPIDs returns the pids, in our namespace, of processes that do not die.
func (t *tree) leftPIDs() string {
	if !t.program.sandbox.Namespaces {
		return t.report.PIDs
	}
	var texts []string
	for _, pid := range launcher.Children(t.proc.Pid) {
		texts = append(texts, strconv.Itoa(pid))
	}
	return strings.Join(texts, ",")
}
