// Package shelltool knows which calls run a shell command, and where: a call of a tool of category "shell" that has a
// command among its arguments. It joins what a policy asks of such a call with what package shellcmd can tell.
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
	"github.com/toolhost/toolhost/sdk/shellcmd"
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
	return judgement(rules.Judge(command, where)), nil
}

// judgement words a verdict in one line, by the part of the command that made it so.
func judgement(v shellcmd.Verdict) policy.Judgement {
	out := policy.Judgement{Effect: policy.Effect(v.Effect)}
	if len(v.Reasons) == 0 {
		return out
	}
	i := max(0, slices.IndexFunc(v.Reasons, func(r shellcmd.Reason) bool { return r.Effect == v.Effect }))
	out.Reason = fmt.Sprintf("%q: %s", shortened(v.Reasons[i].Command), v.Reasons[i].Why)
	if more := len(v.Reasons) - 1; more > 0 {
		out.Reason += fmt.Sprintf(" (and %d more)", more)
	}
	return out
}

// shortened keeps a part of a command to what a line has room for.
func shortened(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
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
	if q.Category != Category || err != nil || !there {
		return nil
	}
	return shellcmd.Prefix(command)
}

// Where tells where a call's command would run and with what, from the arguments beside it, by the names that shell tools
// give them.
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
