package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// watched are the paths whose changes call for another discovery: the files that the command names, and those of the
// configuration.
func (s *settings) watched() []string {
	paths := slices.Clone(s.watch)
	for i, word := range s.discovery.words {
		if i == 0 && !fsutil.HasFolder(word) || word == "" {
			continue // found in the PATH
		}
		path := fsutil.Absolute(s.workdir, word)
		if info, err := os.Stat(path); i == 0 || err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// A watch reports changes of some paths, which need not exist yet. It looks at folders, since files are often replaced
// rather than written to.
type watch struct {
	paths  []string // as configured
	notes  []string // what is not watched, and why
	system *fsnotify.Watcher
	dirty  chan struct{} // a change that no one has looked at yet
	pumped sync.WaitGroup

	mu    sync.Mutex
	names []string // the paths, and what they are links to
}

func newWatch(paths []string) *watch {
	w := &watch{paths: paths, dirty: make(chan struct{}, 1)}
	if len(paths) == 0 {
		return w
	}
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		w.notes = []string{fmt.Sprintf("changes of the tools will not be noticed: the system gives no watch (%v); restart "+
			"the plugin to find them", err)}
		return w
	}
	w.notes = w.arm()
	w.pumped.Go(w.readEvents)
	return w
}

func (w *watch) close() {
	if w.system != nil {
		_ = w.system.Close()
		w.pumped.Wait()
	}
}

// arm makes the system watch the folders in which a change can concern the paths, as things are now, and says where it
// cannot.
func (w *watch) arm() (failed []string) {
	names := slices.Clone(w.paths)
	for _, path := range w.paths {
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			names = append(names, target)
		}
	}
	w.mu.Lock()
	w.names = names
	w.mu.Unlock()
	for _, path := range names {
		if err := w.add(path); err != nil {
			failed = append(failed, fmt.Sprintf("changes of %s will not be noticed: %v; restart the plugin to find them", path,
				err))
		}
	}
	return failed
}

func (w *watch) add(path string) error {
	for _, folder := range foldersOf(path) {
		if err := w.system.Add(folder); err != nil {
			return err
		}
	}
	return nil
}

// foldersOf are those in which a change can concern a path: itself if it is one, the nearest above it that is there,
// and those that hold a link on the way to it, which may be set again.
func foldersOf(path string) (out []string) {
	if isFolder(path) {
		out = append(out, path)
	}
	parent := filepath.Dir(path)
	for !isFolder(parent) && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
	}
	out = append(out, parent)
	for ; parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
		if info, err := os.Lstat(parent); err == nil && info.Mode()&os.ModeSymlink != 0 {
			out = append(out, filepath.Dir(parent))
		}
	}
	return out
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readEvents turns the system's events into marks, without ever making it wait.
func (w *watch) readEvents() {
	for {
		select {
		case e, ok := <-w.system.Events:
			if !ok {
				return
			}
			if w.isWatched(e.Name) {
				w.noteChange()
			}
		case _, ok := <-w.system.Errors:
			if !ok {
				return
			}
			w.noteChange() // events may be lost
		}
	}
}

func (w *watch) noteChange() {
	select {
	case w.dirty <- struct{}{}:
	default: // there is one
	}
}

// isWatched reports whether a change of name may be one of the paths: itself, what holds it, or what a folder holds.
func (w *watch) isWatched(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.names, func(path string) bool {
		return name == path || filepath.Dir(name) == path || strings.HasPrefix(path, strings.TrimSuffix(name, "/")+"/")
	})
}

// Editors and checkouts change a file in several steps, and a discovery may itself change what is watched.
const (
	settleTime = 250 * time.Millisecond // without a change, then the change is taken to be complete
	settleMost = 2 * time.Second        // changes that do not end are examined all the same
	restLeast  = time.Second            // after a discovery that found nothing new; doubled each time
	restMost   = time.Minute
)

// follow calls refresh after changes, until ctx ends: not before they have settled, and less often the longer refresh
// finds nothing new, so that a discovery which itself changes what is watched does not run without end.
func (w *watch) follow(ctx context.Context, refresh func(context.Context) (changed bool)) {
	var rest time.Duration
	for ended := time.Now(); ; ended = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		if time.Since(ended) > rest {
			rest = 0
		}
		if !sleep(ctx, rest-time.Since(ended)) || !w.finish(ctx) {
			return
		}
		if w.system != nil {
			w.arm() // paths that cannot be watched now were reported, or existed a moment ago
		}
		if refresh(ctx) {
			rest = restLeast
		} else {
			rest = min(max(2*rest, restLeast), restMost)
		}
	}
}

// finish waits until changes have ended; false when ctx has.
func (w *watch) finish(ctx context.Context) bool {
	for most := time.After(settleMost); ; {
		select {
		case <-w.dirty:
			continue
		case <-time.After(settleTime):
		case <-most:
		case <-ctx.Done():
		}
		return ctx.Err() == nil
	}
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
