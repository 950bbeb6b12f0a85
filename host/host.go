// Package host is the route of a tool call, and all that an agent must import: it knows which plugins there are, finds
// the tool a call means, checks the arguments, runs the call, and always answers with a Result that a model can act on.
//
// It does not know how plugins run. Package supervise keeps them as processes; package sdktest runs them in a test.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Plugin is what the host needs of a running set of tools. *supervise.Process is one. Its methods may be called at
// the same time, and return soon after their context ends: the host waits for them, also past a deadline.
type Plugin interface {
	// Tools gives the definitions of its tools.
	Tools(ctx context.Context) ([]sdk.Tool, error)
	// Call runs one tool. A tool that fails is a result with an Error; an error of Call is an *sdk.Error with a code. Its Name
	// is client.NameListedOtherwise when the tool is not the one that r.Listed says, and so was not run: the host lists the
	// plugin again.
	Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error)
	// Close ends the plugin.
	Close() error
}

// A Watcher is a Plugin that can tell when its tools have changed. Watch calls changed each time and returns when ctx
// ends.
type Watcher interface {
	Watch(ctx context.Context, changed func()) error
}

// Options of a Host. The zero value works; so does every field's zero value.
type Options struct {
	// Logger gets one line a call, and what plugins log during calls; nil drops it.
	Logger *slog.Logger
	// Workdir is the folder that tools work in, unless a Call names another; "" is the current one.
	Workdir string
	// Policy decides whether a call may run; nil leaves it to the hints of the tools: those that only read run, others are
	// asked about.
	Policy Policy
	// Roots are folders outside of the work folder in which tools that are sdk.Tool.PathAware may read.
	Roots []Root
	// WithoutFloor takes away what holds in every host whatever the Policy says: commands that would destroy the machine, a home
	// folder or a disk (shellcmd.Catastrophe) are denied.
	WithoutFloor bool
	// Approver is asked about calls that need a person's yes; nil refuses them.
	Approver Approver
	// Mode says what becomes of such calls; "" is ModeAsk.
	Mode Mode
	// ApprovalTimeout is how long an answer may take, from when the Approver is called; zero is ten minutes. The wait for
	// other questions does not count.
	ApprovalTimeout time.Duration
	// OneQuestion has the Approver called for one question at a time, as a terminal needs it; the sessions take turns. False
	// is one for each session at a time, and many sessions at once.
	OneQuestion bool
	// Audit keeps the record of decisions and calls; nil keeps none. A call that may change something is refused when it
	// cannot be recorded.
	Audit Recorder
	// Remembered are answers that were saved, and SaveAnswer saves one; nil saves none. Where the answers are saved,
	// people can read and revoke them.
	Remembered []Remembered
	SaveAnswer func(Remembered) error
	// Middleware is put into the route, the first outermost, before the tool is looked up and the arguments are read: what it
	// changes is checked.
	Middleware []Middleware
	// Tools holds settings by full tool name, such as "shell__exec".
	Tools map[string]ToolOptions
	// Plugins holds settings by the plugins' labels.
	Plugins map[string]PluginOptions
	// Pins says which tools a plugin may have: by the plugin's label and the tool's own name, the hash that Definition gives
	// of it. Another tool, or one with another definition, is disabled: it is not offered, and a call of it is denied. A plugin
	// that is not in Pins, or has nil there, is free.
	Pins map[string]map[string]string
	// Pinned gives the definition that has a hash of Pins, to tell what has changed since; nil, and an answer of nil, tell
	// the hash alone.
	Pinned func(hash string) json.RawMessage
	// MaxCostTier refuses calls of tools that cost more; "" refuses none. A tool that does not tell counts as Cheap.
	MaxCostTier sdk.CostTier
	// MaxConcurrency is how many calls run at once, of all plugins together; zero is 256. Four times as many wait in line, as
	// with Limits; more are refused with CodeLimit. From 16 on one plugin has three quarters of both at most, so that the
	// others are not held up by it.
	MaxConcurrency int
	// DefaultTimeout is for tools that say nothing of their own, and for the listing of a plugin's tools; zero is two
	// minutes.
	DefaultTimeout time.Duration
	// ErrorMessageLimit is how many characters of an error message are kept; zero is 1000. What is said about an outcome that
	// is not known comes on top.
	ErrorMessageLimit int
	// MaxResultBytes is how much text of a result is kept, for tools that say nothing of their own; zero is 128 KiB.
	MaxResultBytes int64
	// ResultDir is where results that were cut are kept whole; "" is a new folder in the system's temporary one. Nothing
	// is removed from it.
	ResultDir string
	// SingleCall is for a host that makes one call and ends, and its plugins with it: tools that are Stateful are not offered,
	// a call of one is refused with CodeNotInCatalog, and plugins are told that nothing may go on after the call.
	SingleCall bool
	// Counter keeps what MaxCalls and Rate count beyond the life of the host; nil counts in the host's memory.
	Counter Counter
	// OnToolsChanged is told the name of a plugin whose tools may have changed. It must not block.
	OnToolsChanged func(plugin string)
}

// ToolOptions are a user's settings for one tool. They win over what the plugin says; zero leaves it to that. No tool
// may take longer than an hour, or have a larger result than the wire (4 MiB).
type ToolOptions struct {
	// Description stands in for the plugin's.
	Description    string
	Timeout        time.Duration
	MaxResultBytes int64
	// Aliases are other names that the tool may be called by, such as those of another agent's tools. Catalogs, rules, limits and
	// the record go by the tool's own name. They match ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, and no two tools share one.
	Aliases []string
	Limits
}

// A Host runs tool calls. Make one with New; it is safe for concurrent use.
type Host struct {
	now      atomic.Pointer[snapshot]
	memory   memory
	asking   questions
	calls    *queue.Queue // of all plugins together
	sessions sessions
	misses   missCounter
	changes  atomic.Uint64 // how often the tools of any plugin were forgotten, or what is offered of them changed

	reloading sync.Mutex
	mu        sync.Mutex // held to begin a call, to change what the host works with, and to end base
	base      context.Context
	end       context.CancelFunc
	running   sync.WaitGroup   // calls and watches
	watches   map[string]watch // by plugin
}

// New makes a host of the plugins, by their labels. Plugins that can start lazily are not started.
func New(plugins map[string]Plugin, o Options) (*Host, error) {
	if err := o.fillIn(); err != nil {
		return nil, err
	}
	h := &Host{memory: memory{answers: o.Remembered}, watches: map[string]watch{},
		calls: queue.New("the host", "the host, for plugin")}
	first, err := h.newSnapshot(plugins, o, nil)
	if err != nil {
		return nil, err
	}
	h.base, h.end = context.WithCancel(context.Background())
	h.change(first)
	return h, nil
}

func (o *Options) fillIn() (err error) {
	o.own()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.DefaultTimeout = firstPositive(o.DefaultTimeout, 2*time.Minute)
	o.MaxConcurrency = firstPositive(o.MaxConcurrency, 256)
	o.ErrorMessageLimit = firstPositive(o.ErrorMessageLimit, 1000)
	o.MaxResultBytes = firstPositive(o.MaxResultBytes, 128<<10)
	o.ApprovalTimeout = firstPositive(o.ApprovalTimeout, defaultApprovalTimeout)
	if o.Policy == nil {
		o.Policy = hintsOnly
	}
	if o.MaxCostTier != "" && !slices.Contains(tiers, o.MaxCostTier) {
		return fmt.Errorf("host: MaxCostTier %q is not one of free, cheap, expensive", o.MaxCostTier)
	}
	if o.ResultDir != "" {
		o.ResultDir, err = filepath.Abs(o.ResultDir)
	}
	workdir, failed := filepath.Abs(o.Workdir)
	o.Workdir = workdir
	return errors.Join(err, failed, o.Mode.check(), o.checkRoots())
}

// own makes copies of what the embedder may change later.
func (o *Options) own() {
	o.Remembered = copies(o.Remembered)
	o.Middleware = slices.Clone(o.Middleware)
	o.Tools, o.Plugins = maps.Clone(o.Tools), maps.Clone(o.Plugins)
	o.Pins = maps.Clone(o.Pins)
	for plugin, tools := range o.Pins {
		o.Pins[plugin] = maps.Clone(tools)
	}
}

// Call runs one tool and always answers: whatever goes wrong is in the result's Error. It returns soon after ctx ends.
func (h *Host) Call(ctx context.Context, c Call) *Result {
	c.keepArguments()
	return h.call(ctx, c, nil)
}

// call is Call for a call whose arguments are its own, of a batch or of none.
func (h *Host) call(ctx context.Context, c Call, of *entry) *Result {
	started, now := time.Now(), h.now.Load()
	now.prepare(&c).entry = of
	result, err := now.route(ctx, &c)
	return now.answered(&c, result, err, time.Since(started))
}

// answered is the end of every call.
func (h *snapshot) answered(c *Call, r *sdk.Result, err error, took time.Duration) *Result {
	out := c.answer(r, err, took)
	c.recorded().tellEnd(h.log, out.Error)
	return out
}

// Tools lists every tool of every plugin, by full name, but for those that the policy denies in any case, and tells which
// plugins or tools had to be left out, and why. It asks the plugins that it has not listed yet, side by side, which starts
// them. The tools are the host's own: they must not be changed.
func (h *Host) Tools(ctx context.Context) ([]*Tool, []error) {
	tools, problems, _ := h.now.Load().registry.all(ctx, nil)
	return tools, problems
}

// A snapshot is a configuration snapshot: plugins, options, and the chain made of them, which hold until the next Reload. It
// never changes, and a call uses one at a time.
type snapshot struct {
	*Host
	options  Options
	log      *slog.Logger
	registry *registry
	aliases  map[string]string // full names of tools, by their other names
	results  *keeper
	queues   map[string]*queue.Queue // by plugin; of those that have limits
	route    CallFunc
	renewed  CallFunc // the route of a call that was on its way when its rules were replaced
	edited   CallFunc // the route of a call whose arguments a person has changed
	fitting  CallFunc // whether a call's arguments can be used
}

// newSnapshot prepares a snapshot that takes over from old what is the same; old is nil for the first. Nothing changes
// before change puts it in place.
func (h *Host) newSnapshot(plugins map[string]Plugin, o Options, old *snapshot) (*snapshot, error) {
	r, err := h.newRegistry(plugins, o, old)
	if err != nil {
		return nil, err
	}
	n := &snapshot{Host: h, options: o, log: o.Logger, registry: r, results: &keeper{dir: o.ResultDir}}
	if old != nil && old.options.ResultDir == o.ResultDir {
		n.results = old.results
	}
	if n.aliases, err = aliases(plugins, o.Tools); err != nil {
		return nil, err
	}
	r.hides = n.hides
	n.buildRoute()
	return n, nil
}

// buildRoute is the one place where the route of a call is put together, outermost first. Nothing behind approve may
// change the arguments.
func (h *snapshot) buildRoute() {
	outside := []Middleware{h.audit, h.conclude, h.guard, h.shed, h.open, h.shape}
	if len(h.options.Middleware) > 0 {
		outside = slices.Concat(outside, []Middleware{h.survey}, h.options.Middleware, []Middleware{h.own})
	}
	known := []Middleware{h.lookup, h.admit, h.parse}
	inside := []Middleware{h.renew, h.validate, h.budget, h.enforce, h.preview, h.approve, h.limit, h.record, h.start, h.timed}
	h.route = chain(h.dispatch, slices.Concat(outside, known, inside)...)
	h.renewed = chain(h.dispatch, slices.Concat(known, inside)...)
	h.edited = chain(h.dispatch, slices.Concat([]Middleware{h.parse}, inside)...)
	h.fitting = chain(func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }, h.parse, h.validate)
}

// prepare begins a call's life.
func (h *snapshot) prepare(c *Call) *Call {
	h.fillIn(c)
	c.Definition, c.Decision = nil, policy.Decision{}
	c.life = &life{id: c.ID, called: c.Tool}
	c.Tool = h.meant(c.Tool)
	return c
}

// fillIn fills in what the caller has left to the host.
func (h *snapshot) fillIn(c *Call) {
	if c.catalog != nil {
		d := c.catalog.defaults
		c.Caller, c.SessionID, c.Workdir = cmp.Or(c.Caller, d.Caller), cmp.Or(c.SessionID, d.SessionID), cmp.Or(c.Workdir, d.Workdir)
	}
	if c.ID == "" {
		c.ID = newID()
	}
	c.Workdir = cmp.Or(c.Workdir, h.options.Workdir)
}

// open lets calls in until Close, which ends those that run.
func (h *Host) open(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if !h.enter() {
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host is closed; nothing was run")
		}
		defer h.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.base, cancel)()
		return next(ctx, c)
	}
}

func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	h.running.Add(1)
	return true
}

// patience is how long Close waits for calls whose context has ended.
const patience = 5 * time.Second

// Close lets no more calls in, ends those that run, and then closes all plugins that it has. Calls that do not end within
// five seconds are left to themselves. Closing again does nothing.
func (h *Host) Close() error {
	if h.shut() {
		h.awaitCalls()
		return h.now.Load().registry.close()
	}
	return nil
}

// shut lets no more calls in; it is true the first time.
func (h *Host) shut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.base.Err() == nil
	h.end()
	return first
}

func (h *Host) awaitCalls() {
	ended := make(chan struct{})
	go func() { h.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		h.logger().Warn("closing the host while calls run on, though their context has ended")
	}
}
