package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/policy"
)

// exampleDir is the work folder of the calls in examples.
const exampleDir = "/workspace"

// examples checks that a rule's condition holds for the calls listed in match, and not for those in not_match.
func (f *fields) examples(r *policy.Rule, when *condition) {
	f.examplesIn("match", true, r, when)
	f.examplesIn("not_match", false, r, when)
}

func (f *fields) examplesIn(name string, wanted bool, r *policy.Rule, when *condition) {
	v, e := f.typed(name, listKind, func(cty.Value) string { return "write " + name + ` = ["a command", { path = "an argument" }]` })
	if e == nil {
		return
	}
	for i, item := range v.AsValueSlice() {
		f.example(exampleOf{fmt.Sprintf("item %d of %s", i+1, name), itemRange(e, i), wanted}, item, r, when)
	}
}

// An exampleOf is a call of which people say what a rule makes of it.
type exampleOf struct {
	what   string
	at     hcl.Range
	wanted bool
}

func (f *fields) example(x exampleOf, v cty.Value, r *policy.Rule, when *condition) {
	q, ok := f.exampleCall(x, v, r)
	if !ok {
		return
	}
	truth, err := policy.Yes, error(nil)
	if when != nil {
		f.spend(func(m *meter) { truth, err = when.ask(q, m) })
	}
	matched := truth == policy.Yes || truth == policy.Unsure && r.Effect != policy.Allow
	switch {
	case err != nil:
		f.wrong(x.at, "%s: the condition fails: %s", x.what, err)
	case matched && !x.wanted:
		f.wrong(x.at, "%s matches the rule: %s", x.what, truthWords(truth, when)).hint("change the rule or the example")
	case !matched && x.wanted:
		f.wrong(x.at, "%s does not match the rule: %s", x.what, truthWords(truth, when)).hint("change the rule or the example")
	}
}

func truthWords(t policy.Truth, when *condition) string {
	switch {
	case when == nil:
		return "it has no condition"
	case t == policy.Yes:
		return "its condition holds"
	case t == policy.Unsure:
		return "whether its condition holds is only known when the call runs"
	}
	return "its condition does not hold"
}

// exampleCall makes a call of an example: an object of arguments, or a string for {command = "…"}.
func (f *fields) exampleCall(x exampleOf, v cty.Value, r *policy.Rule) (*policy.Query, bool) {
	arguments := plain(v)
	switch {
	case textKind.is(v):
		arguments = map[string]any{"command": v.AsString()}
	case !objectKind.is(v):
		f.wrong(x.at, "%s must be an object of arguments or a command, not %s", x.what, kindOf(v)).
			hint(`write { path = "…" }, or "…" for { command = "…" }`)
		return nil, false
	}
	return exampleQuery(arguments, r.Tools), true
}

// exampleQuery names the first tool of the rule, with a word where its pattern has none.
func exampleQuery(arguments any, tools []string) *policy.Query {
	tool := "shell__exec"
	if len(tools) > 0 {
		tool = strings.NewReplacer("*", "x", "?", "x").Replace(tools[0])
	}
	plugin, _, _ := strings.Cut(tool, "__")
	return &policy.Query{Tool: tool, Plugin: plugin, Arguments: encode(arguments), Workdir: exampleDir}
}

// judged checks that a rule's commands get the effect that is claimed of them.
func (f *fields) judged(name string, effect policy.Effect, j commandJudge) {
	lines, ok := f.texts(name, checkAny)
	if !ok {
		return
	}
	for i, line := range lines {
		said, err := j.judge(exampleQuery(map[string]any{j.argument: line}, nil))
		if err == nil && (said.Effect == effect || effect == policy.Ask && said.Effect.Asks()) {
			continue
		}
		why := cmp.Or(said.Reason, "no reason is given")
		if err != nil {
			why = err.Error()
		}
		f.wrong(itemRange(f.body.Attributes[name].Expr, i), "item %d of %s comes out as %s: %s", i+1, name, said.Effect, why).
			hint("change the lists or the example")
	}
}
