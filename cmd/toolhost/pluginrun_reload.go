package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// follow reloads the plugin each time that a file has changed or somebody wishes it, until ctx ends.
func (r *pluginRun) follow(ctx context.Context, wishes, changes <-chan struct{}) {
	for {
		wished := false
		select {
		case <-ctx.Done():
			return
		case <-wishes:
			wished = true
		case <-changes:
		}
		r.goOn(ctx, wished)
	}
}

// goOn reloads, and tells why that could not be. It is called for files that have changed and for lines that were typed,
// and done for one after the other.
func (r *pluginRun) goOn(ctx context.Context, wished bool) {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	err := r.reload(ctx, wished)
	if err == nil || ctx.Err() != nil {
		return
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == "NotReloaded" { // which its message says
		r.say("%s", e.Message)
		return
	}
	r.say("not reloaded: %v", err)
}

// reload has the plugin go on as its program and its settings are now, and tells what has changed.
func (r *pluginRun) reload(ctx context.Context, wished bool) error {
	select {
	case <-r.changed: // before
	default:
	}
	var restart []string
	if wished {
		restart = append(restart, r.name)
	}
	done, err := r.instance.Reload(ctx, restart...)
	if err != nil {
		return err
	}
	r.g.complainAll(r.instance.Plugins().Problems...)
	switch {
	case len(done.Failed) > 0:
		return errors.Join(done.Failed...)
	case len(done.Restarted) == 0:
		r.say("the configuration was read again; the plugin is as it was")
		return nil
	}
	return r.tellTools(ctx)
}

// heardWithin is how long the host may take to hear that tools have changed, which takes a moment.
const heardWithin = time.Second

// tellTools tells what has changed of the plugin's tools, once calls go by it.
func (r *pluginRun) tellTools(ctx context.Context) error {
	after, err := r.process().Tools(ctx)
	if err != nil {
		return err
	}
	before := r.known
	r.known = after
	lines := changesOf(before, after)
	switch {
	case before == nil:
		r.say("%s with %s", r.process().Status().State, counted(len(after), "tool"))
		return nil
	case len(lines) == 0:
		r.say("reloaded; its tools are the same")
		return nil
	}
	select {
	case <-r.changed:
	case <-time.After(heardWithin):
	case <-ctx.Done():
	}
	r.say("reloaded: %s", strings.Join(lines, " "))
	return nil
}

// changesOf names the tools that are new with a +, those that are gone with a -, and those defined otherwise with a ~.
func changesOf(before, after []sdk.Tool) (out []string) {
	for _, t := range after {
		i := slices.IndexFunc(before, func(b sdk.Tool) bool { return b.Name == t.Name })
		switch {
		case i < 0:
			out = append(out, "+"+t.Name)
		case !sameDefinition(before[i], t):
			out = append(out, "~"+t.Name)
		}
	}
	for _, t := range before {
		if !slices.ContainsFunc(after, func(a sdk.Tool) bool { return a.Name == t.Name }) {
			out = append(out, "-"+t.Name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
	return out
}

func sameDefinition(a, b sdk.Tool) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
