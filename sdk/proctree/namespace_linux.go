//go:build !proctree_group

package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// Namespaces is nil if the system allows a process namespace with its own /proc to this
// process, else it says why not. It tries once, in some milliseconds; later calls have
// the same answer.
func Namespaces() error { return namespaces() }

var namespaces = sync.OnceValue(tryNamespace)

// tryLimit is how long the try may take.
const tryLimit = 5 * time.Second

// tryNamespace starts a launcher in a namespace with a program that does not exist: all
// that can be refused comes before that.
func tryNamespace() error {
	t, err := start(program{name: "nothing", path: "/nonexistent/program", namespace: true}, [3]*os.File{})
	if err != nil {
		return refusal(err)
	}
	if !within(t.done, tryLimit) {
		t.abandon()
		within(t.done, tryLimit)
	}
	_, err = t.result()
	if within(t.done, 0) && t.report.Failed == "exec" {
		return nil
	}
	return refusal(err)
}

// refusal says what an error of the try means.
func refusal(err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		hint = "; the limits user.max_user_namespaces and user.max_pid_namespaces of sysctl allow no more"
	case errors.Is(err, syscall.EPERM):
		hint = "; a container that masks parts of /proc forbids it, or a setting such as kernel.apparmor_restrict_unprivileged_userns"
	}
	if e, ok := errors.AsType[*StartError](err); ok {
		err = errors.New(e.Reason)
	}
	return fmt.Errorf("the system refuses a process namespace: %w%s", err, hint)
}

// enclose has the launcher start as the first process of its own namespaces. A user
// namespace, which is what allows that to ordinary users, keeps their user and group.
func enclose(sys *syscall.SysProcAttr) {
	sys.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		return
	}
	sys.Cloneflags |= syscall.CLONE_NEWUSER
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	sys.AmbientCaps = launcher.NamespaceCapabilities
}

// outside gives our number of a child of the launcher that has another in there, or 0.
func (t *tree) outside(inner int) int {
	for _, pid := range launcher.Children(t.proc.Pid) {
		if innerPID(pid) == inner {
			return pid
		}
	}
	return 0
}

// innerPID is the number of a process in the innermost namespace that it is in, or 0.
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

// leftPIDs names the processes that do not die, by the numbers that they have here.
func (t *tree) leftPIDs() string {
	if !t.program.namespace {
		return t.report.PIDs
	}
	var texts []string
	for _, pid := range launcher.Children(t.proc.Pid) {
		texts = append(texts, strconv.Itoa(pid))
	}
	return strings.Join(texts, ",")
}
