package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// runnable puts a program into a folder, which is a copy of sh: as good as any interpreter.
func runnable(t *testing.T, path string) string {
	t.Helper()
	must(0, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, must(os.ReadFile("/bin/sh")), 0o755)))
	return path
}

// What runs a script is what its first line says, or its command, along the PATH that the plugin gets.
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
		"another PATH":             {"#!/usr/bin/env -S PATH=/x lisp\n", nil, []string{"/usr/bin/env"}, "cannot be determined"},
		"quotes":                   {"#!/usr/bin/env -S 'li''sp'\n", nil, []string{"/usr/bin/env"}, "cannot be determined"},
		"nothing":                  {"#!/usr/bin/env nothing-at-all\n", nil, []string{"/usr/bin/env"}, "no program nothing-at-all in PATH"},
		"no name":                  {"#!\n", nil, nil, "names no interpreter"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := Spec{Command: c.args, Dir: dir, Env: map[string]string{"PATH": "other-one:" + dir + "/bin:" + dir + "/other"}}
			if c.args == nil {
				spec.Command = []string{write("script", c.text)}
			}
			got, err := spec.interpreters(spec.Command[0])
			if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// An interpreter that others can write to, or that lies where they can, is refused like a program, before it is run.
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
			spec := Spec{Name: "x", Command: []string{script}, Env: map[string]string{"PATH": c.path + ":" + os.Getenv("PATH")}, StartTimeout: patience, Sandbox: supervisedBox}
			refused := name == "by its path" || name == "along PATH"
			if err := Verify(spec); (err != nil) != refused {
				t.Errorf("Verify says %v", err)
			}
			p := add(t, supervisor(t), spec)
			_, err := call(t, p, "x", "")
			if told := strings.Contains(err.Error(), dir+"/open") && strings.Contains(err.Error(), "chmod go-w"); told != refused || missing(mark) != refused {
				t.Errorf("refused: %t, ran: %t, %v", told, !missing(mark), err)
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
		spec := Spec{Name: "x", Command: []string{script}, Env: map[string]string{"PATH": dir + "/first:" + dir + "/bin:" + os.Getenv("PATH")}, StartTimeout: patience, Sandbox: supervisedBox}
		p := must(Inspect(spec))
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
		"as locked":           {func(*Spec) {}, ""},
		"changed":             {func(*Spec) { must(0, os.WriteFile(lisp, append(must(os.ReadFile("/bin/sh")), 0), 0o755)) }, lisp + ", which is not the program that was locked at l:1; lock it"},
		"another comes first": {func(*Spec) { runnable(t, dir+"/first/lisp") }, dir + "/first/lisp, which was not locked at l:1; lock it"},
		"none was locked":     {func(s *Spec) { s.Lock.Interpreters = nil }, "which was not locked"},
		"unclear": {func(s *Spec) {
			must(0, os.WriteFile(script, []byte("#!/usr/bin/env -S -u A lisp\ntouch "+mark+"\n"), 0o755))
			s.Lock.SHA256 = must(Inspect(*s)).SHA256
		}, "cannot be determined"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := locked(t)
			t.Cleanup(func() {
				runnable(t, lisp)
				must(0, errors.Join(os.RemoveAll(dir+"/first"), os.RemoveAll(mark), os.WriteFile(script, []byte("#!/usr/bin/env lisp\ntouch "+mark+"\n"), 0o755)))
			})
			c.change(&spec)
			verified := Verify(spec)
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
