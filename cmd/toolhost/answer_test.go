package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A reader that goes away is a quiet end: no words, exit code 0, and nothing left behind.
func TestBrokenPipe(t *testing.T) {
	for _, args := range []string{"version", "help", "discover", "discover|--format|json", "status", "validate", `call|--approve|always|shell__exec|{"command":"echo $PWD"}|--stream`} {
		t.Run(args, func(t *testing.T) {
			cmd, errs, temp := program(t, standardProject(t), strings.Split(args, "|")...)
			cmd.Stdout = brokenPipe(t)
			if err := cmd.Run(); err != nil || errs.Len() > 0 {
				t.Errorf("%v, and on standard error %q", err, errs)
			}
			checkEmpty(t, temp)
		})
	}
}

// The words of a failed call still arrive when nobody reads its answer.
func TestBrokenPipeOfFailure(t *testing.T) {
	cmd, errs, temp := program(t, standardProject(t), "call", "readfile__read", `{"path":"nothing"}`, "--format", "json")
	cmd.Stdout = brokenPipe(t)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitTool || errs.Len() > 0 {
		t.Errorf("%v, and on standard error %q", err, errs)
	}
	checkEmpty(t, temp)
}

// Programs that are started must not inherit an ignored SIGPIPE: pipelines in a shell would never end.
func TestChildrenEndByBrokenPipes(t *testing.T) {
	cmd, _, _ := program(t, standardProject(t), "call", "--approve", "always", "shell__exec", `{"command":"yes | head -n 1"}`, "--timeout", "20s")
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "y\n") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAnswerRemembersTheFirstFailure(t *testing.T) {
	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]struct {
		answer *answer
		want   string
	}{
		"fine":        {&answer{w: &bytes.Buffer{}}, ""},
		"closed":      {&answer{w: closed}, "the answer could not be written: file already closed"},
		"full":        {&answer{w: failing{syscall.ENOSPC}}, "the answer could not be written: no space left on device"},
		"reader gone": {&answer{w: failing{syscall.EPIPE}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if n, err := fmt.Fprint(c.answer, "words"); n != 5 || err != nil {
					t.Errorf("a write gives %d, %v", n, err)
				}
			}
			got := ""
			if err := c.answer.lost(); err != nil {
				got = err.Error()
			}
			if got != c.want || got != "" && exitCode(c.answer.lost()) != exitLost {
				t.Errorf("lost gives %q, want %q", got, c.want)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: errors.Join(f.err)}
}

// standardProject is a folder with the standard configuration.
func standardProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), fmt.Appendf(nil, standardConfig, bin), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// program is toolhost in a project whose configuration it is told to use, with a temporary folder of its own.
func program(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, errs *bytes.Buffer, temp string) {
	t.Helper()
	defaultSignals(t)
	temp, errs = t.TempDir(), &bytes.Buffer{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // should it hang, it is killed
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, filepath.Join(bin, "toolhost"), args...)
	cmd.Dir, cmd.Stderr = dir, errs
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "XDG_RUNTIME_DIR="+temp, "TOOLHOST_CONFIG=config.hcl")
	return cmd, errs, temp
}

// defaultSignals gives programs that are started the signals that a terminal would: whoever runs the tests, such as a
// shell in the background, may have chosen to ignore some, and programs inherit that. What is caught is not inherited.
func defaultSignals(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
}

// brokenPipe is a pipe that nobody reads.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}
