package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	rpc "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
)

// A runningHost is one that `toolhost serve` runs, for the configuration, work folder and profile of a command.
type runningHost struct {
	conn *grpc.ClientConn
	host apiv1.HostServiceClient
	info *apiv1.GetInfoResponse
}

func (r *runningHost) close() { _ = r.conn.Close() }

// place is where the running host of the command's configuration would be.
func (g *options) place(profile string) (local.Place, error) {
	path, err := g.configKey()
	if err != nil {
		return local.Place{}, err
	}
	if g.servedBefore {
		path = g.deletedConfig(bootstrap.ConfigPlaces(g.bootstrapOptions()), path, profile)
	}
	return local.Find(path, g.workdir, profile)
}

// deletedConfig is the one of these places, before the one that is found, whose file was deleted while its host runs;
// otherwise the one that is found.
func (g *options) deletedConfig(places []string, found, profile string) string {
	for _, path := range places {
		if path == found {
			break
		}
		if place, err := local.Find(path, g.workdir, profile); err == nil && place.Holder() != nil {
			return path
		}
	}
	return found
}

// configKey is the path that tells the configuration from others: of its file, which may not exist yet, or not any
// more while its host still runs; without one, the folder of its plugins.
func (g *options) configKey() (string, error) {
	path, err := bootstrap.ConfigPath(g.bootstrapOptions())
	if none, is := errors.AsType[*bootstrap.NotFoundError](err); is && none.Named {
		return none.Places[0], nil
	} else if is {
		return bootstrap.ProgramFolder(), nil
	}
	return path, err
}

// running connects to the running host of the configuration. It returns nil and the reason when there is none that the
// command may use.
func (g *options) running(ctx context.Context, profile string) (r *runningHost, why string) {
	switch {
	case g.standalone:
		return nil, "--standalone asks for it"
	case g.checkTrust:
		return nil, "a running one may use a file that is not trusted, and --check-trust does not"
	}
	r, err := g.connect(ctx, profile)
	switch {
	case errors.Is(err, local.ErrNotRunning):
		return nil, "none is running for this configuration, work folder and profile"
	case err != nil:
		if silent, is := errors.AsType[*silentError](err); is { // says why the command was slow, and what the host needs
			g.printError(silent)
		}
		return nil, fmt.Sprintf("the running one cannot be used: %s", err)
	}
	g.explain(fmt.Sprintf("the running host, process %d, version %s, for %s in %s", r.info.Pid, r.info.Version,
		cmp.Or(r.info.Configuration, "the plugins beside this program"), r.info.Workdir))
	g.reportNoConfiguration(r.info.Configuration, true)
	if why := r.info.ReloadFailure; why != "" {
		fmt.Fprintf(g.err, "toolhost: the configuration has changed, and the running host uses it as it was:\n  %s\n",
			indentRest(replaceForTerminal(why)))
	}
	return r, ""
}

// runningOr connects to the running host of the configuration; nil when the command is a host of its own.
func (g *options) runningOr(ctx context.Context, profile string) *runningHost {
	r, why := g.running(ctx, profile)
	if r == nil {
		g.explain("a host of its own, since " + why)
	}
	return r
}

// explain says with --verbose which host is used.
func (g *options) explain(text string) {
	if g.verbose {
		fmt.Fprintf(g.err, "toolhost: uses %s\n", replaceForTerminal(text))
	}
}

// A stoppingError means that a host ends after its calls, and takes no others.
type stoppingError struct{ local.Holder }

func (e *stoppingError) Error() string { return e.Ending() }

// Unwrap gives the code with which a command ends.
func (e *stoppingError) Unwrap() error { return &exitError{code: exitUnavailable} }

// notReached is why no socket leads to the host of a place.
func notReached(place local.Place) error {
	h := place.Holder()
	switch {
	case h == nil || h.State == local.Starts:
		return local.ErrNotRunning
	case h.State == local.Stops || h.PID == 0:
		return &stoppingError{*h}
	}
	if _, err := os.Lstat(place.Socket()); err == nil {
		return &exitError{exitUnavailable, fmt.Sprintf("process %d serves this configuration, but takes no connections at "+
			"%s; if that lasts, end it: kill %d", h.PID, place.Socket(), h.PID)}
	}
	return &exitError{exitUnavailable, fmt.Sprintf("process %d serves this configuration, but its socket %s is gone; it "+
		"makes a new one within seconds, or end it: kill %d", h.PID, place.Socket(), h.PID)}
}

// answerTimeout is how long a running host may take to say what it serves.
const answerTimeout = 10 * time.Second

// A silentError means that a process serves the configuration and answers nothing, such as one that is suspended.
type silentError struct{ error }

// Unwrap gives the code with which a command ends.
func (e *silentError) Unwrap() error { return &exitError{code: exitUnavailable} }

// errDisconnected means that a host has closed the connection before it said what it serves: it may have just ended.
var errDisconnected = &exitError{exitUnavailable,
	"the running host closed the connection before it answered; try again"}

// disconnected reports whether an error of an RPC is that of its connection, and not the host's own refusal.
func disconnected(err error) bool {
	s, _ := status.FromError(err)
	return s.Code() == rpc.Unavailable && len(s.Details()) == 0
}

// notAnswered is the error of a host that takes connections at the socket of a place, and failed with err to answer
// within a limit. The host's own refusal stays as it is.
func notAnswered(place local.Place, limit time.Duration, err error) error {
	if disconnected(err) {
		return errDisconnected // the process that has the lock now may be the next one
	}
	h := place.Holder()
	if status.Code(err) != rpc.DeadlineExceeded || h == nil || h.PID == 0 {
		return err
	}
	return &silentError{fmt.Errorf("process %d serves this configuration, but did not answer within %s; if that lasts, "+
		"end it: kill -9 %d", h.PID, limit, h.PID)}
}

// connect connects to the running host.
func (g *options) connect(ctx context.Context, profile string) (*runningHost, error) {
	place, err := g.place(profile)
	if err != nil {
		return nil, err
	}
	conn, err := place.Dial(ctx)
	if errors.Is(err, local.ErrNotRunning) {
		err = notReached(place)
	}
	if err != nil {
		return nil, err
	}
	r := &runningHost{conn: conn, host: apiv1.NewHostServiceClient(conn)}
	if r.info, err = r.getInfo(ctx, place, answerTimeout); err == nil && r.info.Stopping {
		err = &stoppingError{local.Holder{PID: int(r.info.Pid)}}
	}
	if err != nil {
		r.close()
		return nil, remoteError(err)
	}
	return r, nil
}

// getInfo asks the host of a place what it serves. Without a limit a call would wait in silence for a host that does
// not answer, and so would the command that ends it.
func (r *runningHost) getInfo(ctx context.Context, place local.Place, limit time.Duration) (*apiv1.GetInfoResponse,
	error) {
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	info, err := r.host.GetInfo(limited, &apiv1.GetInfoRequest{})
	switch {
	case err == nil:
		return info, nil
	case ctx.Err() != nil:
		return nil, errInterrupted
	}
	return nil, notAnswered(place, limit, err)
}

// remoteError is the error of an RPC for people.
func remoteError(err error) error {
	s, is := status.FromError(err)
	if !is {
		return err
	}
	text, hint := s.Message(), ""
	if detail := errorDetail(err); detail != nil {
		text, hint = cmp.Or(detail.Message, text), detail.Hint
	}
	if hint != "" {
		text += "\n  " + hint
	}
	code := exitUsage
	switch s.Code() {
	case rpc.Unavailable, rpc.Internal, rpc.ResourceExhausted:
		code = exitUnavailable
	case rpc.Canceled:
		code = exitInterrupted
	case rpc.DeadlineExceeded:
		code = exitTimeout
	case rpc.PermissionDenied, rpc.Unauthenticated:
		code = exitDenied
	}
	return &exitError{code, text}
}

// errorDetail is what a host says of an error beside its message, nil if it says nothing.
func errorDetail(err error) *apiv1.ErrorDetail {
	s, _ := status.FromError(err)
	for _, d := range s.Details() {
		if detail, is := d.(*apiv1.ErrorDetail); is {
			return detail
		}
	}
	return nil
}
