package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Each way to change a file is reported once it is complete, with the system's events or without.
func TestFileWatch(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, dir string){
		"written to": func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "file"), "new") },
		"as an editor does": func(t *testing.T, dir string) {
			writeText(t, filepath.Join(dir, ".file.swp"), "draft")
			writeText(t, filepath.Join(dir, "file~"), "old")
			writeText(t, filepath.Join(dir, "file.tmp"), "new")
			rename(t, filepath.Join(dir, "file.tmp"), filepath.Join(dir, "file"))
		},
		"removed": func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "file")) },
		"made":    func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "later"), "new") },
		"a plugin more": func(t *testing.T, dir string) {
			writeText(t, filepath.Join(dir, "plugins", "toolhost-plugin-b"),
				"b")
		},
		"a plugin less": func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "plugins", "toolhost-plugin-a")) },
		"behind a link": func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "elsewhere", "target"), "new") },
		"another link": func(t *testing.T, dir string) {
			link(t, filepath.Join(dir, "file"), filepath.Join(dir, "link.new"))
			rename(t, filepath.Join(dir, "link.new"), filepath.Join(dir, "link"))
		},
		"another folder": func(t *testing.T, dir string) {
			rename(t, filepath.Join(dir, "plugins"), filepath.Join(dir, "old"))
			makeFolder(t, filepath.Join(dir, "plugins"))
		},
	}
	for name, change := range cases {
		for _, heard := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var changing sync.Mutex
				dir, w := watchedFolder(t, heard, &changing)
				changing.Lock()
				change(t, dir)
				changing.Unlock()
				awaitChange(t, w)
				writeText(t, filepath.Join(dir, "unrelated"), "new")
				writeText(t, filepath.Join(dir, "plugins", "README"), "new")
				select {
				case <-w.changed:
					t.Error("a file that is not watched was reported, or one change twice")
				case <-time.After(2 * quietFor):
				}
			})
		}
	}
}

// watchedFolder has files to watch, and a watch with or without the system's events. It does not check again while
// they change: the steps of one change may be far apart on a busy machine.
func watchedFolder(t *testing.T, heard bool, changing sync.Locker) (string, *fileWatch) {
	t.Helper()
	dir := t.TempDir()
	makeFolder(t, filepath.Join(dir, "plugins"))
	makeFolder(t, filepath.Join(dir, "elsewhere"))
	for _, path := range []string{"file", "plugins/toolhost-plugin-a", "elsewhere/target"} {
		writeText(t, filepath.Join(dir, path), "old")
	}
	link(t, filepath.Join(dir, "elsewhere", "target"), filepath.Join(dir, "link"))
	var files []watchedFile
	for _, path := range []string{"file", "later", "plugins", "link"} {
		files = append(files, watchedFile{path: filepath.Join(dir, path)})
	}
	return dir, watching(t, heard, func() []watchedFile {
		changing.Lock()
		defer changing.Unlock()
		return files
	})
}

func watching(t *testing.T, heard bool, files func() []watchedFile) *fileWatch {
	t.Helper()
	w := newFileWatch(files, nil)
	if w.system == nil {
		t.Fatal("the system gives no watch")
	}
	if !heard {
		_ = w.system.Close()
		w.system = nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func awaitChange(t *testing.T, w *fileWatch) {
	t.Helper()
	select {
	case <-w.changed:
	case <-time.After(time.Minute):
		t.Fatal("no change was reported")
	}
}

// A program that is being written is reported only when it is complete: it must be quiet, and executable.
func TestFileWatchWaitsForThePrograms(t *testing.T) {
	t.Parallel()
	for _, heard := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "program")
		writeText(t, path, "old")
		w := watching(t, heard, func() []watchedFile { return []watchedFile{{path, true}} })
		remove(t, path)
		writeText(t, path, "half")
		select {
		case <-w.changed:
			t.Error("a program that cannot be run was reported")
		case <-time.After(3 * quietFor):
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		awaitChange(t, w)
		if !fsutil.IsProgram(path) {
			t.Error("reported too early")
		}
	}
}

// A program that is missing, for a moment or for good, delays only its own report: a configuration that names a program
// that is not there must be read again when it is corrected.
func TestFileWatchReportsTheRestWithoutAProgram(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{true, false} {
		dir := t.TempDir()
		program, file := filepath.Join(dir, "program"), filepath.Join(dir, "config")
		writeText(t, file, "old")
		if there {
			writeText(t, program, "old")
		}
		w := watching(t, true, func() []watchedFile { return []watchedFile{{program, true}, {path: file}} })
		if there {
			remove(t, program)
		}
		writeText(t, file, "new")
		awaitChange(t, w)
		writeText(t, program, "new")
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		awaitChange(t, w)
		if !fsutil.IsProgram(program) {
			t.Error("reported too early")
		}
	}
}

// A file that is written to continuously is reported when that ends, however long it takes.
func TestFileWatchWaitsForQuiet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	writeText(t, path, "")
	synctest.Test(t, func(t *testing.T) {
		w := &fileWatch{files: func() []watchedFile { return []watchedFile{{path: path}} }, changed: make(chan struct{}, 1),
			reported: map[string]string{path: stateOf(path)}}
		w.seen = statesOf(w.files())
		for i := range 100 {
			writeText(t, path, "%s", strings.Repeat("x", i+1))
			<-time.After(min(w.check(), quietFor/2))
		}
		if len(w.changed) > 0 {
			t.Error("reported while it was written to")
		}
		last := time.Now()
		for next := w.check(); len(w.changed) == 0 && time.Since(last) < time.Minute; next = w.check() {
			<-time.After(next)
		}
		if quiet := time.Since(last); quiet > quietFor {
			t.Errorf("reported after %s", quiet)
		}
	})
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func makeFolder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeText(t *testing.T, path, format string, a ...any) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, format, a...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A script has changed when a file has that it may import: one beside it, with its ending.
func TestFilesOfAScript(t *testing.T) {
	dir := t.TempDir()
	makeFolder(t, filepath.Join(dir, "sub"))
	for _, name := range []string{"plugin.js", "hello.js", ".hidden.js", "notes.txt", "prog", "hello.py", "sub/more.js"} {
		writeText(t, filepath.Join(dir, name), "")
	}
	if err := os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "sub", "link")); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		filepath.Join(dir, "plugin.js"): "plugin.js hello.js",
		"sh sub/link/../plugin.js":      "sh plugin.js hello.js", // .. of what the link leads to
		"sub/link/../plugin.js":         "plugin.js hello.js",
		filepath.Join(dir, "prog"):      "prog",
		"sh plugin.js":                  "sh plugin.js hello.js",
		"sh prog":                       "sh prog",
	} {
		var got []string
		for _, f := range filesOf(supervise.Spec{Command: strings.Fields(command), Dir: dir}, "") {
			got = append(got, filepath.Base(f.path))
			if _, err := os.Stat(f.path); err != nil || !filepath.IsAbs(f.path) {
				t.Errorf("%s: %s is watched: %v", command, f.path, err)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", command, got, want)
		}
	}
}

// What changes between the reading of a configuration and the watch for its changes is reported: an editor may save at
// any time.
func TestChangedBeforeItIsWatched(t *testing.T) {
	trusting(t)
	for _, name := range []string{"config.hcl", "policy.hcl"} {
		i := withServices(t, "", Options{})
		path := i.Config().Path
		if name == "policy.hcl" {
			var err error
			if path, err = UserFile(name); err != nil {
				t.Fatal(err)
			}
			makeFolder(t, filepath.Dir(path))
		}
		before, _ := os.ReadFile(path) // there may be none
		writeText(t, path, "%s\n# a comment\n", before)
		select {
		case <-i.Changes(t.Context()):
		case <-time.After(time.Minute):
			t.Errorf("a change of %s is not reported", name)
		}
	}
	c, err := Load(Options{Config: withServices(t, "", Options{}).Config().Path})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, c.Path, "%s\n# a comment\n", text)
	select {
	case <-c.Changes(t.Context()):
	case <-time.After(time.Minute):
		t.Error("a change of the configuration is not reported")
	}
}
