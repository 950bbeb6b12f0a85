package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// execContext are the arguments that exec and script share.
type execContext struct {
	Workdir        string            `json:"workdir,omitempty" jsonschema:"The folder to run in: relative to the workspace, or inside it. Default: the workspace."`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"3600" default:"120" jsonschema:"How long it may run. In the background there is no limit unless one is given."`
	Env            map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add."`
	Stdin          string            `json:"stdin,omitempty" jsonschema:"What it reads from its standard input. Default: nothing."`
}

// execArgs are the arguments of the tool exec.
type execArgs struct {
	Command string `json:"command" jsonschema:"The command line, as typed into a shell."`
	execContext
	Background bool `json:"background,omitempty" jsonschema:"Start it as a job and return at once, with the job's id and its first output. For servers, watchers and long builds."`
	PTY        bool `json:"pty,omitempty" jsonschema:"Run it on a terminal, for programs that want one. stdin is typed into it at once, followed by the end of input. Output is one stream, without colours and cursor moves."`
	Columns    int  `json:"columns,omitempty" minimum:"1" maximum:"1000" default:"80" jsonschema:"Width of the terminal."`
	Rows       int  `json:"rows,omitempty" minimum:"1" maximum:"1000" default:"24" jsonschema:"Height of the terminal."`
}

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = time.Hour
	maxSide        = 1000 // of a terminal
	maxTyped       = 1000 // bytes of a line that can be typed on all systems
)

func (s *shell) exec(ctx context.Context, r *sdk.Request, in execArgs) (*sdk.Result, error) {
	if err := in.checkBackground(r); err != nil {
		return nil, err
	}
	cmd, err := s.command(ctx, r, &in)
	if err != nil {
		return nil, err
	}
	if in.Background {
		return s.background(ctx, r, cmd, &in)
	}
	return s.run(ctx, r, cmd, limit{proctree.LimitsFor(ctx, in.timeout()), r.SingleCall})
}

// command prepares the command to run.
func (s *shell) command(ctx context.Context, r *sdk.Request, in *execArgs) (*proctree.Cmd, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	dir, err := findWorkdir(r.Workdir, in.Workdir)
	if err != nil {
		return nil, err
	}
	name := s.config.Load().Shell
	path, err := findShell(name)
	if err != nil {
		return nil, err
	}
	cmd := in.prepare(path, dir, slices.Concat(shells[name], []string{"-c", in.Command}))
	if in.PTY {
		cmd.Terminal = in.size()
		cmd.Env = append(cmd.Env, in.terminalEnv()...)
	}
	quiet, err := quietGit(ctx, in.Command, in.context(r.Workdir), cmd.Env)
	cmd.Env = append(cmd.Env, quiet...)
	return cmd, err
}

func (in *execContext) prepare(path, dir string, args []string) *proctree.Cmd {
	cmd := proctree.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environ(in.Env, dir), in.input()
	return cmd
}

// terminalEnv describes the terminal to programs. No one turns pages there, and what a pager reads may be commands.
func (in *execArgs) terminalEnv() (env []string) {
	for _, entry := range []string{"TERM=xterm-256color", "PAGER=cat", "GIT_PAGER=cat", "SYSTEMD_PAGER=cat"} {
		name, _, _ := strings.Cut(entry, "=")
		if _, set := in.Env[name]; !set {
			env = append(env, entry)
		}
	}
	return env
}

func (in *execArgs) size() *proctree.Size {
	return &proctree.Size{Columns: uint16(cmp.Or(in.Columns, 80)), Rows: uint16(cmp.Or(in.Rows, 24))}
}

// check checks what the schema does not express, or what bypassed it.
func (in *execArgs) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("command is blank; give the command line to run")
	case fenced(in.Command):
		return invalid("command is a Markdown code block, whose fence runs what the commands in it print; give the command " +
			"line without the lines of ```")
	case foreign(in.Command) != "":
		return invalid("command %s", foreign(in.Command))
	case strings.ContainsRune(in.Command, 0):
		return invalid("command has a NUL character, which no command line can hold; write it as \\0 for printf, or put it " +
			"in a file")
	case (in.Columns != 0 || in.Rows != 0) && !in.PTY:
		return invalid("columns and rows are the size of a terminal, and there is none; set pty too, or leave them out")
	case in.Columns < 0 || in.Columns > maxSide || in.Rows < 0 || in.Rows > maxSide:
		return invalid("the terminal is %d by %d; columns and rows must be from 1 to %d", in.Columns, in.Rows, maxSide)
	case in.PTY && longestLine(in.Stdin) > maxTyped:
		return invalid("stdin has a line of %d bytes, and a terminal takes at most %d and loses the rest; break the "+
			"line, or leave pty out", longestLine(in.Stdin), maxTyped)
	}
	return in.execContext.check()
}

// fenced reports a text in the fence of Markdown, which a shell takes for substitutions.
func fenced(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "```") }

// foreign says why a text is none that a shell reads as it was meant, or returns "". It would run in parts.
func foreign(text string) string {
	switch n := strings.Count(text, "\r\n"); {
	case strings.HasPrefix(text, "\uFEFF"):
		return "begins with a byte order mark, which a shell takes for a part of the first word; leave it out"
	case n > 0 && n == strings.Count(text, "\n"):
		return "has lines that end with CRLF, of which a shell takes the CR for a part of the last word; end them with LF"
	}
	return ""
}

func longestLine(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, len(strings.TrimSuffix(line, "\n")))
	}
	return most
}

func (in *execContext) check() error {
	if in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxTimeout.Seconds() {
		return invalid("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds,
			maxTimeout.Seconds())
	}
	return checkEnv(in.Env)
}

func (in *execContext) input() io.Reader {
	if in.Stdin == "" {
		return nil
	}
	return strings.NewReader(in.Stdin)
}

// timeout is the caller's limit for the command.
func (in *execContext) timeout() time.Duration {
	return cmp.Or(time.Duration(in.TimeoutSeconds*float64(time.Second)), defaultTimeout)
}

// checkBackground refuses jobs where the plugin ends with the call: a job would be killed at once.
func (in *execArgs) checkBackground(r *sdk.Request) error {
	if !in.Background || !r.SingleCall {
		return nil
	}
	return &sdk.Error{Name: "NeedsLastingHost",
		Message: "background: this host makes one call and ends, and the job would be killed with it; nothing was run",
		Suggestion: fmt.Sprintf("Leave background out: the call then waits for the command to end, for timeout_seconds (at "+
			"most %d). What has to run longer must be started by the user.", int(maxTimeout.Seconds()))}
}

// background starts the command as a job, and returns its first output.
func (s *shell) background(ctx context.Context, r *sdk.Request, cmd *proctree.Cmd, in *execArgs) (*sdk.Result, error) {
	t := s.transcript(r.SessionID)
	defer t.attach(cmd, r)()
	var limit time.Duration
	if in.TimeoutSeconds > 0 {
		limit = in.timeout()
	}
	j, err := s.jobs.begin(r.SessionID, in.Command, cmd, t, s.config.Load().MaxJobs, limit)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, j); err != nil {
		return nil, err
	}
	j.awaitFirstOutput(ctx, proctree.LimitsFor(ctx, s.jobs.first).Run, s.jobs.more)
	if ctx.Err() != nil { // no one would know the job
		j.stop(errStopped)
		return nil, ended(ctx, "the call was canceled and the job is stopped, with everything it has started")
	}
	return j.startResult(), nil
}

// await waits until a job runs. A job that never runs is dropped.
func (s *shell) await(ctx context.Context, j *job) error {
	select {
	case <-j.started:
		return nil
	case <-j.done:
	case <-ctx.Done():
		j.stop(errStopped)
		return ended(ctx, "the call was canceled while the job was started; it is stopped")
	}
	if e, ok := errors.AsType[*proctree.StartError](j.err); ok {
		s.jobs.drop(j)
		return notStarted(ctx, e, limit{})
	}
	return nil
}

// startResult is the result to the call that started the job.
func (j *job) startResult() *sdk.Result {
	v := j.look(0)
	line := j.line()
	o := outcome{shownOutput: v.shown(), DurationMS: line.DurationMS, Job: &line}
	text := v.text() + v.where()
	if j.finished() {
		o.ExitCode, o.Signal, o.TimedOut = &j.exit.Code, j.exit.SignalName(), line.State == stateTimedOut
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text + j.note())}, Structured: sdk.Encode(o),
			Truncated: v.truncated}
	}
	if v.combined == "" {
		text = "(no output yet)\n"
	}
	text += j.note() + "\nThe tool job shows more of its output (action output or wait) and ends it (stop)."
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text)}, Structured: sdk.Encode(o), Truncated: v.truncated}
}

// A limit is how long a call may run, and whose limit it is.
type limit struct {
	proctree.Limits
	single bool // nothing can continue after the call
}

// exceeded reports a command that was stopped, and the failure to stop it, if any.
func (l limit) exceeded(trouble error) error {
	text := fmt.Sprintf("the command was not done after %v and was stopped", l.Shown())
	if trouble == nil {
		text += ", with everything it had started"
	} else {
		text += "; " + trouble.Error()
	}
	return l.error(text)
}

// tooShort reports a limit that was over before the command could be started.
func (l limit) tooShort() error {
	return l.error("there was no time to start the command; nothing was run")
}

// error says what would help: a longer timeout_seconds only if that was too short.
func (l limit) error(text string) error {
	e := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: text,
		Suggestion: "Give it more time with timeout_seconds (at most 3600), do the work in smaller steps, or have exec run " +
			"it in the background."}
	if l.single {
		e.Suggestion = "Give it more time with timeout_seconds (at most 3600), or do the work in smaller steps."
	}
	if l.Call != 0 {
		e.Message += "; the caller or the user's configuration sets the limit of the call, and timeout_seconds cannot " +
			"raise it"
		e.Suggestion = "Do the work in smaller steps, or have exec run it in the background."
		if l.single {
			e.Suggestion = "Do the work in smaller steps."
		}
	}
	return e
}

// findWorkdir returns the folder that a command starts in, without symbolic links, so that it is the one that was
// checked. It prevents calls from starting outside by mistake; what the command itself opens is limited only where the
// plugin is confined.
func findWorkdir(workspace, workdir string) (string, error) {
	if strings.ContainsRune(workdir, 0) {
		return "", invalid("workdir has a NUL character, which no path can hold; give it without")
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", &sdk.Error{Name: "WorkdirNotFound",
			Message:    fmt.Sprintf("the workspace %s cannot be used: %v; nothing was run", workspace, err),
			Suggestion: "The user must make it a folder that the plugin can enter, or choose another workspace."}
	}
	path := workdir
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	if !fsutil.Within(path, workspace) && !fsutil.Within(path, root) {
		return "", outside(workdir, workspace)
	}
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", noWorkdir(workdir, err)
	}
	if !fsutil.Within(dir, root) {
		return "", outside(workdir, workspace)
	}
	return dir, checkDir(workdir, dir)
}

func checkDir(workdir, dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return noWorkdir(workdir, err)
	}
	return nil
}

func outside(workdir, workspace string) error {
	return &sdk.Error{Name: "PathOutsideWorkspace",
		Message:    fmt.Sprintf("workdir %q is outside the workspace %s; nothing was run", workdir, workspace),
		Suggestion: "Give a folder relative to the workspace, or leave workdir out."}
}

func noWorkdir(workdir string, err error) error {
	reason := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		reason = "it does not exist"
	}
	return &sdk.Error{Name: "WorkdirNotFound",
		Message:    fmt.Sprintf("workdir %q cannot be used: %s; nothing was run", workdir, reason),
		Suggestion: "Give an existing folder relative to the workspace, or leave workdir out."}
}
