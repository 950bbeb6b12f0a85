//go:build unix

package proctree

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStartErrors(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	writeScript(t, at("plain"), "#!/bin/sh\n", 0o644)
	writeScript(t, at("garbage"), "\x7fnot a program", 0o755)
	writeScript(t, at("orphaned"), "#!/no/such/interpreter -x\n", 0o755)
	writeScript(t, at("dir/plain"), "#!/bin/sh\n", 0o644)

	tests := []struct {
		name string
		cmd  Cmd
		text string
		is   []error
	}{
		{"not in PATH", Cmd{Path: "nosuch"},
			`exec: "nosuch": not found in PATH`, []error{exec.ErrNotFound, fs.ErrNotExist}},
		{"no PATH", Cmd{Path: "sh", Env: []string{"A=1"}},
			`exec: "sh": not found: its environment has no PATH`, []error{exec.ErrNotFound}},
		{"PATH has a directory of that name", Cmd{Path: "dir", Env: []string{"PATH=" + root}},
			`exec: "dir": not found in PATH`, []error{exec.ErrNotFound}},
		{"in PATH, not executable", Cmd{Path: "plain", Env: []string{"PATH=/nosuch:" + root}},
			`exec: "plain": ` + at("plain") + ` may not be executed`, []error{fs.ErrPermission}},
		{"no name", Cmd{},
			`exec: "": no program is named`, []error{fs.ErrInvalid}},
		{"no such file", Cmd{Path: at("nosuch")},
			`exec: "` + at("nosuch") + `": no such file`, []error{fs.ErrNotExist, syscall.ENOENT}},
		{"no such file in Dir", Cmd{Path: "./nosuch", Dir: root},
			`exec: "./nosuch": no such file`, []error{fs.ErrNotExist}},
		{"not executable", Cmd{Path: at("plain")},
			`exec: "` + at("plain") + `": permission denied: it is not executable`, []error{fs.ErrPermission}},
		{"not executable, in Dir", Cmd{Path: "./plain", Dir: at("dir")},
			`exec: "./plain": permission denied: it is not executable`, []error{fs.ErrPermission}},
		{"a directory", Cmd{Path: root},
			`exec: "` + root + `": is a directory`, []error{syscall.EACCES}},
		{"not a program", Cmd{Path: at("garbage")},
			`exec: "` + at("garbage") + `": exec format error: neither a script with a #! line nor a program for this machine`,
			[]error{syscall.ENOEXEC}},
		{"no interpreter", Cmd{Path: at("orphaned")},
			`exec: "` + at("orphaned") + `": its interpreter does not exist: /no/such/interpreter -x`, []error{fs.ErrNotExist}},
		{"file for a directory", Cmd{Path: at("plain") + "/x"},
			`exec: "` + at("plain") + `/x": not a directory`, []error{syscall.ENOTDIR}},
		{"no such Dir", Cmd{Path: "sh", Dir: at("nosuch")},
			`exec: "sh": chdir ` + at("nosuch") + `: no such file or directory`, []error{fs.ErrNotExist}},
		{"Dir is a file", Cmd{Path: "sh", Dir: at("plain")},
			`exec: "sh": chdir ` + at("plain") + `: not a directory`, []error{syscall.ENOTDIR}},
		{"NUL in an argument", Cmd{Path: "sh", Args: []string{"a\x00b"}},
			`exec: "sh": a NUL byte in its path, arguments, environment or directory`, []error{fs.ErrInvalid}},
		{"NUL in the environment", Cmd{Path: "/bin/sh", Env: []string{"A=\x00"}},
			`exec: "/bin/sh": a NUL byte in its path, arguments, environment or directory`, []error{fs.ErrInvalid}},
		{"an argument too long", Cmd{Path: "sh", Args: []string{strings.Repeat("x", 4<<20)}},
			`exec: "sh": argument list too long`, []error{syscall.E2BIG}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			test.cmd.Stdout, test.cmd.Stderr = &out, &out
			exit, err := test.cmd.Run(bounded(t))
			start, ok := errors.AsType[*StartError](err)
			if !ok || err.Error() != test.text || start.Path != test.cmd.Path {
				t.Errorf("error is %T: %v\nwant %s", err, err, test.text)
			}
			for _, target := range test.is {
				if !errors.Is(err, target) {
					t.Errorf("the error is not %v", target)
				}
			}
			if exit != (Exit{}) || out.Len() > 0 {
				t.Errorf("exit is %+v, output is %q, want none", exit, &out)
			}
		})
	}
}

func TestContextEndedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, out := script("echo ran")
	_, err := c.Run(ctx)
	if _, ok := errors.AsType[*StartError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want a StartError for context.Canceled", err)
	}
	if out.Len() > 0 {
		t.Errorf("the program ran: %q", out)
	}
}

func TestProgramIsToldItsName(t *testing.T) {
	c, out := script("")
	c.Args, c.Name = []string{"-c", "echo $0"}, "another"
	mustRun(t, c)
	if out.String() != "another\n" {
		t.Errorf("its name is %q", out)
	}
}
