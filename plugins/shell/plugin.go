package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

const version = "0.1.0"

const (
	defaultKeep = 64 << 10
	minKeep     = 1 << 10
	// maxKeep keeps a result under the wire's limit: each stream is in it twice, as text and as JSON, where a byte
	// may become six.
	maxKeep = 256 << 10
)

// config is what the operator may set.
type config struct {
	Shell          string `json:"shell,omitempty" enum:"bash|sh" default:"bash" jsonschema:"The shell that runs the commands; found in the PATH of the plugin."`
	MaxOutputBytes int    `json:"max_output_bytes,omitempty" minimum:"1024" maximum:"262144" default:"65536" jsonschema:"How many bytes of each of stdout and stderr a result holds: one half from the start, one from the end."`
}

// shells are the arguments that make each shell read no files of its own and run the command that follows.
var shells = map[string][]string{
	"bash": {"--noprofile", "--norc", "-c"},
	"sh":   {"-c"},
}

const description = `Runs a command with the shell (bash, or sh where the operator chose it) and returns what it printed on stdout and stderr, and its exit code.

Each call is a fresh shell: variables, functions and "cd" are not kept for the next call. Use workdir, or join steps with &&. Nothing is interactive: there is no terminal, and the input is empty unless stdin is given. Background processes end with the call, so a server cannot be left running. A command that fails is an ordinary answer: read the exit code. Of long output only the start and the end are shown; write it to a file, or filter it, to see all that matters. A command that runs longer than timeout_seconds is stopped.`

const outputSchema = `{"type":"object","properties":{` +
	`"stdout":{"type":"string"},"stderr":{"type":"string"},` +
	`"exit_code":{"type":"integer","description":"-1 when a signal ended the command"},` +
	`"signal":{"type":"string","description":"the signal that ended the command, such as SIGKILL, or empty"},` +
	`"timed_out":{"type":"boolean"},"duration_ms":{"type":"integer"},` +
	`"truncated":{"type":"boolean","description":"stdout or stderr holds less than was printed"},` +
	`"stdout_bytes":{"type":"integer","description":"how much was printed"},"stderr_bytes":{"type":"integer"}},` +
	`"required":["stdout","stderr","exit_code","signal","timed_out","duration_ms","truncated","stdout_bytes","stderr_bytes"]}`

// shell is the plugin's state: its configuration, nothing of the calls.
type shell struct {
	config atomic.Pointer[config]
}

func newPlugin() *sdk.Plugin {
	s := &shell{}
	s.config.Store(&config{Shell: "bash", MaxOutputBytes: defaultKeep})
	p := sdk.New("shell", version)
	sdk.Configure(p, s.configure)
	sdk.AddTool(p, sdk.Tool{
		Name: "exec", Title: "Run a shell command", Description: description, Category: "shell",
		OutputSchema: json.RawMessage(outputSchema),
		Hints:        sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.Yes},
		Timeout:      maxTimeout + 30*time.Second, // the call's own timeout comes first
	}, s.exec)
	sdk.AddPreview(p, "exec", s.preview)
	return p
}

func (s *shell) configure(_ context.Context, _ *sdk.Request, c config) error {
	if c.Shell == "" {
		c.Shell = "bash"
	}
	if c.MaxOutputBytes == 0 {
		c.MaxOutputBytes = defaultKeep
	}
	if shells[c.Shell] == nil {
		return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf("shell = %q: it must be \"bash\" or \"sh\"", c.Shell)}
	}
	if c.MaxOutputBytes < minKeep || c.MaxOutputBytes > maxKeep {
		return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf("max_output_bytes = %d: it must be from %d to %d",
			c.MaxOutputBytes, minKeep, maxKeep)}
	}
	if _, err := findShell(c.Shell); err != nil {
		return err
	}
	s.config.Store(&c)
	return nil
}

// findShell looks in the plugin's own PATH, never in that of a call: a call must not choose what runs it.
func findShell(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	e := &sdk.Error{Name: "ShellNotFound", Message: fmt.Sprintf("the shell cannot be used: %v", err),
		Suggestion: "The operator must install it, or give the plugin a PATH with it."}
	if name == "bash" {
		e.Suggestion += " Where there is no bash, shell = \"sh\" in the plugin's config uses sh."
	}
	return "", e
}
