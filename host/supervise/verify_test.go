//go:build unix

package supervise

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
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

// withStore is a supervisor with its own store of verified copies.
func withStore(t testing.TB, bin string) *Supervisor {
	t.Helper()
	s, err := New(Options{RunDir: shortDir(t), BinDir: bin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A program that others could change is not run, wherever it is configured.
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
	checkProblems(t, problems, "plugin folder "+dir+" is skipped", "Fix: chmod go-w")
	_, problems = Find(t.Context(), Sources{Commands: []Discovery{{Name: "team", Command: []string{path}}}})
	checkProblems(t, problems, `plugin_discovery "team": `+dir+" is writable by other users")
}

// A script runs from its own folder.
func TestScriptsRunFromTheirOwnPath(t *testing.T) {
	path := script(t, t.TempDir(), "plugin", "exit 0")
	sum, err := sumOf(path)
	if err != nil {
		t.Fatal(err)
	}
	s := withStore(t, filepath.Join(t.TempDir(), "bin"))
	spec := Spec{Name: "p", Command: []string{path}, SHA256: sum}
	if got, err := s.verifiedProgram(spec, nil); got != path || err != nil {
		t.Errorf("runs from %s, %v", got, err)
	}
	if p, err := spec.Inspect(); err != nil || !p.InPlace || p.SHA256 != sum {
		t.Errorf("%+v, %v", p, err)
	}
	writeProgram(t, path, []byte("#!/bin/sh\nexit 1\n"))
	if _, err := s.verifiedProgram(spec, nil); err == nil {
		t.Error("a script that was changed is run")
	}
}

// A plugin runs from its verified copy, under the name of its command.
func TestPluginFromItsCopy(t *testing.T) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	spec := fixture("good", "good")
	spec.Lock = Lock{SHA256: sum, Source: "toolhost.lock.hcl:3", Advice: "lock it again"}
	p := add(t, withStore(t, bin), spec)
	pid := mustCall(t, p, "pid", "")
	if exe, err := os.Readlink("/proc/" + pid + "/exe"); runtime.GOOS == "linux" &&
		(err != nil || !strings.HasPrefix(exe, bin)) {
		t.Errorf("it runs from %s, %v", exe, err)
	}
	spec.Lock.SHA256 = strings.Repeat("0", 64)
	q := add(t, withStore(t, bin), spec)
	_, err = call(t, q, "pid", "")
	checkError(t, err, sdk.CodePluginUnavailable, "is not the program that was locked", sum,
		"locked at toolhost.lock.hcl:3; lock it again", "not 000")
	if s := q.Status(); s.State != Invalid {
		t.Errorf("state %s", s.State)
	}
	spec.Lock = Lock{Refused: "nobody has locked it"}
	_, err = call(t, add(t, withStore(t, bin), spec), "pid", "")
	checkError(t, err, sdk.CodePluginUnavailable, "nobody has locked it")
}

// Copies that cannot be made in the user's folder are in the host's private one, and are removed with it.
func TestCopiesEndWithTheHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	t.Setenv("HOME", "/dev/null/nowhere") // for systems without XDG folders
	s, spec := withStore(t, ""), fixture("good", "good")
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.SHA256 = sum
	path, err := s.verifiedProgram(spec, nil)
	if err != nil || !strings.HasPrefix(path, s.runDir.path) {
		t.Fatalf("runs from %s, %v", path, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the copy is left behind")
	}
}

// The cost of starting an unchanged plugin with a checksum, compared with one without: a few system calls.
func BenchmarkVerifiedAgain(b *testing.B) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		b.Fatal(err)
	}
	s, spec := withStore(b, filepath.Join(b.TempDir(), "bin")), fixture("good", "good")
	spec.SHA256 = sum
	settleProgram(b)
	for range 2 { // the copy is made, then its state recorded
		if _, err := s.verifiedProgram(spec, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.verifiedProgram(spec, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// runnable puts a program, a copy of sh, into a folder, for use as an interpreter.
func runnable(t *testing.T, path string) string {
	t.Helper()
	must(0, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, must(os.ReadFile("/bin/sh")), 0o755)))
	return path
}

// The interpreter of a script is found from its first line, or its command, along the PATH that the plugin gets.
func TestInterpreters(t *testing.T) {
	dir := must(filepath.EvalSymlinks(shortDir(t)))
	lisp, other := runnable(t, dir+"/bin/lisp"), runnable(t, dir+"/other/lisp")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(0, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	middle := write("middle", "#!"+lisp+" -x\n")
	for name, c := range map[string]struct {
		text string
		args []string
		want []string
		err  string
	}{
		"machine code":             {string(must(os.ReadFile("/bin/sh"))), nil, nil, ""},
		"a path":                   {"#!" + lisp + "\n", nil, []string{lisp}, ""},
		"with an argument":         {"#! " + lisp + "\t-u -v \nrest", nil, []string{lisp}, ""},
		"without an end":           {"#!" + lisp, nil, []string{lisp}, ""},
		"env":                      {"#!/usr/bin/env lisp\n", nil, []string{"/usr/bin/env", lisp}, ""},
		"env with a variable":      {"#!/usr/bin/env -S A=1 lisp -u\n", nil, []string{"/usr/bin/env", lisp}, ""},
		"env with a path":          {"#!/usr/bin/env " + other + "\n", nil, []string{"/usr/bin/env", other}, ""},
		"a script that is run":     {"#!" + middle + "\n", nil, []string{middle, lisp}, ""},
		"env in a command":         {"", []string{"/usr/bin/env", "lisp", "file"}, []string{lisp}, ""},
		"an interpreter's command": {"", []string{lisp, "file"}, nil, ""},
		"another environment":      {"#!/usr/bin/env -S -i lisp\n", nil, []string{"/usr/bin/env"}, "cannot be determined"},
		"another PATH": {"#!/usr/bin/env -S PATH=/x lisp\n", nil, []string{"/usr/bin/env"},
			"cannot be determined"},
		"quotes": {"#!/usr/bin/env -S 'li''sp'\n", nil, []string{"/usr/bin/env"}, "cannot be determined"},
		"nothing": {"#!/usr/bin/env nothing-at-all\n", nil, []string{"/usr/bin/env"},
			"nothing-at-all was not found in PATH"},
		"no name": {"#!\n", nil, nil, "names no interpreter"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := Spec{Command: c.args, Dir: dir,
				Env: map[string]string{"PATH": "other-one:" + dir + "/bin:" + dir + "/other"}}
			if c.args == nil {
				spec.Command = []string{write("script", c.text)}
			}
			got, err := spec.interpreters(spec.Command[0])
			if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// An interpreter that others can change, by itself or its folder, is refused like a program, before it is run.
func TestInterpretersOfOthers(t *testing.T) {
	dir := must(filepath.EvalSymlinks(shortDir(t)))
	own, open := runnable(t, dir+"/own/lisp"), runnable(t, dir+"/open/lisp")
	must(0, os.Chmod(dir+"/open", 0o777))
	for name, c := range map[string]struct{ line, path string }{
		"by its path":    {open, ""},
		"along PATH":     {"/usr/bin/env lisp", dir + "/open:" + dir + "/own"},
		"behind another": {"/usr/bin/env lisp", dir + "/own:" + dir + "/open"},
		"one's own":      {own, ""},
	} {
		t.Run(name, func(t *testing.T) {
			script, mark := filepath.Join(dir, "script"), filepath.Join(shortDir(t), "ran")
			must(0, os.WriteFile(script, []byte("#!"+c.line+"\ntouch "+mark+"\n"), 0o755))
			spec := Spec{Name: "x", Command: []string{script}, Env: map[string]string{"PATH": c.path + ":" + os.Getenv("PATH")},
				StartTimeout: patience, Sandbox: supervisedBox}
			refused := name == "by its path" || name == "along PATH"
			if err := spec.Verify(); (err != nil) != refused {
				t.Errorf("Verify says %v", err)
			}
			p := add(t, supervisor(t), spec)
			_, err := call(t, p, "x", "")
			if reported := strings.Contains(err.Error(), dir+"/open") &&
				strings.Contains(err.Error(), "chmod go-w"); reported != refused || missing(mark) != refused {
				t.Errorf("refused: %t, ran: %t, %v", reported, !missing(mark), err)
			}
			if refused && p.Status().State != Invalid {
				t.Errorf("the state is %s", p.Status().State)
			}
		})
	}
}

// A locked script is run by the interpreter that was locked with it, and by no other.
func TestLockedInterpreters(t *testing.T) {
	dir := must(filepath.EvalSymlinks(shortDir(t)))
	lisp, mark := runnable(t, dir+"/bin/lisp"), filepath.Join(shortDir(t), "ran")
	script := filepath.Join(dir, "script")
	must(0, os.WriteFile(script, []byte("#!/usr/bin/env lisp\ntouch "+mark+"\n"), 0o755))
	locked := func(t *testing.T) Spec {
		spec := Spec{Name: "x", Command: []string{script},
			Env: map[string]string{"PATH": dir + "/first:" + dir + "/bin:" + os.Getenv("PATH")}, StartTimeout: patience,
			Sandbox: supervisedBox}
		p := must(spec.Inspect())
		if len(p.Interpreters) != 2 || p.Interpreters[0].Path != "/usr/bin/env" || p.Interpreters[1].Path != lisp {
			t.Fatalf("interpreters: %+v", p.Interpreters)
		}
		spec.Lock = Lock{SHA256: p.SHA256, Source: "l:1", Advice: "lock it", Interpreters: map[string]string{}}
		for _, i := range p.Interpreters {
			spec.Lock.Interpreters[i.Path] = i.SHA256
		}
		return spec
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		words  string // "" if it runs
	}{
		"as locked": {func(*Spec) {}, ""},
		"changed": {func(*Spec) { must(0, os.WriteFile(lisp, append(must(os.ReadFile("/bin/sh")), 0), 0o755)) },
			lisp + ", which is not the program that was locked at l:1; lock it"},
		"another comes first": {func(*Spec) { runnable(t, dir+"/first/lisp") }, dir +
			"/first/lisp, which was not locked at l:1; lock it"},
		"none was locked": {func(s *Spec) { s.Lock.Interpreters = nil }, "which was not locked"},
		"unclear": {func(s *Spec) {
			must(0, os.WriteFile(script, []byte("#!/usr/bin/env -S -u A lisp\ntouch "+mark+"\n"), 0o755))
			s.Lock.SHA256 = must(s.Inspect()).SHA256
		}, "cannot be determined"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := locked(t)
			t.Cleanup(func() {
				runnable(t, lisp)
				must(0, errors.Join(os.RemoveAll(dir+"/first"), os.RemoveAll(mark),
					os.WriteFile(script, []byte("#!/usr/bin/env lisp\ntouch "+mark+"\n"), 0o755)))
			})
			c.change(&spec)
			verified := spec.Verify()
			_, err := call(t, add(t, supervisor(t), spec), "x", "")
			if ran := !missing(mark); ran != (c.words == "") || (verified == nil) != ran {
				t.Errorf("ran: %t, %v; Verify says %v", ran, err, verified)
			}
			if c.words != "" && (!strings.Contains(err.Error(), c.words) || !strings.Contains(verified.Error(), c.words)) {
				t.Errorf("%v; %v; want %q", err, verified, c.words)
			}
		})
	}
}

var supervisedBox = sandbox.Spec{Level: sandbox.Supervised}

// A folder to start in that is not there is found without a start, and named.
func TestFolderToStartIn(t *testing.T) {
	dir := t.TempDir()
	for folder, want := range map[string]string{
		filepath.Join(dir, "gone"): "the folder to start in, " + filepath.Join(dir, "gone") +
			", cannot be used: no such file or directory",
		"/bin/sh": "the folder to start in, /bin/sh, is not a folder",
	} {
		err := Spec{Name: "p", Command: []string{"/bin/sh"}, Dir: folder}.Verify()
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
