// Command toolhost-plugin-shell is a plugin that runs shell commands and scripts together with everything they start,
// and ends all of it with the call, or with the job that a call has started.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func main() { sdk.Serve(newPlugin()) }

const version = "0.2.0"

// shell is the plugin's state: its configuration, the jobs that continue after their call, and the files of long
// output.
type shell struct {
	config      atomic.Pointer[config]
	jobs        *jobs
	outputStore *outputStore
}

func newPlugin() *sdk.Plugin { return newShell().plugin() }

func newShell() *shell {
	s := &shell{jobs: newJobs(), outputStore: &outputStore{}}
	c := &config{}
	c.complete()
	s.config.Store(c)
	return s
}

func (s *shell) plugin() *sdk.Plugin {
	p := sdk.New("shell", version)
	sdk.Configure(p, s.configure)
	sdk.AddTool(p, runs(sdk.Tool{Name: "exec", Title: "Run a shell command", Description: execDescription}), s.exec)
	sdk.AddPreview(p, "exec", s.previewExec)
	sdk.AddTool(p, runs(sdk.Tool{Name: "script", Title: "Run a script", Description: scriptDescription}), s.script)
	sdk.AddPreview(p, "script", s.previewScript)
	sdk.AddTool(p, sdk.Tool{
		Name: "job", Title: "Look after background jobs", Description: jobDescription, Category: "shell", CostTier: sdk.Free,
		OutputSchema: json.RawMessage(jobSchema),
		// It changes only jobs that the session itself was allowed to start.
		Hints:   sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.No, OpenWorld: sdk.No},
		Timeout: maxWait + 30*time.Second, Stateful: true, MaxResultBytes: sdk.MaxResult,
	}, s.job)
	p.AtEnd(s.end)
	return p
}

// runs completes a tool that runs its argument.
func runs(t sdk.Tool) sdk.Tool {
	t.Category, t.CostTier, t.OutputSchema = "shell", sdk.Free, json.RawMessage(execSchema)
	t.Hints = sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.Yes}
	t.Timeout = maxTimeout + 30*time.Second // the call's own timeout comes first
	t.MaxResultBytes = sdk.MaxResult        // it holds limits of its own, see maxKeep
	return t
}

// end ends the jobs, and removes the files that no result has named.
func (s *shell) end() {
	s.jobs.end()
	s.outputStore.close()
}

// transcript returns a new one, for a call of a session.
func (s *shell) transcript(session string) *transcript {
	c := s.config.Load()
	var files *sessionOutput
	if *c.SaveOutputBytes > 0 {
		files = &sessionOutput{outputStore: s.outputStore, session: session, limit: *c.SaveOutputBytes}
	}
	return newTranscript(c.MaxOutputBytes, files)
}

const (
	defaultKeep = 64 << 10
	minKeep     = 1 << 10
	// maxKeep keeps a result under the wire's limit: each stream is in it twice, as text and as JSON, where a byte may
	// become six.
	maxKeep = 256 << 10

	defaultJobs = 8
	maxJobs     = 64

	defaultSave = 64 << 20
	maxSave     = 1 << 30
)

// config is the plugin's config block.
type config struct {
	Shell           string   `json:"shell,omitempty" enum:"bash|sh" default:"bash" jsonschema:"The shell that runs the commands; found in the PATH of the plugin."`
	Interpreters    []string `json:"interpreters,omitempty" jsonschema:"The programs that script may run, found in the PATH of the plugin. Default: bash, sh, python3, node, perl, ruby."`
	MaxOutputBytes  int      `json:"max_output_bytes,omitempty" minimum:"1024" maximum:"262144" default:"65536" jsonschema:"How many bytes of each of stdout and stderr a result holds: one half from the start, one from the end."`
	MaxJobs         int      `json:"max_jobs,omitempty" minimum:"1" maximum:"64" default:"8" jsonschema:"How many background jobs of one session may run at a time."`
	SaveOutputBytes *int64   `json:"save_output_bytes,omitempty" minimum:"0" maximum:"1073741824" default:"67108864" jsonschema:"How many bytes of a stream that is too long for a result go into a file. A session has four times that at a time. 0: no files."`
}

// complete sets the defaults.
func (c *config) complete() {
	c.Shell = cmp.Or(c.Shell, "bash")
	c.MaxOutputBytes = cmp.Or(c.MaxOutputBytes, defaultKeep)
	c.MaxJobs = cmp.Or(c.MaxJobs, defaultJobs)
	if c.Interpreters == nil {
		c.Interpreters = []string{"bash", "sh", "python3", "node", "perl", "ruby"}
	}
	if c.SaveOutputBytes == nil {
		c.SaveOutputBytes = new(int64(defaultSave))
	}
}

var interpreterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

func (c *config) check() error {
	bad := func(format string, a ...any) error {
		return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf(format, a...)}
	}
	for _, name := range c.Interpreters {
		if !interpreterName.MatchString(name) {
			return bad("interpreters has %q: it must be the name of a program, without folders and arguments", name)
		}
	}
	switch {
	case shells[c.Shell] == nil:
		return bad("shell = %q: it must be \"bash\" or \"sh\"", c.Shell)
	case c.MaxOutputBytes < minKeep || c.MaxOutputBytes > maxKeep:
		return bad("max_output_bytes = %d: it must be from %d to %d", c.MaxOutputBytes, minKeep, maxKeep)
	case c.MaxJobs < 1 || c.MaxJobs > maxJobs:
		return bad("max_jobs = %d: it must be from 1 to %d", c.MaxJobs, maxJobs)
	case *c.SaveOutputBytes < 0 || *c.SaveOutputBytes > maxSave:
		return bad("save_output_bytes = %d: it must be from 0 to %d", *c.SaveOutputBytes, maxSave)
	}
	return nil
}

func (s *shell) configure(_ context.Context, _ *sdk.Request, c config) error {
	c.complete()
	if err := c.check(); err != nil {
		return err
	}
	if _, err := findShell(c.Shell); err != nil {
		return err
	}
	s.config.Store(&c)
	removeAbandoned(sdk.KeepDir())
	return nil
}

// shells are the arguments that make each shell read no startup files.
var shells = map[string][]string{"bash": {"--noprofile", "--norc"}, "sh": {}}

// findShell searches the plugin's own PATH, never that of a call: a call must not choose what runs it.
func findShell(name string) (string, error) {
	path, err := lookPath(name)
	if err == nil {
		return path, nil
	}
	e := &sdk.Error{Name: "ShellNotFound", Message: fmt.Sprintf("the shell cannot be used: %v", err),
		Suggestion: "The operator must install it, or give the plugin a PATH with it."}
	switch {
	case runtime.GOOS == "windows":
		e.Suggestion = "The operator must install Git for Windows, whose bash runs the commands."
	case name == "bash":
		e.Suggestion += " Where there is no bash, shell = \"sh\" in the plugin's config uses sh."
	}
	return "", e
}

// findInterpreter finds a program for a script, in the plugin's own PATH as well.
func (c *config) findInterpreter(name string) (string, error) {
	if !slices.Contains(c.Interpreters, name) {
		return "", &sdk.Error{Name: "InterpreterNotAllowed",
			Message: fmt.Sprintf("interpreter %q is not one that may be used here; nothing was run", name),
			Suggestion: "Use one of these: " + strings.Join(c.installed(), ", ") +
				". The operator can add others to interpreters in the plugin's config."}
	}
	path, err := lookPath(name)
	if err != nil {
		return "", &sdk.Error{Name: "InterpreterNotFound",
			Message:    fmt.Sprintf("the interpreter cannot be used: %v; nothing was run", err),
			Suggestion: "Use one of these: " + strings.Join(c.installed(), ", ") + "."}
	}
	return path, nil
}

// installed are the interpreters that are available.
func (c *config) installed() []string {
	return slices.DeleteFunc(slices.Clone(c.Interpreters), func(name string) bool {
		_, err := lookPath(name)
		return err != nil
	})
}

const execDescription = `Runs a command with the shell (bash, or sh where the operator chose it) and returns what it printed and its exit code.

Use it for programs: build, test, git, search in bulk. Use script for more than a few lines or another language, and the tools for files, where there are some, to read and edit files.

- Each call is a fresh shell: variables, functions and "cd" are not kept for the next call. Use workdir, or join steps with &&.
- The input is empty unless stdin is given, and there is no terminal unless pty is set: give commands the options that keep them from asking (-y, --no-pager).
- Output comes in the order it was printed, but of what came to both outputs at one moment stdout is first (2>&1 keeps the exact order); a line [stderr] or [stdout] says whose lines follow. A command that fails is an ordinary answer: read the exit code.
- Of long output the start and the end are shown, and the result names a file with all of it, up to a limit that it tells. Read that with exec, since it is outside of the workspace: tail -n 50 FILE, grep -n word FILE, sed -n '100,200p' FILE. It stays for about a day, unless newer output needs the room.
- A command that runs longer than timeout_seconds is stopped. For what goes on and on, such as a server or a watcher, set background: the call returns at once with the id of a job, and the tool job shows its output and stops it.
- Everything that a call started ends with it, also what was started with &; only background keeps running.`

const scriptDescription = `Runs the text of a script with an interpreter (bash, sh, python3, node, perl and the like) and returns what it printed and its exit code.

Use it for more than a few lines, for text full of quotes, and for other languages than the shell's: the text needs no escaping and no file. For one command use exec.

- The text is given as command. It runs from a file that is gone afterwards, in workdir; relative paths start there.
- args are the script's arguments ($1, sys.argv[1], process.argv[2]); stdin stays free for its input.
- A shell script goes on after a command that fails, unless it begins with set -e.
- Results, long output and time limits are as those of exec. Nothing is kept for the next call, and nothing runs on after it.
- People may be asked before code that is no shell script runs, since nothing tells beforehand what it does.`

const jobDescription = `Looks after background jobs: commands that exec started with background, in this session.

- list: all jobs with state, process id, exit code and how long they ran.
- output: what a job printed since it was last asked for, or its last lines with tail. It does not wait.
- wait: as output, once the job has ended or timeout_seconds (default 30) are over.
- stop: ends the job and everything that it started (SIGTERM, then SIGKILL after 2 s), and shows its last output.

Use wait rather than asking for output again and again. A job ends by itself, by stop, by its timeout_seconds, or with the plugin and the host: it does not outlive them. A job that has ended can be looked at until 16 later ones have ended too.`

const shownSchema = `"stdout":{"type":"string"},"stderr":{"type":"string"},` +
	`"truncated":{"type":"boolean","description":"stdout or stderr holds less than was printed"},` +
	`"stdout_bytes":{"type":"integer","description":"how much was printed"},"stderr_bytes":{"type":"integer"},` +
	`"stdout_file":{"type":"string","description":"where more of it is, if it is ` +
	`truncated"},"stderr_file":{"type":"string"}`

const oneJobSchema = `{"type":"object","properties":{"id":{"type":"string"},"command":{"type":"string"},` +
	`"state":{"type":"string","enum":["running","ended","stopped","timed_out"]},"pid":{"type":"integer"},` +
	`"exit_code":{"type":"integer"},"signal":{"type":"string"},"duration_ms":{"type":"integer"}},` +
	`"required":["id","command","state","pid","duration_ms"]}`

const execSchema = `{"type":"object","properties":{` + shownSchema + `,` +
	`"exit_code":{"type":"integer","description":"-1 when a signal ended the command; absent while it runs in the ` +
	`background"},` +
	`"signal":{"type":"string","description":"the signal that ended the command, such as SIGKILL, or empty"},` +
	`"timed_out":{"type":"boolean"},"duration_ms":{"type":"integer"},"job":` + oneJobSchema + `},` +
	`"required":["stdout","stderr","signal","timed_out","duration_ms","truncated","stdout_bytes","stderr_bytes"]}`

const jobSchema = `{"type":"object","properties":{"jobs":{"type":"array","items":` + oneJobSchema + `},"job":` +
	oneJobSchema + `,` + shownSchema + `}}`

// environ is the environment of a command: the plugin's own, which its host chose, without variables that belong to
// the plugin or make shells run more than the command; then the call's additions.
func environ(extra map[string]string, dir string) []string {
	env := proctree.Environ()
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		env = append(env, name+"="+extra[name])
	}
	return append(env, "PWD="+dir)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv refuses variables that would make the shell, or any program, run code that the command does not show: a
// person who approves a command reads only the command.
func checkEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case !envName.MatchString(name):
			return invalid("env: %q is not a name for a variable; letters, digits and _ only", name)
		case strings.ContainsRune(env[name], 0):
			return invalid("env: the value of %s has a NUL character, which no variable can hold; pass it through stdin", name)
		case proctree.Reserved(name), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
			return invalid("env: %s may not be set here; if the command needs it, write it in the command itself (%s=... "+
				"program)", name, name)
		}
	}
	return nil
}
