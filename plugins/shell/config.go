package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

const (
	defaultKeep = 64 << 10
	minKeep     = 1 << 10
	// maxKeep keeps a result under the wire's limit: each stream is in it twice, as text and as JSON, where a byte
	// may become six.
	maxKeep = 256 << 10

	defaultJobs = 8
	maxJobs     = 64

	defaultSave = 64 << 20
	maxSave     = 1 << 30
)

// config is what the operator may set.
type config struct {
	Shell           string   `json:"shell,omitempty" enum:"bash|sh" default:"bash" jsonschema:"The shell that runs the commands; found in the PATH of the plugin."`
	Interpreters    []string `json:"interpreters,omitempty" jsonschema:"The programs that script may run, found in the PATH of the plugin. Default: bash, sh, python3, node, perl, ruby."`
	MaxOutputBytes  int      `json:"max_output_bytes,omitempty" minimum:"1024" maximum:"262144" default:"65536" jsonschema:"How many bytes of each of stdout and stderr a result holds: one half from the start, one from the end."`
	MaxJobs         int      `json:"max_jobs,omitempty" minimum:"1" maximum:"64" default:"8" jsonschema:"How many background jobs of one session may run at a time."`
	SaveOutputBytes *int64   `json:"save_output_bytes,omitempty" minimum:"0" maximum:"1073741824" default:"67108864" jsonschema:"How many bytes of a stream that is too long for a result go into a file. A session has four times that at a time. 0: no files."`
}

var defaultInterpreters = []string{"bash", "sh", "python3", "node", "perl", "ruby"}

// complete fills in what is not set.
func (c *config) complete() {
	if c.Shell == "" {
		c.Shell = "bash"
	}
	if c.Interpreters == nil {
		c.Interpreters = defaultInterpreters
	}
	if c.MaxOutputBytes == 0 {
		c.MaxOutputBytes = defaultKeep
	}
	if c.MaxJobs == 0 {
		c.MaxJobs = defaultJobs
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
	sweep(keepDir())
	return nil
}

// shells are the arguments that make each shell read no files of its own.
var shells = map[string][]string{"bash": {"--noprofile", "--norc"}, "sh": {}}

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

// findInterpreter finds a program for a script, in the plugin's own PATH as well.
func (c *config) findInterpreter(name string) (string, error) {
	if !slices.Contains(c.Interpreters, name) {
		return "", &sdk.Error{Name: "InterpreterNotAllowed", Message: fmt.Sprintf("interpreter %q is not one that may be used here; nothing was run", name),
			Suggestion: "Use one of these: " + strings.Join(c.installed(), ", ") + ". The operator can add others to interpreters in the plugin's config."}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &sdk.Error{Name: "InterpreterNotFound", Message: fmt.Sprintf("the interpreter cannot be used: %v; nothing was run", err),
			Suggestion: "Use one of these: " + strings.Join(c.installed(), ", ") + "."}
	}
	return path, nil
}

// installed are the interpreters that can be used.
func (c *config) installed() []string {
	return slices.DeleteFunc(slices.Clone(c.Interpreters), func(name string) bool {
		_, err := exec.LookPath(name)
		return err != nil
	})
}
