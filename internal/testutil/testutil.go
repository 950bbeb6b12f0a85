// Package testutil has helpers that the tests of several packages share.
package testutil

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// Build builds programs into a folder that exists, or one program into a file, as `make build` does: with the same
// flags Go compiles each package once for both, and for `make test`. They run the toolhost-launcher of that folder, if
// there is one.
func Build(out string, packages ...string) error {
	link := "-s -w"
	if launcher, err := os.ReadFile(filepath.Join(out, "toolhost-launcher")); err == nil {
		link += fmt.Sprintf(" -X github.com/toolhost/toolhost/sdk/proctree.launcherSum=%x", sha256.Sum256(launcher))
	}
	flags := []string{"build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", link, "-o", out}
	cmd := exec.CommandContext(context.Background(), "go", append(flags, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// Long skips a test that sweeps over many cases in `make test`, which runs with -short. `make check` and CI run all.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make check runs it")
	}
}

// Rounds is how often a test repeats something: n times, and a quarter of that in `make test`.
func Rounds(n int) int {
	if testing.Short() {
		return max(n/4, 1)
	}
	return n
}

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
