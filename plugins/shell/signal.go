package main

import (
	"fmt"
	"syscall"
)

// signalNames are the signals that exist on every system. Numbers differ from one to the next, names do not.
var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM",
	syscall.SIGTRAP: "SIGTRAP",
}

// signalName is the name of a signal, "" for none.
func signalName(s syscall.Signal) string {
	if s == 0 {
		return ""
	}
	if name, ok := signalNames[s]; ok {
		return name
	}
	return fmt.Sprintf("signal %d (%v)", int(s), s)
}
