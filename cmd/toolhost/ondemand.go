package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
)

const (
	// readyVar names the file to which the host writes a line when it serves.
	readyVar = "TOOLHOST_READY_FILE"
	// startTime is how long a host in the background may take to serve.
	startTime = 20 * time.Second
	// maxServerLog is how many bytes the log of a host in the background may have when another one starts.
	maxServerLog = 4 << 20
	// retryTime is how long another command may take to start the host that this one needs too.
	retryTime = 100 * time.Millisecond
)

// hostFor connects to the running host of the configuration, and starts one in the background where the configuration
// asks for that. It returns nil when the command is a host of its own, and an error when a person refused to trust the
// configuration.
func (g *globals) hostFor(ctx context.Context, profile string) (*runningHost, error) {
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
	o := g.options()
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
func (g *globals) startInBackground(ctx context.Context, profile string) (*runningHost, error) {
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
	for {
		started := g.runInBackground(ctx, program, profile, place)
		r, err := g.connect(ctx, profile)
		switch {
		case err == nil:
			return r, nil
		case started == nil || ctx.Err() != nil || !errors.Is(err, local.ErrNotRunning):
			return nil, errors.Join(started, err)
		}
		select { // another command may be starting it, or it has just ended
		case <-ctx.Done():
			return nil, started
		case <-time.After(retryTime):
		}
	}
}

// runInBackground starts the host, and returns when it serves or has ended.
func (g *globals) runInBackground(ctx context.Context, program, profile string, place local.Place) error {
	log, err := openServerLog(place.Log())
	if err != nil {
		return err
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	args := []string{"--background"}
	for name, value := range map[string]string{"config": g.config, "workdir": g.workdir, "profile": profile} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) // it outlives this command
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd, write)
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Now()) })()
	if said, _ := read.Read(make([]byte, 16)); said == 0 {
		return fmt.Errorf("the host in the background did not begin to serve; its log is %s", place.Log())
	}
	return cmd.Process.Release()
}

// openServerLog opens the log of a host in the background. One that has become long is begun again.
func openServerLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxServerLog {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return fsutil.AppendPrivate(path)
}
