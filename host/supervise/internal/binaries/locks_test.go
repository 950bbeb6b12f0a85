//go:build unix

package binaries

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if play := plays[os.Getenv("PLAY")]; play != nil {
		play()
		return
	}
	os.Exit(m.Run())
}

// plays are what the test binary can be besides.
var plays = map[string]func(){"holder": func() {
	playHolder(os.Getenv("DIR"), map[string]int{"shared": syscall.LOCK_SH, "alone": syscall.LOCK_EX}[os.Getenv("HOW")])
}}

// playHolder takes a lock on everything in the folder that it can open for reading, and on the folder, until its input ends.
func playHolder(dir string, how int) {
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
	cmd.Env = append(os.Environ(), "PLAY=holder", "DIR="+dir, "HOW="+how)
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

// Whoever can read the shared folder can lock all in it. That costs a moment once, and room; no start.
func TestLocksOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		how    string
		before func(t *testing.T, r *race, bin string) // the locks are taken
		own    bool                                    // the copy is in the reserve
	}{
		"shared, on a copy":         {how: "shared", before: keepOnce},
		"alone, on a copy":          {how: "alone", before: keepOnce, own: true},
		"shared, on an empty vault": {how: "shared", before: func(t *testing.T, _ *race, bin string) { mkdir(t, bin) }},
		"alone, on an empty vault":  {how: "alone", before: func(t *testing.T, _ *race, bin string) { mkdir(t, bin) }},
		"alone, on an empty folder": {how: "alone", before: func(t *testing.T, r *race, bin string) { mkdir(t, bin); mkdir(t, filepath.Join(bin, r.sum)) }, own: true},
		"alone, on a broken copy":   {how: "alone", before: breakOnce, own: true},
		"shared, on a broken copy":  {how: "shared", before: breakOnce},
	} {
		t.Run(name, func(t *testing.T) {
			r, bin := newRace(t), filepath.Join(t.TempDir(), "bin")
			c.before(t, r, bin)
			release := holder(t, bin, c.how)
			var told strings.Builder
			v := vaulted(t, bin, &told)
			began := time.Now()
			path := r.mustKeep(t, v)
			if took := time.Since(began); took > lockPatience+30*time.Second {
				t.Errorf("it took %s", took)
			}
			if own := strings.HasPrefix(path, v.reserve); own != c.own || c.own != strings.Contains(told.String(), "another process has a lock on "+filepath.Join(bin, r.sum)) {
				t.Errorf("the copy is %s; told was %q", path, &told)
			}
			told.Reset()
			inode := inodeOf(t, path)
			if again := r.mustKeep(t, v); again != path || inodeOf(t, again) != inode || told.Len() > 0 {
				t.Errorf("the second time it is %s; told was %q", again, &told)
			}
			release()
			if path := r.mustKeep(t, vaulted(t, bin)); path != filepath.Join(bin, r.sum, "plugin") {
				t.Errorf("without the locks it is %s", path)
			}
		})
	}
}

func keepOnce(t *testing.T, r *race, bin string) {
	t.Helper()
	v := vaulted(t, bin)
	r.mustKeep(t, v)
	v.Close()
}

func breakOnce(t *testing.T, r *race, bin string) {
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
	newRace(t).mustKeep(t, vaulted(t, bin))
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
	if at := time.Now().Add(-2 * maxFresh); os.Chtimes(dead, at, at) != nil {
		t.Fatal("cannot set the time")
	}
	r.grow(t, "another")
	r.mustKeep(t, vaulted(t, bin))
	for path, stays := range map[string]bool{dead: false, alive: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %t", filepath.Base(path), err, stays)
		}
	}
}

// Many hosts that begin with an empty vault at once, while others remove what nobody holds, all run the right program.
func TestManyVaultsAtOnce(t *testing.T) {
	r, bin, end := newRace(t), filepath.Join(t.TempDir(), "bin"), make(chan struct{})
	var hosts, pruning sync.WaitGroup
	for range 2 {
		pruning.Go(func() {
			for open(end) {
				unlessHeld(filepath.Join(bin, r.sum), os.RemoveAll)
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
