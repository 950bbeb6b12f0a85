//go:build !linux || proctree_group

package proctree

import (
	"errors"
	"syscall"
	"testing"
)

// A system without restrictions refuses to run a program that requires some.
func TestNoRestrictionsHere(t *testing.T) {
	c := Command("/bin/true")
	c.Sandbox.Umask = true
	_, err := c.Run(t.Context())
	if e, ok := errors.AsType[*SandboxError](err); !ok || e.Errno != syscall.ENOSYS {
		t.Errorf("%v", err)
	}
}
