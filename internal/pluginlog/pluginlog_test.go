package pluginlog

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func record(level slog.Level, message string, attrs ...slog.Attr) slog.Record {
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	return r
}

func TestTextForAuthors(t *testing.T) {
	stream := slog.String("stream", "stderr")
	for name, c := range map[string]struct {
		r    slog.Record
		want string
	}{
		"a line": {record(slog.LevelDebug, "hello", stream), "stderr: hello"},
		"a line of hclog": {record(slog.LevelWarn, "hello", stream, slog.Group("fields", slog.Int("n", 1))),
			"stderr warn: hello n=1"},
		"a crash": {record(slog.LevelWarn, "plugin crashed", slog.Int("generation", 2)), "warn: plugin crashed generation=2"},
		"a panic": {record(slog.LevelWarn, "it panicked", slog.String("call_id", "x"),
			slog.String("attributes", `{"panic":"no","stack":"goroutine 1\n\tat x\n","n":1}`)),
			"warn: it panicked n=1 panic=no\n    goroutine 1\n    \tat x"},
		"a panic that was cut": {record(slog.LevelWarn, "it panicked", slog.String("attributes", `{"stack":"goroutine 1\n\tat`)),
			"warn: it panicked\n    {\"stack\":\"goroutine 1\n    \tat"},
		"a message of several lines": {record(slog.LevelInfo, "a\nb"), `info: a\nb`},
		"control characters":         {record(slog.LevelInfo, "a\x1b[2J\u202e"), "info: a[2J"},
	} {
		if got := Text(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Text(record(slog.LevelInfo, strings.Repeat("x", 1<<20))); len(got) > maxText+100 {
		t.Errorf("a long message has %d bytes", len(got))
	}
}

// say has a store keep a line of a plugin.
func say(t *testing.T, s *Store, line string) {
	t.Helper()
	h := s.Over(nil).With("plugin", "greet").Handler()
	if err := h.Handle(t.Context(), record(slog.LevelDebug, line, slog.String("stream", "stderr"))); err != nil {
		t.Fatal(err)
	}
}

func last(t *testing.T, dir string, n int) string {
	t.Helper()
	lines, _, err := Last(filepath.Join(dir, "greet.log"), n)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		_, lines[i], _ = strings.Cut(line, "stderr: ")
	}
	return strings.Join(lines, " ")
}

func TestWhatPluginsSayIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	s := NewStore(dir)
	defer s.Close()
	log := s.Over(nil)
	log.Warn("not a plugin's")
	log.With("plugin", "../greet").Warn("no plugin's name")
	log.With("plugin", "greet").Info("neither printed nor a warning")
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("there is a folder, and nothing to keep")
	}
	say(t, s, "one")
	log.With("plugin", "greet").Warn("crashed", "stream", "stderr")
	say(t, s, "two")
	if got := last(t, dir, 2); got != "crashed two" && got != " two" {
		t.Errorf("the last two lines are %q", got)
	}
	info, err := os.Stat(filepath.Join(dir, "greet.log"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if got := Plugins(dir); len(got) != 1 || got[0] != "greet" {
		t.Errorf("the plugins are %q", got)
	}
	for _, name := range []string{"", "..", "../greet", "Greet", "a/b", "greet.log"} {
		if _, err := Path(dir, name); err == nil {
			t.Errorf("%q has a file", name)
		}
	}
}

// Two hosts write to one file, and both to the next one when it is full.
func TestFilesAreRotated(t *testing.T) {
	dir := t.TempDir()
	a, b := NewStore(dir), NewStore(dir)
	defer a.Close()
	defer b.Close()
	a.limit, b.limit = 500, 500
	say(t, b, "first")
	for range 60 {
		say(t, a, "from-a")
	}
	b.files["greet"].checked = time.Time{} // a second later
	say(t, b, "from-b")
	if got := last(t, dir, 2); got != "from-a from-b" && got != "from-b" {
		t.Errorf("the last two lines are %q", got)
	}
	if got := strings.Fields(last(t, dir, 1000)); len(got) < 5 || len(got) > 30 {
		t.Errorf("%d lines are kept of 500 bytes twice", len(got))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 { // the two files, and the lock
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestFloodsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := NewStore(dir)
		defer s.Close()
		for range 40 {
			say(t, s, strings.Repeat("x", 30<<10))
		}
		time.Sleep(time.Second) // of the bubble's clock
		say(t, s, "later")
		lines, _, err := Last(filepath.Join(dir, "greet.log"), 1000)
		if err != nil || len(lines) > 12 || !strings.Contains(strings.Join(lines, " "), "more before this were dropped") {
			t.Errorf("%d lines are kept, %v", len(lines), err)
		}
	})
}

func TestFilesOfOthersAreNotWritten(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "greet.log")); err != nil {
		t.Fatal(err)
	}
	s := NewStore(dir)
	defer s.Close()
	say(t, s, "hello")
	if text, err := os.ReadFile(elsewhere); err != nil || len(text) > 0 {
		t.Errorf("a link was followed: %q, %v", text, err)
	}
	if _, _, err := Last(filepath.Join(dir, "greet.log"), 1); err == nil {
		t.Error("a link was read")
	}
}

func TestAStoreThatIsNotThereKeepsNothing(t *testing.T) {
	var s *Store
	s.Over(nil).With("plugin", "greet").WarnContext(context.Background(), "x")
	s.Close()
}
