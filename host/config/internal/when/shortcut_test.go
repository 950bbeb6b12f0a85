package when

import (
	"fmt"
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

// bothWays evaluates a condition with and without shortcuts, and gives what it comes to.
func bothWays(t *rapid.T) string {
	src := drawTruth(t, maxLoops)
	args := map[string]cty.Value{"a": drawArgument(t), "b": drawArgument(t), "o": drawArgument(t), "l": drawArgument(t)}
	steps := rapid.OneOf(rapid.Just(maxSteps), rapid.IntRange(0, 300)).Draw(t, "steps")
	short, long := conditionOf(t, src), conditionOf(t, src)
	long.expr = lengthen(t, long.expr).(metered)
	m, n := &meter{left: steps}, &meter{left: steps}
	got, err := short.value(&policy.Query{}, args, m)
	want, wantErr := long.value(&policy.Query{}, args, n)
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

// conditionOf makes a condition of any expression, also of one that a file could not have since it gives no truth.
func conditionOf(t *rapid.T, src string) *Condition {
	e, diags := hclsyntax.ParseExpression([]byte(src), "config.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", src, diags)
	}
	file, err := hclfile.New("/config.hcl", []byte(src), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCompiler(file.Scope)
	v, ok := c.vet(e)
	if !ok {
		t.Fatalf("%s: %v", src, file.Err())
	}
	return &Condition{vetted: v, path: "config.hcl", base: &hcl.EvalContext{Functions: c.functions}}
}

func drawTruth(t *rapid.T, depth int) string {
	forms := []string{"%v == %v", "%v != %v", "%v == %v", "args.%n", "matches(\"^[x5]\", %v)", "true", "false"}
	if depth > 0 {
		forms = append(forms, "%t && %t", "%t || %t", "!(%t)", "(%t) == (%t)", "(%t && %t) || %t", "(%t ? %t : %t)",
			"anytrue([for x in args.%n : x == %v || %t])", "(%v) > 4", "matches(\"x\", %t ? %v : %v)", "[%t][0]")
	}
	return fill(t, rapid.SampledFrom(forms).Draw(t, "form"), depth)
}

func drawValue(t *rapid.T, depth int) string {
	forms := []string{
		"args.%n", "args.%n", "args.%n", `args["a"]`, "args.%n.p", "args.%n[0]", `"x"`, `"5"`, `""`, "5", "null",
		`"a longer text of some steps"`,
		`"${args.%n}y"`, `"${args.%n}"`, "lower(args.%n)", `"$${x}"`,
	}
	return fill(t, rapid.SampledFrom(forms).Draw(t, "value"), depth)
}

// fill puts truths for %t, values for %v and names for %n.
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
	case constant:
		e = n.TemplateExpr
	case argumentRef:
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
