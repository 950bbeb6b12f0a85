package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// refreshes says when they begin, from the start, if marks come at the times given.
func refreshes(t *testing.T, changed func(n int) bool, marks ...time.Duration) (at []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w, began := newWatch(nil), time.Now()
		for _, m := range marks {
			time.AfterFunc(m, w.noteChange)
		}
		w.follow(ctx, func(context.Context) bool {
			at = append(at, time.Since(began))
			return changed(len(at))
		})
	})
	return at
}

func TestPaceOfRefreshes(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	always, never := func(int) bool { return true }, func(int) bool { return false }
	for _, test := range []struct {
		name        string
		changed     func(int) bool
		marks, want []time.Duration
	}{
		{"no change", always, nil, nil},
		{"one change", always, []time.Duration{ms(5000)}, []time.Duration{ms(5250)}},
		{"a file written in steps", always, []time.Duration{ms(0), ms(200), ms(400), ms(600)}, []time.Duration{ms(850)}},
		{"two changes far apart", never, []time.Duration{ms(0), ms(10_000)}, []time.Duration{ms(250), ms(10_250)}},
		{"two changes close together", always, []time.Duration{ms(0), ms(300)}, []time.Duration{ms(250), ms(1500)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, refreshes(t, test.changed, test.marks...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChangesWithoutEndAreLookedAt(t *testing.T) {
	var marks []time.Duration
	for at := time.Duration(0); at < 2*time.Minute; at += 100 * time.Millisecond {
		marks = append(marks, at)
	}
	at := refreshes(t, func(int) bool { return true }, marks...)
	if len(at) < 30 || len(at) > 62 || at[0] > settleMost+settleTime {
		t.Errorf("%d refreshes in two minutes, the first after %v", len(at), at[0])
	}
}

// A discovery that touches what is watched, and finds nothing new, runs ever more rarely.
func TestRefreshThatCausesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w, n := newWatch(nil), 0
		w.noteChange()
		w.follow(ctx, func(context.Context) bool { n++; w.noteChange(); return false })
		if n < 60 || n > 70 {
			t.Errorf("%d runs in an hour, want about one a minute", n)
		}
	})
}

func TestWatchedPaths(t *testing.T) {
	p := newProject(t)
	p.file(t, "tools.py", "", 0o644)
	p.file(t, "sub/list.json", "", 0o644)
	for _, test := range []struct {
		command string
		watch   []string
		want    []string
	}{
		{`"bin/get_tools"`, nil, []string{"bin/get_tools"}},
		{`"python3 tools.py --list nothing sub sub/list.json"`, nil, []string{"sub/list.json", "tools.py"}},
		{`"tools.py"`, []string{"sub", "sub/../tools.py", "gone/deep"}, []string{"gone/deep", "sub", "tools.py"}},
	} {
		c := config{DiscoveryCommand: []byte(test.command), Watch: test.watch}
		s, err := c.settings(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range s.watched() {
			rel, err := filepath.Rel(p.dir, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.command, diff)
		}
	}
}

// marked waits until the watch has seen a change, and is quiet again.
func marked(t *testing.T, w *watch) {
	t.Helper()
	select {
	case <-w.dirty:
	case <-time.After(time.Minute):
		t.Fatal("the change was not seen")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !w.finish(ctx) {
		t.Fatal("the changes do not end")
	}
	w.arm()
}

func TestWatchedChanges(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(errs ...error) {
		t.Helper()
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			t.Fatal(errs[i])
		}
	}
	write := func(name, text string) error { return os.WriteFile(at(name), []byte(text), 0o644) }
	must(os.Mkdir(at("bin"), 0o755), os.Mkdir(at("real"), 0o755), os.Mkdir(at("folder"), 0o755),
		write("bin/tools", "1"), write("real/tools", "1"), os.Symlink(at("real/tools"), at("link")),
		os.MkdirAll(at("releases/1"), 0o755), os.Mkdir(at("releases/2"), 0o755), write("releases/1/tools", "1"),
		write("releases/2/tools", "2"),
		os.Mkdir(at("app"), 0o755), os.Symlink(at("releases/1"), at("app/current")))
	w := newWatch([]string{at("bin/tools"), at("link"), at("folder"), at("new/deep/file"), at("app/current/tools")})
	defer w.close()
	if len(w.notes) > 0 {
		t.Fatal(w.notes)
	}
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"written", func() { must(write("bin/tools", "2")) }},
		{"replaced", func() { must(write("bin/tmp", "3"), os.Rename(at("bin/tmp"), at("bin/tools"))) }},
		{"made executable", func() { must(os.Chmod(at("bin/tools"), 0o755)) }},
		{"removed", func() { must(os.Remove(at("bin/tools"))) }},
		{"there again", func() { must(write("bin/tools", "4")) }},
		{"folder removed", func() { must(os.RemoveAll(at("bin"))) }},
		{"folder there again", func() { must(os.Mkdir(at("bin"), 0o755)) }},
		{"file in the new folder", func() { must(write("bin/tools", "5")) }},
		{"folder replaced", func() {
			must(os.Mkdir(at("other"), 0o755), write("other/tools", "6"), os.Rename(at("bin"), at("old")),
				os.Rename(at("other"), at("bin")))
		}},
		{"file in the replaced folder", func() { must(write("bin/tools", "7")) }},
		{"target of a link", func() { must(write("real/tools", "2")) }},
		{"link replaced", func() { must(os.Remove(at("link")), os.Symlink(at("bin/tools"), at("link"))) }},
		{"link of a folder replaced", func() {
			must(os.Symlink(at("releases/2"), at("app/next")), os.Rename(at("app/next"), at("app/current")))
		}},
		{"file in the new target", func() { must(write("releases/2/tools", "3")) }},
		{"new in a folder", func() { must(write("folder/x", "1")) }},
		{"first folder of a path", func() { must(os.Mkdir(at("new"), 0o755)) }},
		{"second folder of a path", func() { must(os.Mkdir(at("new/deep"), 0o755)) }},
		{"its file", func() { must(write("new/deep/file", "1")) }},
	} {
		step.change()
		t.Log(step.name)
		marked(t, w)
	}
	must(write("beside", "1"), write("bin/beside", "1"), write("folder/last", "1")) // the last one alone is seen
	marked(t, w)
	for _, name := range []string{"beside", "bin/beside", "folder/sub/x", "binary"} {
		if w.isWatched(at(name)) {
			t.Errorf("a change of %s counts", name)
		}
	}
}
