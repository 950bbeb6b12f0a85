package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

const (
	// quietFor is how long files must not change before a change is reported: a program is written in many steps.
	quietFor = 200 * time.Millisecond
	// soon is how long after an event files are checked; one write can cause many events.
	soon = 20 * time.Millisecond
	// recheckEvery is the interval between checks of the files without events, and pollEvery where the system has no
	// events.
	recheckEvery = 2 * time.Second
	pollEvery    = 250 * time.Millisecond
)

// A fileWatch reports when files have changed, whether they are written, replaced or created, and are quiet again. It
// compares their states; the system's events only say when to check.
type fileWatch struct {
	files   func() []watchedFile
	changed chan struct{} // holds at most one change

	reported map[string]string // the states of files by their paths when a change was last reported
	seen     map[string]string // the last states
	since    time.Time
	system   *fsnotify.Watcher // or nil
}

// A watchedFile is a file or a folder of plugins, which need not exist yet. A program is not reported while it is not
// executable, as during a build.
type watchedFile struct {
	path    string
	program bool
}

// newFileWatch starts with the known states of files by their paths, and with the present states of the others. The
// list that files returns may change.
func newFileWatch(files func() []watchedFile, known map[string]string) *fileWatch {
	w := &fileWatch{files: files, changed: make(chan struct{}, 1), reported: map[string]string{}, since: time.Now()}
	if system, err := fsnotify.NewWatcher(); err == nil {
		w.system = system
	}
	w.arm()
	w.seen = statesOf(w.files())
	for path, state := range w.seen {
		if before, is := known[path]; is {
			state = before
		}
		w.reported[path] = state
	}
	return w
}

// run watches until ctx ends.
func (w *fileWatch) run(ctx context.Context) {
	var events chan fsnotify.Event
	var failures chan error
	if w.system != nil {
		events, failures = w.system.Events, w.system.Errors
		defer func() { _ = w.system.Close() }()
	}
	due := time.Now()
	for {
		next := time.NewTimer(time.Until(due))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		case <-events:
			due = earlier(due, time.Now().Add(soon))
		case _, open := <-failures: // events may be lost
			if !open {
				failures = nil
			}
			due = earlier(due, time.Now().Add(soon))
		}
		next.Stop()
		if !time.Now().Before(due) {
			due = time.Now().Add(w.check())
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// check reports a change if the files have changed and are quiet now, and returns when to check again.
func (w *fileWatch) check() time.Duration {
	armed := w.arm()
	files := w.files()
	switch now := statesOf(files); {
	case !maps.Equal(now, w.seen):
		w.seen, w.since = now, time.Now()
		return quietFor
	case time.Since(w.since) < quietFor:
		return quietFor - time.Since(w.since)
	case w.report(files, now):
		select {
		case w.changed <- struct{}{}:
		default: // a change is pending
		}
	}
	if armed {
		return recheckEvery
	}
	return pollEvery
}

// arm makes the system watch the folders of the files; false means that it cannot watch all of them. Files are often
// replaced rather than written to, and a watch of the file itself would end with it.
func (w *fileWatch) arm() bool {
	if w.system == nil {
		return false
	}
	armed, all := w.system.WatchList(), true
	for _, f := range w.files() {
		for _, folder := range foldersOf(f.path) {
			if !slices.Contains(armed, folder) {
				all = w.system.Add(folder) == nil && all
			}
		}
	}
	return all
}

// foldersOf are the folder of the file, that of its target if it is a link, and the path itself if it is a folder.
func foldersOf(path string) []string {
	out := []string{filepath.Dir(path)}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		out = append(out, filepath.Dir(target))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		out = append(out, path)
	}
	return out
}

// statesOf are the states of files by their paths.
func statesOf(files []watchedFile) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.path] = stateOf(f.path)
	}
	return out
}

// stateOf is a text that differs for each state of a file. The state of a folder is that of its plugins: an empty one,
// as while a running plugin keeps it locked, counts as missing.
func stateOf(path string) string {
	state, folder := stamp(path)
	all := fmt.Sprintf("%q %s\n", path, state)
	if !folder {
		return all
	}
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), toolname.ProgramPrefix) {
			state, _ := stamp(filepath.Join(path, e.Name()))
			all += fmt.Sprintf("%q %s\n", e.Name(), state)
		}
	}
	return all
}

// report notes the states of files, and tells whether there is a change since the last report. A program that is not
// executable keeps its state of then, so that it is reported once it is; it holds up no change of another file.
func (w *fileWatch) report(files []watchedFile, states map[string]string) (changed bool) {
	now := map[string]string{}
	for _, f := range files {
		before, known := w.reported[f.path]
		state := states[f.path]
		switch {
		case known && state == before:
			now[f.path] = state
		case !f.program || fsutil.IsProgram(f.path):
			now[f.path], changed = state, true
		case known:
			now[f.path] = before
		}
	}
	for path := range w.reported {
		if _, is := now[path]; !is { // a script's neighbor that was removed
			changed = true
		}
	}
	w.reported = now
	return changed
}
