//go:build unix

package proctree

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExit(t *testing.T) {
	tests := []struct {
		script string
		code   int
		signal syscall.Signal
		text   string
	}{
		{"exit 0", 0, 0, "exit code 0"},
		{"exit 1", 1, 0, "exit code 1"},
		{"exit 255", 255, 0, "exit code 255"},
		{"kill -KILL $$", -1, syscall.SIGKILL, "killed by SIGKILL"},
		{"kill -TERM $$", -1, syscall.SIGTERM, "killed by SIGTERM"},
		{"kill -HUP $$", -1, syscall.SIGHUP, "killed by SIGHUP"},
	}
	for _, test := range tests {
		t.Run(test.script, func(t *testing.T) {
			c, _ := script(test.script)
			exit := mustRun(t, c)
			if exit.Code != test.code || exit.Signal != test.signal || exit.Canceled || exit.Killed != 0 {
				t.Errorf("exit is %#v", exit)
			}
			if exit.String() != test.text {
				t.Errorf("text is %q, want %q", exit, test.text)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	c, _ := script("sleep 0.2")
	begun := time.Now()
	exit := mustRun(t, c)
	if whole := time.Since(begun); exit.Duration < 200*time.Millisecond || exit.Duration > whole {
		t.Errorf("the program took %v of the %v of Run, want at least 200ms and no more than that", exit.Duration, whole)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PROCTREE_OURS", "ours")
	dir := t.TempDir()
	tests := []struct {
		name string
		env  []string
		dir  string
		want []string // among the lines of env
		not  string   // not in its output
	}{
		{"given", []string{"A=1", "B=two words", "EMPTY="}, "", []string{"A=1", "B=two words", "EMPTY="}, "PROCTREE_OURS"},
		{"none", []string{}, "", nil, "="},
		{"twice: the last counts", []string{"A=1", "B=2", "A=3"}, "", []string{"B=2", "A=3"}, "A=1"},
		{"nil is ours", nil, "", []string{"PROCTREE_OURS=ours"}, "PROCTREE_OURS=\n"},
		{"nil follows Dir", nil, dir, []string{"PWD=" + dir}, "\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := Command("/usr/bin/env")
			c.Env, c.Dir, c.Stdout = test.env, test.dir, &out
			mustRun(t, c)
			for _, line := range test.want {
				if !strings.Contains("\n"+out.String(), "\n"+line+"\n") {
					t.Errorf("no %q in:\n%s", line, &out)
				}
			}
			if strings.Contains(unmarked(out.String()), test.not) {
				t.Errorf("%q in:\n%s", test.not, &out)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	args := []string{"", " ", "a b", "*", "$HOME", "-n", "line\nbreak", "\xff", `"quoted"`}
	var out strings.Builder
	c := Command("printf", append([]string{`%s\000`}, args...)...)
	c.Stdout = &out
	mustRun(t, c)
	if diff := cmp.Diff(args, strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")); diff != "" {
		t.Errorf("arguments (-given +seen):\n%s", diff)
	}
}

func TestDirAndLookup(t *testing.T) {
	root := t.TempDir()
	for _, tool := range []string{"first/tool", "second/tool", "second/other", "work/local"} {
		writeScript(t, filepath.Join(root, tool), "#!/bin/sh\necho "+tool+"\npwd\n", 0o755)
	}
	writeScript(t, filepath.Join(root, "blocked/tool"), "#!/bin/sh\n", 0o644)
	work := filepath.Join(root, "work")
	t.Chdir(work) // the relative entries of PATH lead somewhere
	path := func(dirs ...string) []string {
		return []string{"PATH=" + strings.Join(append(dirs, os.Getenv("PATH")), ":")}
	}
	tests := []struct {
		name, program, want string
		env                 []string
	}{
		{"PATH of Env, in order", "tool", "first/tool", path(root+"/first", root+"/second")},
		{"later in PATH", "other", "second/other", path(root+"/first", root+"/second")},
		{"past a file that is not executable", "tool", "second/tool", path(root+"/blocked", root+"/second")},
		{"past a relative entry", "tool", "second/tool", path("../first", ".", "", root+"/second")},
		{"relative to Dir", "./local", "work/local", path()},
		{"relative, over a parent", "../first/tool", "first/tool", path()},
		{"absolute", root + "/first/tool", "first/tool", path()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := Command(test.program)
			c.Dir, c.Env, c.Stdout = work, test.env, &out
			mustRun(t, c)
			if want := test.want + "\n" + work + "\n"; out.String() != want {
				t.Errorf("output is %q, want %q", &out, want)
			}
		})
	}
}

func writeScript(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestParallel(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			c, out := script("sleep 1000 & echo run $1; exit $1", fmt.Sprint(i))
			exit, err := c.Run(bounded(t))
			if want := fmt.Sprintf("run %d\n", i); err != nil || exit.Code != i || out.String() != want {
				t.Errorf("run %d: %v, %v, output %q", i, exit, err, out)
			}
		})
	}
	wait.Wait()
}

func TestCmdMayRunAgain(t *testing.T) {
	c, out := script("echo once")
	before := *c
	mustRun(t, c)
	mustRun(t, c)
	if out.String() != "once\nonce\n" {
		t.Errorf("output of two runs is %q", out)
	}
	if !reflect.DeepEqual(before, *c) {
		t.Errorf("Run changed the Cmd from %+v to %+v", before, *c)
	}
}

func TestContainmentIsNamed(t *testing.T) {
	known := map[string]bool{"process-tree": true, "process-group": true}
	if !known[Containment()] {
		t.Errorf("containment is %q", Containment())
	}
}
