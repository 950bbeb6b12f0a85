package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A reader that goes away causes a quiet end: no message, exit code 0, and no process left.
func TestBrokenPipe(t *testing.T) {
	for _, args := range []string{"version", "help", "discover", "discover|--format|json", "status", "validate",
		`call|--approve|always|shell__exec|{"command":"echo $PWD"}|--stream`} {
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

// The message of a failed call is printed even when nothing reads its result.
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
	cmd, _, _ := program(t, standardProject(t), "call", "--approve", "always", "shell__exec",
		`{"command":"yes | head -n 1"}`, "--timeout", "20s")
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
		answer *stdoutWriter
		want   string
	}{
		"fine":   {&stdoutWriter{w: &bytes.Buffer{}}, ""},
		"closed": {&stdoutWriter{w: closed}, "the answer could not be written: file already closed"},
		"full": {&stdoutWriter{w: failing{syscall.ENOSPC}},
			"the answer could not be written: no space left on device"},
		"reader gone": {&stdoutWriter{w: failing{syscall.EPIPE}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if n, err := fmt.Fprint(c.answer, "words"); n != 5 || err != nil {
					t.Errorf("a write gives %d, %v", n, err)
				}
			}
			got := ""
			if err := c.answer.failed(); err != nil {
				got = err.Error()
			}
			if got != c.want || got != "" && exitCode(c.answer.failed()) != exitLost {
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

// program is toolhost in a project with a named configuration, and its own temporary folder.
func program(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, errs *bytes.Buffer, temp string) {
	t.Helper()
	temp, errs = t.TempDir(), &bytes.Buffer{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // killed if it hangs
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, filepath.Join(bin, "toolhost"), args...)
	cmd.Dir, cmd.Stderr = dir, errs
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "XDG_RUNTIME_DIR="+temp, "TOOLHOST_CONFIG=config.hcl")
	return cmd, errs, temp
}

// brokenPipe is a pipe without a reader.
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

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"two\n\tlines":       "two\n\tlines",
		"Windows\r\nlines":   "Windows\nlines",
		"a\x1b[31mb":         "a\ufffd[31mb",
		"a\rb\x07\x00":       "a\ufffdb\ufffd\ufffd",
		"a\u009b2Jb":         "a\ufffd2Jb",
		"a\u202eb\u2066c":    "a\ufffdb\ufffdc",
		"bytes \x9b\xff":     "bytes \ufffd",
		"a\u200bb\U000e0041": "a\ufffdb\ufffd",
		"grüße, 世界 👋🏽 👩‍👧 ❤️": "grüße, 世界 👋🏽 👩‍👧 ❤️",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) gives %q, want %q", in, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"exactly.", 7, "exactl…"},
		{"one\ntwo\x1b", 10, "one two "},
		{"a\u202eb", 10, "a b"},
		{"世界世界", 8, "世界世界"},
		{"世界世界", 7, "世界世…"},
		{"世界世界", 6, "世界…"},
		{"cafe\u0301s", 5, "cafe\u0301s"},
		{"cafe\u0301s!", 5, "cafe\u0301…"},
		{"a", 0, ""},
		{"ab", 1, "…"},
		{"", 0, ""},
	} {
		if got := fit(c.in, c.n); got != c.want {
			t.Errorf("fit(%q, %d) gives %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// No line wraps, whatever the names and descriptions are, and columns are aligned.
func TestTable(t *testing.T) {
	rows := [][]string{
		{"TOOL", "EFFECT", "CATEGORY", "DESCRIPTION"},
		{"readfile__read", "reads", "files", strings.Repeat("Reads a part of a text file. ", 10)},
		{"世界__世界", "-", "-", strings.Repeat("世界", 100)},
		{strings.Repeat("long", 10) + "__x", "changes", "twelve chars", "Short."},
	}
	for _, room := range []int{41, 80, 100, 120} {
		var out bytes.Buffer
		writeTable(&out, rows, room)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(rows) {
			t.Fatalf("%d lines:\n%s", len(lines), &out)
		}
		for _, line := range lines {
			if n := textColumns(line); n > room || strings.HasSuffix(line, " ") {
				t.Errorf("%d columns in %d: %q", n, room, line)
			}
		}
		if room > 80 && (textColumns(lines[1]) < room-1 || textColumns(before(lines[0],
			"EFFECT")) != textColumns(before(lines[1], "reads"))) {
			t.Errorf("columns are off:\n%s", &out)
		}
	}
}

func before(s, word string) string {
	s, _, _ = strings.Cut(s, word)
	return s
}

// Log lines, cobra's messages and errors go through a cleaner.
func TestCleaner(t *testing.T) {
	var out bytes.Buffer
	n, err := cleaner{&out}.Write([]byte("a\x1bb\n"))
	if n != 4 || err != nil || out.String() != "a\ufffdb\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}
