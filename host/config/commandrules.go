package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

// A commandJudge gives the effect of a shell command for a rule with a commands block.
type commandJudge struct {
	argument string // which holds the command
	rules    shellcmd.Rules
	always   bool // what is asked about is so always
}

// commands reads the commands block of a rule.
func (f *fields) commands(r *policy.Rule, b *hclsyntax.Block) {
	in := f.open(b.Body, "commands", f.what+", commands")
	j := commandJudge{argument: shelltool.Command, rules: shellcmd.Rules{
		Allow: in.prefixes("allow"), Deny: in.prefixes("deny"),
		ReadOnly: in.boolean("read_only"), Otherwise: in.oneOf("otherwise", effects),
	}}
	if j.rules.Otherwise == string(policy.AlwaysAsk) {
		j.rules.Otherwise, j.always = string(policy.Ask), true
	}
	if a := in.text("argument", checkLine); a != "" {
		j.argument = a
	}
	r.Judge = j.judge
	if !slices.Contains(r.Names, j.argument) {
		r.Names = append(r.Names, j.argument)
	}
	if _, err := j.rules.Check(); err != nil {
		in.wrong(b.DefRange(), "%s", err)
		return
	}
	in.judged("allows", policy.Allow, j)
	in.judged("asks", policy.Ask, j)
	in.judged("denies", policy.Deny, j)
	in.done()
}

// prefixes reads a list of command beginnings, each taken apart at blanks.
func (f *fields) prefixes(name string) [][]string {
	lines, ok := f.texts(name, checkPrefix)
	if !ok {
		return nil
	}
	var out [][]string
	for i, line := range lines {
		out = append(out, strings.Fields(line))
		if name != "allow" {
			continue
		}
		warnings, _ := shellcmd.Rules{Allow: out[i:]}.Check()
		for _, w := range warnings {
			f.warn(itemRange(f.body.Attributes[name].Expr, i), "%s", w).hint("list the sub-commands that are meant")
		}
	}
	return out
}

func checkPrefix(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "write the beginning of a command, such as \"git status\""
	case strings.ContainsAny(s, "\"'`$|&;<>()*?\\\n"):
		return fmt.Sprintf("is %q; a command is listed by its plain first words", brief(s)), "every part of a command line is judged by itself; write the words without quotes, patterns and operators"
	}
	return "", ""
}

// judge looks at the command of a call. A call without one is not spoken of.
func (j commandJudge) judge(q *policy.Query) (policy.Judgement, error) {
	said, err := shelltool.Judge(q, j.argument, j.rules)
	if j.always && said.Effect == policy.Ask {
		said.Effect = policy.AlwaysAsk
	}
	return said, err
}
