package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/config"
)

// load reads the configuration from where --config says, else from the first place that has one.
func (g *globals) load() (*config.Config, error) {
	path, err := g.configPath()
	if err != nil {
		return nil, err
	}
	return g.loadFile(path)
}

// loadFile reads a configuration. What it takes from elsewhere is no longer told from here on.
func (g *globals) loadFile(path string) (*config.Config, error) {
	c, err := config.Load(path)
	if err == nil {
		g.conceal(c.References)
	}
	return c, err
}

func (g *globals) configPath() (string, error) {
	if named := cmp.Or(g.config, os.Getenv("TOOLHOST_CONFIG")); named != "" {
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
	return "", errNoConfiguration{fmt.Errorf("there is no configuration at %s; write one, or name one with --config. This line is enough for one:\n  plugin_dirs = [%q]",
		strings.Join(places, " or "), pluginFolder())}
}

// errNoConfiguration says that none was named, and none is at the usual places.
type errNoConfiguration struct{ error }

// loadOrShipped is load, which without any configuration gives one with the plugins beside this program.
func (g *globals) loadOrShipped() (*config.Config, error) {
	c, err := g.load()
	if _, none := errors.AsType[errNoConfiguration](err); !none {
		return c, err
	}
	dir := pluginFolder()
	if !filepath.IsAbs(dir) { // there are none
		return nil, err
	}
	return &config.Config{PluginDirs: []string{dir}}, nil
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
