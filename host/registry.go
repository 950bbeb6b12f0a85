package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A registry knows every plugin, and which tools each has. It lists a plugin when the first call needs it.
type registry struct {
	plugins map[string]*listing
	limit   time.Duration    // how long a plugin may take to tell its tools
	hides   func(*Tool) bool // tools that nobody is offered, though they can be called
	single  bool             // the host makes one call
}

var pluginName = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)

// newRegistry takes over the listings of plugins for which nothing has changed.
func (h *Host) newRegistry(plugins map[string]Plugin, o Options, old *snapshot) (*registry, error) {
	r := &registry{plugins: map[string]*listing{}, limit: o.DefaultTimeout, single: o.SingleCall}
	plugins = maps.Clone(plugins)
	if _, taken := plugins[builtIn]; !taken {
		if plugins == nil {
			plugins = map[string]Plugin{}
		}
		plugins[builtIn] = searchPlugin{h}
	}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		if !pluginName().MatchString(name) {
			return nil, fmt.Errorf("host: plugin name %q must match %s", name, pluginName())
		}
		if plugins[name] == nil {
			return nil, fmt.Errorf("host: plugin %q is nil", name)
		}
		l := &listing{name: name, plugin: plugins[name], log: h.logger, turn: make(chan struct{}, 1), changes: &h.changes,
			deaf: o.Plugins[name].IgnoreHints, options: o.Tools, pins: pins{o.Pins[name], o.Pinned}}
		if before := old.listing(name); before.fits(l) {
			l = before
		}
		r.plugins[name] = l
	}
	return r, nil
}

// lookup finds the tool of a call by its exact full name, if the call's catalog has it.
func (h *snapshot) lookup(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.checkNames(); e != nil {
			return nil, e
		}
		if u := c.unlisted; u.by == h && u.tool == c.Tool {
			return nil, u.err
		}
		tool, err := h.registry.find(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Definition = tool
		return next(ctx, c)
	}
}

func (r *registry) find(ctx context.Context, c *Call) (*Tool, error) {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := r.plugins[plugin]
	if l == nil {
		return nil, r.notFound(ctx, c, known{})
	}
	own, err := r.toolsFor(ctx, c, l)
	if err != nil {
		return nil, err
	}
	t := own.tools[c.Tool]
	switch {
	case t == nil:
		if e := own.refused(c); e != nil {
			return nil, e
		}
		return nil, r.notFound(ctx, c, own)
	case !c.catalog.allows(t):
		return nil, r.notInCatalog(ctx, c, own)
	}
	if e := r.offered(t); e != nil {
		return nil, e
	}
	return t, nil
}

// toolsFor asks the plugin if need be, for no longer than the caller's own limit, if he has one. It does not ask for a
// name that the catalog refuses whatever the tool is.
func (r *registry) toolsFor(ctx context.Context, c *Call, l *listing) (known, error) {
	own := l.load()
	switch {
	case own.tools != nil:
		return own, nil
	case !c.catalog.allowsName(c.Tool):
		return known{}, r.notInCatalog(ctx, c, known{})
	}
	asking, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.limit))
	defer cancel()
	return l.list(asking)
}

// all gives the tools of a catalog by name, and what is wrong with some. It is complete when every plugin could tell.
func (r *registry) all(ctx context.Context, c *Catalog) (tools []*Tool, problems []error, complete bool) {
	complete = true
	for _, a := range r.gather(ctx, c.reaches) {
		if a.err != nil {
			problems, complete = append(problems, a.err), false
			continue
		}
		own, wrong := c.pick(a.known)
		own = slices.DeleteFunc(own, r.hides)
		tools, problems = append(tools, own...), append(problems, wrong...)
	}
	slices.SortFunc(tools, byName)
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return tools, problems, complete
}

// An answer is what a plugin has for tools, or why it cannot tell.
type answer struct {
	plugin string
	known
	err error
}

// gather lists the plugins that are wanted, side by side, in any order.
func (r *registry) gather(ctx context.Context, wanted func(plugin string) bool) []answer {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var mu sync.Mutex
	var answers []answer
	var wg sync.WaitGroup
	for name, l := range r.plugins {
		if wanted(name) {
			wg.Go(func() {
				own, err := l.list(ctx)
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, answer{name, own, err})
			})
		}
	}
	wg.Wait()
	return answers
}

// close ends all plugins, side by side.
func (r *registry) close() error {
	var mu sync.Mutex
	var all []error
	var wg sync.WaitGroup
	for _, l := range r.plugins {
		wg.Go(func() {
			if err := l.plugin.Close(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, fmt.Errorf("closing plugin %q: %w", l.name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(all...)
}

// A listing is what the registry knows of one plugin.
type listing struct {
	name    string
	plugin  Plugin
	log     func() *slog.Logger
	turn    chan struct{} // holds a token while the plugin is being asked
	deaf    bool          // to what the plugin says of how its tools behave
	options map[string]ToolOptions
	pins    pins
	changes *atomic.Uint64 // the host's; counted under mu

	mu   sync.Mutex            // held to change last
	last atomic.Pointer[known] // what the plugin last said
}

// known is what a plugin said of its tools.
type known struct {
	tools    map[string]*Tool // by full name; nil: to be asked
	problems []error          // of tools left out
	forgot   int              // how often the tools were forgotten
	failed   int              // how often the plugin could not say
	failure  error            // the last time
}

func (l *listing) load() known {
	if k := l.last.Load(); k != nil {
		return *k
	}
	return known{}
}

func (l *listing) change(f func(k *known)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.load()
	f(&k)
	l.last.Store(&k)
}

// list gives the plugin's tools, and what is wrong with those left out. Callers who come while the plugin is being asked
// share the answer. A failure is for them alone: later callers ask again.
func (l *listing) list(ctx context.Context) (known, error) {
	seen := l.load()
	if seen.tools != nil {
		return seen, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return known{}, l.ended(ctx)
	}
	now := l.load()
	switch {
	case now.tools != nil:
		return now, nil
	case now.failed > seen.failed:
		return known{}, now.failure
	}
	return l.ask(ctx, now.forgot)
}

// ask has the plugin list its tools.
func (l *listing) ask(ctx context.Context, forgot int) (known, error) {
	defined, err := l.defined(ctx)
	switch {
	case err == nil:
		tools, problems := l.take(defined)
		return l.keep(known{tools: tools, problems: problems, forgot: forgot}), nil
	case ctx.Err() != nil: // for which the plugin can do nothing
		return known{}, l.ended(ctx)
	}
	l.change(func(k *known) { k.failed, k.failure = k.failed+1, err })
	return known{}, err
}

// defined asks the plugin. An error names the plugin and has a code.
func (l *listing) defined(ctx context.Context) (tools []sdk.Tool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(l.log(), cause, "plugin", l.name)
			err = l.unavailable(fmt.Sprintf("it panicked: %v", cause))
		}
	}()
	tools, err = l.plugin.Tools(ctx)
	if _, coded := errors.AsType[*sdk.Error](err); err != nil && !coded {
		err = l.unavailable(err.Error())
	}
	return tools, err
}

func (l *listing) unavailable(why string) error {
	return fail(sdk.CodePluginUnavailable, "NoTools", "plugin %q cannot tell its tools: %s", l.name, why)
}

func (l *listing) ended(ctx context.Context) error {
	e := sdk.EndedError(ctx)
	if e.Code == sdk.CodeCanceled {
		e.Message = fmt.Sprintf("the call was canceled while plugin %q was asked for its tools; nothing was run", l.name)
		return e
	}
	e.Message = fmt.Sprintf("plugin %q did not tell its tools in time; nothing was run", l.name)
	e.Suggestion, e.Retryable = "Try again: the plugin may still be starting.", true
	return e
}

// keep stores an answer, unless it was outdated while it came.
func (l *listing) keep(answer known) known {
	l.change(func(k *known) {
		if k.forgot == answer.forgot {
			k.tools, k.problems = answer.tools, answer.problems
		}
	})
	return answer
}

func (l *listing) forget() {
	l.change(func(k *known) {
		k.tools, k.problems = nil, nil
		k.forgot++
		l.changes.Add(1)
	})
}

// A watch waits for a plugin to tell that its tools have changed.
type watch struct {
	plugin Plugin
	end    context.CancelFunc
}

// watchOnly begins and ends watches so that there is one for each plugin that can be watched. It is for those who hold
// the lock.
func (h *Host) watchOnly(n *snapshot) {
	for name, w := range h.watches {
		if l := n.listing(name); l == nil || !same(l.plugin, w.plugin) {
			w.end()
			delete(h.watches, name)
		}
	}
	for name, l := range n.registry.plugins {
		w, able := l.plugin.(Watcher)
		if _, already := h.watches[name]; !already && able {
			ctx, end := context.WithCancel(h.base)
			h.watches[name] = watch{l.plugin, end}
			h.running.Go(func() { h.watch(ctx, name, w) })
		}
	}
}

func (h *Host) watch(ctx context.Context, name string, w Watcher) {
	err := w.Watch(ctx, func() { h.toolsChanged(ctx, name) })
	if err != nil && ctx.Err() == nil {
		h.logger().Warn("watching a plugin for changed tools ended", "plugin", name, "error", err)
	}
}

// toolsChanged forgets what a plugin had for tools. What one says that is watched no more is about another's.
func (h *Host) toolsChanged(ctx context.Context, plugin string) {
	now := h.now.Load()
	if l := now.listing(plugin); l != nil && ctx.Err() == nil {
		l.forget()
		now.tellChanged(plugin)
	}
}

func (h *snapshot) tellChanged(plugin string) {
	if h.options.OnToolsChanged != nil {
		h.options.OnToolsChanged(plugin)
	}
}

func (h *Host) logger() *slog.Logger { return h.now.Load().log }

// A leftOut is a tool that a plugin declares and nobody can call.
type leftOut struct {
	name    string // in full
	plugin  string
	why     string
	refused *sdk.Error // the answer to a call of it, nil for what is no tool at all
}

func (e *leftOut) Error() string {
	return fmt.Sprintf("plugin %q: tool %s is left out: %s", e.plugin, shownName(e.name), e.why)
}

// shownName is a tool's name in a message: as it is, unless there is more in it than names may have.
func shownName(name string) string {
	name = cutText(name, 100)
	if strings.ContainsFunc(name, func(r rune) bool { return r == '\n' || r == '\t' || r == '"' || textutil.Invisible(r) }) || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}

// nameOf gives the full name of a tool that was left out.
func nameOf(problem error) string {
	if out, ok := errors.AsType[*leftOut](problem); ok {
		return out.name
	}
	return ""
}

// A surplus is all that a plugin declares over the limit.
type surplus struct {
	plugin string
	tools  []sdk.Tool // by name
}

func (e *surplus) Error() string {
	return fmt.Sprintf("plugin %q declares %d tools, at most %d are allowed: those from %.70q on, by name, are left out",
		e.plugin, maxTools+len(e.tools), maxTools, e.tools[0].Name)
}

// concerns says whether a problem is why there is no tool of this full name.
func concerns(problem error, tool string) bool {
	if s, ok := errors.AsType[*surplus](problem); ok {
		return slices.ContainsFunc(s.tools, func(d sdk.Tool) bool { return fullName(s.plugin, d.Name) == tool })
	}
	return nameOf(problem) == tool
}
