package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

const (
	// quietFor is how long files must stay as they are before a change is told: a program is written in many steps.
	quietFor = 200 * time.Millisecond
	// soon is how long after an event files are looked at; one write can be many events.
	soon = 20 * time.Millisecond
	// lookEvery is how often files are looked at when nothing is heard, and unheardEvery if the system can tell nothing.
	lookEvery    = 2 * time.Second
	unheardEvery = 250 * time.Millisecond
)

// A fileWatch tells when files have changed, be they written to, replaced, or made, and are quiet again. What counts is
// how the files are; the system's events only say when to look.
type fileWatch struct {
	files   func() []watchedFile
	changed chan struct{} // a change that nobody has looked at yet

	told, seen string // how the files were when a change was last told, and last
	since      time.Time
	system     *fsnotify.Watcher // or nil
}

// A watchedFile is a file or a folder of plugins, be it there yet or not. Nothing is told while one that must be a program
// is none, as in the middle of a build.
type watchedFile struct {
	path    string
	program bool
}

// newFileWatch takes the files as they are now for known. What files gives may become other files.
func newFileWatch(files func() []watchedFile) *fileWatch {
	w := &fileWatch{files: files, changed: make(chan struct{}, 1)}
	if system, err := fsnotify.NewWatcher(); err == nil {
		w.system = system
	}
	w.arm()
	w.told = look(w.files())
	w.seen = w.told
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
		case _, heard := <-failures: // events may be lost
			if !heard {
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

// check looks at the files, tells if they have changed and are quiet now, and says when to look again.
func (w *fileWatch) check() time.Duration {
	heard := w.arm()
	switch now := look(w.files()); {
	case now != w.seen:
		w.seen, w.since = now, time.Now()
		return quietFor
	case now == w.told:
	case time.Since(w.since) < quietFor:
		return quietFor - time.Since(w.since)
	case w.ready():
		w.told = now
		mark(w.changed)
	}
	if heard {
		return lookEvery
	}
	return unheardEvery
}

// mark leaves a word for who looks at c, unless there is one.
func mark(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// arm has the system watch the folders of the files as they are now; false means that it cannot tell of all of them.
// Files are often replaced rather than written to, and a watch of themselves would go with them.
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

// foldersOf are the folder that holds the file, that of what it is a link to, and the path itself if it is a folder.
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

// look gives words for how the files are, others for each way to be. A folder is as its plugins are: without any it is as
// good as none, such as one that is held for as long as a plugin runs.
func look(files []watchedFile) string {
	var all strings.Builder
	for _, f := range files {
		fmt.Fprintf(&all, "%q %s\n", f.path, stamp(f.path))
		entries, _ := os.ReadDir(f.path) // a file has none
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "toolhost-plugin-") {
				fmt.Fprintf(&all, "%q %s\n", e.Name(), stamp(filepath.Join(f.path, e.Name())))
			}
		}
	}
	return all.String()
}

// stamp tells one state of a file from another.
func stamp(path string) string {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil || s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return "none"
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Size, s.Mtim, s.Ctim)
}

func (w *fileWatch) ready() bool {
	return !slices.ContainsFunc(w.files(), func(f watchedFile) bool { return f.program && !isProgram(f.path) })
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
