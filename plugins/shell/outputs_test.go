//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/wire"
)

// newShelf is a place for files of up to limit bytes, in a temporary folder.
func newShelf(t *testing.T, session string, limit int64) *sessionOutput {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	l := &outputStore{}
	t.Cleanup(l.close)
	return &sessionOutput{outputStore: l, session: session, limit: limit}
}

func TestLongOutputIsInAFile(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	for _, test := range []struct {
		name         string
		printed      string
		limit        int64
		saved, tells string
	}{
		{"what fits is not", text[:16], 1000, "", ""},
		{"one byte more is", text[:17], 1000, text[:17], "All 17 bytes of stdout: "},
		{"all of it", text, 1000, text, "All 100 bytes of stdout: "},
		{"exactly the limit", text, 100, text, "All 100 bytes of stdout: "},
		{"up to the limit", text, 50, text[:50], "First 50 of 100 bytes of stdout: "},
		{"less than is shown", text, 10, text[:10], "First 10 of 100 bytes of stdout: "},
	} {
		for _, step := range []int{1, 7, 8, 16, 1000} {
			files := newShelf(t, "", test.limit)
			tr := newTranscript(16, files)
			for piece := range pieces(test.printed, step) {
				tr.add(stdout, []byte(piece))
			}
			tr.close()
			v := tr.since([2]int64{})
			saved, _ := os.ReadFile(v.paths[stdout])
			if reported := v.where(); string(saved) != test.saved || !strings.HasPrefix(reported, test.tells) ||
				!strings.Contains(reported, v.paths[stdout]) {
				t.Errorf("%s by %d: it names %q of a file with %q", test.name, step, reported, saved)
			}
			files.outputStore.close()
		}
	}
}

// A file that takes nothing, as on a full disk, is not named as one with the output's first bytes.
func TestOutputThatCannotBeSaved(t *testing.T) {
	files := newShelf(t, "", 1000)
	o := spillFile{sessionOutput: files, name: "stdout"}
	if o.file, o.err = files.open("stdout"); o.err != nil {
		t.Fatal(o.err)
	}
	_ = o.file.file.Close()
	o.follow(&headTail{half: 8}, []byte("0123456789"))
	if got := o.note(10); !strings.HasPrefix(got, "The 10 bytes of stdout could not be saved: ") || strings.Contains(got, "First") {
		t.Errorf("%s", got)
	}
}

func TestFilesArePrivate(t *testing.T) {
	files := newShelf(t, "", 100)
	b, err := files.open("stdout")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{b.path: 0o600, filepath.Dir(b.path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	files.outputStore.close()
	if _, err := files.open("stdout"); !errors.Is(err, errClosed) {
		t.Errorf("a file after the end: %v", err)
	}
}

// A session has room for four files, and the oldest are removed first; those that are being written stay.
func TestOldFilesAreEvicted(t *testing.T) {
	files := newShelf(t, "a", 10)
	other := &sessionOutput{outputStore: files.outputStore, session: "b", limit: 10}
	write := func(s *sessionOutput, end bool) (*outputFile, error) {
		b, err := s.open("stdout")
		if err != nil {
			t.Fatal(err)
		}
		err = b.write([]byte("0123456789"))
		if end {
			b.close()
		}
		return b, err
	}
	theirs, _ := write(other, true)
	open, _ := write(files, false)
	var ended []*outputFile
	for range 5 {
		b, err := write(files, true)
		if err != nil {
			t.Error(err)
		}
		ended = append(ended, b)
	}
	for i, b := range append([]*outputFile{theirs, open}, ended...) {
		_, err := os.Stat(b.path)
		if gone := err != nil; gone != (i == 2 || i == 3) {
			t.Errorf("file %d is gone: %v", i, gone)
		}
	}
	for range 3 {
		if _, err := write(files, false); err != nil {
			t.Error(err)
		}
	}
	if _, err := write(files, false); !errors.Is(err, errFull) {
		t.Errorf("with four files in use: %v", err)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	tr := newTranscript(16, &sessionOutput{outputStore: &outputStore{}, limit: 100})
	tr.add(stderr, []byte(strings.Repeat("x", 100)))
	tr.close()
	v := tr.since([2]int64{})
	if reported := v.where(); !strings.Contains(reported, "The 100 bytes of stderr could not be saved: ") ||
		!strings.Contains(reported, "no such file") || v.streams[stderr] == "" {
		t.Errorf("it names %q", reported)
	}
}

// Output that a result has named can be read after the end of the plugin, and a later one finds it; the rest is
// removed.
func TestOutputOutlivesThePlugin(t *testing.T) {
	files := newShelf(t, "", 100)
	b, err := files.open("stdout")
	if err != nil {
		t.Fatal(err)
	}
	script, _, err := files.outputStore.script("script.sh", "ls")
	if err != nil {
		t.Fatal(err)
	}
	files.outputStore.close()
	removeAbandoned(os.TempDir())
	if _, err := os.Stat(b.path); err != nil {
		t.Errorf("the output: %v", err)
	}
	if _, err := os.Stat(script); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the script is there: %v", err)
	}
}

func TestFolderWithoutOutputGoesWithThePlugin(t *testing.T) {
	files := newShelf(t, "", 100)
	script, _, err := files.outputStore.script("script.sh", "ls")
	if err != nil {
		t.Fatal(err)
	}
	files.outputStore.close()
	if _, err := os.Stat(filepath.Dir(script)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// left makes the folder of a process that is gone, with output of some size and age.
func left(t *testing.T, dir, name string, size int64, age time.Duration) string {
	t.Helper()
	path := filepath.Join(dir, folderPrefix+name)
	output, at := filepath.Join(path, "1-stdout.txt"), time.Now().Add(-age)
	err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, lockName), nil, 0o600),
		os.WriteFile(output, nil, 0o600),
		os.Truncate(output, size), os.Chtimes(output, at, at))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSweepKeepsTheNewestOutput(t *testing.T) {
	hour := time.Hour
	for name, c := range map[string]struct {
		sizes []int64 // of folders, each an hour older than the one before
		first time.Duration
		want  int
	}{
		"few":                           {make([]int64, 3), hour, 3},
		"too many":                      {make([]int64, leftFolders+2), 0, leftFolders},
		"too old":                       {make([]int64, 3), leftAge - hour - hour/2, 2},
		"too large together":            {[]int64{leftBytes / 2, leftBytes / 2, 1, 0}, 0, 2},
		"the newest is never too large": {[]int64{leftBytes + 1, 1}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for i, size := range c.sizes {
				paths = append(paths, left(t, dir, strconv.Itoa(len(c.sizes)-i), size, c.first+time.Duration(i)*hour))
			}
			removeAbandoned(dir)
			for i, path := range paths {
				if _, err := os.Stat(path); (err == nil) != (i < c.want) {
					t.Errorf("folder %d: %v; want the newest %d", i, err, c.want)
				}
			}
		})
	}
}

// Only the lock identifies the folder of a process that is gone.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a*[b]")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"toolhost-shell-killed", "toolhost-shell-read", "toolhost-shell-used",
		"toolhost-shell-new", "toolhost-shell-old", "toolhost-shell-full", "other"} {
		if err := os.MkdirAll(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"toolhost-shell-killed/" + lockName, "toolhost-shell-killed/1-script.sh",
		"toolhost-shell-read/" + lockName, "toolhost-shell-read/1-stdout.txt", "toolhost-shell-full/a", "other/" + lockName,
		"toolhost-shell-file"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used, err := fsutil.TryLock(at("toolhost-shell-used/"+lockName), os.O_CREATE|os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if err := os.Symlink(at("other"), at("toolhost-shell-link")); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * emptyAge)
	for _, name := range []string{"toolhost-shell-old", "toolhost-shell-full"} {
		if err := os.Chtimes(at(name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	removeAbandoned(dir)
	for name, want := range map[string]bool{"toolhost-shell-killed": false, "toolhost-shell-read/1-stdout.txt": true,
		"toolhost-shell-used": true, "toolhost-shell-new": true, "toolhost-shell-old": false,
		"toolhost-shell-full": true, "other/" + lockName: true, "toolhost-shell-file": true, "toolhost-shell-link": true} {
		if _, err := os.Lstat(at(name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

// A process that makes its folder while another one removes it gets the lock only when the folder is gone, and then makes
// another one.
func TestRemovingHoldsTheLock(t *testing.T) {
	f, err := newPrivateDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(f.path, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := os.OpenFile(f.lock.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	go f.remove()
	for fsutil.LockFile(mine, true) != nil {
		runtime.Gosched()
	}
	if _, err := os.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock is free, and the folder is there: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	files := newShelf(t, "", 100)
	b, err := files.open("stdout")
	if err != nil {
		t.Fatal(err)
	}
	_ = b.file.Close()
	if b.file, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
		return // not every system has one
	}
	if err := b.write([]byte("x")); !errors.Is(err, syscall.ENOSPC) || b.size != 0 {
		t.Errorf("%v, size %d", err, b.size)
	}
}

// Output is kept where the host says, and in the plugin's own folder where that is unusable.
func TestFolderIsWhereTheHostKeeps(t *testing.T) {
	own, headTail := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", own)
	for keep, want := range map[string]string{headTail: headTail, filepath.Join(headTail, "nowhere"): own, "": own} {
		t.Setenv(wire.EnvKeepDir, keep)
		l := &outputStore{}
		path, remove, err := l.script("script.sh", "true")
		if err != nil || filepath.Dir(filepath.Dir(path)) != want {
			t.Errorf("reported %q: %q, %v; want it below %q", keep, path, err, want)
		}
		remove()
		l.close()
	}
}

func TestKept(t *testing.T) {
	for _, test := range []struct{ name, printed, want string }{
		{"nothing", "", ""},
		{"short", "abc", "abc"},
		{"exactly full", "0123456789abcdef", "0123456789abcdef"},
		{"one over", "0123456789abcdefg", "01234567\n[... 1 bytes left out ...]\n9abcdefg"},
		{"far over", strings.Repeat("x", 1000) + "the tail", "xxxxxxxx\n[... 992 bytes left out ...]\nthe tail"},
		{"line break at the border", "0123456\n" + strings.Repeat("x", 100),
			"0123456\n[... 92 bytes left out ...]\nxxxxxxxx"},
		{"characters at the borders", "0123456ä" + strings.Repeat("x", 100) + "😀56789",
			"0123456\n[... 106 bytes left out ...]\n56789"},
		{"a character across a border that is no cut", "0123456ä901234", "0123456ä901234"},
		{"not UTF-8", strings.Repeat("\xff", 17), "\uFFFD\n[... 1 bytes left out ...]\n\uFFFD"},
		{"only continuation bytes", strings.Repeat("\x80", 17), "\uFFFD\n[... 1 bytes left out ...]\n\uFFFD"},
	} {
		for _, step := range []int{1, 3, 7, 8, 9, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", test.name, step), func(t *testing.T) {
				k := headTail{half: 8}
				for piece := range pieces(test.printed, step) {
					k.add([]byte(piece))
				}
				got := textKept(&k)
				if got.shown != test.want || got.total != int64(len(test.printed)) {
					t.Errorf("got %q of %d, want %q of %d", got.shown, got.total, test.want, len(test.printed))
				}
				if again := textKept(&k); again != got {
					t.Errorf("asked again: %+v", again)
				}
			})
		}
	}
}

// A keptText is everything that can be shown of a stream.
type keptText struct {
	shown          string
	total, leftOut int64
}

func textKept(k *headTail) keptText {
	s := k.snapshot()
	shown, leftOut := s.text(0)
	return keptText{shown, k.total, leftOut}
}

// pieces cuts s into pieces of n bytes.
func pieces(s string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			cut := min(n, len(s))
			if !yield(s[:cut]) {
				return
			}
			s = s[cut:]
		}
	}
}

func FuzzKept(f *testing.F) {
	f.Add([]byte("some text that is longer than it may be"), uint8(5), uint8(3))
	f.Add([]byte("äöü😀\xff\x80"), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, printed []byte, half, step uint8) {
		k := headTail{half: int(half) + 1}
		for piece := range pieces(string(printed), int(step)+1) {
			k.add([]byte(piece))
		}
		got := textKept(&k)
		if !utf8.ValidString(got.shown) || got.total != int64(len(printed)) {
			t.Fatalf("%+v of %d bytes", got, len(printed))
		}
		if len(printed) <= 2*k.half {
			if want := valid(printed); got.shown != want || got.leftOut != 0 {
				t.Fatalf("got %+v, want all of %q", got, want)
			}
			return
		}
		if got.leftOut < int64(len(printed)-2*k.half) || got.leftOut > int64(len(printed)-2*k.half+2*(utf8.UTFMax-1)) {
			t.Fatalf("%d bytes left out of %d, keeping %d", got.leftOut, len(printed), 2*k.half)
		}
		if !bytes.Equal(k.head, printed[:k.half]) {
			t.Fatalf("head %q of %q", k.head, printed)
		}
	})
}
