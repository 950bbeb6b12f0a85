package when

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
)

// Evaluations with and without shortcuts come to the same value, the same error and the same number of steps.
func TestShortcuts(t *testing.T) {
	values := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			values[bothWays(t)]++
		}
	})
	for _, v := range []string{"cty.True", "cty.False", "cty.UnknownVal(cty.Bool).RefineNotNull()", "error"} {
		if values[v] == 0 {
			t.Errorf("no condition ever gave %s", v)
		}
	}
}

// A usual condition makes no context of HCL's, which has hundreds of allocations, and no garbage that grows with rules.
func TestUsualConditionsAllocateLittle(t *testing.T) {
	q := &policy.Query{Tool: "edit__write", Caller: "cli", Workdir: "/w", Category: "other",
		Arguments: []byte(`{"path":"a/b","paths":["a","b/c"],"command":"git push --force && ls","n":5,"flag":true}`)}
	for src, most := range map[string]float64{
		`args.path == "a/b" && tool != "x" || args.flag`:                        2, // of them texts of the call
		`contains(["x", "a/b"], args.path) && !contains(local.list, args.path)`: 1,
		`startswith(args.path, "a/") && (endswith(args.path, "b") || false)`:    1,
		`args.n > 4 && length(args.paths) < 3`:                                  35, // big numbers, and a walk over the list
		`inside(args.path, "a") && matches("^a", args.path)`:                    8,
		`runs(args.command, ["git push --force", "rm"])`:                        8,
		`anytrue([for p in args.paths : startswith(p, "b/")])`:                  50,
		`anytrue([for p in paths() : inside(p, "a") && p != "x"])`:              80,
	} {
		c := conditionOf(t, src)
		if truth, err := c.Holds(q); err != nil || truth != policy.Yes {
			t.Errorf("%s gives %v and the error %v", src, truth, err)
		}
		if got := testing.AllocsPerRun(100, func() { _, _ = c.Holds(q) }); got > most {
			t.Errorf("%s takes %g allocations, want at most %g", src, got, most)
		}
	}
}

// bothWays evaluates a condition with and without shortcuts, and gives what it comes to.
func bothWays(t *rapid.T) string {
	src := drawCondition(t)
	args := map[string]cty.Value{"a": drawArgument(t), "b": drawArgument(t), "o": drawArgument(t), "l": drawArgument(t)}
	steps := rapid.OneOf(rapid.Just(maxSteps), rapid.IntRange(0, 300)).Draw(t, "steps")
	short, long := conditionOf(t, src), conditionOf(t, src)
	if short == nil {
		return "refused"
	}
	long.expr = lengthen(t, long.expr).(metered)
	m, n := &meter{left: steps}, &meter{left: steps}
	q := &policy.Query{Tool: "p__t", Workdir: "/w", Arguments: []byte(`{"path":"x","paths":["../y","/w/5"]}`)}
	if rapid.Bool().Draw(t, "unread") {
		q.Category, q.Arguments = "shell", []byte(`{"command":"x","interpreter":"python"}`)
	}
	values := func(c *Condition) (out []cty.Value) {
		for _, name := range c.arguments {
			out = append(out, args[name])
		}
		return out
	}
	got, err := short.value(q, values(short), m)
	want, wantErr := long.value(q, values(long), n)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !got.RawEquals(want) {
		t.Fatalf("%s of %#v\ngives %#v and the error %v\nwants %#v and the error %v", src, args, got, err, want, wantErr)
	}
	if m.spent() != n.spent() || !m.spent() && m.left != n.left {
		t.Fatalf("%s of %#v\nleaves %d steps, not %d", src, args, m.left, n.left)
	}
	if err != nil {
		return "error"
	}
	return got.GoString()
}

// failing is a test, also one of rapid.
type failing interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// conditionOf makes a condition of any expression, also of one that a file could not have since it gives no truth. It
// is nil where there are too many loops, or a part that no command has.
func conditionOf(t failing, src string) *Condition {
	e, diags := hclsyntax.ParseExpression([]byte(src), "config.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", src, diags)
	}
	file, err := hclfile.New("/config.hcl", []byte("locals {\n text = \"x\"\n list = [\"x\", \"5\"]\n}\n"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	top := file.Parse()
	top.Locals()
	c := NewCompiler(file.Scope)
	v, ok := c.vet(top, e)
	if !ok && (strings.Contains(file.Err().Error(), "loops inside each other") ||
		strings.Contains(file.Err().Error(), "a command has no")) {
		return nil
	}
	if !ok {
		t.Fatalf("%s: %v", src, file.Err())
	}
	return &Condition{vetted: v, path: "config.hcl", commands: c.commands, base: &hcl.EvalContext{Functions: c.functions,
		Variables: map[string]cty.Value{"local": cty.ObjectVal(v.locals)}}}
}

// drawCondition draws one of which all names are known.
func drawCondition(t *rapid.T) string {
	src := drawTruth(t, maxLoops)
	if e, _ := hclsyntax.ParseExpression([]byte(src), "", hcl.InitialPos); e != nil {
		free := map[string]bool{}
		for _, v := range e.Variables() {
			free[v.RootName()] = true
		}
		if free["x1"] || free["x2"] { // there may be no loop around them: one with another list is drawn
			src = fmt.Sprintf("anytrue([for x1, x2 in [args.b, \"x\"] : %s])", src)
		}
	}
	return src
}

func drawTruth(t *rapid.T, depth int) string {
	forms := []string{"%v == %v", "%v != %v", "%v == %v", "args.%n", "matches(\"^[x5]\", %v)", "true", "false",
		"%v < %v", "%v >= %v", "contains(%l, %v)", "startswith(%v, %v)", "endswith(%v, %v)", "strcontains(%v, %v)",
		"inside(%v, %v)", "runs(%v, %l)", "alltrue(%l)", "anytrue(args.%n...)", "x1 == %v", "x1.p", "x2 == x1"}
	if depth > 0 {
		forms = append(forms, "%t && %t", "%t || %t", "!%t", "(%t) == (%t)", "(%t && %t) || %t", "(%t ? %t : %t)",
			"anytrue([for x1 in args.%n : x1 == %v || %t])", "alltrue([for x1, x2 in %l : %t])", "(%v) > 4",
			"anytrue([for x1 in %l : %t if %t])", "anytrue([for c in commands(%v) : c.name == %v])",
			"anytrue([for x2 in paths() : %t])", "anytrue([for x1 in %l : x1 == \"x\"])",
			"matches(\"x\", %t ? %v : %v)", "[%t][0]")
	}
	return fill(t, rapid.SampledFrom(forms).Draw(t, "form"), depth)
}

func drawValue(t *rapid.T, depth int) string {
	forms := []string{
		"args.%n", "args.%n", "args.%n", `args["a"]`, "args.%n.p", "args.%n[0]", `"x"`, `"5"`, `""`, "5", "null",
		`"a longer text of some steps"`, "tool", "workdir", "local.text", "local.list[0]", "x1", "x2",
		`"${args.%n}y"`, `"${args.%n}"`, "lower(args.%n)", `"$${x}"`, "upper(%w)", "trimspace(args.%n)", "basename(%w)",
		"dirname(args.%n)", "coalesce(args.%n, %w)", "coalesce(%w, args.%n, %w)", "length(args.%n)", "length(%l)",
	}
	return fill(t, rapid.SampledFrom(forms).Draw(t, "value"), depth)
}

func drawList(t *rapid.T, depth int) string {
	forms := []string{"args.%n", "args.%n", `["x", "5"]`, "[%w, %w]", `["x", args.%n]`, "[]", "[true, args.%n]",
		"local.list", "paths()", `commands("x; y 5")`, "[for x2 in args.%n : x2]", `["x", 5]`, `["x", null]`}
	return fill(t, rapid.SampledFrom(forms).Draw(t, "list"), depth)
}

// fill puts truths for %t, values for %v, plain ones for %w, lists for %l and names for %n.
func fill(t *rapid.T, form string, depth int) (out string) {
	for i := 0; i < len(form); i++ {
		if form[i] != '%' {
			out += form[i : i+1]
			continue
		}
		switch i++; form[i] {
		case 't':
			out += "(" + drawTruth(t, depth-1) + ")"
		case 'v':
			out += drawValue(t, depth-1)
		case 'w':
			out += rapid.SampledFrom([]string{`"x"`, `"5"`, "5", "args.a", "null", "x1"}).Draw(t, "plain")
		case 'l':
			out += drawList(t, depth-1)
		case 'n':
			out += rapid.SampledFrom([]string{"a", "b", "o", "l"}).Draw(t, "name")
		}
	}
	return out
}

func drawArgument(t *rapid.T) cty.Value {
	plain := []cty.Value{
		cty.StringVal("x"), cty.StringVal("5"), cty.StringVal("xy"), cty.StringVal(""), cty.StringVal("true"),
		cty.StringVal("a longer text of some steps"),
		cty.NumberIntVal(5), cty.NumberFloatVal(0.5), cty.True, cty.False, cty.NullVal(cty.DynamicPseudoType),
		cty.NullVal(cty.Bool), cty.NullVal(cty.String),
		cty.DynamicVal, cty.UnknownVal(cty.String), cty.UnknownVal(cty.Bool), cty.UnknownVal(cty.String).RefineNotNull(),
		cty.StringVal("x").Mark("m"), cty.True.Mark("m"),
	}
	one := rapid.SampledFrom(plain)
	switch rapid.IntRange(0, 5).Draw(t, "shape") {
	case 0:
		return cty.TupleVal([]cty.Value{one.Draw(t, "item"), one.Draw(t, "item")})
	case 1:
		return cty.ObjectVal(map[string]cty.Value{"p": one.Draw(t, "part")})
	}
	return one.Draw(t, "argument")
}

// lengthen puts the nodes of HCL back for which there are shortcuts.
func lengthen(t *rapid.T, e hclsyntax.Expression) hclsyntax.Expression {
	switch n := e.(type) {
	case metered:
		n.Expression = lengthen(t, n.Expression)
		return n
	case operation:
		e = n.BinaryOpExpr
	case match:
		e = n.FunctionCallExpr
	case pattern:
		e = n.LiteralValueExpr
	case negation:
		e = n.UnaryOpExpr
	case parentheses:
		e = n.ParenthesesExpr
	case call:
		e = n.FunctionCallExpr
	case loop:
		e = n.ForExpr
	case loopRef:
		e = n.ScopeTraversalExpr
	case constant:
		e = n.Expression
	case argumentRef:
		e = n.ScopeTraversalExpr
	case fact:
		e = n.ScopeTraversalExpr
	}
	for _, p := range partsOf(t, e) {
		if *p != nil {
			*p = lengthen(t, *p)
		}
	}
	return e
}

// partsOf are the parts of a node of HCL, in place.
func partsOf(t *rapid.T, e hclsyntax.Expression) []*hclsyntax.Expression {
	switch n := e.(type) {
	case *hclsyntax.BinaryOpExpr:
		return []*hclsyntax.Expression{&n.LHS, &n.RHS}
	case *hclsyntax.FunctionCallExpr:
		return inPlace(n.Args)
	case *hclsyntax.TupleConsExpr:
		return inPlace(n.Exprs)
	case *hclsyntax.TemplateExpr:
		return inPlace(n.Parts)
	case *hclsyntax.ConditionalExpr:
		return []*hclsyntax.Expression{&n.Condition, &n.TrueResult, &n.FalseResult}
	case *hclsyntax.ForExpr:
		return []*hclsyntax.Expression{&n.CollExpr, &n.KeyExpr, &n.ValExpr, &n.CondExpr}
	case *hclsyntax.IndexExpr:
		return []*hclsyntax.Expression{&n.Collection, &n.Key}
	}
	return partOf(t, e)
}

func partOf(t *rapid.T, e hclsyntax.Expression) []*hclsyntax.Expression {
	switch n := e.(type) {
	case *hclsyntax.UnaryOpExpr:
		return []*hclsyntax.Expression{&n.Val}
	case *hclsyntax.ParenthesesExpr:
		return []*hclsyntax.Expression{&n.Expression}
	case *hclsyntax.TemplateWrapExpr:
		return []*hclsyntax.Expression{&n.Wrapped}
	case *hclsyntax.RelativeTraversalExpr:
		return []*hclsyntax.Expression{&n.Source}
	case *hclsyntax.LiteralValueExpr, *hclsyntax.ScopeTraversalExpr:
	default:
		t.Fatalf("no way back from a %T", e)
	}
	return nil
}

func inPlace(parts []hclsyntax.Expression) (out []*hclsyntax.Expression) {
	for i := range parts {
		out = append(out, &parts[i])
	}
	return out
}
