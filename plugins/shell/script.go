package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// scriptArgs are the arguments of the tool script. Its text has the argument name by which policies recognize a shell
// command.
type scriptArgs struct {
	Command     string   `json:"command" jsonschema:"The text of the script, any number of lines."`
	Interpreter string   `json:"interpreter,omitempty" default:"bash" jsonschema:"The program that runs it: bash, sh, python3, node, perl, ruby, or another that the operator allows."`
	Args        []string `json:"args,omitempty" jsonschema:"The script's arguments."`
	execContext
}

const maxScript = 512 << 10

func (s *shell) script(ctx context.Context, r *sdk.Request, in scriptArgs) (*sdk.Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	dir, err := findWorkdir(r.Workdir, in.Workdir)
	if err != nil {
		return nil, err
	}
	path, err := s.config.Load().findInterpreter(in.interpreter())
	if err != nil {
		return nil, err
	}
	file, remove, err := s.outputStore.script("script"+languages[in.interpreter()].extension, in.Command)
	if err != nil {
		return nil, &sdk.Error{Name: "ScriptNotWritten",
			Message:    fmt.Sprintf("the script could not be written to a file: %v; nothing was run", err),
			Suggestion: "Use exec with a short command, or tell the operator that the plugin's TMPDIR cannot be written."}
	}
	defer remove()
	cmd := in.prepare(path, dir, slices.Concat(shells[in.interpreter()], []string{file}, in.Args))
	cmd.Env = in.modules(cmd.Env, dir)
	if shells[in.interpreter()] != nil {
		quiet, err := quietGit(ctx, in.Command, in.context(r.Workdir), cmd.Env)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, quiet...)
	}
	return s.run(ctx, r, cmd, limit{proctree.LimitsFor(ctx, in.timeout()), r.SingleCall})
}

func (in *scriptArgs) interpreter() string { return cmp.Or(in.Interpreter, "bash") }

// languages are an interpreter's file extension, and its variable for module folders: a script finds the modules of
// its work folder, though its file is elsewhere.
var languages = map[string]struct{ extension, path string }{
	"bash": {".sh", ""}, "sh": {".sh", ""}, "python3": {".py", "PYTHONPATH"}, "python": {".py", "PYTHONPATH"},
	"node": {".js", "NODE_PATH"}, "perl": {".pl", "PERL5LIB"}, "ruby": {".rb", "RUBYLIB"}, "php": {".php", ""},
	"lua":  {".lua", ""},
	"deno": {".ts", ""}, "bun": {".ts", "NODE_PATH"},
}

// modules adds the work folder to the module folders.
func (in *scriptArgs) modules(env []string, dir string) []string {
	name := languages[in.interpreter()].path
	if name == "" {
		return env
	}
	value := dir
	for _, entry := range env {
		if old, ok := strings.CutPrefix(entry, name+"="); ok && old != "" {
			value = dir + string(filepath.ListSeparator) + old // the last of two equal names counts
		}
	}
	return append(env, name+"="+value)
}

// check checks what the schema does not express, or what bypassed it.
func (in *scriptArgs) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("command is blank; give the text of the script")
	case fenced(in.Command):
		return invalid("command is a Markdown code block; give the text of the script without the lines of ```")
	case shells[in.interpreter()] != nil && foreign(in.Command) != "":
		return invalid("the script %s", foreign(in.Command))
	case strings.ContainsRune(in.Command, 0):
		return invalid("the script has a NUL character, which no script can hold")
	case len(in.Command) > maxScript:
		return invalid("the script has %d bytes, at most %d are allowed; pass data through stdin, or write a file",
			len(in.Command), maxScript)
	case strings.ContainsRune(strings.Join(in.Args, ""), 0):
		return invalid("args has a NUL character, which no argument can hold; pass it through stdin")
	}
	if err := in.checkFirstLine(); err != nil {
		return err
	}
	return in.execContext.check()
}

// checkFirstLine refuses a #! line that asks for something that the script would not get. Options of languages other
// than shells only change how they work, and most of those read the line themselves.
func (in *scriptArgs) checkFirstLine() error {
	first, _, _ := strings.Cut(in.Command, "\n")
	line, ok := strings.CutPrefix(first, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return nil
	}
	name, options := shebang(words)
	switch {
	case name == "":
	case family(name) != family(in.interpreter()):
		return invalid("the first line asks for %s, but interpreter says %s; set interpreter, or leave the line out", name,
			in.interpreter())
	case len(options) > 0 && shells[in.interpreter()] != nil:
		return invalid("the first line has options (%s), which would not count; write them as a command, such as set "+
			"-e, and leave them out there", strings.Join(options, " "))
	}
	return nil
}

// shebang returns the interpreter that a #! line names, directly or through env, and the options for it.
func shebang(words []string) (name string, options []string) {
	if filepath.Base(words[0]) != "env" {
		return filepath.Base(words[0]), words[1:]
	}
	for i, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return filepath.Base(w), words[i+2:]
		}
	}
	return "", nil
}

// family treats the versions of an interpreter as one, and bash as able to run scripts for sh.
func family(name string) string {
	if name == "sh" {
		return "bash"
	}
	return strings.TrimRight(name, ".0123456789")
}
