package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

// A session is a host made from the configuration, for one command.
type session struct {
	config     *config.Config
	supervisor *supervise.Supervisor
	host       *host.Host
	processes  []*supervise.Process
	problems   []error // plugins that had to be left out
}

// open joins configuration, supervisor and host. With only, other plugins are left aside.
func (g *globals) open(ctx context.Context, only ...string) (*session, error) {
	c, err := g.load()
	if err != nil {
		return nil, err
	}
	s := &session{config: c}
	s.supervisor, err = supervise.New(supervise.Options{Logger: g.logger(), Workdir: g.workdir})
	if err != nil {
		return nil, err
	}
	if err := s.addPlugins(ctx, only); err != nil {
		return nil, errors.Join(err, s.supervisor.Close())
	}
	if err := s.makeHost(g); err != nil {
		return nil, errors.Join(err, s.supervisor.Close())
	}
	return s, nil
}

func (s *session) addPlugins(ctx context.Context, only []string) error {
	specs, problems := supervise.Find(ctx, sources(s.config))
	s.problems = problems
	for _, name := range only {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if !slices.ContainsFunc(specs, func(spec supervise.Spec) bool { return spec.Name == name }) {
			return errors.Join(fmt.Errorf("there is no plugin %q", name), errors.Join(problems...))
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

func (s *session) makeHost(g *globals) (err error) {
	plugins := map[string]host.Plugin{}
	for _, p := range s.processes {
		plugins[p.Name()] = p
	}
	tools := map[string]host.ToolOptions{}
	for name, t := range s.config.Tools {
		tools[name] = host.ToolOptions{Timeout: t.Timeout, MaxResultBytes: int64(t.MaxResultBytes)}
	}
	s.host, err = host.New(plugins, host.Options{Logger: g.logger(), Workdir: g.workdir, Tools: tools, ResultDir: keepResults()})
	return err
}

// close ends every plugin.
func (s *session) close(g *globals) {
	if err := errors.Join(s.host.Close(), s.supervisor.Close()); err != nil {
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
