//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

var versionedProgram = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(filepath.Join(bin, "versioned")) })

// A versioned plugin can be rebuilt as another version with other tools.
type versioned struct {
	t    testing.TB
	path string
	ran  string // a line for each call
}

func newVersioned(t testing.TB, dir, tools string) *versioned {
	t.Helper()
	v := &versioned{t, filepath.Join(dir, "toolhost-plugin-versioned"), filepath.Join(dir, "ran")}
	v.rename("1 " + tools)
	return v
}

// text is the program with its last line.
func (v *versioned) text(line string) []byte {
	v.t.Helper()
	program, err := versionedProgram()
	if err != nil {
		v.t.Fatal(err)
	}
	return bytes.Join([][]byte{program, []byte(line)}, []byte("\n"))
}

// rename installs the build as careful builders do.
func (v *versioned) rename(line string) { v.t.Helper(); v.renameText(v.text(line)) }

func (v *versioned) renameText(text []byte) {
	v.t.Helper()
	if err := testutil.WriteProgram(v.path+".new", text, 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.Rename(v.path+".new", v.path); err != nil {
		v.t.Fatal(err)
	}
}

// rewrite installs the build as linkers do: the old file is removed, and the new one is written in pieces and becomes
// executable only at the end.
func (v *versioned) rewrite(line string) {
	v.t.Helper()
	syscall.ForkLock.RLock() // as testutil.WriteProgram has it
	defer syscall.ForkLock.RUnlock()
	var f *os.File
	for f == nil {
		if err := os.Remove(v.path); err != nil {
			v.t.Fatal(err)
		}
		var err error
		// A plugin that starts between the two has a placeholder there, see docs/rough-edges.md: the builder runs
		// again.
		if f, err = os.OpenFile(v.path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil && !errors.Is(err, os.ErrNotExist) {
			v.t.Fatal(err)
		}
	}
	text := v.text(line)
	for len(text) > 0 {
		n, err := f.Write(text[:min(len(text), 1<<20)])
		if err != nil {
			v.t.Fatal(err)
		}
		text = text[n:]
	}
	if err := f.Close(); err != nil {
		v.t.Fatal(err)
	}
	if err := os.Chmod(v.path, 0o755); err != nil {
		v.t.Fatal(err)
	}
}

// runs counts how often each call ran.
func (v *versioned) runs() map[string]int {
	v.t.Helper()
	text, err := os.ReadFile(v.ran)
	if err != nil {
		v.t.Fatal(err)
	}
	out := map[string]int{}
	for _, id := range strings.Fields(string(text)) {
		out[id]++
	}
	return out
}

// eventually waits for a condition that nothing reports.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A shared text may be written and read concurrently.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func writeText(t testing.TB, path, format string, a ...any) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, format, a...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func makeFolder(t testing.TB, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}
