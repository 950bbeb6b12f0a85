package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/toolname"
)

const (
	// listPatience is how long lists wait for a plugin that has not said what tools it has, since a list first waited for
	// it: a client has what is known within a second.
	listPatience = 700 * time.Millisecond
	// emptyPatience is that of a list without any tool: many clients list once, and give up after ten seconds at least.
	emptyPatience = 8 * time.Second
	// callPatience is that of a call of a tool that may be in no list yet.
	callPatience = 30 * time.Second
	// A plugin that cannot list its tools is asked again after retryFirst, and then after times that double up to
	// retryMost.
	retryFirst = 2 * time.Second
	retryMost  = 5 * time.Minute
)

// A catalog is the list of tools as it is served. It lists each plugin in the background: one that is slow, cannot be
// started or hangs delays no other, and its tools appear when they are known.
type catalog struct {
	ctx    context.Context // ends the background
	source func() *host.Catalog
	naming naming
	lists  func(full string) bool // the tools of a deferred list beside search and call; nil lists all
	log    *slog.Logger
	// changed is called with each list that differs from the one before; seen says that a client knows that one.
	changed func(now *servedTools, seen bool)

	background sync.WaitGroup

	rebuilding sync.Mutex // held to make a list and to report it

	mu      sync.Mutex
	plugins map[string]*pluginTools
	step    chan struct{} // closed when a plugin is done
	served  *servedTools
	shown   bool            // a client has seen a list
	logged  map[string]bool // problems that were logged
}

// pluginTools are the tools of one plugin, as it last said.
type pluginTools struct {
	tools    []*host.Tool
	problems []error
	wanted   time.Time // first, by a list
	asked    bool      // it was asked, whether or not it answered
	running  bool      // it is being asked
	again    bool      // it has changed meanwhile
	failed   int       // how often in a row
	retry    *time.Timer
}

// servedTools are the tools that clients can call. The value never changes.
type servedTools struct {
	listed []*definition          // what a client sees, in the order of their names
	byName map[string]*definition // those
	full   map[string]*definition // all that can be called, by their full names in the host
}

func newCatalog(ctx context.Context, source func() *host.Catalog, o *Options,
	changed func(*servedTools, bool)) *catalog {
	c := &catalog{ctx: ctx, source: source, naming: newNaming(o.ServerName, o.PlainNames), log: o.Logger, changed: changed,
		plugins: map[string]*pluginTools{}, step: make(chan struct{}), served: &servedTools{}, logged: map[string]bool{}}
	if o.Deferred {
		c.lists = func(full string) bool { return toolname.MatchesAny(o.List, full) }
	}
	c.rebuild()
	c.refreshAll()
	return c
}

// refreshAll asks every plugin, and forgets those that are gone.
func (c *catalog) refreshAll() {
	labels := c.source().Plugins()
	c.mu.Lock()
	gone := false
	for label, p := range c.plugins {
		if !slices.Contains(labels, label) {
			if p.retry != nil {
				p.retry.Stop()
			}
			delete(c.plugins, label)
			gone = true
		}
	}
	c.mu.Unlock()
	for _, label := range labels {
		c.refresh(label)
	}
	if gone {
		c.rebuild()
	}
}

// refresh asks one plugin again, once more if it is being asked. A plugin that the catalog does not reach has no tools.
func (c *catalog) refresh(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.plugins[label]
	if p == nil {
		p = &pluginTools{}
		c.plugins[label] = p
	}
	if c.ctx.Err() != nil {
		return
	}
	if p.running {
		p.again = true
		return
	}
	p.running = true
	c.background.Go(func() { c.ask(label, p) })
}

// ask lists a plugin, until it has not changed meanwhile.
func (c *catalog) ask(label string, p *pluginTools) {
	for again := true; again; {
		var tools []*host.Tool
		var problems []error
		var err error
		if source := c.source(); slices.Contains(source.Plugins(), label) {
			tools, problems, err = source.ToolsOf(c.ctx, label)
		}
		c.mu.Lock()
		if err == nil {
			p.tools, p.problems, p.failed = tools, problems, 0
		} else { // what it had stays: a plugin that is restarted has the same tools
			p.problems = []error{err}
			p.failed++
		}
		c.mu.Unlock()
		c.rebuild() // before who waits for this plugin looks at the list
		c.mu.Lock()
		again, p.again = p.again && c.ctx.Err() == nil, false
		p.asked, p.running = true, again
		if p.failed > 0 && !again && c.ctx.Err() == nil {
			wait := min(retryMost, retryFirst<<min(p.failed-1, 10))
			p.retry = time.AfterFunc(wait, func() { c.refresh(label) })
		}
		close(c.step)
		c.step = make(chan struct{})
		c.mu.Unlock()
	}
}

// close waits for the background, whose context has ended.
func (c *catalog) close() {
	c.mu.Lock()
	for _, p := range c.plugins {
		if p.retry != nil {
			p.retry.Stop()
		}
	}
	c.mu.Unlock()
	c.background.Wait()
}

func (c *catalog) now() *servedTools {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served
}

// show is wait for a list that a client sees.
func (c *catalog) show(ctx context.Context) (served *servedTools, complete bool) {
	served, complete = c.wait(ctx, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = true
	return c.served, complete && served == c.served
}

// expects reports whether the plugin of a full name may have tools that are not known.
func (c *catalog) expects(name string) bool {
	label, _, _ := strings.Cut(name, "__")
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.plugins[label]
	return p != nil && len(p.tools) == 0
}

// wait returns what is known when all plugins have been asked, or have had their time, which is that of a list unless
// patience says more; complete says that all have answered.
func (c *catalog) wait(ctx context.Context, patience time.Duration) (served *servedTools, complete bool) {
	for {
		c.mu.Lock()
		served, complete = c.served, true
		patience := max(patience, listPatience)
		if len(served.listed) == 0 {
			patience = max(patience, emptyPatience)
		}
		var until time.Time
		for _, p := range c.plugins {
			complete = complete && p.asked && p.failed == 0
			if p.asked {
				continue
			}
			if p.wanted.IsZero() {
				p.wanted = time.Now()
			}
			if end := p.wanted.Add(patience); end.After(until) {
				until = end
			}
		}
		step := c.step
		c.mu.Unlock()
		if patience = time.Until(until); patience <= 0 {
			return served, complete
		}
		select {
		case <-step:
		case <-time.After(patience):
		case <-ctx.Done():
			return served, complete
		}
	}
}

// rebuild makes the list of what the plugins have, and reports when it differs from the one before.
func (c *catalog) rebuild() {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	c.mu.Lock()
	next := c.build()
	differs, seen := !slices.EqualFunc(c.served.listed, next.listed, func(a, b *definition) bool {
		return bytes.Equal(a.json, b.json)
	}), c.shown
	// the tools of plugins are new values each time, also when the list is the same
	c.served = next
	c.mu.Unlock()
	if differs {
		c.changed(next, seen)
	}
}

// build takes all tools whose names are theirs alone, and logs why others are left out. The caller holds the lock.
func (c *catalog) build() *servedTools {
	owners := map[string][]*host.Tool{}
	for _, label := range slices.Sorted(maps.Keys(c.plugins)) {
		p := c.plugins[label]
		for _, err := range p.problems {
			c.report(err)
		}
		for _, t := range p.tools {
			key := strings.ToLower(c.naming.served(t.Name))
			owners[key] = append(owners[key], t)
		}
	}
	out := &servedTools{byName: map[string]*definition{}, full: map[string]*definition{}}
	if c.lists != nil {
		for _, t := range deferredTools {
			owners[t.Name] = []*host.Tool{t} // no plugin's tool takes their names
		}
	}
	for _, key := range slices.Sorted(maps.Keys(owners)) {
		if tools := owners[key]; len(tools) > 1 {
			c.report(collision(c.naming.served(tools[0].Name), tools))
			continue
		}
		t := owners[key][0]
		meta := c.lists != nil && slices.Contains(deferredTools, t)
		d := newDefinition(t.Name, t) // the search and its description name these tools, also where names are plain
		if !meta {
			d = newDefinition(c.naming.served(t.Name), t)
			out.full[t.Name] = d
		}
		if meta || c.lists == nil || c.lists(t.Name) {
			out.listed = append(out.listed, d)
			out.byName[d.name] = d
		}
	}
	slices.SortFunc(out.listed, func(a, b *definition) int { return strings.Compare(a.name, b.name) })
	return out
}

func collision(name string, tools []*host.Tool) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return fmt.Errorf("the tools %s would all be served as %s, and are left out; leave out all but one with a profile, "+
		"or serve full names", strings.Join(names, " and "), name)
}

func (c *catalog) report(err error) {
	text := err.Error()
	if c.logged[text] || errors.Is(err, context.Canceled) {
		return
	}
	if len(c.logged) > maxLogged {
		clear(c.logged)
	}
	c.logged[text] = true
	c.log.Warn(text)
}

// maxLogged bounds the problems that are remembered.
const maxLogged = 1000

// maxName is the longest name of a tool that model vendors accept, with the prefix that clients put before it.
const maxName = 64

// A naming gives tools the names that clients see.
type naming struct {
	plain bool // the tool's own name, without the plugin
	room  int  // the longest name
}

// newNaming leaves room for the prefix mcp__SERVER__ that many clients put before a name.
func newNaming(server string, plain bool) naming {
	return naming{plain, max(minRoom, maxName-len("mcp__"+server+"__"))}
}

// minRoom is the least room that long server names leave: a readable part and the hash.
const minRoom = 24

// served returns the name for a tool's full name, PLUGIN__TOOL. It depends on that name alone, so that no other tool
// changes it. A name that would be too long ends in a short hash of the whole one.
func (n naming) served(full string) string {
	name := full
	if _, own, ok := strings.Cut(full, "__"); n.plain && ok {
		name = own
	}
	if len(name) <= n.room {
		return name
	}
	return strings.TrimRight(name[:n.room-9], "_-") + "_" + hashOf([]byte(full))[:8]
}
