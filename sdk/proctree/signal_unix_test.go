//go:build unix

package proctree

import (
	"syscall"
	"testing"
)

func TestSignalName(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{0: "", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", 99: "signal 99"} {
		if got := (Exit{Signal: signal}).SignalName(); got != want {
			t.Errorf("signal %d is %q, want %q", int(signal), got, want)
		}
	}
}
