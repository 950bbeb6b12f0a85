package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// A refresher keeps the plugin's tools in step with what the project says.
type refresher struct {
	plugin *sdk.Plugin
	mu     sync.Mutex // for configure and close
	stop   func()     // ends the watch, and waits until nothing of it runs; nil when there is none
}

// configure offers the tools that there are, and watches for others from then on. Only mistakes in the configuration
// are errors: a project whose discovery command is broken has no tools and a notice that says why, and its host starts
// all the same.
func (k *refresher) configure(ctx context.Context, workdir string, c config) error {
	s, err := c.settings(workdir)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unwatch()
	k.plugin.Cacheable(s.discovery.none())
	if s.discovery.none() { // nothing to find: tools of the configuration, or found in a plugin folder and not configured
		own := s.ownTools()
		return k.plugin.SetTools(own.tools, sdk.Remarks(own.notices()...)...)
	}
	w := newWatch(s.watched()) // made before the first discovery, so that a change during it is not missed
	f := &discoveryState{settings: s, plugin: k.plugin, notes: w.notes}
	if err := f.start(ctx); err != nil {
		w.close()
		return err
	}
	k.follow(w, f)
	return nil
}

// follow lets a watch run until unwatch.
func (k *refresher) follow(w *watch, f *discoveryState) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	k.stop = func() {
		cancel()
		w.close()
		<-done
	}
	go func() {
		defer close(done)
		retry := func(ctx context.Context) (changed bool) {
			changed = f.retry(ctx)
			f.again(w)
			return changed
		}
		f.again(w)
		w.follow(ctx, retry)
	}()
}

func (k *refresher) unwatch() {
	if k.stop != nil {
		k.stop()
		k.stop = nil
	}
}

// A discoveryState has the findings of one configuration's discovery so far.
type discoveryState struct {
	*settings
	plugin *sdk.Plugin
	notes  []string // what of the files cannot be watched
	last   *catalog // that was good; nil is none yet

	tools   []sdk.BoundTool // as the plugin has them
	notices []sdk.Notice
}

var errNoCall = errors.New("call_command is missing")

// start makes the first discovery. Only a mistake in the configuration is an error, or the end of ctx.
func (f *discoveryState) start(ctx context.Context) error {
	found, err := f.find(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNoCall):
		return invalidConfig("%v", err)
	}
	_, err = f.take(found, err)
	return err
}

// retry makes another discovery, and reports whether anything is different. One that fails leaves the tools
// unchanged.
func (f *discoveryState) retry(ctx context.Context) (changed bool) {
	found, err := f.find(ctx)
	if ctx.Err() != nil {
		return false
	}
	changed, err = f.take(found, err)
	return changed && err == nil
}

// again has the discovery made again, as after a change, as long as none was good: what failed, such as a server that
// the command asks, may pass without a change of a file. The watch makes it ever more rarely.
func (f *discoveryState) again(w *watch) {
	if f.last == nil {
		w.noteChange()
	}
}

// ownTools returns the tools of the configuration.
func (s *settings) ownTools() *catalog {
	found := &catalog{}
	for _, t := range s.tools {
		if err := found.admit(&t.Tool, t.Name); err != nil {
			found.note("the tool %q is left out: %v", t.Name, err)
			continue
		}
		found.tools = append(found.tools, t)
	}
	return found
}

// find returns the tools of the configuration, and those that the discovery command prints.
func (s *settings) find(ctx context.Context) (*catalog, error) {
	found := s.ownTools()
	configured := len(found.tools)
	printed, err := s.discover(ctx)
	if err == nil {
		err = found.read(printed, s)
	}
	if n := len(found.tools) - configured; err == nil && n > 0 && s.call.none() {
		err = fmt.Errorf("%w: discovery_command found %d tools, and there is nothing to call them with", errNoCall, n)
	}
	return found, err
}

// take offers what was found or, if that failed, what was found before, with a notice that says so.
func (f *discoveryState) take(found *catalog, err error) (changed bool, _ error) {
	failure := fmt.Sprintf("discovery_command %s: %v", f.discovery, err)
	if err != nil && f.last == nil {
		f.plugin.MissingTools(failure, false)
	} else {
		defer f.plugin.MissingTools("", false)
	}
	switch {
	case err == nil:
		f.last = found
		return f.show(found, "")
	case f.last != nil:
		return f.show(f.last, fmt.Sprintf("the tools are those of before: %s", failure))
	case len(found.tools) > 0:
		return f.show(found, fmt.Sprintf("only the tools of the configuration: %s", failure))
	default:
		return f.show(found, fmt.Sprintf("no tools: %s", failure))
	}
}

// show gives the plugin the tools of c if they, or the notices, are not what it has. Problem is "" if nothing failed.
func (f *discoveryState) show(c *catalog, problem string) (changed bool, err error) {
	notices := sdk.Remarks(slices.Concat(c.notices(), f.notes)...)
	if problem != "" {
		notices = slices.Insert(notices, 0, sdk.Notice{Kind: sdk.Problem, Text: problem})
	}
	if f.notices != nil && slices.Equal(notices, f.notices) && slices.EqualFunc(c.tools, f.tools, sameTool) {
		return false, nil
	}
	if err := f.plugin.SetTools(c.tools, notices...); err != nil {
		return false, err
	}
	f.tools, f.notices = c.tools, notices
	return true, nil
}

// sameTool compares what hosts see; the handlers of one name are the same too.
func sameTool(a, b sdk.BoundTool) bool { return reflect.DeepEqual(a.Tool, b.Tool) }
