//go:build unix

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// silentPlugin prints that it runs, and then nothing.
const silentPlugin = "#!/bin/sh\n: > started\nexec sleep 1000\n"

// Every terminating signal ends a command in order: no table, one word, exit code 130, no process left. A program that
// reads JSON gets the error.
func TestInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		signal syscall.Signal
	}{
		"discover, Ctrl-C":   {[]string{"discover"}, syscall.SIGINT},
		"discover, SIGTERM":  {[]string{"discover", "--format", "json"}, syscall.SIGTERM},
		"status, SIGHUP":     {[]string{"status"}, syscall.SIGHUP},
		"validate, Ctrl-C":   {[]string{"validate"}, syscall.SIGINT},
		"one plugin, SIGHUP": {[]string{"discover", "--plugin", "silent"}, syscall.SIGHUP},
		"all, Ctrl-C":        {[]string{"validate", "--start"}, syscall.SIGINT},
		"check, Ctrl-C":      {[]string{"plugin", "check", "./silent"}, syscall.SIGINT},
		"check, SIGHUP":      {[]string{"plugin", "check", "./silent"}, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			dir := silentProject(t)
			cmd, errs, temp := program(t, dir, c.args...)
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(dir, "started"))
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			printed := out.Len() > 0
			if slices.Contains(c.args, "json") {
				printed = !strings.HasPrefix(out.String(), `{"error":{"code":"E_CANCELED","name":"Interrupted",`)
			}
			if cmd.ProcessState.ExitCode() != exitInterrupted || errs.String() != "toolhost: interrupted\n" || printed {
				t.Errorf("%v, on standard output %q, on standard error %q", err, out.String(), errs)
			}
			checkEmpty(t, temp)
		})
	}
}

// The first Ctrl-C ends a command that still reads standard input.
func TestInterruptedInput(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		args   []string
	}{
		"a call, Ctrl-C":   {syscall.SIGINT, []string{"call", "--approve", "always", "shell__exec", "-"}},
		"a call, SIGHUP":   {syscall.SIGHUP, []string{"call", "--approve", "always", "shell__exec", "-"}},
		"settings, Ctrl-C": {syscall.SIGINT, []string{"mcp", "import"}},
		"the policy":       {syscall.SIGINT, []string{"policy", "explain", "shell__exec", "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, errs, temp := program(t, standardProject(t), c.args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write(make([]byte, 1<<20)); err != nil { // more than a pipe's capacity: it is being read
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait() // standard input stays open until then
			if cmd.ProcessState.ExitCode() != exitInterrupted || errs.String() != "toolhost: interrupted\n" {
				t.Errorf("%v, on standard error %q", err, errs)
			}
			checkEmpty(t, temp)
		})
	}
}

// Signals that a parent ignores, as nohup does, stay ignored.
func TestIgnoredSignals(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP); testutil.DefaultSignals() })
	want := []os.Signal{syscall.SIGTERM, syscall.SIGPIPE}
	if got := handled(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE); !slices.Equal(got, want) {
		t.Errorf("heeded are %v, want %v", got, want)
	}
}

// silentProject has one plugin that never answers.
func silentProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := "plugin \"silent\" {\n  command = [\"./silent\"]\n  config {\n    a = 1\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "silent"), []byte(silentPlugin), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	eventually(t, path+" is written", func() bool { _, err := os.Stat(path); return err == nil })
}
