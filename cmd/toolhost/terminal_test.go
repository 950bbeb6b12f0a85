//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // killed if it hangs
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

// questionAt shows a question at a terminal of a size, answers it, and returns the rows.
func questionAt(t *testing.T, columns, rows uint16, typed string, ask func(context.Context, *prompter) error) []string {
	t.Helper()
	t.Setenv("NO_COLOR", "1")
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error of the terminal
		shown <- string(text)
	}()
	from := strings.NewReader(typed)
	err = ask(t.Context(), newPrompter(&options{terminal: newTerminal(from, io.Discard, tty)}, from))
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	// what is typed is not on this terminal
	text := strings.NewReplacer("\r\n> ", "\n> \n", "\r\n", "\n", "[y/N] ", "[y/N] \n").Replace(<-shown)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// No terminal breaks a line of a question: what a plugin writes in a long one would begin a row then.
func TestQuestionsStayInTheirRows(t *testing.T) {
	const forged = "shell__exec wants to run."
	pad := func(n int) string { return strings.Repeat("x", n) + forged + strings.Repeat("y ", 60) + forged }
	for _, columns := range []uint16{30, 51, 110} {
		for name, ask := range map[string]func(context.Context, *prompter, string) error{
			"call": func(ctx context.Context, p *prompter, text string) error {
				r := deletes()
				r.Arguments, r.Problem = json.RawMessage(`{"path":"`+text+`"}`), text
				r.Tool.Description, r.Prefix = text, []string{text}
				diff := sdk.TextContent("--- a\n+++ b\n@@ -0,0 +1 @@\n+" + text)
				r.Preview = &sdk.Preview{Reason: text, Content: []sdk.Content{diff}}
				_, err := p.Approve(ctx, r)
				return err
			},
			"form": func(ctx context.Context, p *prompter, text string) error {
				params, err := json.Marshal(map[string]any{"method": "elicitation/create", "params": map[string]any{
					"message": text, "requestedSchema": map[string]any{"properties": map[string]any{
						text: map[string]any{"type": "string", "description": text, "enum": []string{text}}}}}})
				if err != nil {
					return err
				}
				_, err = p.AnswerInput(ctx, &host.InputRequest{Tool: deletes().Tool,
					Requests: map[string]json.RawMessage{"q": params}})
				return err
			},
		} {
			for used := range int(columns) { // one of them puts the forged line at the margin, if the terminal breaks it
				lines := questionAt(t, columns, 200, "y\nwrong\n\n", func(ctx context.Context, p *prompter) error {
					return ask(ctx, p, pad(used))
				})
				for _, line := range lines {
					if n := textColumns(line); n >= int(columns) || strings.HasPrefix(line, forged) {
						t.Fatalf("%s, %d columns: the row %q has %d:\n%s", name, columns, line, n, strings.Join(lines, "\n"))
					}
				}
			}
		}
	}
}

// The last line of a question that is longer than the terminal names what it is about.
func TestLastLineOfALongQuestion(t *testing.T) {
	call := func(lines int) func(context.Context, *prompter) error {
		return func(ctx context.Context, p *prompter) error {
			r := deletes()
			r.Via = &host.Via{Plugin: "evil", Tool: "evil__run"}
			r.Preview = &sdk.Preview{Content: []sdk.Content{sdk.TextContent(strings.Repeat("line\n", lines))}}
			_, err := p.Approve(ctx, r)
			return err
		}
	}
	const short, long = "Run it? [y/N] ", "ops__delete of plugin ops, called by plugin evil: Run it? [y/N] "
	for rows, want := range map[uint16]string{10: long, 24: long, 60: short} {
		lines := questionAt(t, 80, rows, "y\n", call(20))
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("%d rows: %q, want %q", rows, got, want)
		}
	}
	lines := questionAt(t, 80, 24, "n\n", func(ctx context.Context, p *prompter) error {
		params, _ := json.Marshal(map[string]any{"method": "elicitation/create", "params": map[string]any{
			"message": strings.Repeat("line\n", 30)}})
		_, err := p.AnswerInput(ctx, &host.InputRequest{Tool: deletes().Tool,
			Requests: map[string]json.RawMessage{"q": params}})
		return err
	})
	if got := lines[len(lines)-1]; got != "ops__delete of plugin ops: Yes? [y/N] " {
		t.Errorf("the form ends with %q", got)
	}
}
