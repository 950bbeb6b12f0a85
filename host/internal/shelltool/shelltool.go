// Package shelltool applies package shellcmd to the calls that run a shell command: those of a tool of category
// "shell" with a command among the arguments. If such a call also names an interpreter, the command is a script for
// that.
package shelltool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/internal/textutil"
)

// Category is the category of tools whose command a shell runs.
const Category = "shell"

// Command is the argument that holds the command.
const Command = "command"

// Judge judges the command in one argument of a call. The judgement of a call without it is empty.
func Judge(q *policy.Query, argument string, rules shellcmd.Rules) (policy.Judgement, error) {
	command, there, err := text(q, argument)
	if err != nil || !there {
		return policy.Judgement{}, err
	}
	where, err := contextOf(q)
	if err != nil {
		return policy.Judgement{}, err
	}
	program, err := foreign(q)
	if err != nil {
		return policy.Judgement{}, err
	}
	if program != "" {
		return unread(program, rules.Judge(textutil.ShellQuoted(program)+" -", where)), nil
	}
	if terminal(q) {
		return onTerminal(rules, command, where), nil
	}
	return judgement(rules.Judge(command, where)), nil
}

// terminal reports whether a call's command runs on a terminal.
func terminal(q *policy.Query) bool {
	raw := string(q.Argument("pty"))
	return raw != "" && raw != "null" && raw != "false"
}

// onTerminal judges a command that runs on a terminal. There even programs that only read start pagers, which their
// configuration names and which run typed input. So only commands that rules list are allowed, and only without
// input.
func onTerminal(rules shellcmd.Rules, command string, where shellcmd.Context) policy.Judgement {
	elsewhere := judgement(rules.Judge(command, where))
	rules.ReadOnly = false
	j := judgement(rules.Judge(command, where))
	switch {
	case elsewhere.Effect == policy.Allow && j.Effect != policy.Allow:
		j.Reason = fmt.Sprintf("%q: on a terminal (pty) it may do more than read", brief(command))
	case where.Stdin && j.Effect == policy.Allow:
		j = policy.Judgement{Effect: policy.Ask,
			Reason: fmt.Sprintf("%q: what is typed into its terminal (stdin) is not looked into", brief(command))}
	}
	return j
}

// foreign returns the interpreter of a call whose command is no shell script, else "".
func foreign(q *policy.Query) (string, error) {
	program, _, err := text(q, "interpreter")
	if program == "bash" || program == "sh" {
		return "", err
	}
	return program, err
}

// Unread reports the call of a shell tool with a script for another interpreter, which is not parsed.
func Unread(q *policy.Query) bool {
	if q.Category != Category {
		return false
	}
	program, err := foreign(q)
	return program != "" || err != nil
}

// unread is the judgement of a script in a language that is not parsed: that of its interpreter, and at least ask,
// even where a rule allows every use of the program.
func unread(program string, v shellcmd.Verdict) policy.Judgement {
	j := judgement(v)
	if j.Effect == policy.Allow {
		j = policy.Judgement{Effect: policy.Ask,
			Reason: fmt.Sprintf("%q: it runs code that is not looked into", brief(program))}
	}
	return j
}

// judgement explains a verdict in one line, by the part of the command that caused it.
func judgement(v shellcmd.Verdict) policy.Judgement {
	out := policy.Judgement{Effect: policy.Effect(v.Effect)}
	if len(v.Reasons) == 0 {
		return out
	}
	i := max(0, slices.IndexFunc(v.Reasons, func(r shellcmd.Reason) bool { return r.Effect == v.Effect }))
	out.Reason = fmt.Sprintf("%q: %s", brief(v.Reasons[i].Command), v.Reasons[i].Why)
	if more := len(v.Reasons) - 1; more > 0 {
		out.Reason += fmt.Sprintf(" (and %d more)", more)
	}
	return out
}

// Allows reports whether these token prefixes cover every part of the call's command.
func Allows(q *policy.Query, prefixes [][]string) bool {
	if q.Category != Category {
		return false
	}
	j, err := Judge(q, Command, shellcmd.Rules{Allow: prefixes})
	return err == nil && j.Effect == policy.Allow
}

// Prefix returns the beginning of the call's command that a person can allow permanently, or nil.
func Prefix(q *policy.Query) []string {
	if q.Category != Category {
		return nil
	}
	command, there, err := text(q, Command)
	program, wrong := foreign(q)
	if err != nil || !there || wrong != nil || program != "" {
		return nil
	}
	return shellcmd.Prefix(command)
}

// contextOf returns the folder, input and environment of a call's command, from the other arguments, by the names that
// shell tools use.
func contextOf(q *policy.Query) (shellcmd.Context, error) {
	dir, _, wrongDir := text(q, "workdir")
	input, _, wrongInput := text(q, "stdin")
	environ, wrongEnviron := environment(q)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(q.Workdir, dir)
	}
	c := shellcmd.Context{Dir: filepath.Clean(dir), Root: q.Workdir, Env: environ, Stdin: input != "" || wrongInput != nil}
	return c, errors.Join(wrongDir, wrongEnviron)
}

// environment returns the names of the variables that the call adds.
func environment(q *policy.Query) ([]string, error) {
	raw := q.Argument("env")
	if len(raw) == 0 {
		return nil, nil
	}
	var environ map[string]json.RawMessage
	if json.Unmarshal(raw, &environ) != nil {
		return nil, errors.New(`the argument "env" is not an object`)
	}
	return slices.Sorted(maps.Keys(environ)), nil
}

// text returns an argument that must be a string if it is there.
func text(q *policy.Query, name string) (out string, there bool, err error) {
	raw := q.Argument(name)
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	if plain, ok := rawjson.ASCII(raw); ok {
		return string(plain), true, nil
	}
	var decoded string // a variable of its own, since it is allocated
	if json.Unmarshal(raw, &decoded) != nil {
		return "", false, fmt.Errorf("the argument %q is not a string", name)
	}
	return decoded, true, nil
}

// brief is the start of a command for a message.
func brief(s string) string { return textutil.CutRunes(s, 80, "…") }

// Catastrophe says why a call's command would destroy the machine, a home folder or a disk, "" if it would not as far
// as it can be parsed; given is what the operator adds to the environment of the plugin. It covers shell tools, and the
// arguments "command", "cmd" and "script" of all tools that may change something.
func Catastrophe(q *policy.Query, given map[string]string) string {
	if q.Category != Category && q.Hints.ReadOnly != nil && *q.Hints.ReadOnly {
		return ""
	}
	where, err := contextOf(q)
	if err != nil { // which the rules report
		where = shellcmd.Context{Dir: q.Workdir, Root: q.Workdir}
	}
	where.Given = given
	program, _ := foreign(q)
	for _, name := range []string{Command, "cmd", "script"} {
		line := commandLine(q.Argument(name))
		if line == "" {
			continue
		}
		if program != "" {
			line = textutil.ShellQuoted(program) + " -c " + textutil.ShellQuoted(line)
		}
		if why := shellcmd.Catastrophe(line, where); why != "" {
			return why
		}
		if input, _, _ := text(q, "stdin"); input != "" && readsCommands().MatchString(line) {
			if why := shellcmd.Catastrophe(input, where); why != "" {
				return why
			}
		}
	}
	return ""
}

// readsCommands matches a command that may run its input.
var readsCommands = lazy.Regexp(`\b(ba|da|z|k|mk|a|fi|c|tc)?sh\b`)

// commandLine is a command as a shell would read it: text, or a list of words.
func commandLine(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var line string
	if json.Unmarshal(raw, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return ""
	}
	for i, w := range words {
		words[i] = textutil.ShellQuoted(w)
	}
	return strings.Join(words, " ")
}
