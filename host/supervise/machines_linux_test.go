package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A lack is something that a real kernel, or a container on it, refuses: which system calls, and with what error. A refusal of
// clone is one of new namespaces only.
type lack struct {
	calls []uint32
	errno syscall.Errno
}

// lacks are those that each machine of the test has some of.
var lacks = map[string]lack{
	"namespaces": {[]uint32{unix.SYS_UNSHARE, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_SETNS}, unix.EPERM},
	"landlock":   {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF}, unix.ENOSYS},
	"mounts":     {[]uint32{unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT}, unix.EPERM},
	"filters":    {[]uint32{unix.SYS_SECCOMP, unix.SYS_PRCTL}, unix.EINVAL},
	// What a look at the kernel does not find, and only a start does.
	"mount":              {[]uint32{unix.SYS_MOUNT}, unix.EPERM},
	"move_mount":         {[]uint32{unix.SYS_MOVE_MOUNT}, unix.EPERM},
	"open_tree":          {[]uint32{unix.SYS_OPEN_TREE}, unix.EPERM},
	"clone3 alone":       {[]uint32{unix.SYS_CLONE3}, unix.ENOSYS},
	"landlock, at last":  {[]uint32{unix.SYS_LANDLOCK_RESTRICT_SELF}, unix.EPERM},
	"filters, at last":   {[]uint32{unix.SYS_PRCTL}, unix.EPERM},
	"openat2, as it was": {[]uint32{unix.SYS_OPENAT2}, unix.ENOSYS},
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refuse makes the kernel refuse this process, and all that it starts, what the machine lacks.
func refuse(names []string) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	when := func(number uint32, errno syscall.Errno, argument, bits uint32, equal bool) {
		compare := uint16(unix.BPF_JSET)
		if equal {
			compare = unix.BPF_JEQ
		}
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 4},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 8*argument},
			unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: bits, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS})
	}
	for _, name := range names {
		l := lacks[name]
		for _, call := range l.calls {
			switch call {
			case unix.SYS_CLONE:
				when(call, l.errno, 0, newNamespaces, false)
			case unix.SYS_PRCTL:
				when(call, l.errno, 0, unix.PR_SET_SECCOMP, true)
			case unix.SYS_CLONE3: // libraries use clone then
				filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
					unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
			default:
				filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
					unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(l.errno)})
			}
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return errnoOf(syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))))
}

// A verdict is what came of a plugin on such a machine.
type verdict struct {
	Box    *sandbox.Confinement
	Said   map[string]string // of the attacks
	Err    string            // of the plugin that requires nothing
	Strict string            // of one that requires what it asks for
	Log    string
	Told   sandbox.Confinement // by what doctor asks
}

func init() { plays["lesser host"] = playLesserHost }

// playLesserHost is a host on a machine that lacks LACKS. It looks at the machine before its first start, or not.
func playLesserHost() {
	if names := os.Getenv("LACKS"); names != "" {
		must(0, refuse(strings.Split(names, "+")))
	}
	if os.Getenv("LOOKS") != "" {
		sandbox.Machine()
	}
	var p prey
	must(0, json.Unmarshal([]byte(os.Getenv("PREY")), &p))
	p.Host = os.Getpid()
	var log bytes.Buffer
	o := Options{RunDir: os.Getenv("RUN"), Workdir: p.Inside, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := must(New(o))
	level := sandbox.Level(os.Getenv("LEVEL"))
	spec := attacker(p, sandbox.Spec{Level: level})
	loose := must(s.Add(spec))
	var v verdict
	r, err := loose.Call(context.Background(), request("attack", ""))
	if v.Err, v.Box = message(err), loose.Status().Sandbox; err == nil {
		must(0, json.Unmarshal([]byte(r.Content[0].Text), &v.Said))
	}
	strict := Spec{Name: "strict", Command: []string{"/bin/sh", "-c", "touch " + os.Getenv("MARK")}, StartTimeout: patience, Sandbox: sandbox.Spec{Level: level, Require: level}}
	_, err = must(s.Add(strict)).Call(context.Background(), request("x", ""))
	v.Strict = message(err)
	v.Told, _ = o.Confine(spec, sandbox.Machine())
	must(0, s.Close())
	v.Log = log.String()
	must(0, json.NewEncoder(os.Stdout).Encode(v))
	os.Exit(0)
}

// On machines that lack things, whichever and in whatever way, nothing works for a plugin that the level which it is said to
// have keeps it from; one that requires the level is not run; and each start tells what is missing.
func TestMachinesThatLackThings(t *testing.T) {
	if reached(sandbox.Isolated) != sandbox.Isolated {
		t.Logf("this machine lacks things itself: it reaches %s", reached(sandbox.Isolated))
		return
	}
	main := []string{"namespaces", "landlock", "mounts", "filters"}
	var machines []string
	for set := range 1 << len(main) {
		var names []string
		for i, name := range main {
			if set&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		machines = append(machines, strings.Join(names, "+"))
	}
	for name := range lacks {
		if !slices.Contains(main, name) {
			machines = append(machines, name)
		}
	}
	for _, machine := range machines {
		for i, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
			for _, looks := range []string{"", "yes"} {
				if slices.Contains(machines[:1<<len(main)], machine) && (looks == "") != (i == strings.Count(machine, "+")%2) {
					continue // half of those are enough
				}
				t.Run(fmt.Sprintf("%s, %s, %s", machine, level, looks), func(t *testing.T) {
					t.Parallel()
					v, mark := onMachine(t, machine, level, looks)
					v.check(t, machine, level)
					if !missing(mark) && v.Box.Got != level {
						t.Error("a plugin that requires what it cannot have was run")
					}
				})
			}
		}
	}
}

func onMachine(t *testing.T, machine string, level sandbox.Level, looks string) (v verdict, mark string) {
	t.Helper()
	mark = filepath.Join(shortDir(t), "ran")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLAY=lesser host", "RUN="+shortDir(t), "LACKS="+machine, "LEVEL="+string(level), "LOOKS="+looks, "MARK="+mark,
		"PREY="+string(must(json.Marshal(makePrey(t)))))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &v) != nil {
		t.Fatalf("%v: %s%s", err, out, errors.String())
	}
	return v, mark
}

// notRefused are machines where what is refused is not needed, and lateRefusals those whose look at the kernel promises what a
// start does not get: it fails then.
var (
	notRefused   = []string{"", "clone3 alone"}
	lateRefusals = []string{"landlock, at last", "filters, at last", "openat2, as it was"}
)

func (v verdict) check(t *testing.T, machine string, level sandbox.Level) {
	t.Helper()
	switch whole := slices.Contains(notRefused, machine); {
	case slices.Contains(lateRefusals, machine):
		if v.Err == "" || !strings.Contains(v.Err, "sandbox cannot be set up") || len(v.Said) > 0 {
			t.Errorf("it was run: %q, %+v", v.Err, v.Box)
		}
		return
	case v.Err != "" || v.Box == nil:
		t.Fatalf("it was not run: %s", v.Err)
	case whole && (v.Box.Got != level || strings.Contains(v.Strict, "requires")):
		t.Errorf("it has %+v; %s", v.Box, v.Strict)
	case !whole && (v.Box.Got != sandbox.Supervised || len(v.Box.Missing) == 0):
		t.Errorf("it is said to have %+v", v.Box)
	case !whole && (!strings.Contains(v.Strict, "it requires the sandbox level") || !strings.Contains(v.Strict, "the plugin can ")):
		t.Errorf("one that requires more hears %s", v.Strict)
	case !whole && (!strings.Contains(v.Log, "level=WARN") || !strings.Contains(v.Log, "kept in less than was asked")):
		t.Errorf("the log says %s", v.Log)
	}
	if v.Told.Got != v.Box.Got || !slices.Equal(v.Told.Missing, v.Box.Missing) {
		t.Errorf("doctor says %+v, status %+v", v.Told, v.Box)
	}
	for name, problem := range v.Said {
		if problem == "" && !holdings[name].at(v.Box.Got) {
			t.Errorf("%s works at %s, which keeps it from that", name, v.Box.Got)
		}
	}
}
