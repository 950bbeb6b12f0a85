package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// shownStderr is how much of a failing discovery command's stderr a notice shows.
const shownStderr = 1 << 10

var (
	errTimeout  = errors.New("timed out")
	errTooLarge = errors.New("printed too much")
)

// discover runs the discovery command and gives what it printed, or in words what went wrong.
func (s *settings) discover(ctx context.Context) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, s.discoveryTimeout, errTimeout)
	defer cancel()
	stdout := &head{limit: s.maxDiscovery, over: func() { stop(errTooLarge) }}
	stderr := &head{limit: shownStderr}
	c := s.discovery.in(s.workdir)
	c.Stdout, c.Stderr = stdout, stderr
	exit, err := c.Run(ctx)
	switch {
	case stdout.leftOut() > 0:
		return nil, fmt.Errorf("it printed more than %d bytes and was stopped", s.maxDiscovery)
	case errors.Is(context.Cause(ctx), errTimeout) && (exit.Canceled || err != nil):
		return nil, fmt.Errorf("it was not done after %v and was stopped%s", s.discoveryTimeout, quoted(stderr))
	case err != nil:
		return nil, errors.New(s.discovery.whyNot(err, s.workdir))
	case exit.Signal != 0:
		return nil, fmt.Errorf("it was ended by %s%s", exit.SignalName(), quoted(stderr))
	case exit.Code != 0:
		return nil, fmt.Errorf("it failed with exit code %d%s", exit.Code, quoted(stderr))
	}
	return stdout.kept, nil
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
