package plugincheck

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

const endFix = "End the handlers, what the plugin has started, and the process, within a second, also when a " +
	"handler does not return."

func (c *checker) sigterm(ctx context.Context, p *process) *problem {
	if runtime.GOOS == "windows" {
		return skipped("there are no signals on Windows")
	}
	return c.ends(ctx, p, "SIGTERM", func() error { return terminate(p.cmd.Process) })
}

func (c *checker) hostDeath(ctx context.Context, p *process) *problem {
	return c.ends(ctx, p, "the end of its standard input", p.stdin.Close)
}

// ends has the process end while a call runs in it, if there is one that waits.
func (c *checker) ends(ctx context.Context, p *process, how string, end func() error) *problem {
	defer c.stop()
	for _, e := range c.Wait {
		begun := make(chan struct{}, 1)
		go func() {
			_, _ = c.call(ctx, p, e.Tool, e.Arguments, func(sdk.Event) {
				select {
				case begun <- struct{}{}:
				default:
				}
			})
		}()
		select {
		case <-begun:
		case <-time.After(c.Timeout):
		}
	}
	if err := end(); err != nil {
		return failed("", "%v", err)
	}
	const long = 3 * time.Second              // a second for handlers, and room
	if err := p.waitExit(long); !p.exited() { // how it ends, also by a signal, is its own affair
		return failed(endFix, "%s after %s", err, how)
	}
	left := func() bool { return groupAlive(p.cmd.Process) || len(leftBehind(p.dir)) > 0 }
	for end := time.Now().Add(time.Second); left(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return failed(endFix, "processes that it started still run after %s", how)
		}
	}
	return nil
}

// sandboxed makes the examples under a host that restricts the plugin.
func (c *checker) sandboxed(ctx context.Context) *problem {
	switch {
	case !c.Sandboxed:
		return skipped("it was not asked for")
	case !proctree.DetectCapabilities().Sandbox:
		return skipped("this system has no sandbox")
	case len(c.Examples) == 0:
		return skipped("give calls that change nothing: --call 'TOOL {…}'")
	case c.examplesFail:
		return skipped("the example calls have to succeed first")
	}
	for _, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
		if err := c.atLevel(ctx, level); err != nil {
			return warned("Say in the README which level works, and which folders and hosts the plugin needs; its users "+
				"name them in a sandbox block.", "at the level %s: %v", level, err)
		}
	}
	return nil
}

func (c *checker) atLevel(ctx context.Context, level sandbox.Level) error {
	spec := supervise.Spec{Name: "check", Command: c.Command, Source: c.Command[0],
		Config: c.Config, StartTimeout: c.Timeout, Sandbox: sandbox.Spec{Level: level}}
	workdir, err := c.newWorkdir()
	if err != nil {
		return err
	}
	i, err := bootstrap.OpenProgram(ctx, spec, bootstrap.Options{Workdir: workdir, Approve: bootstrap.ApproveAlways,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = i.Close() }()
	for _, e := range c.Examples {
		r := i.Host().Call(ctx, host.Call{Tool: "check__" + e.Tool, Arguments: e.Arguments, Timeout: c.Timeout})
		if r.Error != nil {
			return fmt.Errorf("%s: %s: %s", e, r.Error.Code, r.Error.Message)
		}
	}
	return nil
}
