// Package testutil has helpers that the tests of several packages share.
package testutil

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultSignals gives all programs that the tests start the signals that a terminal would. A shell ignores some
// for what it runs in the background, programs inherit that, and many then rightly continue ignoring them. A signal
// that is caught is not inherited.
func DefaultSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
