package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
)

// An opening says what a command needs of its host.
type opening struct {
	only    []string  // plugins to use; none is all
	profile string    // "" is none
	approve string    // the flag of that name
	person  io.Reader // the terminal of who can be asked, or nil
	lawless bool      // no rules: for a look at all definitions, not for calls
	found   *found    // nil is to be looked for
	refresh bool      // list plugins by starting them, also those that have not changed
	offline bool      // start nothing

	configured bool // a configuration is needed; else there are the plugins beside this program without one
	single     bool // the host makes one call, and what limits count is kept for the next

	middleware     []host.Middleware      // put into the route of calls
	approver       host.Approver          // asked in the place of person; nil is one who asks person
	onState        func(supervise.Status) // is told of the plugins' states, or nil
	onToolsChanged func(plugin string)    // as host.Options has it
}

// A session is a host made from the configuration, for one command.
type session struct {
	opening    opening
	config     *config.Config
	found      *found
	trusted    bool // the configuration may loosen rules
	supervisor *supervise.Supervisor
	host       *host.Host
	catalog    *host.Catalog  // what the profile shows of it
	record     *record        // nil when none is kept
	standing   []policy.Layer // the rules that hold beside every configuration
	specs      []supervise.Spec
	processes  []*supervise.Process
	problems   []error // plugins that had to be left out
	failures   []error // plugins that could not be reloaded
}

// open joins configuration, supervisor and host.
func (g *globals) open(ctx context.Context, o opening) (*session, error) {
	if o.found == nil {
		f, err := g.find(ctx, o)
		if err != nil {
			return nil, err
		}
		o.found = f
	}
	if len(o.only) > 0 && ctx.Err() != nil { // else what was not found would be taken for not there
		return nil, errInterrupted
	}
	return g.openFound(o)
}

// openFound is open for what has been found.
func (g *globals) openFound(o opening) (_ *session, err error) {
	if err := g.checkFolder(); err != nil {
		return nil, err
	}
	c := o.found.config
	g.secrets = slices.Collect(maps.Keys(c.References.Texts))
	if c.Audit != nil {
		g.secrets = append(g.secrets, c.Audit.Secrets...)
	}
	if o.approver == nil && o.person != nil {
		o.approver = newPrompter(g, o.person)
	}
	s := &session{opening: o, config: c, found: o.found, trusted: g.trusts(c), problems: o.found.problems}
	supervised := g.supervising(o.found)
	supervised.Refresh, supervised.Offline = o.refresh, o.offline
	if a := c.Audit; a != nil && !o.offline { // else there is nothing to record, and the path may be a stranger's
		s.record = newRecord(a.Path, audit.Options{Content: a.Content, Secrets: g.secrets})
	}
	supervised.OnState = func(status supervise.Status) {
		s.onState(status)
		g.complainOfLess(status)
	}
	if s.supervisor, err = supervise.New(supervised); err != nil {
		return nil, errors.Join(err, s.record.close())
	}
	if err := s.addPlugins(o.found.specs, o.only); err != nil {
		return nil, errors.Join(err, s.supervisor.Close(), s.record.close())
	}
	if err := s.makeHost(g); err != nil {
		return nil, errors.Join(err, s.supervisor.Close(), s.record.close())
	}
	return s, nil
}

func (s *session) onState(status supervise.Status) {
	if s.record != nil {
		s.record.plugin(status)
	}
	if s.opening.onState != nil {
		s.opening.onState(status)
	}
}

func (s *session) addPlugins(specs []supervise.Spec, only []string) error {
	for _, name := range only {
		if !slices.Contains(names(specs), name) {
			return errors.Join(fmt.Errorf("there is no plugin %q%s", name, meantOf(name, names(specs))), errors.Join(s.problems...))
		}
	}
	s.specs = wanted(specs, only)
	for _, spec := range s.specs {
		p, err := s.supervisor.Add(spec)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	return nil
}

// wanted leaves those of the names, or all when there are none.
func wanted(specs []supervise.Spec, only []string) []supervise.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(spec supervise.Spec) bool {
		return len(only) > 0 && !slices.Contains(only, spec.Name)
	})
}

func (s *session) makeHost(g *globals) error {
	options, shown, err := s.settings(g)
	if err != nil {
		return err
	}
	if s.host, err = host.New(plugins(s.processes), options); err != nil {
		return err
	}
	s.catalog, err = s.host.Catalog(shown)
	return err
}

// counter keeps what limits count; where there is no place to, calls with limits are refused.
func (s *session) counter(g *globals) host.Counter {
	c, err := newCounts(s.config.Path, g.workdir)
	if err != nil {
		return uncountable{err}
	}
	return c
}

// An uncountable has no place for counts.
type uncountable struct{ why error }

func (u uncountable) Change(context.Context, string, func(*host.Counted) error) error { return u.why }

func plugins(processes []*supervise.Process) map[string]host.Plugin {
	out := map[string]host.Plugin{}
	for _, p := range processes {
		out[p.Name()] = p
	}
	return out
}

// settings are the host's options, and what the profile shows.
func (s *session) settings(g *globals) (o host.Options, shown host.Filter, err error) {
	profile, err := s.profile(s.opening.profile)
	if err != nil {
		return o, shown, err
	}
	if o, err = s.options(g, profile); err != nil {
		return o, shown, err
	}
	o.Middleware, o.OnToolsChanged = s.opening.middleware, s.opening.onToolsChanged
	o.Pins, o.Pinned = s.found.pins, keptDefinition
	if s.opening.single {
		o.SingleCall, o.Counter = true, s.counter(g)
	}
	if !s.opening.lawless {
		if o.Policy, err = s.rules(profile); err != nil {
			return o, shown, err
		}
	}
	approval(&o, s.opening.approve, s.opening.approver)
	return o, filter(profile), nil
}

// options are the host's, but for the rules and who is asked. A configuration that may not loosen rules does not loosen them
// by roots, floor or mode either.
func (s *session) options(g *globals, profile *config.Profile) (host.Options, error) {
	o := s.config.Host
	o.Logger, o.Workdir, o.ResultDir = g.logger(), g.workdir, keepResults()
	if profile != nil {
		o.Mode = cmp.Or(profile.Mode, o.Mode)
	}
	if !s.trusted {
		o.WithoutFloor, o.Roots = false, nil
		if o.Mode == host.ModeAutoEdit {
			o.Mode = host.ModeAsk
		}
	}
	if s.record != nil {
		o.Audit = s.record
	}
	return o, g.savedAnswers(&o)
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
