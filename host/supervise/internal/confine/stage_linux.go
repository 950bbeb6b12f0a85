package confine

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// What is taken away is taken from this thread, and execve keeps what the calling thread has: other threads of the Go
// runtime need not be looked after. syscall.Exit skips exit hooks, which have nothing to say here.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		runtime.LockOSThread()
		syscall.Exit(run())
	}
}

// run becomes the plugin. If it returns, that failed, which it has told.
func run() int {
	orders, env, found := takeOrders(os.Environ())
	if !found {
		_, _ = os.Stderr.WriteString(Name + " is started by a toolhost program, never by hand\n")
		return usage
	}
	_, _ = os.Stdout.WriteString(become(orders, os.Args[1:], env).line())
	return 1
}

// become follows the orders, and gives why it could not.
func become(text string, argv, env []string) *Failure {
	o, err := parse(text)
	if err != nil || len(argv) == 0 {
		return &Failure{"reading the orders", syscall.EBADMSG}
	}
	for _, step := range []func(*Orders) *Failure{limit, hideFiles, noNewPrivileges, dropCapabilities, landlock, filter} {
		if f := step(o); f != nil {
			return f
		}
	}
	return failed("execve", syscall.Exec(o.Program, argv, env))
}

// failed is nil without an error.
func failed(call string, err error) *Failure {
	if err == nil {
		return nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &Failure{call, errno}
	}
	return &Failure{call, syscall.EINVAL}
}

// hideFiles sees to it that the plugin gets files 0 to 2 and no other.
func hideFiles(*Orders) *Failure {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd") // kernels before 5.11
	for _, f := range open {
		if n := number(f.Name()); n > 2 {
			syscall.CloseOnExec(n)
		}
	}
	if err != nil {
		return &Failure{"reading /proc/self/fd", syscall.ENOENT}
	}
	return nil
}

func number(s string) (n int) {
	for _, digit := range s {
		n = 10*n + int(digit-'0')
	}
	return n
}

// noNewPrivileges is asked for again and not only set: everything else rests on it.
func noNewPrivileges(o *Orders) *Failure {
	if !o.NoNewPrivileges {
		return nil
	}
	return failed("prctl(PR_SET_NO_NEW_PRIVS)", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}
