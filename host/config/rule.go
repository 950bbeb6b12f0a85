package config

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/config/internal/when"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/sdk"
)

// layerNames are the layers, in the order of Config.Policies. The strictest effect wins, so the order only helps
// readers of a trace.
var layerNames = []string{"system", "user", "project", "profile", "session"}

var layerNaming = hclfile.Naming{
	OK:   func(s string) bool { return slices.Contains(layerNames, s) },
	Rule: "the layers are system, user, project, profile and session",
}

// policies reads the policy blocks of a file into one layer for each name.
func (r *reader) policies(top *hclfile.Body) {
	layers, names := map[string]*policy.Layer{}, map[string]hclfile.Names{}
	for _, b := range top.Blocks("policy") {
		name, _, ok := r.Label(b, layerNaming)
		if !ok {
			name = ""
		}
		if layers[name] == nil {
			layers[name], names[name] = &policy.Layer{Name: name}, hclfile.Names{}
		}
		in := top.Open(b, fmt.Sprintf("policy %q", hclfile.Brief(name)))
		layers[name].Rules = r.rules(in, names[name], layers[name].Rules)
		in.Done()
	}
	for _, name := range layerNames {
		if layers[name] != nil {
			r.config.Policies = append(r.config.Policies, *layers[name])
		}
	}
}

// rules reads the rule blocks in a policy or a profile, and adds them to earlier. Names and earlier are the layer's so
// far.
func (r *reader) rules(in *hclfile.Body, names hclfile.Names, earlier []policy.Rule) []policy.Rule {
	all := slices.Clone(earlier)
	for _, b := range in.Blocks("rule") {
		one := r.rule(in, b, names)
		i := slices.IndexFunc(all, func(e policy.Rule) bool { return covers(e, one) })
		if i >= 0 && one.Effect != all[i].Effect { // of a commands block it is ""
			in.Warn(b.DefRange(), "rule %q decides nothing: rule %q at %s comes first, and matches all of its calls",
				one.Name, all[i].Name, all[i].Source).WithHint("put it before that one, or remove it")
		}
		all = append(all, one)
	}
	return all
}

// covers reports whether the earlier rule matches whatever the other one does. It may miss some such rules, and finds
// no others.
func covers(earlier, rule policy.Rule) bool {
	conditions := earlier.When != nil || earlier.Judge != nil || earlier.Hints != (policy.Hints{}) ||
		len(earlier.Categories)+len(earlier.CostTiers)+len(earlier.Callers) > 0
	if conditions || earlier.Effect == "" || rule.Effect == "" && rule.Judge == nil { // the last two are mistakes
		return false
	}
	covered := func(glob string) bool {
		return slices.ContainsFunc(earlier.Tools, func(e string) bool {
			if e == glob || e == "*" {
				return true
			}
			plain := !strings.ContainsAny(e+glob, `?[\`) // so that matching the pattern itself says something
			plugin, all := strings.CutSuffix(e, "__*")
			matched, err := path.Match(e, glob)
			return plain && err == nil && matched && (!strings.Contains(glob, "*") || all && !strings.Contains(plugin, "*"))
		})
	}
	return len(earlier.Tools) == 0 || slices.Contains(earlier.Tools, "*") ||
		len(rule.Tools) > 0 && !slices.ContainsFunc(rule.Tools, func(g string) bool { return !covered(g) })
}

var (
	rulePattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	ruleNaming  = hclfile.Naming{
		OK:   func(s string) bool { return rulePattern().MatchString(s) },
		Rule: `a rule's name has at most 64 characters, which are letters, digits, ".", "_" and "-"`,
	}
	effects = []string{string(policy.Allow), string(policy.Ask), string(policy.AlwaysAsk), string(policy.Deny)}
)

// rule reads a rule block.
func (r *reader) rule(layer *hclfile.Body, b *hclsyntax.Block, names hclfile.Names) policy.Rule {
	name, in := layer.Named(b, ruleNaming, names)
	out := policy.Rule{
		Name:   name,
		Source: in.Where(),
		Tools:  in.SomeTexts("tools", checkToolGlob),
		Hints: policy.Hints{
			ReadOnly: in.OptionalBool("read_only"), Destructive: in.OptionalBool("destructive"),
			Idempotent: in.OptionalBool("idempotent"), OpenWorld: in.OptionalBool("open_world"),
		},
		Categories: in.TextOrTexts("category", hclfile.CheckLine),
		CostTiers:  in.TextOrTexts("cost_tier", checkCostTier),
		Callers:    in.SomeTexts("callers", checkGlob),
		Reason:     r.Hidden.Hide(in.Text("reason", hclfile.CheckLine)),
	}
	before := r.Count()
	ex := examples{reader: r, in: in, rule: &out}
	if e := in.Expr("when", "a condition"); e != nil {
		if ex.when = r.conditions.Compile(in, e); ex.when != nil {
			out.When, out.Names, out.Paths = ex.when.Holds, ex.when.Arguments(), ex.when.LooksAtPaths()
		}
	}
	effect, commands := in.OneOf("effect", effects), in.Inner("commands")
	if commands == nil {
		in.Require("effect", `"ask"; the effects are allow, ask, always_ask and deny`)
		out.Effect = policy.Effect(effect)
	} else {
		if in.Given("effect") {
			in.Wrong(in.NameRange("effect"), "a rule with commands has no effect of its own").
				WithHint("remove it; commands { otherwise = … } says what holds for the commands that are not listed")
		}
		r.commands(commands, &out)
	}
	if r.Count() == before {
		ex.read("match", true)
		ex.read("not_match", false)
	}
	in.Know("match", "not_match")
	in.Done()
	return out
}

func checkCostTier(s string) (problem, hint string) {
	if slices.Contains(costTiers, s) {
		return "", ""
	}
	return fmt.Sprintf("cannot be %q", hclfile.Brief(s)), hclfile.Suggest(s, costTiers, "the tiers are")
}

func checkGlob(s string) (problem, hint string) {
	if _, err := path.Match(s, ""); err != nil || s == "" {
		return fmt.Sprintf("has the pattern %q, which is not well formed", hclfile.Brief(s)),
			"* stands for any characters, ? for one, [a-c] for one of these"
	}
	return "", ""
}

// checkToolGlob finds patterns that no full name can match.
func checkToolGlob(s string) (problem, hint string) {
	if problem, hint := checkGlob(s); problem != "" {
		return problem, hint
	}
	if strings.ContainsAny(s, "*?[") || strings.Count(s, "__") == 1 {
		return "", ""
	}
	return fmt.Sprintf("is %q, which no tool is called: full names are PLUGIN__TOOL", hclfile.Brief(s)), fullNames(s)
}

// fullNames says what may be meant by a name that is no full one: that of another program, as shell.exec or
// mcp__server__tool, that of a plugin, or that of a tool alone.
func fullNames(s string) string {
	name := strings.TrimPrefix(s, "mcp__")
	at := strings.IndexAny(name, "._/:")
	if at > 0 {
		plugin, tool := name[:at], strings.TrimPrefix(name[at+1:], "_")
		if hclfile.PluginNaming.OK(plugin) && hclfile.ToolNaming.OK(tool) {
			return fmt.Sprintf("write %q", plugin+"__"+tool)
		}
	}
	var hints []string
	if hclfile.PluginNaming.OK(s) {
		hints = append(hints, fmt.Sprintf("%q for all tools of a plugin", s+"__*"))
	}
	if hclfile.ToolNaming.OK(s) {
		hints = append(hints, fmt.Sprintf("%q for the tools of that name", "*__"+s))
	}
	if len(hints) == 0 {
		return "`toolhost discover` lists the names"
	}
	return "write " + strings.Join(hints, ", or ")
}

// A commandJudge returns the effect of a shell command for a rule with a commands block.
type commandJudge struct {
	argument string // the one with the command
	rules    shellcmd.Rules
	always   bool // ask means always_ask
}

// commands reads the commands block of a rule.
func (r *reader) commands(in *hclfile.Body, rule *policy.Rule) {
	j := commandJudge{argument: shelltool.Command, rules: shellcmd.Rules{
		Allow: prefixes(in, "allow"), Deny: prefixes(in, "deny"),
		ReadOnly: in.Bool("read_only"), Otherwise: in.OneOf("otherwise", effects),
	}}
	if j.rules.Otherwise == string(policy.AlwaysAsk) {
		j.rules.Otherwise, j.always = string(policy.Ask), true
	}
	if a := in.Text("argument", hclfile.CheckLine); a != "" {
		j.argument = a
	}
	rule.Judge = j.judge
	if !slices.Contains(rule.Names, j.argument) {
		rule.Names = append(rule.Names, j.argument)
	}
	if _, err := j.rules.Check(); err != nil {
		in.Wrong(in.Header(), "%s", err)
		return
	}
	j.examples(in, "allows", policy.Allow)
	j.examples(in, "asks", policy.Ask)
	j.examples(in, "denies", policy.Deny)
	in.Done()
}

// prefixes reads a list of command beginnings, each split at blanks.
func prefixes(in *hclfile.Body, name string) [][]string {
	lines, ok := in.Texts(name, checkPrefix)
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
			in.Warn(hclfile.ItemRange(in.ExprOf(name), i), "%s", w).WithHint("list the sub-commands that are meant")
		}
	}
	return out
}

func checkPrefix(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "write the beginning of a command, such as \"git status\""
	case strings.ContainsAny(s, "\"'`$|&;<>()*?\\\n"):
		return fmt.Sprintf("is %q; a command is listed by its plain first words", hclfile.Brief(s)),
			"every part of a command line is judged separately; write the words without quotes, patterns and operators"
	}
	return "", ""
}

// judge returns the effect of the command in a call, none for a call without one.
func (j commandJudge) judge(q *policy.Query) (policy.Judgement, error) {
	judged, err := shelltool.Judge(q, j.argument, j.rules)
	if j.always && judged.Effect == policy.Ask {
		judged.Effect = policy.AlwaysAsk
	}
	return judged, err
}

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
