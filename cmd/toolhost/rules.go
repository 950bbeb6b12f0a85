package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
)

// systemPolicy holds the rules of the machine's administrator. Tests put another file here.
var systemPolicy = "/etc/toolhost/policy.hcl"

// rules joins all the rules that hold: the machine's, the user's, the configuration's, the profile's.
func (s *session) rules(profile *config.Profile) (_ *policy.Policy, err error) {
	if s.standing, err = standingRules(); err != nil {
		return nil, err
	}
	configured := slices.Clone(s.config.Policies)
	if profile != nil {
		configured = append(configured, profile.Rules)
	}
	if !s.trusted {
		for i := range configured {
			configured[i].TightenOnly = true
		}
	}
	layers := slices.Concat(s.standing, configured)
	if profile != nil && profile.ReadOnly {
		layers = append(layers, host.ReadOnlyLayer("profile"))
	}
	return policy.New(layers...)
}

// standingRules are those of the machine and the user, which hold beside every configuration.
func standingRules() ([]policy.Layer, error) {
	system, err := policyFile(systemPolicy, true)
	if err != nil {
		return nil, err
	}
	own, err := userFile("policy.hcl")
	if err != nil {
		return nil, err
	}
	user, err := policyFile(own, false)
	return slices.Concat(system, user), err
}

// policyFile reads a file of rules, if it is there and nobody else can have written it.
func policyFile(path string, byRoot bool) ([]policy.Layer, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	info, err := os.Stat(path) // which fails for a link that leads nowhere: its rules must not get lost
	if err != nil {
		return nil, fmt.Errorf("the rules in %s cannot be read, so nothing is run: %w", path, err)
	}
	if why := forged(info, byRoot); why != "" {
		return nil, fmt.Errorf("the rules in %s are not followed, and nothing is run: %s", path, why)
	}
	p, err := config.LoadPolicy(path)
	if err != nil {
		return nil, err
	}
	return p.Layers, nil
}

// profile finds a profile of the configuration by its name; "" is none.
func (s *session) profile(name string) (*config.Profile, error) {
	if name == "" {
		return nil, nil
	}
	p, ok := s.config.Profiles[name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.config.Profiles))
		return nil, fmt.Errorf("there is no profile %q in %s; it has %s", name, s.config.Path, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return &p, nil
}

// filter is what a profile shows.
func filter(p *config.Profile) host.Filter {
	if p == nil {
		return host.Filter{}
	}
	f := p.Filter
	if p.ReadOnly { // the layer of rules that goes with it lets only those commands of a shell through that read
		f.Match = func(t *host.Tool) bool {
			return (t.Hints.ReadOnly != nil && *t.Hints.ReadOnly) || t.Category == "shell"
		}
	}
	return f
}

// profileFlag lets a command choose a profile.
func (g *globals) profileFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "profile", "", "only the tools of this `profile`, under its rules")
	complete(cmd, "profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := g.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(c.Profiles)), cobra.ShellCompDirectiveNoFileComp
	})
}

// trusts says whether the configuration may start what it names, and loosen rules.
func (g *globals) trusts(c *config.Config) bool {
	return !g.projectOwn(c) || isTrusted(c.Path, c.SHA256)
}

// projectOwn says whether the configuration is one that was found in the current folder, rather than named or the user's, or
// is to be taken for one.
func (g *globals) projectOwn(c *config.Config) bool {
	if g.checkTrust {
		return true
	}
	if cmp.Or(g.config, os.Getenv("TOOLHOST_CONFIG")) != "" {
		return false
	}
	if own, err := userFile("config.hcl"); err == nil && own == c.Path {
		return false
	}
	here, err := filepath.Abs("config.hcl")
	return err != nil || here == c.Path
}
