package supervise

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/sdk"
)

func sumOf(path string) (string, error) {
	p, err := binaries.Open(path)
	if err != nil {
		return "", err
	}
	defer p.Close()
	return p.SHA256(io.Discard)
}

func writeProgram(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

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

// A program that others could change is not run, whoever names it.
func TestWritableByOthers(t *testing.T) {
	dir := t.TempDir()
	path := script(t, dir, "toolhost-plugin-open", "exit 0")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := add(t, supervisor(t), Spec{Name: "open", Command: []string{path}})
	_, err := call(t, p, "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, dir+" is writable by other users", "Fix: chmod go-w "+dir)
	if s := p.Status(); s.State != Invalid {
		t.Errorf("state %s", s.State)
	}
	specs, problems := Find(t.Context(), Sources{Dirs: []string{dir}})
	if len(specs) != 0 {
		t.Errorf("found %v", specs)
	}
	checkProblems(t, problems, "plugin folder "+dir+" is left out", "chmod go-w")
	_, problems = Find(t.Context(), Sources{Commands: []Discovery{{Name: "team", Command: []string{path}}}})
	checkProblems(t, problems, `plugin_discovery "team": `+dir+" is writable by other users")
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

// Copies that cannot go to the user's folder are in the host's private one, and end with it.
func TestCopiesEndWithTheHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	t.Setenv("HOME", "/dev/null/nowhere") // for systems that know no other
	s, spec := vaulted(t, ""), playing("good", "good")
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.SHA256 = sum
	path, err := s.verified(spec)
	if err != nil || !strings.HasPrefix(path, s.dir.path) {
		t.Fatalf("runs from %s, %v", path, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the copy is left behind")
	}
}

// What a start of a plugin with a checksum costs beside one without, when nothing has changed: a few system calls.
func BenchmarkVerifiedAgain(b *testing.B) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		b.Fatal(err)
	}
	s, spec := vaulted(b, filepath.Join(b.TempDir(), "bin")), playing("good", "good")
	spec.SHA256 = sum
	settleProgram(b)
	for range 2 { // the copy is made, then its state recorded
		if _, err := s.verified(spec); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.verified(spec); err != nil {
			b.Fatal(err)
		}
	}
}
