package testutil

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Build builds programs into a folder that exists, or one program into a file, as `make build` does: with the same
// flags Go compiles each package once for both, and for `make test`.
func Build(out string, packages ...string) error {
	flags := []string{"build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", out}
	cmd := exec.CommandContext(context.Background(), "go", append(flags, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}
