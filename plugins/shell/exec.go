package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// surroundings are the arguments that exec and script share.
type surroundings struct {
	Workdir        string            `json:"workdir,omitempty" jsonschema:"The folder to run in: relative to the workspace, or inside it. Default: the workspace."`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"3600" default:"120" jsonschema:"How long it may run. In the background there is no limit unless one is given."`
	Env            map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add."`
	Stdin          string            `json:"stdin,omitempty" jsonschema:"What it reads from its standard input. Default: nothing."`
}

// execArgs are the arguments of the tool exec.
type execArgs struct {
	Command string `json:"command" jsonschema:"The command line, as typed into a shell."`
	surroundings
	Background bool `json:"background,omitempty" jsonschema:"Start it as a job and return at once, with the job's id and its first output. For servers, watchers and long builds."`
	PTY        bool `json:"pty,omitempty" jsonschema:"Run it on a terminal, for programs that want one. stdin is typed into it at once, followed by the end of input. Output is one stream, without colours and cursor moves."`
	Columns    int  `json:"columns,omitempty" minimum:"1" maximum:"1000" default:"80" jsonschema:"Width of the terminal."`
	Rows       int  `json:"rows,omitempty" minimum:"1" maximum:"1000" default:"24" jsonschema:"Height of the terminal."`
}

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = time.Hour
	maxSide        = 1000 // of a terminal
	maxTyped       = 1000 // bytes of a line that all systems let be typed
)

func (s *shell) exec(ctx context.Context, r *sdk.Request, in execArgs) (*sdk.Result, error) {
	if err := in.lasting(r); err != nil {
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

// command makes the command ready to run.
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
	cmd := in.prepare(path, dir, append(shells[name][:len(shells[name]):len(shells[name])], "-c", in.Command))
	if in.PTY {
		cmd.Terminal = in.size()
		cmd.Env = append(cmd.Env, in.terminalEnv()...)
	}
	quiet, err := quietGit(ctx, in.Command, in.context(r.Workdir), cmd.Env)
	cmd.Env = append(cmd.Env, quiet...)
	return cmd, err
}

func (in *surroundings) prepare(path, dir string, args []string) *proctree.Cmd {
	cmd := proctree.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environ(in.Env, dir), in.input()
	return cmd
}

// terminalEnv is what programs are told of the terminal. Nobody turns pages there, and what a pager reads may be commands.
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
	s := proctree.Size{Columns: 80, Rows: 24}
	if in.Columns > 0 {
		s.Columns = uint16(in.Columns)
	}
	if in.Rows > 0 {
		s.Rows = uint16(in.Rows)
	}
	return &s
}

// check finds what the schema does not say, or what came past it.
func (in *execArgs) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("command is blank; give the command line to run")
	case strings.ContainsRune(in.Command, 0):
		return invalid("command has a NUL character, which no command line can hold; write it as \\0 for printf, or put it in a file")
	case (in.Columns != 0 || in.Rows != 0) && !in.PTY:
		return invalid("columns and rows are the size of a terminal, and there is none; set pty too, or leave them out")
	case in.Columns < 0 || in.Columns > maxSide || in.Rows < 0 || in.Rows > maxSide:
		return invalid("the terminal is %d by %d; columns and rows must be from 1 to %d", in.Columns, in.Rows, maxSide)
	case in.PTY && longestLine(in.Stdin) > maxTyped:
		return invalid("stdin has a line of %d bytes, and a terminal takes at most %d and loses the rest; break the line, or leave pty out",
			longestLine(in.Stdin), maxTyped)
	}
	return in.surroundings.check()
}

func longestLine(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, len(strings.TrimSuffix(line, "\n")))
	}
	return most
}

func (in *surroundings) check() error {
	if in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxTimeout.Seconds() {
		return invalid("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds, maxTimeout.Seconds())
	}
	return checkEnv(in.Env)
}

func (in *surroundings) input() io.Reader {
	if in.Stdin == "" {
		return nil
	}
	return strings.NewReader(in.Stdin)
}

// timeout is how long the caller wants the command to run at most.
func (in *surroundings) timeout() time.Duration {
	if in.TimeoutSeconds == 0 {
		return defaultTimeout
	}
	return time.Duration(in.TimeoutSeconds * float64(time.Second))
}
