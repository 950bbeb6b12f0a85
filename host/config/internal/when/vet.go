package when

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
	"github.com/toolhost/toolhost/internal/textutil"
)

// maxLoops bounds loops inside loops.
const maxLoops = 2

// vetted is an expression that uses only what conditions may, with its constants evaluated and a meter on each part.
type vetted struct {
	expr        metered
	plain       plainTest // nil when the expression is about more than texts
	arguments   []string  // that it names, sorted
	words       []string  // of tool, caller and workdir, those that it needs
	locals, env map[string]cty.Value
	functions   map[string]function.Function
	paths       bool // it calls inside or paths
}

// vet checks that an expression of a rule uses only what conditions may. It is false, and reports why, when it does
// not.
func (c *Compiler) vet(rule *hclfile.Body, e hclsyntax.Expression) (*vetted, bool) {
	before := c.Count()
	v := &vetting{Compiler: c, rule: rule, out: &vetted{locals: map[string]cty.Value{}, env: map[string]cty.Value{},
		functions: c.functions}}
	_ = hclsyntax.Walk(e, v)
	if v.operators > hclfile.MaxOperators {
		c.Add(e.Range(), "more than %d operators in one expression",
			hclfile.MaxOperators).WithHint("make several rules of it")
	}
	for _, t := range e.Variables() {
		v.reference(t)
	}
	if c.Count() > before {
		return nil, false
	}
	slices.Sort(v.out.arguments)
	v.out.expr = v.out.meterParts(e)
	for _, change := range v.later {
		change()
	}
	v.out.plain = compilePlain(v.out.expr)
	if v.out.paths {
		v.out.words = append(v.out.words, "workdir")
	}
	return v.out, true
}

// vetting walks over an expression.
type vetting struct {
	*Compiler
	rule             *hclfile.Body
	out              *vetted
	operators, loops int
	later            []func() // changes of the expression, made after the walk
}

// Enter looks at a node.
func (v *vetting) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n := n.(type) {
	case *hclsyntax.BinaryOpExpr:
		v.operators++
		v.comparison(n)
	case *hclsyntax.UnaryOpExpr, *hclsyntax.ConditionalExpr:
		v.operators++
	case *hclsyntax.LiteralValueExpr:
		v.Number(n)
	case *hclsyntax.FunctionCallExpr:
		v.call(n)
	case *hclsyntax.ForExpr:
		v.loop(n)
	case *hclsyntax.SplatExpr:
		v.Add(n.Range(), "splats cannot be used here").WithHint("write [for x in LIST : x.NAME]")
	case *hclsyntax.TemplateJoinExpr:
		v.Add(n.Range(), "loops in a string cannot be used here").WithHint(`write join(",", [for x in LIST : x])`)
	default:
		v.Allowed(n)
	}
	return nil
}

// Exit leaves a node.
func (v *vetting) Exit(n hclsyntax.Node) hcl.Diagnostics {
	if _, loop := n.(*hclsyntax.ForExpr); loop {
		v.loops--
	}
	return nil
}

// parts reports what no command has: the condition would fail for each one.
func (v *vetting) parts(n *hclsyntax.ForExpr, used []hcl.Traversal) {
	if of, ok := n.CollExpr.(*hclsyntax.FunctionCallExpr); !ok || of.Name != "commands" {
		return
	}
	parts := slices.Sorted(maps.Keys(commandValue(shellcmd.Command{}).Type().AttributeTypes()))
	for _, t := range used {
		if name := hclfile.SecondName(t); t.RootName() == n.ValVar && name != "" && !slices.Contains(parts, name) {
			v.Add(t.SourceRange(), "a command has no %q", hclfile.Brief(name)).Hint = hclfile.Suggest(name, parts, "parts")
		}
	}
}

// roots are the words that references can begin with.
var roots = []string{"args", "caller", "env", "local", "tool", "workdir"}

func (v *vetting) loop(n *hclsyntax.ForExpr) {
	if v.loops++; v.loops > maxLoops {
		v.Add(n.Range(), "more than %d loops inside each other", maxLoops).WithHint("make several rules of it")
	}
	for _, e := range []hclsyntax.Expression{n.KeyExpr, n.ValExpr, n.CondExpr} {
		if e != nil {
			v.parts(n, e.Variables())
		}
	}
	for _, name := range []string{n.KeyVar, n.ValVar} {
		if slices.Contains(roots, name) {
			v.Add(n.OpenRange, "a loop cannot call its items %q, which means something already",
				name).WithHint("use another name")
		}
	}
	if n.KeyVar == n.ValVar {
		v.Add(n.OpenRange, "a loop cannot call both the places and the items of a list %q", n.KeyVar).
			WithHint("use two names")
	}
}

// comparison reports a list that is compared with another value: never equal, so that a rule to deny would not match.
func (v *vetting) comparison(n *hclsyntax.BinaryOpExpr) {
	if n.Op != hclsyntax.OpEqual && n.Op != hclsyntax.OpNotEqual {
		return
	}
	v.pathText(n, n.LHS, n.RHS)
	one, known := isList(n.LHS)
	other, both := isList(n.RHS)
	if known && both && one != other {
		v.Add(n.Range(), "a list is never equal to a single value").WithHint("write contains(LIST, VALUE)")
	}
}

// pathText warns of a path that is compared as text, which may name it in many ways.
func (v *vetting) pathText(n hclsyntax.Node, one, other hclsyntax.Expression) {
	for _, pair := range [][2]hclsyntax.Expression{{one, other}, {other, one}} {
		part := pair[0]
		if c, is := part.(*hclsyntax.FunctionCallExpr); is && (c.Name == "lower" || c.Name == "upper") && len(c.Args) == 1 {
			part = c.Args[0]
		}
		t, _ := part.(*hclsyntax.ScopeTraversalExpr)
		with, _ := pair[1].(*hclsyntax.LiteralValueExpr) // texts are templates
		if t == nil || with != nil && with.Val.IsNull() || len(t.Traversal) != 2 || t.Traversal.RootName() != "args" {
			continue
		}
		if a, is := t.Traversal[1].(hcl.TraverseAttr); is && (a.Name == "path" || a.Name == "paths") {
			v.rule.Warn(n.Range(), "args.%s is compared as text, but x, ./x and a/../x are one path", a.Name).
				WithHint(`write inside(args.path, FOLDER), or anytrue([for p in paths() : …]), whose texts are without . and ..`)
		}
	}
}

// isAnchored reports whether an expression is a pattern for the beginning of a text.
func isAnchored(e hclsyntax.Expression) bool {
	v, _ := e.Value(nil) // of a plain text alone
	return v.IsKnown() && hclfile.TextKind.Is(v) && strings.HasPrefix(v.AsString(), "^")
}

// lists are the functions that return lists.
var lists = []string{"commands", "concat", "distinct", "flatten", "keys", "paths", "split", "values"}

// isList reports whether the value of an expression is a list; known is false if that depends on the call.
func isList(e hclsyntax.Expression) (is, known bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return isList(e.Expression)
	case *hclsyntax.TupleConsExpr:
		return true, true
	case *hclsyntax.FunctionCallExpr:
		is = slices.Contains(lists, e.Name)
		return is, is
	case *hclsyntax.LiteralValueExpr:
		return false, !e.Val.IsNull()
	case *hclsyntax.TemplateExpr:
		return false, true
	case *hclsyntax.ScopeTraversalExpr:
		return false, slices.Contains([]string{"tool", "caller", "workdir"}, e.Traversal.RootName())
	}
	return false, false
}

// reference resolves local.NAME and env.NAME, and notes what else the condition refers to.
func (v *vetting) reference(t hcl.Traversal) {
	switch root := t.RootName(); root {
	case "args":
		v.argument(t)
	case "tool", "caller", "workdir":
		v.out.words = append(v.out.words, root)
		if len(t) > 1 {
			v.Add(t.SourceRange(), "%s is a string and has no parts", root).WithHint("write %s", root)
		}
	case "local", "env":
		v.Resolve(t, map[string]map[string]cty.Value{"local": v.out.locals, "env": v.out.env})
	default:
		v.unknown(t)
	}
}

func (v *vetting) argument(t hcl.Traversal) {
	name := hclfile.SecondName(t)
	switch {
	case name == "":
		v.Add(t.SourceRange(), "args needs a name after it").WithHint("write args.NAME; a rule uses the arguments that " +
			"it names, not at all of them")
	case !slices.Contains(v.out.arguments, name):
		v.out.arguments = append(v.out.arguments, name)
	}
}

func (v *vetting) unknown(t hcl.Traversal) {
	root := t.RootName()
	m := v.Add(t[0].SourceRange(), "unknown name %q", hclfile.Brief(root))
	switch n := textutil.Nearest(root, append(roots, "false", "null", "true")); {
	case n != "":
		m.WithHint("did you mean %s?", n)
	case len(t) == 1:
		m.WithHint("an argument of the call is args.%s, and text needs quotes: %q", hclfile.Brief(root), hclfile.Brief(root))
	default:
		m.WithHint("there are args.NAME, tool, caller, workdir, local.NAME and env.NAME")
	}
}

// elsewhere says what to use instead of functions that other HCL dialects have.
var elsewhere = map[string]string{
	"can": "an expression that fails must not count as false: a deny rule would let the call through. What may " +
		"be absent can be compared with null",
	"try": "an expression that fails must not count as something else: a deny rule would let the call through. " +
		"Use coalesce or lookup for what may be absent",
	"format":     "write a string with ${…} in it",
	"regex":      "write matches(PATTERN, TEXT)",
	"regexall":   "write matches(PATTERN, TEXT)",
	"replace":    "write matches(PATTERN, TEXT) to look for something",
	"jsondecode": "arguments are values already",
	"file":       "rules read no files",
}

// call reports a function that does not exist or is called with the wrong number of arguments.
func (v *vetting) call(n *hclsyntax.FunctionCallExpr) {
	f, there := v.functions[n.Name]
	switch n.Name {
	case "inside":
		v.out.paths, there, f = true, true, insideFunction("")
	case "paths":
		v.out.paths, there, f = true, true, pathsFunction(&policy.Query{})
	}
	if !there {
		v.missing(n)
		return
	}
	least, most := len(f.Params()), len(f.Params())
	if f.VarParam() != nil {
		most = len(n.Args)
	}
	if !n.ExpandFinal && (len(n.Args) < least || len(n.Args) > most) {
		v.Add(n.Range(), "%s does not take %s", n.Name, textutil.Count(len(n.Args), "argument")).WithHint("write %s",
			usage[n.Name])
		return
	}
	compares := n.Name == "startswith" || n.Name == "contains" || n.Name == "matches" && isAnchored(n.Args[0])
	if compares && len(n.Args) == 2 { // not where a list is expanded
		v.pathText(n, n.Args[0], n.Args[1])
	}
	if n.Name == "matches" {
		v.pattern(n)
	}
}

// missing reports a function that does not exist.
func (v *vetting) missing(n *hclsyntax.FunctionCallExpr) {
	if n.Name == "env" {
		v.Add(n.NameRange, "env(…) cannot be called here").WithHint(`give it a name outside: locals { a = env("NAME", ` +
			`"default") }, and write local.a here`)
		return
	}
	v.Add(n.NameRange, "unknown function %q", hclfile.Brief(n.Name)).Hint = cmp.Or(elsewhere[n.Name],
		hclfile.Suggest(n.Name, Functions(), "functions"))
}

// pattern compiles the pattern of matches, which must not come from the call: its author must not choose what is
// searched for.
func (v *vetting) pattern(n *hclsyntax.FunctionCallExpr) {
	e := n.Args[0]
	foreign := func(t hcl.Traversal) bool { return t.RootName() != "local" && t.RootName() != "env" }
	if n.ExpandFinal || slices.ContainsFunc(e.Variables(), foreign) {
		v.Add(e.Range(), "the pattern of matches must be written in the file").WithHint("write %s, with the pattern first",
			usage["matches"])
		return
	}
	value, ok := v.Eval(e)
	if !ok {
		return
	}
	if !hclfile.TextKind.Is(value) {
		v.Add(e.Range(), "the pattern of matches must be a string, not %s", hclfile.KindOf(value)).WithHint("write %s",
			usage["matches"])
		return
	}
	work, problem, hint := v.patterns.compile(value.AsString())
	if problem != "" {
		v.Add(e.Range(), "this pattern %s", problem).Hint = hint
		return
	}
	v.later = append(v.later, func() {
		text := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(value.AsString()), SrcRange: e.Range()}
		n.Args[0] = pattern{text, v.patterns[value.AsString()]}
		n.Args[1] = metered{Expression: n.Args[1], factor: work}
	})
}
