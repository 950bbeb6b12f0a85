package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/nesting"
)

const (
	// startTime is how long a host in the background may take to serve.
	startTime = 20 * time.Second
	// maxServerLog is how many bytes the log of a host in the background may have when another one starts.
	maxServerLog = 4 << 20
	// retryTime is the pause before the next try, while another process starts or stops.
	retryTime = 100 * time.Millisecond
	// endTime is how long a command waits for a host that is ending before it is a host of its own.
	endTime = 2 * time.Second
)

// errLocked means that another process starts, serves or stops.
var errLocked = errors.New("another process has the lock of the host")

// hostFor connects to the running host of the configuration, and starts one in the background where the configuration
// asks for that. It returns nil when the command is a host of its own, and an error when a person refused to trust the
// configuration.
func (g *options) hostFor(ctx context.Context, profile string) (*runningHost, error) {
	r, why := g.running(ctx, profile)
	if r != nil {
		return r, nil
	}
	own := func(why string) (*runningHost, error) {
		g.explain("a host of its own, since " + why)
		return nil, nil
	}
	if g.standalone || g.checkTrust {
		return own(why)
	}
	o := g.bootstrapOptions()
	o.Profile = profile
	c, err := bootstrap.Load(o)
	if err != nil || c.Serve == nil || !c.Serve.OnDemand {
		return own(why) // which finds the same mistakes
	}
	if err := c.Admit(ctx); err != nil {
		return nil, err
	}
	if r, err = g.startInBackground(ctx, profile); err != nil {
		if ctx.Err() == nil { // what the configuration asks for is missing: jobs, for one, end with the command
			g.printError(fmt.Errorf("no host could be started in the background, so this command is a host of its own: %w", err))
		}
		return nil, nil
	}
	g.explain(fmt.Sprintf("a host that was started in the background, process %d", r.info.Pid))
	return r, nil
}

// startInBackground starts a host that ends when it is idle, and connects to it, or to one that another command has
// started meanwhile.
func (g *options) startInBackground(ctx context.Context, profile string) (*runningHost, error) {
	program, err := serverPath()
	if err != nil {
		return nil, err
	}
	place, err := g.place(profile)
	if err != nil {
		return nil, err
	}
	if err := place.Make(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	begun := time.Now()
	for {
		started := g.runInBackground(ctx, program, profile, place)
		r, err := g.connect(ctx, profile)
		_, stopping := errors.AsType[*stoppingError](err)
		none := errors.Is(err, local.ErrNotRunning)
		ending := stopping || errors.Is(err, errDisconnected) || started == nil && none // which has served
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return nil, errors.Join(started, err)
		case started != nil && !errors.Is(started, errLocked): // it would fail again
			return nil, started
		case ending && time.Since(begun) > endTime, !ending && !none:
			return nil, err
		}
		select { // another command may be starting it, or it has just ended
		case <-ctx.Done():
			return nil, errors.Join(started, err)
		case <-time.After(retryTime):
		}
	}
}

// runInBackground starts the host, and returns when it serves or has ended: errLocked if another process is the host.
func (g *options) runInBackground(ctx context.Context, program, profile string, place local.Place) error {
	log, err := openServerLog(place.Log())
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	args := []string{"--background"}
	for name, value := range map[string]string{"config": g.config, "workdir": g.workdir, "profile": profile} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) // it outlives this command
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), nesting.Var+"=") // also the hosts above
	why, err := local.AwaitStart(ctx, func(ready *os.File) error {
		detach(cmd, ready)
		return cmd.Start()
	})
	switch {
	case err != nil:
		return err
	case why == local.ReadyText:
		return cmd.Process.Release()
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended: // its state says how
	case <-ctx.Done():
		return fmt.Errorf("it did not serve within %s; its log is %s", startTime, place.Log())
	}
	if cmd.ProcessState.ExitCode() == local.ExitLocked {
		return errLocked
	}
	return fmt.Errorf("%s\n  its log is %s", cmp.Or(strings.TrimSpace(why), lastLine(place.Log(), before.Size()),
		fmt.Sprintf("it ended before it served (%s)", cmd.ProcessState)), place.Log())
}

// lastLine is the last line of a log after an offset, as far as it is short; "" for none.
func lastLine(path string, after int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(after, info.Size()-local.MaxReason), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, local.MaxReason))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// openServerLog opens the log of a host in the background. One that has become long is removed first.
func openServerLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxServerLog {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return fsutil.AppendPrivate(path)
}
