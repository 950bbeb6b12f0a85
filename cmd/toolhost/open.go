package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// An opening says what a command needs of its host.
type opening struct {
	only    []string  // plugins to use; none is all
	profile string    // "" is none
	approve string    // the flag of that name
	person  io.Reader // the terminal of who can be asked, or nil
	lawless bool      // no rules: for a look at all definitions, not for calls
	found   *found    // nil is to be looked for

	middleware []host.Middleware // put into the route of calls
}

// A found is the configuration and the plugins that it leads to.
type found struct {
	config   *config.Config
	specs    []supervise.Spec
	problems []error // sources of plugins that cannot be used
}

// find looks for the plugins; discovery commands are run for it.
func find(ctx context.Context, c *config.Config) *found {
	specs, problems := supervise.Find(ctx, sources(c))
	return &found{c, specs, problems}
}

// A session is a host made from the configuration, for one command.
type session struct {
	config     *config.Config
	trusted    bool // the configuration may loosen rules
	supervisor *supervise.Supervisor
	host       *host.Host
	catalog    *host.Catalog  // what the profile shows of it
	record     *record        // nil when none is kept
	standing   []policy.Layer // the rules that hold beside every configuration
	processes  []*supervise.Process
	problems   []error // plugins that had to be left out
}

// open joins configuration, supervisor and host.
func (g *globals) open(ctx context.Context, o opening) (*session, error) {
	if o.found == nil {
		c, err := g.load()
		if err != nil {
			return nil, err
		}
		o.found = find(ctx, c)
	}
	if len(o.only) > 0 && ctx.Err() != nil { // else what was not found would be taken for not there
		return nil, errInterrupted
	}
	return g.openFound(o)
}

// openFound is open for what has been found.
func (g *globals) openFound(o opening) (_ *session, err error) {
	c := o.found.config
	s := &session{config: c, trusted: g.trusts(c), problems: o.found.problems}
	supervised := supervise.Options{Logger: g.logger(), Workdir: g.workdir}
	if a := c.Audit; a != nil {
		s.record = newRecord(a.Path, audit.Options{Content: a.Content, Secrets: a.Secrets})
		supervised.OnState = s.record.plugin
	}
	if s.supervisor, err = supervise.New(supervised); err != nil {
		return nil, errors.Join(err, s.record.close())
	}
	if err := s.addPlugins(o.found.specs, o.only); err != nil {
		return nil, errors.Join(err, s.supervisor.Close(), s.record.close())
	}
	if err := s.makeHost(g, o); err != nil {
		return nil, errors.Join(err, s.supervisor.Close(), s.record.close())
	}
	return s, nil
}

func (s *session) addPlugins(specs []supervise.Spec, only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(specs, func(spec supervise.Spec) bool { return spec.Name == name }) {
			return errors.Join(fmt.Errorf("there is no plugin %q%s", name, meantOf(name, names(specs))), errors.Join(s.problems...))
		}
	}
	for _, spec := range specs {
		if len(only) > 0 && !slices.Contains(only, spec.Name) {
			continue
		}
		p, err := s.supervisor.Add(spec)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	return nil
}

func sources(c *config.Config) supervise.Sources {
	return supervise.Sources{Plugins: c.Plugins, Dirs: c.PluginDirs, Commands: c.Discovery}
}

func (s *session) makeHost(g *globals, o opening) error {
	profile, err := s.profile(o.profile)
	if err != nil {
		return err
	}
	options, err := s.options(g)
	if err != nil {
		return err
	}
	options.Middleware = o.middleware
	if !o.lawless {
		if options.Policy, err = s.rules(profile); err != nil {
			return err
		}
	}
	if err := g.approval(&options, s.approvals(profile), o.approve, o.person); err != nil {
		return err
	}
	plugins := map[string]host.Plugin{}
	for _, p := range s.processes {
		plugins[p.Name()] = p
	}
	if s.host, err = host.New(plugins, options); err != nil {
		return err
	}
	s.catalog, err = s.host.Catalog(filter(profile))
	return err
}

// approvals are the settings of the configuration and the profile. Who may not loosen rules does not loosen by a mode either.
func (s *session) approvals(profile *config.Profile) config.Approval {
	a := s.config.Approval
	if profile != nil {
		a.Mode = firstOf(profile.Mode, a.Mode)
	}
	if !s.trusted && a.Mode == string(host.ModeAutoEdit) {
		a.Mode = string(host.ModeAsk)
	}
	return a
}

// options are the host's, but for the rules and who is asked.
func (s *session) options(g *globals) (host.Options, error) {
	d := s.config.Defaults
	o := host.Options{
		Logger: g.logger(), Workdir: g.workdir, ResultDir: keepResults(),
		MaxCostTier: sdk.CostTier(d.MaxCostTier), DefaultTimeout: d.Timeout, MaxResultBytes: int64(d.MaxResultBytes), ErrorMessageLimit: d.ErrorMessageLimit,
		Tools: map[string]host.ToolOptions{}, Plugins: map[string]host.PluginOptions{},
	}
	for name, t := range s.config.Tools {
		o.Tools[name] = host.ToolOptions{Description: t.Description, Timeout: t.Timeout, MaxResultBytes: int64(t.MaxResultBytes), Limits: host.Limits(t.Limits)}
	}
	for name, p := range s.config.PluginSettings {
		o.Plugins[name] = host.PluginOptions{Limits: host.Limits(p.Limits), IgnoreHints: p.IgnoreHints}
	}
	if s.record != nil {
		o.Audit = s.record
	}
	return o, savedAnswers(&o)
}

// close ends every plugin.
func (s *session) close(g *globals) {
	if err := errors.Join(s.host.Close(), s.supervisor.Close(), s.record.close()); err != nil {
		g.logger().Error("closing", "error", err)
	}
}

// complain tells on standard error what had to be left out.
func (s *session) complain(g *globals, problems ...error) {
	for _, p := range append(slices.Clone(s.problems), problems...) {
		g.complain(p)
	}
}

// load reads the configuration from where --config says, else from the first place that has one.
func (g *globals) load() (*config.Config, error) {
	path, err := g.configPath()
	if err != nil {
		return nil, err
	}
	return config.Load(path)
}

func (g *globals) configPath() (string, error) {
	if named := firstOf(g.config, os.Getenv("TOOLHOST_CONFIG")); named != "" {
		return named, nil
	}
	places := []string{"config.hcl"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "toolhost", "config.hcl"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
	}
	return "", fmt.Errorf("there is no configuration: neither %s; write one, or name one with --config. This line is enough for one:\n  plugin_dirs = [%q]",
		strings.Join(places, " nor "), pluginFolder())
}

// pluginFolder is where this program is, if plugins are there too.
func pluginFolder() string {
	if program, err := os.Executable(); err == nil {
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(program), "toolhost-plugin-*")); len(found) > 0 {
			return filepath.Dir(program)
		}
	}
	return "DIR"
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
