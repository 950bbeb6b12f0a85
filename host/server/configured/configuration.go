package configured

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
)

// ConfigurationService shows the configuration of the instance.
type ConfigurationService struct{ *Services }

// Get returns the configuration in use.
func (s *ConfigurationService) Get(context.Context, *connect.Request[apiv1.GetConfigurationRequest]) (
	*connect.Response[apiv1.GetConfigurationResponse], error) {
	return connect.NewResponse(&apiv1.GetConfigurationResponse{Configuration: s.configuration()}), nil
}

func (s *Services) configuration() *apiv1.Configuration {
	c := s.instance.Config()
	workdir, _ := filepath.Abs(s.options.Load.Workdir) // fails only where there is no current folder
	out := &apiv1.Configuration{Path: convert.Text(c.Path), Sha256: c.SHA256, Trusted: s.instance.Trusted(),
		Workdir: convert.Text(workdir), Profile: s.options.Load.Profile, Warnings: s.mistakes(c.Path, c.Warnings)}
	settings, text := c.Settings()
	for _, one := range settings {
		out.Settings = append(out.Settings, &apiv1.Setting{Block: convert.Text(one.Block), Key: convert.Text(one.Key),
			Value: s.text(one.Value), Place: convert.Text(one.Place)})
	}
	out.Settings = append(out.Settings, defaults(c)...)
	out.Text = s.text(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Loaded, out.Failed = convert.Time(s.loaded), convert.Time(s.failed)
	if s.failure != nil {
		out.Mistakes = s.mistakesOf(s.failure)
	}
	return out
}

// defaults are settings that the file leaves out, and that decide much.
func defaults(c *config.Config) (out []*apiv1.Setting) {
	add := func(unset bool, block, key, value string) {
		if unset {
			out = append(out, &apiv1.Setting{Block: block, Key: key, Value: value})
		}
	}
	add(c.Host.Mode == "", "approval", "mode", `"ask"`)
	add(c.Host.ApprovalTimeout == 0, "approval", "timeout", `"10m"`)
	add(c.Host.DefaultTimeout == 0, "", "default_timeout", `"2m"`)
	add(c.Host.MaxConcurrency == 0, "", "max_concurrency", "256")
	add(c.Host.MaxResultBytes == 0, "", "max_result_bytes", "131072")
	add(c.Audit == nil, "audit", "", "no record is kept")
	return out
}

func (s *Services) mistakes(path string, all []config.Mistake) (out []*apiv1.Mistake) {
	for _, m := range all {
		text := m.Message
		if m.Hint != "" {
			text += "; " + m.Hint
		}
		place := filepath.Base(path)
		if m.Line > 0 {
			place += fmt.Sprintf(":%d:%d", m.Line, m.Column)
		}
		out = append(out, &apiv1.Mistake{Place: convert.Text(place), Message: s.text(text)})
	}
	return out
}

// mistakesOf are those of an error of bootstrap.
func (s *Services) mistakesOf(err error) []*apiv1.Mistake {
	if e, is := errors.AsType[*config.Error](err); is {
		return s.mistakes(e.Path, e.Mistakes)
	}
	return []*apiv1.Mistake{{Message: s.text(err.Error())}}
}

// Check reads the file as it is now.
func (s *ConfigurationService) Check(context.Context, *connect.Request[apiv1.CheckConfigurationRequest]) (
	*connect.Response[apiv1.CheckConfigurationResponse], error) {
	out := &apiv1.CheckConfigurationResponse{}
	c, err := bootstrap.Load(s.options.Load)
	if err != nil {
		out.Mistakes, out.Changed = s.mistakesOf(err), true
		return connect.NewResponse(out), nil
	}
	out.Warnings = s.mistakes(c.Path, c.Warnings)
	out.Changed, out.Untrusted = c.SHA256 != s.instance.Config().SHA256, !c.Trusted()
	return connect.NewResponse(out), nil
}

// Reload switches to the file as it is now.
func (s *ConfigurationService) Reload(ctx context.Context, _ *connect.Request[apiv1.ReloadConfigurationRequest]) (
	*connect.Response[apiv1.ReloadConfigurationResponse], error) {
	done, err := s.reload(ctx)
	if err != nil {
		return nil, s.failedError(err)
	}
	return connect.NewResponse(&apiv1.ReloadConfigurationResponse{Restarted: done.Restarted,
		Failed: s.texts(done.Failed)}), nil
}

// Watch sends the configuration after each reload.
func (s *ConfigurationService) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchConfigurationRequest],
	stream *connect.ServerStream[apiv1.WatchConfigurationResponse]) error {
	w := s.config.Watch()
	defer w.End()
	for {
		if err := stream.Send(&apiv1.WatchConfigurationResponse{Configuration: s.configuration()}); err != nil {
			return err
		}
		if _, _, err := w.Next(ctx); err != nil {
			return err
		}
	}
}
