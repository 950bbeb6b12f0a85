package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/sdk"
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
	if name := s.settings.allowSecrets.Against(p.Path, p.Resolved()); name != "" {
		return nil, &sdk.Error{Name: "SecretFile", Message: fmt.Sprintf("%q holds secrets, as its name or that of the file behind it says, so it is neither shown nor changed", p.Path),
			Suggestion: fmt.Sprintf("Ask the user to change it. The operator can allow it in the plugin's config: allow_secrets = [%q].", name)}
	}
	return p, nil
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
