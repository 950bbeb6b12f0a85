package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// A job is a command that runs on after its call.
type job struct {
	id, session, command string
	transcript           *transcript
	begun                time.Time
	stop                 context.CancelCauseFunc
	pid                  atomic.Int64
	started              chan struct{} // closed when it runs
	done                 chan struct{} // closed when all of it has ended

	// To be read after done.
	exit  proctree.Exit
	err   error
	cause error // why it was ended, if it was

	mu   sync.Mutex
	seen [2]int64 // what was shown of its output
}

var (
	errStopped = errors.New("it was stopped")
	errEnding  = errors.New("the plugin was to stop")
)

// The states of a job.
const (
	stateRunning  = "running"
	stateEnded    = "ended"
	stateStopped  = "stopped"
	stateTimedOut = "timed_out"
)

// run runs the command. The limit holds from when it runs; none means that it may go on until it is stopped.
func (j *job) run(ctx context.Context, cmd *proctree.Cmd, limit time.Duration) {
	defer close(j.done)
	cmd.Started = func(pid int) {
		j.pid.Store(int64(pid))
		if limit > 0 {
			over := time.AfterFunc(limit, func() { j.stop(errTimeout) })
			context.AfterFunc(ctx, func() { over.Stop() })
		}
		close(j.started)
	}
	j.exit, j.err = cmd.Run(ctx)
	j.transcript.close()
	if j.exit.Canceled {
		j.cause = context.Cause(ctx)
	}
}

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *job) state() string {
	switch {
	case !j.over():
		return stateRunning
	case errors.Is(j.cause, errTimeout):
		return stateTimedOut
	case j.cause != nil:
		return stateStopped
	}
	return stateEnded
}

func (j *job) duration() time.Duration {
	if j.over() {
		return j.exit.Duration
	}
	return time.Since(j.begun)
}

// settle waits for the first output of a job, and a little for more, or for its end.
func (j *job) settle(ctx context.Context, limit, more time.Duration) {
	for _, wait := range []struct {
		limit time.Duration
		over  <-chan struct{}
	}{{limit, j.transcript.begun}, {min(limit, more), nil}} {
		timer := time.NewTimer(wait.limit)
		defer timer.Stop()
		select {
		case <-wait.over:
			continue
		case <-timer.C:
		case <-j.done:
		case <-ctx.Done():
		}
		return
	}
}

// look gives the output since the last look, or the last lines of it.
func (j *job) look(lines int) view {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := j.seen
	if lines > 0 {
		from = [2]int64{}
	}
	v := j.transcript.since(from)
	j.seen = v.next
	if lines > 0 {
		v.last(lines)
	}
	return v
}
