package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A scene is one call, with the workspace that it works in.
type scene struct {
	*editor
	root          *workspace.Root
	session, tool string
	single        bool     // nothing can be taken back later
	taken         []*entry // those that undo is to take back
}

func (e *editor) enter(r *sdk.Request) (*scene, error) {
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	return &scene{editor: e, root: w, session: r.SessionID, tool: r.Tool, single: r.SingleCall}, nil
}

// find finds a file that may be shown and changed.
func (s *scene) find(path string) (*workspace.Place, error) {
	p, err := s.root.Find(path)
	if err != nil {
		return nil, err
	}
	if name := s.settings.allowSecrets.Against(p.Path, p.Resolved()); name != "" && !filenames.EntryPoint(name) {
		return nil, secretFile(p.Path, name, "as its name or that of the file behind it says")
	}
	return p, nil
}

// load reads a file that find gave. Of those whose names leave it open, such as config.json and .envrc, it refuses those that
// hold secrets.
func (s *scene) load(p *workspace.Place) (*snapshot, error) {
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
	return &sdk.Error{Name: "SecretFile", Message: fmt.Sprintf("%q holds secrets, %s, so it is neither shown nor changed", given, why),
		Suggestion: fmt.Sprintf("Ask the user to change it. The operator can allow it in the plugin's config: allow_secrets = [%q].", name)}
}

// lock waits until the call is alone in the files at some paths.
func (s *scene) lock(ctx context.Context, paths []string) (release func(), err error) {
	places := map[string]string{} // by path
	for _, path := range paths {
		p, err := s.find(path)
		if err != nil {
			return nil, err
		}
		places[path] = p.Real()
	}
	release, err = s.files.acquireAll(ctx, slices.Collect(maps.Values(places)))
	if err != nil {
		return nil, err
	}
	for path, first := range places { // again: the wait may have been long
		p, err := s.find(path)
		if err == nil && p.Real() != first {
			err = fileChanged(path)
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}
