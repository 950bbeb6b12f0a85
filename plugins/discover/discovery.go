package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// shownStderr is how much of a failing discovery command's stderr a notice shows.
const shownStderr = 1 << 10

var (
	errTimeout  = errors.New("timed out")
	errTooLarge = errors.New("printed too much")
)

// discover runs the discovery command and gives what it printed, or in words what went wrong. It ends early enough for a
// host that waits until the plugin is ready: else the plugin could not be used at all.
func (s *settings) discover(ctx context.Context) ([]byte, error) {
	l := proctree.LimitsFor(ctx, s.discoveryTimeout)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	stdout := &head{limit: s.maxDiscovery, over: func() { stop(errTooLarge) }}
	stderr := &head{limit: shownStderr}
	c := s.discovery.in(s.workdir, l)
	c.Stdout, c.Stderr = stdout, stderr
	exit, err := c.Run(ctx)
	switch {
	case stdout.leftOut() > 0:
		return nil, fmt.Errorf("it printed more than %d bytes and was stopped", s.maxDiscovery)
	case errors.Is(context.Cause(ctx), errTimeout) && (exit.Canceled || err != nil):
		return nil, errors.New(notDone(l) + quoted(stderr))
	case err != nil:
		return nil, errors.New(s.discovery.whyNot(err, s.workdir))
	case exit.Signal != 0:
		return nil, fmt.Errorf("it was ended by %s%s", exit.SignalName(), quoted(stderr))
	case exit.Code != 0:
		return nil, fmt.Errorf("it failed with exit code %d%s", exit.Code, quoted(stderr))
	}
	return stdout.kept, nil
}

// notDone says how long the command had, and what would give it more.
func notDone(l proctree.Limits) string {
	text := fmt.Sprintf("it was not done after %v and was stopped", l.Shown(l.Run))
	if l.Call != 0 {
		text += "; the plugin's start_timeout leaves it no more, raise that"
	}
	return text
}

// quoted is the start of what was printed on stderr, to put behind a sentence.
func quoted(stderr *head) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(stderr.kept), "\uFFFD")), "\n")
	if lines[0] == "" {
		return "; it printed nothing on stderr"
	}
	const most = 5
	text := strings.Join(lines[:min(most, len(lines))], "\n")
	if len(lines) > most || stderr.leftOut() > 0 {
		text += "\n..."
	}
	return "; stderr: " + text
}
