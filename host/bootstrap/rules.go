package bootstrap

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

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// systemPolicy has the rules of the machine's administrator. Tests use another file.
var systemPolicy = "/etc/toolhost/policy.hcl"

// policy joins all the rules that apply: the machine's, the user's, the configuration's, the profile's. Those of an
// untrusted configuration can only tighten.
func (s *activeConfiguration) policy(profile *config.Profile) (*policy.Policy, error) {
	standing, err := standingRules()
	if err != nil {
		return nil, err
	}
	configured := slices.Clone(s.Policies)
	if profile != nil {
		configured = append(configured, profile.Rules)
	}
	if !s.trusted {
		for i := range configured {
			configured[i].TightenOnly = true
		}
	}
	s.layers = slices.Concat(standing, configured)
	if profile != nil && profile.ReadOnly {
		s.layers = append(s.layers, host.ReadOnlyLayer("profile"))
	}
	return policy.New(s.layers...)
}

// Layers are the rules in use, in the order in which they are written: of the machine, the user, the configuration and
// the profile. They belong to the instance: do not change them.
func (i *Instance) Layers() []policy.Layer { return i.current.Load().layers }

// standingRules are those of the machine and the user, which apply beside every configuration.
func standingRules() ([]policy.Layer, error) {
	system, err := policyFile(systemPolicy, config.LoadSystemPolicy)
	if err != nil {
		return nil, err
	}
	own, err := UserFile("policy.hcl")
	if err != nil {
		return nil, err
	}
	if err := fsutil.CheckFolderWriters(filepath.Dir(own)); err != nil { // also if there are no rules any more
		return nil, fmt.Errorf("nothing runs, because rules may be missing from %s: %w", filepath.Dir(own), err)
	}
	user, err := policyFile(own, config.LoadPolicy)
	return slices.Concat(system, user), err
}

// policyFile reads a file of rules, if it exists.
func policyFile(path string, load func(string) (*config.PolicyFile, error)) ([]policy.Layer, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if _, err := os.Stat(path); err != nil { // such as a dangling link: its rules must not be silently missing
		if to, _ := os.Readlink(path); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("it is a link to %s, where nothing is; make that file, or remove the link", to)
		} else if path != systemPolicy {
			err = fsutil.FolderError(err, filepath.Dir(path), otherConfig)
		}
		return nil, fmt.Errorf("the rules in %s cannot be read, so nothing is run: %w", path, err)
	}
	p, err := load(path)
	if err != nil {
		return nil, err
	}
	return p.Layers, nil
}

// profile finds a profile of the configuration by its name; "" is none.
func (s *activeConfiguration) profile(name string) (*config.Profile, error) {
	if name == "" {
		return nil, nil
	}
	p, ok := s.Profiles[name]
	switch {
	case !ok && s.Path == "":
		return nil, fmt.Errorf("there is no profile %q, because there is no configuration; profiles are blocks of one", name)
	case !ok:
		names := slices.Sorted(maps.Keys(s.Profiles))
		return nil, fmt.Errorf("there is no profile %q in %s; it has %s", name, s.Path,
			cmp.Or(strings.Join(names, ", "), "none"))
	}
	return &p, nil
}

// profileFilter selects the tools of a profile.
func profileFilter(p *config.Profile) host.Filter {
	if p == nil {
		return host.Filter{}
	}
	f := p.Filter
	if p.ReadOnly { // its layer of rules allows only shell commands that read
		f.Match = func(t *host.Tool) bool {
			return (t.Hints.ReadOnly != nil && *t.Hints.ReadOnly) || t.Category == "shell"
		}
	}
	return f
}
