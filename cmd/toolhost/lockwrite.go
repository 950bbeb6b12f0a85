package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/toolhost/toolhost/host/lockfile"
)

// finish writes what is new, after asking about what is a change.
func (l *locker) finish(ctx context.Context) error {
	var changed, news []*lockable
	for _, p := range l.plugins {
		if p.problem == nil && p.differs() {
			news = append(news, p)
		}
		if p.problem == nil && p.differs() && p.old != nil {
			changed = append(changed, p)
		}
	}
	switch {
	case l.flags.check && len(news) > 0:
		return &exitError{exitDiffers, lockfile.Name + " is not what the plugins are; nothing was changed"}
	case l.flags.check || len(news) == 0:
		return nil
	case len(changed) > 0 && !l.flags.yes:
		if err := l.agreed(ctx); err != nil {
			return err
		}
	}
	return l.write(news)
}

// agreed asks the person at the terminal.
func (l *locker) agreed(ctx context.Context) error {
	person := l.personAt(false)
	if person == nil {
		return errors.New("what was locked has changed, and nobody can be asked here; nothing was written. Look at the changes, then lock them with --yes, which also starts changed programs")
	}
	yes, err := newPrompter(l.globals, person).sure(ctx, "Lock this? [y/N] ")
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil || !yes:
		return &exitError{exitDenied, "nothing was written"}
	}
	return nil
}

// write changes the lock file, unless another command did since it was read.
func (l *locker) write(plugins []*lockable) error {
	path := filepath.Join(l.config.Dir, lockfile.Name)
	for _, p := range plugins {
		keepDefinitions(p.definitions)
	}
	err := lockfile.Update(path, func(lock *lockfile.File) error {
		for _, p := range plugins {
			if !lock.Plugin(p.name).Equal(p.old) {
				return fmt.Errorf("%s was changed meanwhile; nothing was written; look again", lockfile.Name)
			}
			if p.now == nil {
				lock.Remove(p.name)
			} else {
				lock.Put(*p.now)
			}
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(l.out, "%s: %s written\n", path, counted(len(plugins), "plugin"))
	}
	return err
}
