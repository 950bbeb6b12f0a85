package configured

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/sdk"
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
		Workdir: convert.Text(workdir), Profile: convert.Text(s.options.Load.Profile),
		Warnings: s.mistakes(c.Path, c.Warnings)}
	settings, text := c.Settings()
	for _, one := range settings {
		out.Settings = append(out.Settings, &apiv1.Setting{Block: convert.Text(one.Block), Key: convert.Text(one.Key),
			Value: s.text(one.Value), Place: convert.Text(one.Place)})
	}
	out.Settings = append(out.Settings, defaults(c, settings)...)
	out.Text = s.text(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Loaded, out.Failed = convert.Time(s.loaded), convert.Time(s.failed)
	if s.failure != nil {
		out.Mistakes = s.mistakesOf(s.failure)
	}
	return out
}

// defaultSettings are the settings of this table that the file leaves out. Those of a block that has another meaning
// when it is missing are listed only with it. docs/configuration.md has the same values.
var defaultSettings = []struct{ block, key, value string }{
	{"", "default_timeout", `"2m"`},
	{"", "error_message_limit", "1000"},
	{"", "floor", "true"},
	{"", "max_concurrency", "256"},
	{"", "max_large_result_bytes", "67108864"},
	{"", "max_result_bytes", "131072"},
	{"approval", "mode", `"ask"`},
	{"approval", "timeout", `"10m"`},
	{"audit", "content", "false"},
	{"serve", "idle_timeout", `"15m"`},
	{"serve", "on_demand", "false"},
	{"telemetry", "content", "false"},
	{"telemetry", "sample_ratio", "1"},
}

// defaults are settings that the file leaves out.
func defaults(c *config.Config, written []config.Setting) (out []*apiv1.Setting) {
	add := func(block, key, value string) {
		out = append(out, &apiv1.Setting{Block: block, Key: key, Value: value})
	}
	missing := map[string]bool{"audit": c.Audit == nil, "serve": c.Serve == nil, "telemetry": c.Telemetry == nil}
	for _, d := range defaultSettings {
		isWritten := func(w config.Setting) bool { return w.Block == d.block && w.Key == d.key }
		if !missing[d.block] && !slices.ContainsFunc(written, isWritten) {
			add(d.block, d.key, d.value)
		}
	}
	for block, without := range map[string]string{"audit": "no record is kept", "telemetry": "nothing is exported"} {
		if missing[block] {
			add(block, "", without)
		}
	}
	slices.SortStableFunc(out, func(a, b *apiv1.Setting) int { return strings.Compare(a.Block, b.Block) })
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

// PolicyService explains the rules of the instance.
type PolicyService struct{ *Services }

// Layers returns the rules.
func (s *PolicyService) Layers(context.Context, *connect.Request[apiv1.LayersRequest]) (
	*connect.Response[apiv1.LayersResponse], error) {
	out := &apiv1.LayersResponse{Mode: string(s.mode()),
		Floor: !s.instance.Config().Host.WithoutFloor || !s.instance.Trusted()}
	for _, l := range s.instance.Layers() {
		layer := &apiv1.PolicyLayer{Name: l.Name, TightenOnly: l.TightenOnly}
		for _, r := range l.Rules {
			layer.Rules = append(layer.Rules, &apiv1.PolicyRule{Name: convert.Text(r.Name), Source: convert.Text(r.Source),
				Tools: convert.Texts(r.Tools), Hints: convert.Hints(sdk.Hints(r.Hints)), Categories: convert.Texts(r.Categories),
				CostTiers: convert.Texts(r.CostTiers), Callers: convert.Texts(r.Callers), Effect: string(r.Effect),
				Reason: convert.Text(r.Reason), Conditional: r.When != nil || r.Judge != nil, Arguments: convert.Texts(r.Names)})
		}
		out.Layers = append(out.Layers, layer)
	}
	return connect.NewResponse(out), nil
}

func (s *Services) mode() host.Mode { return cmp.Or(s.instance.Host().Mode(), host.ModeAsk) }

var modes = []host.Mode{host.ModeAsk, host.ModeAutoEdit, host.ModePlan, host.ModeNeverAsk}

// Explain explains a call.
func (s *PolicyService) Explain(ctx context.Context, r *connect.Request[apiv1.ExplainRequest]) (
	*connect.Response[apiv1.ExplainResponse], error) {
	c := s.instance.Catalog()
	tool, err := c.Resolve(ctx, r.Msg.Tool)
	if err != nil {
		return nil, server.Fail(connect.CodeNotFound, sdk.CodeToolNotFound, err.Error(), "")
	}
	call := host.Call{Tool: tool, Arguments: json.RawMessage(r.Msg.Arguments), Caller: cmp.Or(r.Msg.Caller, "api")}
	d, err := c.Explain(ctx, call)
	if e, is := errors.AsType[*sdk.Error](err); is {
		return connect.NewResponse(&apiv1.ExplainResponse{Error: convert.Error(e)}), nil
	} else if err != nil {
		return nil, err
	}
	out := &apiv1.ExplainResponse{Decision: convert.Decision(d)}
	for _, m := range modes {
		if m == s.mode() {
			continue
		}
		if d, err := c.ExplainMode(ctx, call, m); err == nil {
			out.OtherModes = append(out.OtherModes, &apiv1.ModeDecision{Mode: string(m), Decision: convert.Decision(d)})
		}
	}
	return connect.NewResponse(out), nil
}
