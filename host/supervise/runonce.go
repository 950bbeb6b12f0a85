package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
)

// RunOnce runs the plugin's program with these arguments instead of serving, for an action of a person such as a
// login: with the plugin's environment and its configuration on standard input, outside any sandbox. The program is
// checked as before a start. When ctx ends, it gets SIGTERM, and 5 seconds to end.
func (s Spec) RunOnce(ctx context.Context, args []string, out, errOut io.Writer) error {
	if err := s.Verify(); err != nil {
		return err
	}
	program, err := s.Inspect()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program.Path, slices.Concat(s.Command[1:], args)...)
	c.Dir = s.Dir
	c.Env = inheritedEnvironment(s)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.Env = append(c.Env, name+"="+s.Env[name])
	}
	c.Env = append(c.Env, wire.EnvInstance+"="+s.Name)
	c.Stdin = strings.NewReader(cmp.Or(string(s.Config), "{}"))
	c.Stdout, c.Stderr = out, errOut
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	return runError(s, c.Run())
}

func runError(s Spec, err error) error {
	if _, ended := errors.AsType[*exec.ExitError](err); err == nil || ended {
		return err
	}
	return fmt.Errorf("the program of %s cannot be run: %w", s.Name, err)
}
