package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// jobs are those of all sessions.
type jobs struct {
	base    context.Context // ends with the plugin
	stop    context.CancelCauseFunc
	running sync.WaitGroup
	first   time.Duration // how long a call waits for a job to say something
	more    time.Duration // and for what comes right after it

	mu    sync.Mutex
	all   []*job // the oldest first
	count int
}

const (
	keptJobs    = 16 // that have ended, of a session
	keptJobsAll = 64 // of all sessions
	// endLimit is how long the plugin's end may wait for jobs; what is left then is killed by its end.
	endLimit = 700 * time.Millisecond
)

func newJobs() *jobs {
	j := &jobs{first: time.Second, more: 200 * time.Millisecond}
	j.base, j.stop = context.WithCancelCause(context.Background())
	return j
}

// begin starts a job, unless too many run.
func (j *jobs) begin(session, command string, cmd *proctree.Cmd, t *transcript, most int, limit time.Duration) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(session, most); err != nil {
		return nil, err
	}
	j.count++
	ctx, stop := context.WithCancelCause(j.base)
	started := &job{id: fmt.Sprintf("job-%d", j.count), session: session, command: command, transcript: t, begun: time.Now(), stop: stop,
		started: make(chan struct{}), done: make(chan struct{})}
	j.all = append(j.all, started)
	j.forget(session)
	j.running.Go(func() {
		defer stop(nil)
		started.run(ctx, cmd, limit)
	})
	return started, nil
}

// room says whether one more job may run.
func (j *jobs) room(session string, most int) error {
	if j.base.Err() != nil {
		return &sdk.Error{Name: "PluginEnding", Message: "the plugin is to stop; nothing was run", Retryable: true, Suggestion: "Try again when it runs anew."}
	}
	var mine []string
	all := 0
	for _, o := range j.all {
		if o.over() {
			continue
		}
		all++
		if o.session == session {
			mine = append(mine, fmt.Sprintf("%s (%s)", o.id, brief(o.command)))
		}
	}
	if len(mine) < most && all < maxJobs {
		return nil
	}
	e := &sdk.Error{Name: "TooManyJobs", Retryable: true, Suggestion: "Stop one that is no longer needed with the tool job, or wait for one to end.",
		Message: fmt.Sprintf("%d background jobs run already, at most %d may: %s; nothing was run", len(mine), most, strings.Join(mine, ", ")),
		Details: sdk.Details(map[string]any{"limit": most})}
	if len(mine) < most {
		e.Message = fmt.Sprintf("%d background jobs run in all sessions, no more may; nothing was run", all)
	}
	return e
}

// forget drops the oldest jobs that have ended, where there are too many.
func (j *jobs) forget(session string) {
	mine, all := 0, 0
	for _, o := range slices.Backward(slices.Clone(j.all)) {
		if !o.over() {
			continue
		}
		all++
		if o.session == session {
			mine++
		}
		if all > keptJobsAll || o.session == session && mine > keptJobs {
			j.all = slices.DeleteFunc(j.all, func(x *job) bool { return x == o })
		}
	}
}

// drop takes a job that never ran off the list.
func (j *jobs) drop(o *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = slices.DeleteFunc(j.all, func(x *job) bool { return x == o })
}

// of are the jobs of a session, the oldest first.
func (j *jobs) of(session string) []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.all), func(o *job) bool { return o.session != session })
}

func (j *jobs) find(session, id string) (*job, error) {
	mine := j.of(session)
	if i := slices.IndexFunc(mine, func(o *job) bool { return o.id == id }); i >= 0 {
		return mine[i], nil
	}
	e := &sdk.Error{Name: "JobNotFound", Message: fmt.Sprintf("this session has no job %q; it has none at all", id),
		Suggestion: "Jobs are started by exec with background; they end with the plugin, and those that have ended are forgotten in time."}
	if len(mine) > 0 {
		var ids []string
		for _, o := range mine {
			ids = append(ids, o.id)
		}
		e.Message = fmt.Sprintf("this session has no job %q; it has %s", id, strings.Join(ids, ", "))
		e.Suggestion = "Give one of these as id; action list tells more about them."
	}
	return nil, e
}

// end ends all jobs, and waits for them for a while.
func (j *jobs) end() {
	j.mu.Lock()
	j.stop(errEnding)
	j.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		j.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(endLimit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// brief is the beginning of a command, in one line.
func brief(command string) string {
	const most = 60
	line := strings.Join(strings.Fields(command), " ")
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
