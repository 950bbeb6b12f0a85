package main

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/sdk"
)

// An editor is what the tools share.
type editor struct {
	settings settings
	files    locks
	history  history
}

// A planner is the arguments of a tool that edits.
type planner interface {
	// targets are the paths that the call may touch.
	targets(s *scene) ([]string, error)
	// plan makes the edits that the call asks for, of what the files hold now, and changes nothing.
	plan(ctx context.Context, s *scene) (*outcome, error)
}

// addEdit adds a tool that edits, and its preview.
func addEdit[In planner](p *sdk.Plugin, e *editor, t sdk.Tool) {
	t.Category, t.CostTier = "edit", sdk.Free
	sdk.AddTool(p, t, func(ctx context.Context, r *sdk.Request, in In) (*sdk.Result, error) {
		result, err := e.perform(ctx, r, in)
		if refused, ok := errors.AsType[*refusal](err); ok {
			return refused.result(), refused.failure
		}
		return result, err
	})
	sdk.AddPreview(p, t.Name, func(ctx context.Context, r *sdk.Request, in In) (*sdk.Preview, error) {
		o, err := e.preview(ctx, r, in)
		if refused, ok := errors.AsType[*refusal](err); ok {
			return refused.preview(), refused.failure
		}
		if err != nil {
			return nil, err
		}
		return o.shown(), nil
	})
}

// perform plans edits and makes them, alone in their files.
func (e *editor) perform(ctx context.Context, r *sdk.Request, in planner) (*sdk.Result, error) {
	s, err := e.enter(r)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	paths, err := in.targets(s)
	if err != nil {
		return nil, err
	}
	release, err := s.lock(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer release()
	o, err := in.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // the last chance to leave everything as it is
		return nil, err
	}
	if !o.dry {
		if err := s.carryOut(o); err != nil {
			return nil, err
		}
	}
	return o.result(), nil
}

// carryOut saves the changes and remembers them.
func (s *scene) carryOut(o *outcome) error {
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
		o.notes = append(o.notes, "This edit is too large to be kept for undo and diff, and the edits of this session before it are not kept any more either.")
	}
	return nil
}

func (e *editor) preview(ctx context.Context, r *sdk.Request, in planner) (*outcome, error) {
	s, err := e.enter(r)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	paths, err := in.targets(s)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if _, err := s.find(path); err != nil {
			return nil, err
		}
	}
	return in.plan(ctx, s)
}
