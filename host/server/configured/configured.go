// Package configured serves what package server cannot know of a host: the plugins, the rules and the configuration of
// a *bootstrap.Instance.
package configured

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/feed"
	"github.com/toolhost/toolhost/sdk"
)

// Options configure Services.
type Options struct {
	// Load are the options with which the configuration was opened, to check its file again. What runs something is not
	// used of them.
	Load bootstrap.Options
	// Usage returns the memory of a plugin's processes, in bytes, and their processor time; 0 and nil leave both out.
	Usage func(pid int) (memory int64, cpu time.Duration)
	// Reloaded is called after each reload that has changed something; nil does nothing.
	Reloaded func()
	// Logger gets reloads; nil drops them.
	Logger *slog.Logger
}

// Services serve one Instance. Make them with New, give OnState to the options of the instance, and then call Use.
type Services struct {
	options  Options
	instance *bootstrap.Instance
	plugins  feed.Feed[string] // names of those that have changed; "" after a reload
	config   feed.Feed[struct{}]

	mu      sync.Mutex
	early   []supervise.Status      // crashes before Use
	crashes map[string]*apiv1.Crash // the last one of each plugin
	loaded  time.Time               // when the configuration in use was read
	failed  time.Time               // when the last reload failed; zero if it did not
	failure error
}

// New returns services without an instance.
func New(o Options) *Services {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Services{options: o, crashes: map[string]*apiv1.Crash{}, loaded: time.Now()}
}

// Use sets the instance, before anything is served.
func (s *Services) Use(i *bootstrap.Instance) {
	s.mu.Lock()
	s.instance = i
	early := s.early
	s.early = nil
	s.mu.Unlock()
	for _, status := range early {
		s.noteCrash(status)
	}
}

// Plugins serves PluginService.
func (s *Services) Plugins() *PluginService { return &PluginService{s} }

// Policy serves PolicyService.
func (s *Services) Policy() *PolicyService { return &PolicyService{s} }

// Configuration serves ConfigurationService.
func (s *Services) Configuration() *ConfigurationService { return &ConfigurationService{s} }

// OnState belongs into the options of the instance.
func (s *Services) OnState(now supervise.Status) {
	if now.LastError != "" && (now.State == supervise.Crashed || now.State == supervise.Backoff ||
		now.State == supervise.Quarantined) {
		s.noteCrash(now)
	}
	s.plugins.Publish(func() string { return now.Name })
}

// Watch reloads the configuration whenever its files have changed, until ctx ends.
func (s *Services) Watch(ctx context.Context) {
	for changes := s.instance.Changes(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		s.ReloadNow(ctx)
	}
}

// ReloadNow reloads the configuration. A failure is logged, and everything continues unchanged.
func (s *Services) ReloadNow(ctx context.Context) {
	switch done, err := s.reload(ctx); {
	case err == nil:
		s.options.Logger.Info("configuration reloaded", "restarted", done.Restarted)
	case ctx.Err() == nil:
		s.options.Logger.Error("not reloaded", "error", err)
	}
}

// reload reads the configuration again, and starts the named plugins again. An error means that nothing has changed.
func (s *Services) reload(ctx context.Context, restart ...string) (bootstrap.Reloaded, error) {
	done, err := s.instance.Reload(ctx, restart...)
	s.mu.Lock()
	if err == nil {
		s.loaded, s.failed, s.failure = time.Now(), time.Time{}, nil
	} else if ctx.Err() == nil {
		s.failed, s.failure = time.Now(), err
	}
	s.mu.Unlock()
	if err == nil {
		for _, failed := range done.Failed {
			s.options.Logger.Error("a plugin was not reloaded", "error", failed)
		}
		if s.options.Reloaded != nil {
			s.options.Reloaded()
		}
	}
	s.plugins.Publish(func() string { return "" })
	s.config.Publish(func() struct{} { return struct{}{} })
	return done, err
}

// ReloadFailure says why the last reload failed, without the secrets of the configuration; "" when it did not.
func (s *Services) ReloadFailure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		return ""
	}
	return s.text(s.failure.Error())
}

// texts are the texts of errors, without the secrets of the configuration.
func (s *Services) texts(all []error) []string {
	return convert.Each(all, func(err error) string { return s.text(err.Error()) })
}

// failedError is the RPC error of a reload.
func (s *Services) failedError(err error) error {
	code := sdk.Code("")
	if e, is := errors.AsType[*sdk.Error](err); is {
		code = e.Code
	}
	return server.Fail(connect.CodeFailedPrecondition, code, s.instance.Redact(err.Error()),
		"What was in use before stays in use.")
}
