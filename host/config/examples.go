package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/config/internal/when"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// examples checks the examples of a rule: its condition must be true for the calls listed in match, and for none of
// those in not_match.
type examples struct {
	*reader
	in   *hclfile.Body
	rule *policy.Rule
	when *when.Condition // nil: the rule has none
}

// read checks the examples in an attribute, which must match the rule if matching is wanted.
func (x *examples) read(name string, wanted bool) {
	k := hclfile.Kind{Words: "a list of commands and objects of arguments", Is: hclfile.ListKind.Is}
	v, e := x.in.Typed(name, k, func(cty.Value) string {
		return "write " + name + ` = ["a command", { path = "an argument" }]`
	})
	if e == nil {
		return
	}
	for i, item := range v.AsValueSlice() {
		what, at := fmt.Sprintf("item %d of %s", i+1, name), hclfile.ItemRange(e, i)
		arguments := jsonOf(item)
		switch {
		case hclfile.TextKind.Is(item):
			arguments = map[string]any{"command": item.AsString()}
		case !hclfile.ObjectKind.Is(item):
			x.in.Wrong(at, "%s must be an object of arguments or a command, not %s", what, hclfile.KindOf(item)).
				WithHint(`write { path = "…" }, or "…" for { command = "…" }`)
			continue
		}
		truth, err := policy.Yes, error(nil)
		if x.when != nil {
			truth, err = x.conditions.Try(x.when, exampleQuery(arguments, x.rule.Tools))
		}
		matched := truth == policy.Yes || truth == policy.Unsure && x.rule.Effect != policy.Allow
		switch {
		case err != nil:
			x.in.Wrong(at, "%s: the condition fails: %s", what, err)
		case matched && !wanted:
			x.in.Wrong(at, "%s matches the rule: %s", what, x.reason(truth)).WithHint("change the rule or the example")
		case !matched && wanted:
			x.in.Wrong(at, "%s does not match the rule: %s", what, x.reason(truth)).WithHint("change the rule or the example")
		}
	}
}

func (x *examples) reason(t policy.Truth) string {
	switch {
	case x.when == nil:
		return "it has no condition"
	case t == policy.Yes:
		return "its condition holds"
	case t == policy.Unsure:
		return "whether its condition holds is only known when the call runs"
	}
	return "its condition does not hold"
}

// exampleQuery is a call of the first tool of the rule, with a letter where its pattern has a wildcard.
func exampleQuery(arguments any, tools []string) *policy.Query {
	tool := "shell__exec"
	if len(tools) > 0 {
		tool = strings.NewReplacer("*", "x", "?", "x").Replace(tools[0])
	}
	plugin, _, _ := strings.Cut(tool, "__")
	return &policy.Query{Tool: tool, Plugin: plugin, Arguments: sdk.Encode(arguments), Workdir: "/workspace"}
}

// examples checks that the commands in an attribute get the effect.
func (j commandJudge) examples(in *hclfile.Body, name string, effect policy.Effect) {
	lines, ok := in.Texts(name, hclfile.CheckArgument)
	if !ok {
		return
	}
	for i, line := range lines {
		judged, err := j.judge(exampleQuery(map[string]any{j.argument: line}, nil))
		if err == nil && (judged.Effect == effect || effect == policy.Ask && judged.Effect.Asks()) {
			continue
		}
		why := cmp.Or(judged.Reason, "no reason is given")
		if err != nil {
			why = err.Error()
		}
		in.Wrong(hclfile.ItemRange(in.ExprOf(name), i), "item %d of %s comes out as %s: %s", i+1, name, judged.Effect, why).
			WithHint("change the lists or the example")
	}
}
