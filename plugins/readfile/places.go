package main

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// places are the folders that one call reads in, each opened when a path leads to it. Close them after the call.
type places struct {
	request *sdk.Request
	opened  []*workspace.Root
}

// at opens the folder that a path belongs to.
func (p *places) at(name string) (*workspace.Root, error) {
	w, err := workspace.OpenAt(p.request, name)
	if err != nil {
		return nil, err
	}
	for _, known := range p.opened {
		if known.Dir() == w.Dir() {
			w.Close()
			return known, nil
		}
	}
	p.opened = append(p.opened, w)
	return w, nil
}

func (p *places) close() {
	for _, w := range p.opened {
		w.Close()
	}
}

// denied is a filter for what the request leaves out; nil when it leaves out nothing.
func denied(r *sdk.Request, w *workspace.Root) func(resolved string) bool {
	if len(r.LeaveOut) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, name := range r.LeaveOut {
		out[strings.TrimSuffix(path.Clean(name), "/")] = true
	}
	return func(resolved string) bool {
		if w.Away() {
			resolved = path.Join(filepath.ToSlash(w.Dir()), resolved)
		}
		return out[resolved]
	}
}

// filter is that of a call which asks for what s says.
func filter(r *sdk.Request, w *workspace.Root, s seen) walk.Filter {
	return walk.Filter{Hidden: s.Hidden, Ignored: s.Ignored, Denied: denied(r, w)}
}

// withoutSecrets makes a filter leave out the names of files that hold secrets.
func (c *config) withoutSecrets(f walk.Filter) walk.Filter {
	f.Secret = func(shown, resolved string) bool { return c.secretBy(shown, resolved) != "" }
	return f
}
