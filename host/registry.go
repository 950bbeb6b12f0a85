package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A registry knows every plugin and its tools. It lists a plugin when a call first needs it.
type registry struct {
	plugins    map[string]*listing
	timeout    time.Duration    // for listing a plugin
	hides      func(*Tool) bool // whether a tool is not offered, though it can be called
	singleCall bool
}

// newRegistry reuses the listings of unchanged plugins.
func (h *Host) newRegistry(plugins map[string]Plugin, o Options, old *snapshot) (*registry, error) {
	r := &registry{plugins: map[string]*listing{}, timeout: o.DefaultTimeout, singleCall: o.SingleCall}
	all := map[string]Plugin{builtIn: searchPlugin{h}}
	maps.Copy(all, plugins)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !toolname.IsPlugin(name) {
			return nil, fmt.Errorf("host: plugin name %q must match %s", name, toolname.PluginPattern)
		}
		if all[name] == nil {
			return nil, fmt.Errorf("host: plugin %q is nil", name)
		}
		l := &listing{name: name, plugin: all[name], log: h.logger, turn: make(chan struct{}, 1), changes: &h.changes,
			ignoreHints: o.Plugins[name].IgnoreHints, trustForeign: o.Plugins[name].TrustForeignHints, options: o.Tools,
			pins: pins{o.Pins[name], o.Pinned}}
		if before := old.listing(name); before.fits(l) {
			l = before
		}
		r.plugins[name] = l
	}
	return r, nil
}

// all returns the tools of a catalog by name, and errors for those left out. It is complete when every plugin could
// be listed.
func (r *registry) all(ctx context.Context, c *Catalog) (tools []*Tool, problems []error, complete bool) {
	complete = true
	for _, l := range r.listAll(ctx, c.reaches) {
		if l.err != nil {
			problems, complete = append(problems, l.err), false
			continue
		}
		own, wrong := c.pick(l.toolList)
		tools, problems = append(tools, slices.DeleteFunc(own, r.hides)...), append(problems, wrong...)
	}
	slices.SortFunc(tools, byName)
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return tools, problems, complete
}

// pluginTools are the tools of a plugin, or the reason why it cannot be listed.
type pluginTools struct {
	plugin string
	toolList
	err error
}

// listAll lists the given plugins concurrently, in any order.
func (r *registry) listAll(ctx context.Context, wanted func(plugin string) bool) (out []pluginTools) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, l := range r.plugins {
		if wanted(name) {
			wg.Go(func() {
				one := pluginTools{plugin: name, err: l.unavailable("it ended its goroutine")}
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					out = append(out, one)
				}()
				one.toolList, one.err = l.list(ctx)
			})
		}
	}
	wg.Wait()
	return out
}

// close ends all plugins, concurrently.
func (r *registry) close() error {
	var mu sync.Mutex
	var all []error
	var wg sync.WaitGroup // also for a plugin that ends its goroutine
	for _, l := range r.plugins {
		wg.Go(func() {
			err := l.close()
			mu.Lock()
			defer mu.Unlock()
			all = append(all, err)
		})
	}
	wg.Wait()
	return errors.Join(all...)
}

// A listing is the registry's data about one plugin.
type listing struct {
	name         string
	plugin       Plugin
	log          func() *slog.Logger
	turn         chan struct{} // holds a token while the plugin is being listed
	ignoreHints  bool
	trustForeign bool // also trusts hints that the plugin does not vouch for
	options      map[string]ToolOptions
	pins         pins
	changes      *atomic.Uint64 // the host's; changed under mu

	mu   sync.Mutex // locked after all others
	last atomic.Pointer[toolList]
}

type toolList struct {
	tools    map[string]*Tool // by full name; nil when not listed yet
	declared []sdk.Tool       // as the plugin gave them
	problems []error          // of tools left out
	dropped  int              // how often the tools were dropped
	failed   int              // how often listing failed
	failure  error            // the last one
}

func (l *listing) load() toolList {
	if list := l.last.Load(); list != nil {
		return *list
	}
	return toolList{}
}

func (l *listing) change(f func(*toolList)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.load()
	f(&list)
	l.last.Store(&list)
}

// drop discards the list, so that the plugin is listed again when its tools are needed.
func (l *listing) drop() {
	l.change(func(list *toolList) {
		list.tools, list.declared, list.problems = nil, nil, nil
		list.dropped++
		l.changes.Add(1)
	})
}

// dropOld drops the list if the plugin has other tools now, and reports whether it did. A Watcher reports changes, but
// not before a caller who has waited for them goes on.
func (l *listing) dropOld(ctx context.Context) bool {
	list := l.load()
	if list.tools == nil {
		return true
	}
	declared, err := l.ask(ctx)
	if err != nil || reflect.DeepEqual(declared, list.declared) {
		return false
	}
	l.drop()
	return true
}

// list returns the plugin's tools, and errors for those left out. Callers that arrive while the plugin is being
// listed share the result. A failure is shared too, but not cached: later callers list again.
func (l *listing) list(ctx context.Context) (toolList, error) {
	seen := l.load()
	if seen.tools != nil {
		return seen, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return toolList{}, l.ended(ctx)
	}
	now := l.load()
	switch {
	case now.tools != nil:
		return now, nil
	case now.failed > seen.failed:
		return toolList{}, now.failure
	}
	declared, err := l.ask(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil: // which is not the plugin's fault
		return toolList{}, l.ended(ctx)
	default:
		l.change(func(list *toolList) { list.failed, list.failure = list.failed+1, err })
		return toolList{}, err
	}
	tools, problems := l.accept(declared)
	l.change(func(list *toolList) {
		if list.dropped == now.dropped { // otherwise it changed meanwhile
			list.tools, list.declared, list.problems = tools, declared, problems
		}
	})
	return toolList{tools: tools, problems: problems}, nil
}

func (l *listing) close() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(l.log(), cause, "plugin", l.name)
			err = fmt.Errorf("it panicked: %v", cause)
		}
		if err != nil {
			err = fmt.Errorf("closing plugin %q: %w", l.name, err)
		}
	}()
	return l.plugin.Close()
}

// ask lists the plugin. An error names the plugin and has a code.
func (l *listing) ask(ctx context.Context) (tools []sdk.Tool, err error) {
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
	return fail(sdk.CodePluginUnavailable, "NoTools", "plugin %q cannot list its tools: %s", l.name, why)
}

func (l *listing) ended(ctx context.Context) error {
	e := sdk.EndedError(ctx)
	if e.Code == sdk.CodeCanceled {
		e.Message = fmt.Sprintf("the call was canceled while plugin %q listed its tools; nothing was run", l.name)
		return e
	}
	e.Message = fmt.Sprintf("plugin %q did not list its tools within the time limit; nothing was run", l.name)
	e.Suggestion = "Try again: the plugin may still be starting. If it stays slow, give the call more time, or raise " +
		"default_timeout."
	e.Retryable = true
	return e
}

// maxTools is the most tools that a plugin may have: more than servers with hundreds of tools have, which a catalog
// or a search offers in part, and few enough to be listed quickly.
const maxTools = 2048

// accept checks the definitions one by one: an invalid one excludes only that tool. Two of the same name, or of names
// that differ only by case or look alike, are both excluded: a call of either could mean the other. Of too many
// tools, the first by name are kept.
func (l *listing) accept(declared []sdk.Tool) (map[string]*Tool, []error) {
	var problems []error
	times := map[string]int{}
	// the names, by their lower-case form and their appearance
	spellings, looks := map[string][]string{}, map[string][]string{}
	for _, d := range declared {
		name := fullName(l.name, d.Name)
		if times[name]++; times[name] == 1 {
			spellings[strings.ToLower(name)] = append(spellings[strings.ToLower(name)], name)
			looks[appearance(name)] = append(looks[appearance(name)], name)
		}
	}
	if len(declared) > maxTools {
		declared = slices.SortedStableFunc(slices.Values(declared),
			func(a, b sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
		problems = []error{&excessTools{l.name, slices.Clone(declared[maxTools:])}}
		declared = declared[:maxTools]
	}
	tools := map[string]*Tool{}
	remembered, able := l.plugin.(CheckCache)
	checked, flawless := false, true
	if able {
		callback.Run(l.log(), "CheckCache.Checked", func() { checked = remembered.Checked(declared) })
	}
	for _, d := range declared {
		name := fullName(l.name, d.Name)
		n := times[name]
		if times[name] = 0; n == 0 {
			continue // reported as declared several times
		}
		t, err := l.newTool(d, name, checked)
		flawless = flawless && err == nil && len(t.Unchecked) == 0
		switch {
		case n > 1:
			err = fmt.Errorf("the plugin declares it %d times", n)
		case err == nil:
			err = cmp.Or(confusable(spellings[strings.ToLower(name)], "whose names differ only by letter case"),
				confusable(looks[appearance(name)], "whose names look alike"))
		}
		if err != nil {
			problems = append(problems, &toolProblem{name, cmp.Or(d.OriginalName, d.Name), l.name, reasonOf(err), nil})
			continue
		}
		if e := l.pins.check(d, name, l.name); e != nil {
			problems = append(problems,
				&toolProblem{name, cmp.Or(d.OriginalName, d.Name), l.name, e.Message + "; " + e.Suggestion, e})
			continue
		}
		tools[name] = t
	}
	if able && flawless && !checked {
		callback.Run(l.log(), "CheckCache.SetChecked", func() { remembered.SetChecked(declared) })
	}
	siblings := sync.OnceValue(func() map[string]bool { return allArguments(tools) }) // tools is not changed any more
	for _, t := range tools {
		t.siblings = siblings
	}
	return tools, problems
}

// allArguments are the names of the arguments of all tools; nil when one of them allows any names.
func allArguments(tools map[string]*Tool) map[string]bool {
	all := map[string]bool{}
	for _, t := range tools {
		own := t.Arguments()
		if own == nil {
			return nil
		}
		maps.Copy(all, own)
	}
	return all
}

// appearance maps names that look alike in many fonts to the same string.
func appearance(name string) string { return lookAlike.Replace(name) }

var lookAlike = strings.NewReplacer("I", "l", "1", "l", "O", "0")

// confusable says why the names of several tools can be confused; nil for one.
func confusable(names []string, how string) error {
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("the plugin declares %s, %s: it has to rename one of them; of an MCP server, exclude_tools "+
		"leaves one out", strings.Join(slices.Sorted(slices.Values(names)), " and "), how)
}

// A toolProblem is why a declared tool cannot be called.
type toolProblem struct {
	name     string // in full
	original string // at its source
	plugin   string
	why      string
	refusal  *sdk.Error // the error of a call to it; nil when that is "not found"
}

func (e *toolProblem) Error() string {
	name := cutText(e.name, 100)
	if strings.ContainsFunc(name,
		func(r rune) bool { return r == '\n' || r == '\t' || r == '"' || textutil.Invisible(r) }) || !utf8.ValidString(name) {
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("plugin %q: tool %s is left out: %s", e.plugin, name, e.why)
}

// reasonOf is an error on one line of at most a thousand characters: it may repeat a name, or a part of a schema, of
// any length.
func reasonOf(err error) string {
	text, _ := textutil.Visible(err.Error(), -1)
	return cutText(strings.ReplaceAll(text, "\n", "; "), 1000)
}

// excessTools are those that a plugin declares over the limit.
type excessTools struct {
	plugin string
	tools  []sdk.Tool // by name
}

func (e *excessTools) Error() string {
	return fmt.Sprintf("plugin %q declares %d tools, at most %d are allowed: those from %.70q on, by name, are left out",
		e.plugin, maxTools+len(e.tools), maxTools, e.tools[0].Name)
}

// problemTool returns the full name of the tool that a problem excluded, or "".
func problemTool(problem error) string {
	if p, ok := errors.AsType[*toolProblem](problem); ok {
		return p.name
	}
	return ""
}

// concerns reports whether the problem excluded the tool of this full name.
func concerns(problem error, tool string) bool {
	if e, ok := errors.AsType[*excessTools](problem); ok {
		return slices.ContainsFunc(e.tools, func(d sdk.Tool) bool { return fullName(e.plugin, d.Name) == tool })
	}
	return problemTool(problem) == tool
}

// A watch waits for a plugin to report that its tools have changed.
type watch struct {
	plugin Plugin
	end    context.CancelFunc
}

// updateWatches starts and ends watches so that there is one for each plugin that can be watched. The caller holds
// the lock.
func (h *Host) updateWatches(n *snapshot) {
	for name, w := range h.watches {
		if l := n.listing(name); l == nil || !sameValue(l.plugin, w.plugin) {
			w.end()
			delete(h.watches, name)
		}
	}
	for name, l := range n.registry.plugins {
		w, able := l.plugin.(Watcher)
		if _, already := h.watches[name]; already || !able {
			continue
		}
		ctx, end := context.WithCancel(h.base)
		h.watches[name] = watch{l.plugin, end}
		h.running.Go(func() {
			var err error
			callback.Run(h.logger().With("plugin", name), "Watcher.Watch", func() {
				err = w.Watch(ctx, func() { h.toolsChanged(ctx, name) })
			})
			if err != nil && ctx.Err() == nil {
				h.logger().Warn("watching a plugin for changed tools ended", "plugin", name, "error", err)
			}
		})
	}
}

// toolsChanged drops the list of a plugin's tools. An event of a watch that has ended belongs to an earlier plugin
// and is ignored.
func (h *Host) toolsChanged(ctx context.Context, plugin string) {
	now := h.current.Load()
	if l := now.listing(plugin); l != nil && ctx.Err() == nil {
		l.drop()
		now.reportChanged(plugin)
	}
}

func (h *snapshot) reportChanged(plugin string) {
	if h.options.OnToolsChanged != nil {
		h.options.OnToolsChanged(plugin)
	}
}
