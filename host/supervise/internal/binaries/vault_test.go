package binaries

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A program with a checksum is run from a copy, which is made once; a change of the copy or of the program is noticed.
func TestCopies(t *testing.T) {
	bin, r := filepath.Join(t.TempDir(), "bin"), newRace(t)
	v := vaulted(t, bin)
	first := r.mustKeep(t, v)
	if want := filepath.Join(bin, r.sum, "plugin"); first != want {
		t.Fatalf("runs from %s, want %s", first, want)
	}
	inode := inodeOf(t, first)
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if got := r.mustKeep(t, vaulted(t, bin)); got != first || inodeOf(t, got) != inode {
		t.Error("another host made the copy again")
	}
	if err := os.Chmod(first, 0o700); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, first, r.evil)
	if text, err := os.ReadFile(r.mustKeep(t, v)); err != nil || !bytes.Equal(text, r.good) {
		t.Errorf("a copy that was overwritten is used, %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(first)); err != nil {
		t.Fatal(err)
	}
	if got := r.mustKeep(t, v); got != first {
		t.Errorf("after the copy was removed: %s", got)
	}
	writeProgram(t, r.path, r.evil)
	if _, err := r.kept(v); !errors.Is(err, errOther) {
		t.Errorf("a program that was overwritten: %v", err)
	}
}

// A program that has not changed for a while is not read again; one that looks as it did is, as soon as it was touched.
func TestUnchangedProgramsAreNotHashed(t *testing.T) {
	r, v := newRace(t), vaulted(t, filepath.Join(t.TempDir(), "bin"))
	path := r.mustKeep(t, v)
	c := copied{dir: filepath.Dir(path), sum: r.sum, name: "plugin"}
	if len(c.read().Sources) != 0 {
		t.Fatal("the state of a program that has only just been written is recorded")
	}
	r.record(t, v, c)
	k := c.read()
	w, err := os.OpenFile(r.path, os.O_WRONLY, 0) // which cannot be read
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := &File{w}
	before, err := f.Identity()
	if err != nil || k.Sources[r.path] != before {
		t.Fatalf("recorded %+v, is %+v, %v", k.Sources[r.path], before, err)
	}
	if err := c.sameSource(source{f, before, r.accepts}); err != nil {
		t.Errorf("it was read: %v", err)
	}
	if err := c.sameSource(source{f, before, func(string) error { return errOther }}); err == nil {
		t.Error("nobody asked whether the checksum will do")
	}
	evil := bytes.Clone(r.good)
	evil[len(evil)-1]++
	writeProgram(t, r.path, evil)
	if err := os.Chtimes(r.path, time.Now(), time.Unix(0, before.Written)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.kept(v); !errors.Is(err, errOther) {
		t.Error("a program of the same size and time of writing is taken for the old one")
	}
}

// record waits until the last change of the program is so old that its state is recorded.
func (r *race) record(t *testing.T, v *Vault, c copied) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(c.read().Sources) != 1; r.mustKeep(t, v) {
		if time.Now().After(end) {
			t.Fatal("the state is not recorded")
		}
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	i, err := Identify(path)
	if err != nil {
		t.Fatal(err)
	}
	return i.Inode
}

// A copy whose mode was changed is no copy: one that cannot be executed would keep the plugin from starting for ever.
func TestCopiesOfOtherModes(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o400, 0o600, 0o644, 0o555} {
		r, bin := newRace(t), filepath.Join(t.TempDir(), "bin")
		path := r.mustKeep(t, vaulted(t, bin))
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		again := r.mustKeep(t, vaulted(t, bin))
		if info, err := os.Stat(again); again != path || err != nil || info.Mode().Perm() != 0o500 {
			t.Errorf("mode %o: the copy is %v, %v", mode, info, err)
		}
	}
}

// What stands in the way of a copy in the shared folder costs no start.
func TestObstacles(t *testing.T) {
	for name, stand := range map[string]func(dir string) error{
		"a file for a folder": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link for a folder": func(dir string) error { return os.Symlink("/proc/nowhere", dir) },
		"a folder for a copy": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "plugin", "x"), 0o700) },
		"an open folder":      func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
	} {
		t.Run(name, func(t *testing.T) {
			r, bin := newRace(t), filepath.Join(t.TempDir(), "bin")
			mkdir(t, bin)
			if err := stand(filepath.Join(bin, r.sum)); err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			v := vaulted(t, bin, &told)
			if path := r.mustKeep(t, v); !strings.HasPrefix(path, v.reserve) || !strings.Contains(told.String(), "for this host alone") {
				t.Errorf("the copy is %s; told was %q", path, &told)
			}
			left, err := filepath.Glob(filepath.Join(bin, r.sum, fresh))
			if len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
			writeProgram(t, r.path, r.evil)
			told.Reset()
			if _, err := r.kept(vaulted(t, bin, &told)); !errors.Is(err, errOther) {
				t.Errorf("another program: %v", err)
			}
		})
	}
}

// A vault that is used after its host has removed its own folder does not make that again.
func TestReserveThatIsGone(t *testing.T) {
	r, own := newRace(t), filepath.Join(t.TempDir(), "gone")
	v := NewVault("", filepath.Join(own, "bin"), slog.New(slog.DiscardHandler))
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	t.Setenv("HOME", "/dev/null/nowhere")
	if _, err := r.kept(v); err == nil {
		t.Error("a copy is kept")
	}
	if _, err := os.Lstat(own); err == nil {
		t.Error("the folder is there again")
	}
}

// Old copies go when there are too many or when nobody has used them, but never one that a host uses.
func TestPruneCopies(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin")
	r, user := newRace(t), vaulted(t, bin)
	used := filepath.Dir(r.mustKeep(t, user))
	long := time.Now().Add(-2 * maxUnused)
	for i := range maxCopies + 5 {
		dir := filepath.Join(bin, fmt.Sprintf("%064x", i))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "x"), nil, 0o500)); err != nil {
			t.Fatal(err)
		}
		if at := time.Now().Add(-time.Duration(i) * time.Minute); os.Chtimes(dir, at, at) != nil {
			t.Fatal("cannot set the time")
		}
	}
	oldest, stranger := filepath.Join(bin, strings.Repeat("f", 64)), filepath.Join(bin, "stranger")
	if err := errors.Join(os.Mkdir(oldest, 0o700), os.Mkdir(stranger, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{used, oldest, stranger} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	other := newRace(t)
	other.grow(t, "another")
	other.mustKeep(t, vaulted(t, bin))
	for dir, stays := range map[string]bool{used: true, oldest: false, stranger: true, filepath.Join(bin, fmt.Sprintf("%064x", 0)): true,
		filepath.Join(bin, fmt.Sprintf("%064x", maxCopies+4)): false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(dir), err, stays)
		}
	}
}

// Where the user's folder cannot be used, copies go to the host's own. One that was asked for must be fit.
func TestVaultWithoutACache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	r, v := newRace(t), vaulted(t, "")
	if path := r.mustKeep(t, v); filepath.Dir(filepath.Dir(path)) != v.reserve {
		t.Errorf("runs from %s", path)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	_, err := r.kept(vaulted(t, open))
	if _, refused := errors.AsType[*fsutil.OwnershipError](err); !refused || !strings.Contains(err.Error(), "chmod go-w "+open) {
		t.Errorf("a folder that others can write to: %v", err)
	}
}
