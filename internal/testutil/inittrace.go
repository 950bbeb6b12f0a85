package testutil

import (
	"os"
	"os/exec"
	"testing"
)

// InitTrace starts this test program without tests, and returns what Go says of the initialization of each package.
func InitTrace(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
