package supervise

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// exitDelay is how long a process may take to end after its connection broke. Measured: 2 to 9 ms.
const exitDelay = 500 * time.Millisecond

// stderrDelay is how long the last lines of a plugin that has died are waited for. The kernel ends the stream before
// the process, but not while another process has it open.
const stderrDelay = 20 * time.Millisecond

// awaitProgramEnd waits, after the connection broke, until the program itself has ended, and reports whether it has
// within exitDelay. Its launcher may still be ending processes that it left, for which no call has to wait: the next
// one does.
func (g *generation) awaitProgramEnd() bool {
	c := g.child
	if !within(exitDelay, c.programEnded) && !(c.kernelReportsEnd() && within(killTime, c.programEnded)) {
		return false
	}
	within(stderrDelay, c.stderrRead)
	return true
}

// awaitTreeEnd is awaitProgramEnd for the process and everything that it has started.
func (g *generation) awaitTreeEnd() bool {
	return within(exitDelay, g.done()) || g.child.kernelReportsEnd() && within(killTime, g.done())
}

// describeEnd says how the process ended, with its last lines on standard error; it has died.
func (g *generation) describeEnd() string {
	err := g.child.exitError("")
	if g.child.exitedSilently() {
		err = fmt.Errorf("%w, and printed no reason on standard error; a tool must return an error, not end its process", err)
	}
	return g.withSandboxHint(g.child.withStderr(err)).Error()
}

// exitError says how the process ended, with a phrase such as " before the handshake", and whether processes that it
// started may be left. The process must have ended.
func (c *child) exitError(phrase string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch text := c.endText() + phrase; {
	case errors.Is(c.followErr, proctree.ErrLoose), errors.Is(c.followErr, proctree.ErrLeft):
		return errors.New(text + "; processes that it started may still run")
	case errors.Is(c.followErr, proctree.ErrLost):
		return errors.New(text + "; the kernel has ended all processes that it started")
	default:
		return errors.New(text)
	}
}

func (c *child) endText() string {
	launcher, byLauncher := errors.AsType[*proctree.LauncherError](c.followErr)
	switch {
	case c.killReason != "" && c.attached:
		return c.killReason + ", and the host has left it"
	case c.killReason != "":
		return c.killReason + " and was killed"
	case byLauncher:
		return "killed by SIGKILL, because its launcher " + launcher.Fate
	case c.exit.Signal == 0 && c.exit.Code < 0:
		return fmt.Sprint(c.followErr)
	}
	return exitText(c.exit)
}

// exitedSilently reports whether the process ended by itself and had printed nothing on standard error.
func (c *child) exitedSilently() bool {
	c.mu.Lock()
	ended := c.killReason == "" && c.followErr == nil && c.exit.Signal == 0
	c.mu.Unlock()
	return ended && len(c.tail.last(1)) == 0
}

func exitText(e proctree.Exit) string {
	if e.Signal != 0 {
		return "killed by " + e.SignalName()
	}
	if e.Code > 0xffff { // of an exception on Windows, such as 0xC0000005
		return fmt.Sprintf("exited with code %#X", e.Code)
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

// addExitFacts adds how the process ended to the details of an error.
func (c *child) addExitFacts(facts map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.exit.Signal != 0:
		facts["signal"] = c.exit.SignalName()
	case errors.Is(c.followErr, proctree.ErrLost):
		facts["signal"] = "SIGKILL"
	default:
		facts["exit_code"] = c.exit.Code
	}
	facts["last_stderr"] = c.tail.last(tailLines)
}

// withStderr adds the last lines of standard error to err, if there are any.
func (c *child) withStderr(err error) error {
	switch lines := c.tail.summary(); len(lines) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%w. Last line on stderr: %s", err, lines[0])
	default:
		return fmt.Errorf("%w. Last lines on stderr: %s", err, strings.Join(lines, " | "))
	}
}
