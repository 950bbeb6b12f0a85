package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// An editor is the state that the tools share.
type editor struct {
	settings settings
	files    locks
	history  history
}

// A planner is the input of a tool that edits.
type planner interface {
	// targets are the paths that the call may touch.
	targets(s *toolCall) ([]string, error)
	// plan computes the edits of the call from what the files hold now, and changes nothing.
	plan(ctx context.Context, s *toolCall) (*outcome, error)
}

// addEdit adds a tool that edits, and its preview.
func addEdit[In planner](p *sdk.Plugin, e *editor, t sdk.Tool) {
	t.Category, t.CostTier = "edit", sdk.Free
	sdk.AddTool(p, t, func(ctx context.Context, r *sdk.Request, in In) (*sdk.Result, error) {
		o, text, err := e.run(ctx, r, in, true)
		switch {
		case err == nil:
			return o.result(), nil
		case text != "":
			return sdk.Text(text), err
		}
		return nil, err
	})
	sdk.AddPreview(p, t.Name, func(ctx context.Context, r *sdk.Request, in In) (*sdk.Preview, error) {
		o, text, err := e.run(ctx, r, in, false)
		switch {
		case err == nil:
			return o.shown(), nil
		case text != "":
			return &sdk.Preview{Content: sdk.Text(text).Content}, err
		}
		return nil, err
	})
}

// run plans edits, and makes them if it is to write, holding the locks of their files. Text is what an error has no
// room for.
func (e *editor) run(ctx context.Context, r *sdk.Request, in planner, write bool) (o *outcome, text string, err error) {
	o, err = e.perform(ctx, r, in, write)
	if refused, ok := errors.AsType[*refusal](err); ok {
		return nil, refused.text, refused.failure
	}
	return o, "", err
}

func (e *editor) perform(ctx context.Context, r *sdk.Request, in planner, write bool) (*outcome, error) {
	s, err := e.enter(r)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	paths, err := in.targets(s)
	if err != nil {
		return nil, err
	}
	places, err := s.places(paths)
	if err != nil {
		return nil, err
	}
	if write {
		release, err := s.lock(ctx, places)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	o, err := in.plan(ctx, s)
	if err == nil && write {
		err = ctx.Err() // the last check before anything is written
	}
	if err == nil && write && !o.dry {
		err = s.commit(o)
	}
	return o, err
}

// commit saves the changes and adds them to the history.
func (s *toolCall) commit(o *outcome) error {
	changes := o.real()
	if len(changes) > 0 {
		if err := s.save(changes); err != nil {
			return err
		}
	}
	switch {
	case o.undoes != nil:
		s.history.forget(o.undoes)
	case len(changes) > 0 && !s.single && !s.history.add(s.session, s.tool, changes):
		o.notes = append(o.notes, "This edit is too large to be kept for undo and diff, and the edits of this session "+
			"before it are not kept any more either.")
	}
	return nil
}

// A toolCall is one call with its workspace.
type toolCall struct {
	*editor
	root          *workspace.Root
	session, tool string
	single        bool            // the host ends after the call, so nothing can be undone later
	taken         []*historyEntry // the entries that undo takes back
}

func (e *editor) enter(r *sdk.Request) (*toolCall, error) {
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	return &toolCall{editor: e, root: w, session: r.SessionID, tool: r.Tool, single: r.SingleCall}, nil
}

// find finds a file that may be shown and changed.
func (s *toolCall) find(path string) (*workspace.Place, error) {
	p, err := s.root.Find(path)
	if err != nil {
		return nil, err
	}
	if name := s.settings.allowSecrets.Against(p.Path, p.Resolved()); name != "" && !filenames.EntryPoint(name) {
		return nil, secretFile(p.Path, name, "as its name or that of the file behind it says")
	}
	return p, nil
}

// load reads a file that find gave. Files whose names leave it open, such as config.json and .envrc, are refused when
// they hold secrets.
func (s *toolCall) load(p *workspace.Place) (*snapshot, error) {
	before, err := load(p)
	if err != nil {
		return nil, err
	}
	name := s.settings.allowSecrets.AgainstText(p.Path, p.Resolved(), before.data)
	if name == "" && filenames.HoldsSecret(before.data) {
		name = s.settings.allowSecrets.Against(p.Path, p.Resolved())
	}
	if name != "" {
		return nil, secretFile(p.Path, name, "as its name lets expect, and its text shows")
	}
	return before, nil
}

func secretFile(given, name, why string) error {
	return &sdk.Error{Name: "SecretFile",
		Message: fmt.Sprintf("%q holds secrets, %s, so it is neither shown nor changed", given, why),
		Suggestion: fmt.Sprintf("Ask the user to change it. The operator can allow it in the plugin's config: "+
			"allow_secrets = [%q].", name)}
}

// places are the real paths of the files at some paths.
func (s *toolCall) places(paths []string) (map[string]string, error) {
	out := map[string]string{}
	for _, path := range paths {
		p, err := s.find(path)
		if err != nil {
			return nil, err
		}
		out[path] = p.Real()
	}
	return out, nil
}

// lock acquires the locks of files, whose real paths must stay those that they are.
func (s *toolCall) lock(ctx context.Context, places map[string]string) (release func(), err error) {
	release, err = s.files.acquireAll(ctx, slices.Collect(maps.Values(places)))
	if err != nil {
		return nil, err
	}
	now, err := s.places(slices.Collect(maps.Keys(places))) // again: the wait may have been long
	for path, first := range places {
		if err == nil && now[path] != first {
			err = fileChanged(path)
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Locks serialize calls by file, so that of two edits at once none is lost. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // holds one token while a call has the lock
	users int           // calls that have it or wait for it
}

// acquire waits for the lock of a file until ctx ends. Name is its absolute path without symlinks.
func (l *locks) acquire(ctx context.Context, name string) (release func(), err error) {
	entry := l.join(name)
	select {
	case entry.turn <- struct{}{}:
		return func() { <-entry.turn; l.leave(name) }, nil
	case <-ctx.Done():
		l.leave(name)
		return nil, ctx.Err()
	}
}

func (l *locks) join(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	entry := l.held[name]
	if entry == nil {
		entry = &lock{turn: make(chan struct{}, 1)}
		l.held[name] = entry
	}
	entry.users++
	return entry
}

func (l *locks) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name].users--; l.held[name].users == 0 {
		delete(l.held, name)
	}
}

// acquireAll acquires several locks, always in the same order, so that no two calls wait for each other.
func (l *locks) acquireAll(ctx context.Context, names []string) (release func(), err error) {
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		r, err := l.acquire(ctx, name)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, r)
	}
	return release, nil
}
