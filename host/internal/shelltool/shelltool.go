// Package shelltool knows which calls run a shell command, and where: a call of a tool of category "shell" that has a
// command among its arguments. When such a call also names an interpreter, the command is the text of a script for
// that. It joins what a policy asks of such a call with what package shellcmd can tell.
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
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/internal/textutil"
)

// Category is that of tools whose command a shell reads.
const Category = "shell"

// Command is the argument that holds the command.
const Command = "command"

// Judge judges the command in one argument of a call; a call without it gets no judgement.
func Judge(q *policy.Query, argument string, rules shellcmd.Rules) (policy.Judgement, error) {
	command, there, err := text(q, argument)
	if err != nil || !there {
		return policy.Judgement{}, err
	}
	where, err := Where(q)
	if err != nil {
		return policy.Judgement{}, err
	}
	program, err := foreign(q)
	if err != nil {
		return policy.Judgement{}, err
	}
	if program != "" {
		return unread(program, rules.Judge(quoted(program)+" -", where)), nil
	}
	if terminal(q) {
		return onTerminal(rules, command, where), nil
	}
	return judgement(rules.Judge(command, where)), nil
}

// terminal says that a call's command runs on a terminal.
func terminal(q *policy.Query) bool {
	raw := string(q.Argument("pty"))
	return raw != "" && raw != "null" && raw != "false"
}

// onTerminal judges a command that runs on a terminal. There programs that else only read start pagers and others,
// which their configuration names and which run what is typed. So only what rules list is allowed, and only without
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

// foreign names the interpreter of a call whose command is no text for a shell, else "".
func foreign(q *policy.Query) (string, error) {
	program, _, err := text(q, "interpreter")
	if program == "bash" || program == "sh" {
		return "", err
	}
	return program, err
}

// Unread says that the call of a shell tool brings a script that is no text for a shell: nothing is known of it.
func Unread(q *policy.Query) bool {
	if q.Category != Category {
		return false
	}
	program, err := foreign(q)
	return program != "" || err != nil
}

// quoted makes one word of a text, for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// unread is the judgement of a script in a language that is not looked into: that of its interpreter, to which all may
// be given to run. So it is at least ask, even where a rule allows whatever the program does.
func unread(program string, v shellcmd.Verdict) policy.Judgement {
	j := judgement(v)
	if j.Effect == policy.Allow {
		j = policy.Judgement{Effect: policy.Ask,
			Reason: fmt.Sprintf("%q: it runs code that is not looked into", brief(program))}
	}
	return j
}

// judgement words a verdict in one line, by the part of the command that made it so.
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

// Allows says whether these token prefixes cover every part of the call's command.
func Allows(q *policy.Query, prefixes [][]string) bool {
	if q.Category != Category {
		return false
	}
	j, err := Judge(q, Command, shellcmd.Rules{Allow: prefixes})
	return err == nil && j.Effect == policy.Allow
}

// Prefix gives the beginning of the call's command that a person can allow for good, or nil.
func Prefix(q *policy.Query) []string {
	command, there, err := text(q, Command)
	program, wrong := foreign(q)
	if q.Category != Category || err != nil || !there || wrong != nil || program != "" {
		return nil
	}
	return shellcmd.Prefix(command)
}

// Where tells where a call's command would run and with what, from the arguments beside it, by the names that shell
// tools give them.
func Where(q *policy.Query) (shellcmd.Context, error) {
	dir, _, wrongDir := text(q, "workdir")
	input, _, wrongInput := text(q, "stdin")
	environ, wrongEnviron := environment(q)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(q.Workdir, dir)
	}
	c := shellcmd.Context{Dir: filepath.Clean(dir), Root: q.Workdir, Env: environ, Stdin: input != "" || wrongInput != nil}
	return c, errors.Join(wrongDir, wrongEnviron)
}

// environment gives the names of the variables that the command gets besides.
func environment(q *policy.Query) ([]string, error) {
	var environ map[string]json.RawMessage
	if raw := q.Argument("env"); len(raw) > 0 && json.Unmarshal(raw, &environ) != nil {
		return nil, errors.New(`the argument "env" is not an object`)
	}
	return slices.Sorted(maps.Keys(environ)), nil
}

// text gives an argument that must be text if it is there.
func text(q *policy.Query, name string) (out string, there bool, err error) {
	raw := q.Argument(name)
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	if json.Unmarshal(raw, &out) != nil {
		return "", false, fmt.Errorf("the argument %q is not a string", name)
	}
	return out, true, nil
}

// brief is the start of a command for a message.
func brief(s string) string { return textutil.CutRunes(s, 80, "…") }
