package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// vaulted is a supervisor with a vault of its own.
func vaulted(t testing.TB, bin string) *Supervisor {
	t.Helper()
	s, err := New(Options{RunDir: shortDir(t), BinDir: bin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A plugin with a checksum runs from a copy, which is made once; a change of the copy or of the program is noticed.
func TestCopies(t *testing.T) {
	bin, r := filepath.Join(t.TempDir(), "bin"), newRace(t)
	s := vaulted(t, bin)
	first := r.verified(t, s)
	if want := filepath.Join(bin, r.spec.Lock.SHA256, "plugin"); first != want {
		t.Fatalf("runs from %s, want %s", first, want)
	}
	inode := inodeOf(t, first)
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if got := r.verified(t, vaulted(t, bin)); got != first || inodeOf(t, got) != inode {
		t.Error("another host made the copy again")
	}
	if err := os.Chmod(first, 0o700); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, first, r.evil)
	if text, err := os.ReadFile(r.verified(t, s)); err != nil || !bytes.Equal(text, r.good) {
		t.Errorf("a copy that was overwritten is used, %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(first)); err != nil {
		t.Fatal(err)
	}
	if got := r.verified(t, s); got != first {
		t.Errorf("after the copy was removed: %s", got)
	}
	writeProgram(t, r.path, r.evil)
	if _, err := s.verified(r.spec); err == nil || !strings.Contains(err.Error(), "is not the program that was locked") {
		t.Errorf("a program that was overwritten: %v", err)
	}
}

// A program that has not changed for a while is not read again; one that looks as it did is, as soon as it was touched.
func TestUnchangedProgramsAreNotHashed(t *testing.T) {
	r, s := newRace(t), vaulted(t, filepath.Join(t.TempDir(), "bin"))
	path := r.verified(t, s)
	c := copied{dir: filepath.Dir(path), sum: r.spec.Lock.SHA256, name: "plugin"}
	if len(c.read().Sources) != 0 {
		t.Fatal("the state of a program that has only just been written is recorded")
	}
	soon(t, "the state recorded", 10*time.Second, func() bool { // once the last change is old enough
		r.verified(t, s)
		return len(c.read().Sources) == 1
	})
	k := c.read()
	f, err := os.OpenFile(r.path, os.O_WRONLY, 0) // which cannot be read
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, err := identify(f)
	if err != nil || k.Sources[r.path] != before {
		t.Fatalf("recorded %+v, is %+v, %v", k.Sources[r.path], before, err)
	}
	if err := c.sameSource(f, before, func(string) error { return nil }); err != nil {
		t.Errorf("it was read: %v", err)
	}
	if err := c.sameSource(f, before, func(string) error { return errors.New("no") }); err == nil {
		t.Error("nobody asked whether the checksum will do")
	}
	evil := bytes.Clone(r.good)
	evil[len(evil)-1]++
	writeProgram(t, r.path, evil)
	if err := os.Chtimes(r.path, time.Now(), time.Unix(0, before.Written)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.verified(r.spec); err == nil {
		t.Error("a program of the same size and time of writing is taken for the old one")
	}
}

func (r *race) verified(t *testing.T, s *Supervisor) string {
	t.Helper()
	path, err := s.verified(r.spec)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i, err := identify(f)
	if err != nil {
		t.Fatal(err)
	}
	return i.Inode
}

// A script keeps its folder.
func TestScriptsRunFromTheirOwnPath(t *testing.T) {
	path := script(t, t.TempDir(), "plugin", "exit 0")
	sum, err := sumOf(path)
	if err != nil {
		t.Fatal(err)
	}
	s := vaulted(t, filepath.Join(t.TempDir(), "bin"))
	spec := Spec{Name: "p", Command: []string{path}, SHA256: sum}
	if got, err := s.verified(spec); got != path || err != nil {
		t.Errorf("runs from %s, %v", got, err)
	}
	if p, err := Inspect(spec); err != nil || !p.InPlace || p.SHA256 != sum {
		t.Errorf("%+v, %v", p, err)
	}
	writeProgram(t, path, []byte("#!/bin/sh\nexit 1\n"))
	if _, err := s.verified(spec); err == nil {
		t.Error("a script that was changed is run")
	}
}

// Old copies go when there are too many or when nobody has used them, but never one that a host uses.
func TestPruneCopies(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin")
	r, user := newRace(t), vaulted(t, bin)
	used := filepath.Dir(r.verified(t, user))
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
	other.good = append(other.good, "another"...)
	writeProgram(t, other.path, other.good)
	sum, err := sumOf(other.path)
	if err != nil {
		t.Fatal(err)
	}
	other.spec.Lock.SHA256 = sum
	other.verified(t, vaulted(t, bin))
	for dir, stays := range map[string]bool{used: true, oldest: false, stranger: true, filepath.Join(bin, fmt.Sprintf("%064x", 0)): true,
		filepath.Join(bin, fmt.Sprintf("%064x", maxCopies+4)): false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(dir), err, stays)
		}
	}
}

// Where the user's folder cannot be used, copies go to the host's private one, and with it.
func TestVaultWithoutACache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	r := newRace(t)
	s, err := New(Options{RunDir: shortDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	path := r.verified(t, s)
	if !strings.HasPrefix(path, s.dir.path) {
		t.Errorf("runs from %s", path)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the copy is left behind")
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := vaulted(t, open).verified(r.spec); err == nil || !strings.Contains(err.Error(), "chmod go-w "+open) {
		t.Errorf("a folder that others can write to: %v", err)
	}
}

// The whole way, with a plugin: it runs from the copy under the name of its command.
func TestPluginFromItsCopy(t *testing.T) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	spec := playing("good", "good")
	spec.Lock = Lock{SHA256: sum, Source: "toolhost.lock.hcl:3", Advice: "lock it again"}
	p := add(t, vaulted(t, bin), spec)
	pid := mustCall(t, p, "pid", "")
	if exe, err := os.Readlink("/proc/" + pid + "/exe"); runtime.GOOS == "linux" && (err != nil || !strings.HasPrefix(exe, bin)) {
		t.Errorf("it runs from %s, %v", exe, err)
	}
	spec.Lock.SHA256 = strings.Repeat("0", 64)
	q := add(t, vaulted(t, bin), spec)
	_, err = call(t, q, "pid", "")
	checkError(t, err, sdk.CodePluginUnavailable, "is not the program that was locked", sum, "locked at toolhost.lock.hcl:3; lock it again", "not 000")
	if s := q.Status(); s.State != Invalid {
		t.Errorf("state %s", s.State)
	}
	spec.Lock = Lock{Refused: "nobody has locked it"}
	_, err = call(t, add(t, vaulted(t, bin), spec), "pid", "")
	checkError(t, err, sdk.CodePluginUnavailable, "nobody has locked it")
}

// What a start of a plugin with a checksum costs beside one without, when nothing has changed: a few system calls.
func BenchmarkVerifiedAgain(b *testing.B) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		b.Fatal(err)
	}
	s, spec := vaulted(b, filepath.Join(b.TempDir(), "bin")), playing("good", "good")
	spec.SHA256 = sum
	c := copied{dir: filepath.Join(s.vault.wanted, sum), sum: sum, name: filepath.Base(os.Args[0])}
	verify := func() {
		if _, err := s.verified(spec); err != nil {
			b.Fatal(err)
		}
	}
	soon(b, "the state recorded", 10*time.Second, func() bool { verify(); return len(c.read().Sources) == 1 })
	for b.Loop() {
		verify()
	}
}
