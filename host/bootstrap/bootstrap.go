// Package bootstrap turns a configuration file into a running host: it finds and reads the file, checks that it is
// trusted, finds its plugins, compares them with the lock file, protects toolhost's own files from them, joins all
// rules that apply, opens the record of calls, and makes the host.
// Open does all of it in one call. What its Options leave out is refused rather than skipped: without TrustNamed a
// file must have been trusted (`toolhost trust`), without AskTrust no one is asked to trust it, and without an
// Approver a call that needs a person's approval fails.
// Programs that examine a configuration without running it (validate, doctor, trust) use Load and Configuration.Find.
package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/pluginlog"
)

// ErrNoWorkdir means that the current folder cannot be found, and Options.Workdir names no other.
var ErrNoWorkdir = errors.New("the current folder cannot be found")

// Options of Open and Load. The zero value opens the configuration at the usual places, if it is trusted. A panic of a
// function here is logged; what depends on its result fails.
type Options struct {
	// Config names the configuration file. "" is $TOOLHOST_CONFIG, otherwise ./config.hcl, otherwise config.hcl in
	// toolhost's folder of the user's configuration.
	Config string
	// TrustNamed trusts what the user chose: a file that Config or $TOOLHOST_CONFIG names, and the one in the user's
	// configuration folder. Set it only if Config comes from a person, or is the program's own file.
	TrustNamed bool
	// AskTrust asks a person whether to trust a configuration in its present form; agreement is remembered. nil refuses.
	AskTrust func(ctx context.Context, r *TrustRequest) (bool, error)
	// DefaultDir is the folder whose plugins are used where there is no configuration; "" makes that an error.
	DefaultDir string

	// Installed adds the plugins that the user has installed, unless the configuration has others of their names.
	Installed bool

	// Workdir is the folder that tools work in; "" is the current one.
	Workdir string
	// Plugins are the names of the plugins to use; none is all.
	Plugins []string
	// InProcess are plugins of the program itself by their labels, beside those of the configuration and under the same
	// rules, such as from host.InProcess. Close ends them; when Open fails, the caller does.
	InProcess map[string]host.Plugin
	// Profile names the profile whose tools are offered, under its rules.
	Profile string
	// Remote means that calls come from people other than the user: the user's saved approvals do not cover them, and
	// theirs are not saved. Plugins get no folder for their state, which would mix what different people make them keep.
	Remote bool

	// Approver is asked about calls that need a person's approval; nil refuses them.
	Approver host.Approver
	// OneQuestion asks the Approver one question at a time, as a terminal does.
	OneQuestion bool
	// AllQuestions asks the Approver all questions at once, as host.Options.AllQuestions.
	AllQuestions bool
	// Input answers the questions of tools, as host.Options.Input; nil answers none.
	Input host.InputHandler
	// Approve overrides the approval mode of the configuration. A rule that denies still denies.
	Approve Approve

	// Logger receives the log, without the secrets of the configuration; nil drops it. It must not block.
	Logger *slog.Logger
	// Notice is called with messages for the operator; nil logs them as warnings. It must not block.
	Notice func(Notice)
	// OnConfig is called with each configuration that is read, before anything in it is reported.
	OnConfig func(*config.Config)
	// OnState receives the states of plugins, as supervise.Options.OnState.
	OnState func(supervise.Status)
	// OnToolsChanged is called when the tools of a plugin may have changed, as host.Options.OnToolsChanged, and by Watch
	// with "" for all plugins.
	OnToolsChanged func(plugin string)
	// Telemetry returns the providers of traces and metrics for a trusted configuration, as host.Options has them; nil
	// makes none. It is called once: changes of the telemetry block take effect when the program starts again.
	Telemetry func(c *config.Config) (trace.TracerProvider, metric.MeterProvider, error)
	// Middleware is added to the chain of calls, as host.Options.Middleware.
	Middleware []host.Middleware

	// SingleCall makes a host for one call: the counts of limits are kept in a file for the next. Tool is the tool that
	// will be called, if that is known: discovery commands that take long are not waited for when its plugin is another's,
	// and is not confined.
	SingleCall bool
	Tool       string
	// Refresh starts plugins to list their tools, even if they are unchanged since an earlier start.
	Refresh bool
	// Offline starts nothing, and lists tools known from earlier starts. The configuration need not be trusted for it.
	Offline bool
}

// A Notice is a message for the operator.
type Notice struct {
	Kind   NoticeKind
	Plugin string // the plugin concerned, if any; where Err names several, the one that was started
	Err    error
}

// NoticeKind is the subject of a Notice.
type NoticeKind string

// The kinds of notices.
const (
	NoticeLeftOut  NoticeKind = "left_out" // a plugin, or a source of plugins, cannot be used
	NoticeUnlocked NoticeKind = "unlocked" // a plugin runs although it is not in the lock file
	NoticeSandbox  NoticeKind = "sandbox"  // plugins run at a lower sandbox level than requested, for one reason
	NoticeAnswers  NoticeKind = "answers"  // remembered approvals that no longer hold
)

// An Instance is a running host with its plugins. Close ends both.
type Instance struct {
	options    Options
	redactor   *redactor
	record     *record // nil keeps none
	logs       *pluginlog.Store
	supervisor *supervise.Supervisor
	host       *host.Host
	close      func() error // once

	traces  trace.TracerProvider
	metrics metric.MeterProvider

	reloading sync.Mutex // held by Reload
	current   atomic.Pointer[activeConfiguration]
}

// An activeConfiguration is the state in use until the next reload.
type activeConfiguration struct {
	*Plugins
	specs     []supervise.Spec // of the plugins that Options select
	processes []*supervise.Process
	catalog   *host.Catalog
	trusted   bool
	asRead    map[string]string // the states of the watched files before they were read, by their paths
	layers    []policy.Layer
	files     map[string]map[string]string // states of the files of each plugin, when it was started
}

// Open reads the configuration, asks whether to trust it if necessary, and runs it. The error is a *NotFoundError
// when there is no configuration, an *UntrustedError when it may not be used, and a *config.Error when it has
// mistakes.
func Open(ctx context.Context, o Options) (*Instance, error) {
	c, err := Load(o)
	if err != nil {
		return nil, err
	}
	p := c.FindOffline
	if !o.Offline {
		if err := c.Admit(ctx); err != nil {
			return nil, err
		}
		p = c.Find
	}
	return p(ctx).Open(ctx)
}

// OpenProgram runs one plugin without a configuration, such as one that is being developed.
func OpenProgram(ctx context.Context, spec supervise.Spec, o Options) (*Instance, error) {
	c := &Configuration{Config: &config.Config{}, options: o, redactor: &redactor{}, builtin: true}
	p := &Plugins{Configuration: c, Specs: []supervise.Spec{spec}}
	p.giveStateFolders()
	return p.Open(ctx)
}

// Open makes the host. Plugins start when they are first needed, unless they are eager.
func (p *Plugins) Open(ctx context.Context) (*Instance, error) { return p.open(ctx, true) }

// open makes the host; without rules only to list the definitions of all tools, not for calls.
func (p *Plugins) open(ctx context.Context, rules bool) (_ *Instance, err error) {
	c, o := p.Configuration, p.options
	if err := o.Approve.check(); err != nil {
		return nil, err
	}
	s := &activeConfiguration{Plugins: p, trusted: c.Trusted()}
	switch {
	case !s.trusted && !o.Offline:
		return nil, c.Untrusted()
	case len(o.Plugins) > 0 && ctx.Err() != nil: // an interrupted discovery did not find all plugins
		return nil, ctx.Err()
	}
	if _, err := os.Getwd(); o.Workdir == "" && err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWorkdir, err)
	}
	i := &Instance{options: o, redactor: c.redactor, logs: keepLogs(o)}
	i.close = sync.OnceValue(i.closeAll)
	o.Logger = c.redactor.logger(i.logs.Over(o.Logger))
	i.options.Logger = o.Logger
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Close())
		}
	}()
	if a := c.Audit; a != nil && !o.Offline { // offline nothing is recorded, and an untrusted file may have named the path
		i.record = newRecord(a.Path, c.Dir, audit.Options{Content: a.Content, Secrets: c.secrets()})
		i.record.where = a.Where
	}
	if o.Telemetry != nil && s.trusted {
		err = errors.New("Options.Telemetry panicked; the log has the stack")
		callback.Run(o.Logger, "bootstrap.Options.Telemetry", func() { i.traces, i.metrics, err = o.Telemetry(p.Config) })
		if err != nil {
			return nil, err
		}
	}
	supervised := p.superviseOptions()
	supervised.OnState, supervised.Logger = i.onState, o.Logger
	supervised.OnReduced = func(r supervise.Reduction) {
		i.notice(NoticeSandbox, r.Plugins[0], fmt.Errorf("%w (see toolhost doctor)", r))
	}
	if i.supervisor, err = supervise.New(supervised); err != nil {
		return nil, err
	}
	if s.specs, err = p.chosen(o.Plugins); err != nil {
		return nil, err
	}
	s.noteFiles()
	options, shown, err := i.hostOptions(s, rules) // before anything starts, since it refuses rules of others
	if err != nil {
		return nil, err
	}
	for _, spec := range s.specs {
		if err := supervised.CheckNesting(spec); err != nil && !o.Offline && !o.SingleCall { // a call may be of another one
			return nil, err
		}
		if _, err := i.supervisor.Add(spec); err != nil {
			return nil, err
		}
	}
	s.processes = i.supervisor.Processes()
	s.files = s.programs()
	if i.host, err = host.New(i.plugins(s.processes), options); err != nil {
		return nil, err
	}
	if s.catalog, err = i.host.Catalog(shown); err != nil {
		return nil, err
	}
	i.current.Store(s)
	i.announce(s)
	return i, nil
}

// superviseOptions are the supervisor's options for these plugins.
func (p *Plugins) superviseOptions() supervise.Options {
	o := p.options
	definitions, _ := cacheFolder("definitions-cache") // "" when there is none
	return supervise.Options{
		Config: p.Path, Workdir: o.Workdir, CacheDir: definitions,
		Refresh: o.Refresh, Offline: o.Offline,
		ReadOnly: slices.Concat(p.protected(), p.executed(p.Specs)), Masked: p.masked(), Reserved: p.reserved(p.Specs),
		Shared: p.shared(p.Specs),
	}
}

// chosen returns the specs of the named plugins, or all when there are no names.
func (p *Plugins) chosen(only []string) ([]supervise.Spec, error) {
	for _, name := range only {
		if !slices.Contains(p.Names(), name) {
			return nil, errors.Join(p.unknown(name), errors.Join(p.Problems...))
		}
	}
	return p.selected(only), nil
}

func (p *Plugins) selected(only []string) []supervise.Spec {
	return slices.DeleteFunc(slices.Clone(p.Specs), func(s supervise.Spec) bool {
		return len(only) > 0 && !slices.Contains(only, s.Name)
	})
}

// An UnknownPluginError means that no plugin has the name that someone gave.
type UnknownPluginError struct{ Name, hint string }

func (e *UnknownPluginError) Error() string {
	return fmt.Sprintf("there is no plugin %q%s", e.Name, e.hint)
}

func (p *Plugins) unknown(name string) error {
	if slices.Contains(p.Names(), name) {
		return &UnknownPluginError{name, " among those that this host was opened with"}
	}
	return &UnknownPluginError{name, suggestName(name, p.Names())}
}

// Host returns the host. Unlike Catalog it is not limited to the profile's tools.
func (i *Instance) Host() *host.Host { return i.host }

// Catalog returns the catalog of the profile's tools.
func (i *Instance) Catalog() *host.Catalog { return i.current.Load().catalog }

// Config is the configuration in use.
func (i *Instance) Config() *config.Config { return i.current.Load().Config }

// Trusted reports whether the configuration may loosen rules. Only an Offline instance may be untrusted.
func (i *Instance) Trusted() bool { return i.current.Load().trusted }

// Plugins are those that the configuration names or discovers.
func (i *Instance) Plugins() *Plugins { return i.current.Load().Plugins }

// Processes are the plugins in use, in the order of the configuration.
func (i *Instance) Processes() []*supervise.Process { return slices.Clone(i.current.Load().processes) }

// Close ends all calls and plugins, and finishes the record. Closing again waits for the same end, and returns the
// same error.
func (i *Instance) Close() error { return i.close() }

func (i *Instance) closeAll() error {
	var err error
	if i.host != nil {
		err = i.host.Close()
	}
	if i.supervisor != nil {
		err = errors.Join(err, i.supervisor.Close())
	}
	i.logs.Close()
	return errors.Join(err, i.record.close())
}

// plugins are all that the host has.
func (i *Instance) plugins(processes []*supervise.Process) map[string]host.Plugin {
	out := map[string]host.Plugin{}
	maps.Copy(out, i.options.InProcess)
	for _, p := range processes {
		out[p.Name()] = p
	}
	return out
}

// hostOptions are the options of the host, and the filter of the profile.
func (i *Instance) hostOptions(s *activeConfiguration, rules bool) (out host.Options, shown host.Filter, err error) {
	profile, err := s.profile(i.options.Profile)
	if err != nil {
		return out, shown, err
	}
	for _, spec := range s.specs {
		if _, twice := i.options.InProcess[spec.Name]; twice {
			return out, shown, fmt.Errorf(
				"plugin %q is one of the configuration, and one of Options.InProcess: rename one", spec.Name)
		}
	}
	out = s.Host
	out.Logger, out.Workdir, out.ResultDir = i.options.Logger, i.options.Workdir, resultFolder()
	out.Middleware, out.OnToolsChanged = i.options.Middleware, i.options.OnToolsChanged
	out.OneQuestion, out.AllQuestions = i.options.OneQuestion, i.options.AllQuestions
	out.Pins, out.Pinned = s.pins, keptDefinition
	out.Plugins = withSpecs(out.Plugins, s.specs)
	if profile != nil {
		out.Mode = cmp.Or(profile.Mode, out.Mode)
	}
	if !s.trusted { // it loosens nothing
		out.WithoutFloor, out.Roots = false, nil
		if out.Mode == host.ModeAutoEdit {
			out.Mode = host.ModeAsk
		}
	}
	if i.record != nil {
		out.Audit = i.record
	}
	out.TracerProvider, out.MeterProvider = i.traces, i.metrics
	if t := s.Telemetry; t != nil && t.Content {
		out.TraceContent = i.redactor.text
	}
	if i.options.SingleCall {
		out.SingleCall, out.Counter = true, newCounts(s.Path, i.options.Workdir)
	}
	if rules {
		if out.Policy, err = s.policy(profile); err != nil {
			return out, shown, err
		}
	}
	i.setApproval(&out)
	return out, profileFilter(profile), i.setRemembered(&out)
}

// withSpecs adds what the specs say: calls of plugins that may be stopped at a breakpoint have all the time that a call
// may have, and the environment of those that inherit the host's is that.
func withSpecs(options map[string]host.PluginOptions, specs []supervise.Spec) map[string]host.PluginOptions {
	options = maps.Clone(options)
	for _, s := range specs {
		inherits := s.InheritEnv != nil && *s.InheritEnv
		if !s.Attach && !inherits {
			continue
		}
		if options == nil {
			options = map[string]host.PluginOptions{}
		}
		o := options[s.Name]
		if s.Attach {
			o.Timeout = host.MaxTimeout
		}
		if inherits {
			o.Env = map[string]string{}
			for _, entry := range s.Environment() {
				name, value, _ := strings.Cut(entry, "=")
				o.Env[name] = value
			}
		}
		options[s.Name] = o
	}
	return options
}

// onState records and reports a plugin's state.
func (i *Instance) onState(status supervise.Status) {
	if i.record != nil {
		i.record.plugin(status)
	}
	if i.options.OnState != nil {
		i.options.OnState(status)
	}
}

// announce reports what was left out, and what is not locked.
func (i *Instance) announce(s *activeConfiguration) {
	for _, err := range s.Problems {
		i.notice(NoticeLeftOut, "", err)
	}
	for _, spec := range s.specs {
		for _, err := range s.Unlocked(spec.Name) {
			i.notice(NoticeUnlocked, spec.Name, err)
		}
	}
}

func (i *Instance) notice(kind NoticeKind, plugin string, err error) {
	if i.options.Notice != nil {
		callback.Run(i.options.Logger, "bootstrap.Options.Notice", func() { i.options.Notice(Notice{kind, plugin, err}) })
	} else {
		i.options.Logger.Warn(err.Error(), "kind", string(kind), "plugin", plugin)
	}
}

// Verify returns the reason why a plugin in use cannot be started, without trying it.
func (i *Instance) Verify(name string) error { return i.current.Load().spec(name).Verify() }
