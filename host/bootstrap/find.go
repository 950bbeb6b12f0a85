package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Configuration is a file that was read. Nothing in it is started before it is trusted.
type Configuration struct {
	*config.Config
	options  Options
	redactor *redactor
	builtin  bool              // there is no file
	asRead   map[string]string // the state of the file before it was read, by its path
}

// Load reads the configuration that the options name, otherwise the first that is found. It starts nothing. The error
// is a *config.Error when the file has mistakes, and a *NotFoundError when there is none.
func Load(o Options) (*Configuration, error) {
	c := &Configuration{options: o, redactor: &redactor{}}
	path, err := ConfigPath(o)
	if _, none := errors.AsType[*NotFoundError](err); none && (o.DefaultDir != "" || hasInstalled(o)) &&
		namedConfig(o) == "" {
		c.Config, c.builtin = &config.Config{}, true
		if o.DefaultDir != "" {
			c.PluginDirs = []string{o.DefaultDir}
		}
		return c, nil
	} else if err != nil {
		return nil, err
	}
	if err := c.read(path); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Configuration) read(path string) (err error) {
	absolute, _ := filepath.Abs(path) // config.Load says what fails
	asRead, load := stateOf(absolute), config.Load
	if c.isNamed() {
		load = config.LoadNamed
	}
	c.Config, err = load(path)
	if _, others := errors.AsType[*fsutil.OwnershipError](err); others && c.options.TrustNamed {
		if _, named := config.LoadNamed(path); named == nil {
			return fmt.Errorf("%w; if you trust its owner, name the file: --config %s", err, path)
		}
	}
	if err != nil {
		return err
	}
	c.asRead = map[string]string{absolute: asRead}
	c.redactor.add(c.Config, c.secrets())
	if c.options.OnConfig != nil {
		callback.Run(c.logger(), "bootstrap.Options.OnConfig", func() { c.options.OnConfig(c.Config) })
	}
	return nil
}

// logger is the log without the secrets of the configuration.
func (c *Configuration) logger() *slog.Logger { return c.redactor.logger(c.options.Logger) }

// secrets are the texts that the configuration redacts from the log, the record, and what is shown of it.
func (c *Configuration) secrets() []string {
	out := slices.Collect(maps.Keys(c.References.Texts))
	if c.Audit != nil {
		out = append(out, c.Audit.Secrets...)
	}
	if c.Serve != nil {
		for _, t := range c.Serve.Tokens {
			out = append(out, t.Value)
		}
	}
	for _, i := range c.Identities {
		out = append(out, i.Token)
	}
	for _, n := range c.Notify {
		out = append(out, n.Secret)
	}
	return out
}

// ConfigPath is where the options find the configuration: the error is a *NotFoundError when there is none.
func ConfigPath(o Options) (string, error) {
	places := ConfigPlaces(o)
	for _, p := range places {
		// A link that leads to nothing is an error too: rules must not be silently missing.
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
	}
	return "", &NotFoundError{Places: places, Named: namedConfig(o) != ""}
}

// ConfigPlaces are where the options look for the configuration, in order: only the file that they name, if they do.
func ConfigPlaces(o Options) []string {
	if named := namedConfig(o); named != "" {
		return []string{named}
	}
	places := []string{"config.hcl"}
	if own, err := UserFile("config.hcl"); err == nil {
		places = append(places, own)
	}
	return places
}

func namedConfig(o Options) string { return cmp.Or(o.Config, os.Getenv("TOOLHOST_CONFIG")) }

// A NotFoundError means that there is no configuration at the searched places. It is an fs.ErrNotExist.
type NotFoundError struct {
	Places []string
	Named  bool // the user named the one place
}

func (e *NotFoundError) Error() string {
	return "there is no configuration at " + strings.Join(e.Places, " or ")
}

// Is reports whether the target is fs.ErrNotExist.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Plugins are the plugins that a configuration finds. Nothing is started before Open.
type Plugins struct {
	*Configuration
	// Specs are the plugins, with what the lock file requires of them.
	Specs []supervise.Spec
	// Problems are sources of plugins that cannot be used.
	Problems []error

	installed map[string]bool              // by the user, under the lock of that folder
	unlocked  map[string]error             // notices of plugins that are not locked
	pins      map[string]map[string]string // see host.Options
	reported  func() supervise.Options     // superviseOptions, once
}

// Find looks for the plugins. It runs discovery commands only if the configuration is trusted, and so are the rules of
// the machine and the user.
func (c *Configuration) Find(ctx context.Context) *Plugins {
	if !c.Trusted() {
		return c.find(ctx, nil)
	}
	if len(c.Discovery) > 0 {
		if _, err := standingRules(); err != nil {
			p := c.find(ctx, nil)
			p.Problems = append(p.Problems, err)
			return p
		}
	}
	return c.find(ctx, c.Discoveries())
}

// FindOffline looks for the plugins without running anything. Each discovery command is a problem.
func (c *Configuration) FindOffline(ctx context.Context) *Plugins {
	p := c.find(ctx, nil)
	for _, d := range c.Discovery {
		p.Problems = append(p.Problems, fmt.Errorf("%s: plugin_discovery %q is not run, and the plugins that it names "+
			"are not known", d.Source, d.Name))
	}
	return p
}

func (c *Configuration) find(ctx context.Context, commands []supervise.Discovery) *Plugins {
	folder, lock, err := c.installedPlugins()
	specs, problems := supervise.Find(ctx, supervise.Sources{Plugins: c.Plugins, Dirs: c.PluginDirs,
		DirsSource: c.PluginDirsSource, Installed: folder, Commands: commands, Enough: c.enough})
	if err != nil {
		problems = append(problems, err)
	}
	p := &Plugins{Configuration: c, Problems: problems, pins: c.Pins()}
	p.installed = c.areInstalled(specs, folder)
	checked, unlocked := c.Locked.Check(superviseShipped(specs, c.Locked), c.LockMode, c.Dir)
	p.Specs, p.unlocked = checked, unlocked
	p.lockInstalled(lock)
	p.giveStateFolders()
	p.reported = sync.OnceValue(p.superviseOptions)
	return p
}

// enough reports whether the plugin of the tool that will be called is among those that are known, and needs no others:
// those that it may call, and those whose programs its sandbox protects.
func (c *Configuration) enough(known map[string]supervise.Spec) bool {
	called, _, _ := strings.Cut(c.options.Tool, "__")
	s, ok := known[called]
	return ok && len(c.Host.Plugins[called].MayCall) == 0 &&
		!superviseShipped([]supervise.Spec{s}, c.Locked)[0].Sandbox.Requested().AtLeast(sandbox.Confined)
}

// Discoveries are the discovery commands as they would run: confined, with toolhost's own files protected.
func (c *Configuration) Discoveries() []supervise.Discovery {
	out := slices.Clone(c.Discovery)
	for i := range out {
		out[i].ReadOnly = slices.Concat(c.protected(), c.executed(c.Plugins), c.reserved(c.Plugins))
		out[i].Shared, out[i].Config = c.shared(c.Plugins), c.Path
	}
	return out
}

// Names are the labels of the plugins.
func (p *Plugins) Names() (out []string) {
	for _, s := range p.Specs {
		out = append(out, s.Name)
	}
	return out
}
