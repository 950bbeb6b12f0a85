package binaries

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/testutil"
)

// A program with a checksum is run from a copy, which is made once; a change of the copy or of the program is noticed.
func TestCopies(t *testing.T) {
	bin, r := filepath.Join(t.TempDir(), "bin"), newRace(t)
	v := newStore(t, bin)
	first := r.mustCopy(t, v)
	if want := filepath.Join(bin, r.sum, "plugin"); first != want {
		t.Fatalf("runs from %s, want %s", first, want)
	}
	inode := inodeOf(t, first)
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if got := r.mustCopy(t, newStore(t, bin)); got != first || inodeOf(t, got) != inode {
		t.Error("another host made the copy again")
	}
	if err := os.Chmod(first, 0o700); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, first, r.evil)
	if text, err := os.ReadFile(r.mustCopy(t, v)); err != nil || !bytes.Equal(text, r.good) {
		t.Errorf("a copy that was overwritten is used, %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(first)); err != nil {
		t.Fatal(err)
	}
	if got := r.mustCopy(t, v); got != first {
		t.Errorf("after the copy was removed: %s", got)
	}
	writeProgram(t, r.path, r.evil)
	if _, err := r.kept(v); !errors.Is(err, errOther) {
		t.Errorf("a program that was overwritten: %v", err)
	}
}

// A program that has not changed for a while is not read again; one that was touched is, even if it looks unchanged.
func TestUnchangedProgramsAreNotHashed(t *testing.T) {
	r, v := newRace(t), newStore(t, filepath.Join(t.TempDir(), "bin"))
	path := r.mustCopy(t, v)
	c := entry{dir: filepath.Dir(path), sum: r.sum, name: "plugin"}
	if len(c.readRecord().Sources) != 0 {
		t.Fatal("the state of a program that has only just been written is recorded")
	}
	r.record(t, v, c)
	k := c.readRecord()
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
	if err := c.checkSource(source{f, before, r.accepts}); err != nil {
		t.Errorf("it was read: %v", err)
	}
	if err := c.checkSource(source{f, before, func(string) error { return errOther }}); err == nil {
		t.Error("accept was not called")
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
func (r *replaceRace) record(t *testing.T, v *Store, c entry) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(c.readRecord().Sources) != 1; r.mustCopy(t, v) {
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

// A copy whose mode was changed is no copy: one that cannot be executed would keep the plugin from starting forever.
func TestCopiesOfOtherModes(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o400, 0o600, 0o644, 0o555} {
		r, bin := newRace(t), filepath.Join(t.TempDir(), "bin")
		path := r.mustCopy(t, newStore(t, bin))
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		again := r.mustCopy(t, newStore(t, bin))
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
			var reported strings.Builder
			v := newStore(t, bin, &reported)
			if path := r.mustCopy(t, v); !strings.HasPrefix(path, v.private) ||
				!strings.Contains(reported.String(), "for this host only") {
				t.Errorf("the copy is %s; reported was %q", path, &reported)
			}
			left, err := filepath.Glob(filepath.Join(bin, r.sum, tempPattern))
			if len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
			writeProgram(t, r.path, r.evil)
			reported.Reset()
			if _, err := r.kept(newStore(t, bin, &reported)); !errors.Is(err, errOther) {
				t.Errorf("another program: %v", err)
			}
		})
	}
}

// A store that is used after its host has removed its own folder does not make that again.
func TestRemovedReserveIsNotMadeAgain(t *testing.T) {
	r, own := newRace(t), filepath.Join(t.TempDir(), "gone")
	v := NewStore("", filepath.Join(own, "bin"), slog.New(slog.DiscardHandler))
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	t.Setenv("HOME", "/dev/null/nowhere")
	if _, err := r.kept(v); err == nil {
		t.Error("a copy is kept")
	}
	if _, err := os.Lstat(own); err == nil {
		t.Error("the folder is there again")
	}
}

// Old copies go when there are too many or when they are not used, but never one that a host uses.
func TestPruneCopies(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin")
	r, user := newRace(t), newStore(t, bin)
	used := filepath.Dir(r.mustCopy(t, user))
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
	oldest, foreign := filepath.Join(bin, strings.Repeat("f", 64)), filepath.Join(bin, "foreign")
	if err := errors.Join(os.Mkdir(oldest, 0o700), os.Mkdir(foreign, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{used, oldest, foreign} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	other := newRace(t)
	other.grow(t, "another")
	other.mustCopy(t, newStore(t, bin))
	for dir, stays := range map[string]bool{used: true, oldest: false, foreign: true,
		filepath.Join(bin, fmt.Sprintf("%064x", 0)):           true,
		filepath.Join(bin, fmt.Sprintf("%064x", maxCopies+4)): false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(dir), err, stays)
		}
	}
}

// Where the user's folder cannot be used, copies go to the host's own. One that was asked for must be fit.
func TestStoreWithoutACache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	r, v := newRace(t), newStore(t, "")
	if path := r.mustCopy(t, v); filepath.Dir(filepath.Dir(path)) != v.private {
		t.Errorf("runs from %s", path)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	_, err := r.kept(newStore(t, open))
	if _, refused := errors.AsType[*fsutil.OwnershipError](err); !refused ||
		!strings.Contains(err.Error(), "chmod go-w "+open) {
		t.Errorf("a folder that others can write to: %v", err)
	}
}

// program64 makes a program of our machine that ends with the exit status, and has about 200 KiB.
func program64(t *testing.T, status byte) []byte {
	t.Helper()
	code := map[string][]byte{
		"amd64": {0xbf, status, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05},
		"arm64": {status << 5, status >> 3, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
	}[runtime.GOARCH]
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if code == nil || runtime.GOOS != "linux" { // any program will do, whose end no one looks at
		return fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", status)
	}
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code))
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_EXEC), Machine: uint16(machine),
			Version: 1,
			Entry:   base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Filesz: size, Memsz: size,
			Align: 0x1000},
		code, bytes.Repeat([]byte{status}, 200<<10),
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A replaceRace is two programs, and another process that puts one and the other in place of the plugin's, without a
// pause.
type replaceRace struct {
	path, sum  string
	good, evil []byte
}

func newRace(t *testing.T) *replaceRace {
	t.Helper()
	r := &replaceRace{path: filepath.Join(t.TempDir(), "plugin"), good: program64(t, 0), evil: program64(t, 66)}
	r.grow(t, "")
	return r
}

// grow makes the good program another that does the same.
func (r *replaceRace) grow(t *testing.T, by string) {
	t.Helper()
	r.good = append(r.good, by...)
	writeProgram(t, r.path, r.good)
	sum := sha256.Sum256(r.good)
	r.sum = hex.EncodeToString(sum[:])
}

var errOther = errors.New("it is another program")

func (r *replaceRace) accepts(sum string) error {
	if sum != r.sum {
		return errOther
	}
	return nil
}

// kept is the path of the copy.
func (r *replaceRace) kept(v *Store) (string, error) {
	program, err := Open(r.path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	c, err := v.Copy(program, r.sum, r.accepts)
	if err != nil {
		return "", err
	}
	return c.Name(), c.Close()
}

func (r *replaceRace) mustCopy(t *testing.T, v *Store) string {
	t.Helper()
	path, err := r.kept(v)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newStore is a store with a private folder, which logs warnings.
func newStore(t testing.TB, bin string, tell ...io.Writer) *Store {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.MultiWriter(tell...), nil))
	v := NewStore(bin, filepath.Join(t.TempDir(), "own"), log)
	t.Cleanup(v.Close)
	return v
}

func writeProgram(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

func open(end <-chan struct{}) bool {
	select {
	case <-end:
		return false
	default:
		return true
	}
}

// against runs swap without a pause until stop is called.
func (r *replaceRace) against(t *testing.T, swap func(text []byte) error) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; open(end); i++ {
			if err := swap([][]byte{r.good, r.evil}[i%2]); err != nil && !errors.Is(err, syscall.ETXTBSY) {
				t.Error(err)
				return
			}
		}
	})
	return func() { close(end); running.Wait() }
}

// However fast a program is swapped for another or overwritten, what runs is the one whose checksum was asked for, or
// none. Each round begins with an empty store.
func TestOnlyVerifiedBytesRun(t *testing.T) {
	swaps := map[string]func(r *replaceRace) func([]byte) error{
		"renaming": func(r *replaceRace) func([]byte) error {
			return func(text []byte) error {
				if err := os.WriteFile(r.path+".new", text, 0o755); err != nil {
					return err
				}
				return os.Rename(r.path+".new", r.path)
			}
		},
		"overwriting": func(r *replaceRace) func([]byte) error {
			return func(text []byte) error {
				f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.Write(text)
				return err
			}
		},
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			defer r.against(t, swap(r))()
			ran, refused := 0, 0
			for end := time.Now().Add(time.Minute); (ran+refused < testutil.Rounds(200) || ran == 0 || refused == 0) && time.Now().Before(end); {
				if r.round(t, filepath.Join(t.TempDir(), "bin")) {
					ran++
				} else {
					refused++
				}
			}
			t.Logf("the good program ran %d times, another was refused %d times", ran, refused)
			if ran == 0 || refused == 0 { // however few rounds a busy machine had time for
				t.Error("the race was none")
			}
		})
	}
}

// round starts the plugin's program once, if it is the right one.
func (r *replaceRace) round(t *testing.T, bin string) bool {
	t.Helper()
	v := NewStore(bin, filepath.Join(t.TempDir(), "own"), slog.New(slog.DiscardHandler))
	defer v.Close()
	path, err := r.kept(v)
	if errors.Is(err, errOther) {
		return false
	}
	if err == nil {
		err = exec.CommandContext(t.Context(), path).Run()
	}
	if err != nil {
		t.Errorf("another program ran, or none: %v", err)
	}
	return true
}

// A copy can be run as soon as it is there, whatever is forked meanwhile: a child that has not come to its own program
// yet holds all our files open, and the kernel runs none that is open for writing.
func TestCopiesRunImmediately(t *testing.T) {
	r, end := newRace(t), make(chan struct{})
	var forking sync.WaitGroup
	defer forking.Wait()
	defer close(end)
	for range 4 {
		forking.Go(func() {
			for open(end) {
				_ = exec.Command(r.path).Run()
			}
		})
	}
	for range testutil.Rounds(60) {
		if !r.round(t, filepath.Join(t.TempDir(), "bin")) {
			t.Fatal("the program is refused")
		}
	}
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv("ROLE")]; role != nil {
		role()
		return
	}
	os.Exit(m.Run())
}

// roles are what the test binary can be besides.
var roles = map[string]func(){"holder": func() {
	holdLocks(os.Getenv("DIR"), map[string]int{"shared": syscall.LOCK_SH, "alone": syscall.LOCK_EX}[os.Getenv("HOW")])
}}

// holdLocks takes a lock on everything in the folder that it can open for reading, and on the folder, until its input
// ends.
func holdLocks(dir string, how int) {
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return syscall.Flock(fd, how|syscall.LOCK_NB)
	})
	fmt.Println("held", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// holder is another process that has locks on all that is in the folder until release is called.
func holder(t *testing.T, dir, how string) (release func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ROLE=holder", "DIR="+dir, "HOW="+how)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })
	t.Cleanup(release)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held <nil>\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	return release
}

// lockPatience is how long dirlock waits for a folder that is being removed.
const lockPatience = 300 * time.Millisecond

// A process that can read the shared folder can lock every file in it. That costs a moment once, and disk space, but
// no start fails.
func TestLocksOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		how    string
		before func(t *testing.T, r *replaceRace, bin string) // the locks are taken
		own    bool                                           // the copy is in the reserve
	}{
		"shared, on a copy": {how: "shared", before: keepOnce},
		"alone, on a copy":  {how: "alone", before: keepOnce, own: true},
		"shared, on an empty store": {how: "shared",
			before: func(t *testing.T, _ *replaceRace, bin string) { mkdir(t, bin) }},
		"alone, on an empty store": {how: "alone", before: func(t *testing.T, _ *replaceRace, bin string) { mkdir(t, bin) }},
		"alone, on an empty folder": {how: "alone",
			before: func(t *testing.T, r *replaceRace, bin string) { mkdir(t, bin); mkdir(t, filepath.Join(bin, r.sum)) },
			own:    true},
		"alone, on a broken copy":  {how: "alone", before: breakOnce, own: true},
		"shared, on a broken copy": {how: "shared", before: breakOnce},
	} {
		t.Run(name, func(t *testing.T) {
			r, bin := newRace(t), filepath.Join(t.TempDir(), "bin")
			c.before(t, r, bin)
			release := holder(t, bin, c.how)
			var reported strings.Builder
			v := newStore(t, bin, &reported)
			began := time.Now()
			path := r.mustCopy(t, v)
			if took := time.Since(began); took > lockPatience+30*time.Second {
				t.Errorf("it took %s", took)
			}
			if own := strings.HasPrefix(path, v.private); own != c.own ||
				c.own != strings.Contains(reported.String(), "another process has a lock on "+filepath.Join(bin, r.sum)) {
				t.Errorf("the copy is %s; reported was %q", path, &reported)
			}
			reported.Reset()
			inode := inodeOf(t, path)
			if again := r.mustCopy(t, v); again != path || inodeOf(t, again) != inode || reported.Len() > 0 {
				t.Errorf("the second time it is %s; reported was %q", again, &reported)
			}
			release()
			if path := r.mustCopy(t, newStore(t, bin)); path != filepath.Join(bin, r.sum, "plugin") {
				t.Errorf("without the locks it is %s", path)
			}
		})
	}
}

func keepOnce(t *testing.T, r *replaceRace, bin string) {
	t.Helper()
	v := newStore(t, bin)
	r.mustCopy(t, v)
	v.Close()
}

func breakOnce(t *testing.T, r *replaceRace, bin string) {
	t.Helper()
	keepOnce(t, r, bin)
	path := filepath.Join(bin, r.sum, "plugin")
	if err := errors.Join(os.Chmod(path, 0o700), os.WriteFile(path, r.evil, 0o700)); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// A lock of another keeps an old copy, but no other from being removed.
func TestPruneAroundLocks(t *testing.T) {
	bin, long := filepath.Join(t.TempDir(), "bin"), time.Now().Add(-2*maxUnused)
	held, old := filepath.Join(bin, strings.Repeat("a", 64)), filepath.Join(bin, strings.Repeat("b", 64))
	mkdir(t, bin)
	for _, dir := range []string{held, old} {
		mkdir(t, dir)
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	holder(t, held, "shared")
	newRace(t).mustCopy(t, newStore(t, bin))
	for dir, stays := range map[string]bool{held: true, old: false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(dir), err, stays)
		}
	}
}

// What a host that was killed has not completed is removed once it is old; what another completes now is not.
func TestIncompleteCopies(t *testing.T) {
	r, bin := newRace(t), filepath.Join(t.TempDir(), "[bin]")
	keepOnce(t, r, bin)
	dead, alive := filepath.Join(bin, r.sum, ".new-dead"), filepath.Join(bin, r.sum, ".new-alive")
	writeProgram(t, dead, nil)
	writeProgram(t, alive, nil)
	if at := time.Now().Add(-2 * maxIncomplete); os.Chtimes(dead, at, at) != nil {
		t.Fatal("cannot set the time")
	}
	r.grow(t, "another")
	r.mustCopy(t, newStore(t, bin))
	for path, stays := range map[string]bool{dead: false, alive: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(path), err, stays)
		}
	}
}

// Many hosts that begin with an empty store at once, while others remove what is not locked, all run the right program.
func TestManyStoresAtOnce(t *testing.T) {
	r, bin, end := newRace(t), filepath.Join(t.TempDir(), "bin"), make(chan struct{})
	var hosts, pruning sync.WaitGroup
	for range 2 {
		pruning.Go(func() {
			for open(end) {
				removeUnlocked(filepath.Join(bin, r.sum), os.RemoveAll)
			}
		})
	}
	for range 4 {
		hosts.Go(func() {
			for range 40 {
				if !r.round(t, bin) {
					t.Error("the program is refused")
				}
			}
		})
	}
	hosts.Wait()
	close(end)
	pruning.Wait()
}
