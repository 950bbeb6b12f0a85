package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/policy"
)

var ruleNaming = naming{
	lazily(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
	`a rule's name has at most 64 characters, which are letters, digits, ".", "_" and "-"`,
}

// rule reads a rule block. Names are those of the layer's rules so far.
func (f *fields) rule(b *hclsyntax.Block, names seen) policy.Rule {
	name, in := f.named(b, ruleNaming, names)
	out := policy.Rule{
		Name:       name,
		Source:     f.place(b.TypeRange),
		Tools:      in.globs("tools", checkToolGlob, false),
		Hints:      in.hints(),
		Categories: in.words("category", checkLine),
		CostTiers:  in.words("cost_tier", checkCostTier),
		Callers:    in.globs("callers", checkGlob, false),
		Reason:     f.hidden.Hide(in.text("reason", checkLine)),
	}
	before := len(f.mistakes)
	when := in.when()
	if when != nil {
		out.When, out.Names, out.Paths = when.holds, slices.Clone(when.arguments), when.looksAtPaths()
	}
	in.outcome(&out, b)
	if len(f.mistakes) == before {
		in.examples(&out, when)
	}
	in.knownAttrs["match"], in.knownAttrs["not_match"] = true, true
	in.done()
	return out
}

// hints reads what the tool's hints must be.
func (f *fields) hints() policy.Hints {
	return policy.Hints{
		ReadOnly: f.choice("read_only"), Destructive: f.choice("destructive"),
		Idempotent: f.choice("idempotent"), OpenWorld: f.choice("open_world"),
	}
}

// choice reads true or false, nil when there is neither.
func (f *fields) choice(name string) *bool {
	if v, e := f.typed(name, boolKind, func(cty.Value) string { return "write " + name + " = true, without quotes" }); e != nil {
		return new(v.True())
	}
	return nil
}

// declined says whether there is a false.
func (f *fields) declined(name string) bool {
	choice := f.choice(name)
	return choice != nil && !*choice
}

var effects = []string{"allow", "ask", "always_ask", "deny"}

// outcome reads what the rule says: an effect, or commands that it judges.
func (f *fields) outcome(r *policy.Rule, b *hclsyntax.Block) {
	effect, commands := f.oneOf("effect", effects), f.block("commands")
	if commands == nil {
		f.require("effect", `"ask"; the effects are allow, ask, always_ask and deny`, b)
		r.Effect = policy.Effect(effect)
		return
	}
	if f.given["effect"] {
		f.wrong(f.body.Attributes["effect"].NameRange, "a rule with commands has no effect of its own").
			hint("remove it; commands { otherwise = … } says what holds for the commands that are not listed")
	}
	f.commands(r, commands)
}
