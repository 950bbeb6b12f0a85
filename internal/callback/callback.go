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

// Guarded returns f with its panics logged, after which it returns the zero value; nil for nil.
func Guarded[A, R any](log *slog.Logger, name string, f func(A) R) func(A) R {
	if f == nil {
		return nil
	}
	return func(a A) (r R) {
		Run(log, name, func() { r = f(a) })
		return r
	}
}

// LogPanic logs what recover has returned, with the stack.
func LogPanic(log *slog.Logger, cause any, attrs ...any) {
	log.With(attrs...).Error("a panic was caught", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
}
