// Package callback calls functions of the program that embeds a host. A panic of one is logged, and ends nothing else.
package callback

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Run calls f, and logs its panic under the name of the callback, such as Options.OnState. It reports whether f has
// returned.
func Run(log *slog.Logger, name string, f func()) (returned bool) {
	defer func() {
		if !returned {
			LogPanic(log, recover(), "callback", name)
		}
	}()
	f()
	return true
}

// LogPanic logs what recover has returned, with the stack.
func LogPanic(log *slog.Logger, cause any, attrs ...any) {
	log.With(attrs...).Error("a panic was caught", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
}
