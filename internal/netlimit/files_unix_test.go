//go:build unix

package netlimit_test

import (
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/netlimit"
)

// Where few files may be open, connections do not take those that plugins and the record need.
func TestConnectionsWithFewFiles(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 1024
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	if got := netlimit.Connections(1000); got != 256 {
		t.Errorf("%d connections of 1024 files", got)
	}
	if got := netlimit.Connections(100); got != 100 {
		t.Errorf("%d connections, want the 100 that are asked for", got)
	}
}
