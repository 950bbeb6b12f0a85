package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxLoops is how deep loops may stand in each other.
const maxLoops = 2

// vetted is a condition that uses nothing but what conditions may, with its constants worked out.
type vetted struct {
	expr        metered
	arguments   []string // that it names, sorted
	words       []string // of tool, caller and workdir, those that it names
	locals, env map[string]cty.Value
	paths       bool // it calls inside or paths
}

// vet makes sure that an expression is fit to be a condition. It is false, and says why, when it is not.
func (s *scope) vet(e hclsyntax.Expression) (*vetted, bool) {
	before := len(s.mistakes)
	v := &vetting{scope: s, out: &vetted{locals: map[string]cty.Value{}, env: map[string]cty.Value{}}}
	s.functions()
	_ = hclsyntax.Walk(e, v)
	if v.operators > maxOperators {
		s.add(e.Range(), "more than %d operators in one expression", maxOperators).hint("make several rules of it")
	}
	for _, t := range e.Variables() {
		v.reference(t)
	}
	if len(s.mistakes) > before {
		return nil, false
	}
	v.out.expr = meterParts(e)
	for _, change := range v.later {
		change()
	}
	slices.Sort(v.out.arguments)
	return v.out, true
}

// vetting walks over an expression.
type vetting struct {
	*scope
	out              *vetted
	operators, loops int
	later            []func() // changes of the expression, once nobody walks over it
}

// Enter looks at a node.
func (v *vetting) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n := n.(type) {
	case *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.ConditionalExpr:
		v.operators++
	case *hclsyntax.LiteralValueExpr:
		v.number(n)
	case *hclsyntax.FunctionCallExpr:
		v.call(n)
	case *hclsyntax.ForExpr:
		v.loop(n)
	case *hclsyntax.SplatExpr:
		v.add(n.Range(), "splats cannot be used here").hint("write [for x in LIST : x.NAME]")
	case *hclsyntax.TemplateJoinExpr:
		v.add(n.Range(), "loops in a string cannot be used here").hint(`write join(",", [for x in LIST : x])`)
	default:
		v.allowed(n)
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

// roots are the words that references can begin with.
var roots = []string{"args", "caller", "env", "local", "tool", "workdir"}

func (v *vetting) loop(n *hclsyntax.ForExpr) {
	if v.loops++; v.loops > maxLoops {
		v.add(n.Range(), "more than %d loops inside each other", maxLoops).hint("make several rules of it")
	}
	for _, name := range []string{n.KeyVar, n.ValVar} {
		if slices.Contains(roots, name) {
			v.add(n.OpenRange, "a loop cannot call its items %q, which means something already", name).hint("use another name")
		}
	}
}

// reference finds out what a reference is about. What only conditions have is left for the evaluation.
func (v *vetting) reference(t hcl.Traversal) {
	switch root := t.RootName(); root {
	case "args":
		v.argument(t)
	case "tool", "caller", "workdir":
		v.out.words = append(v.out.words, root)
		if len(t) > 1 {
			v.add(t.SourceRange(), "%s is a string and has no parts", root).hint("write %s", root)
		}
	case "local", "env":
		v.find(t, map[string]map[string]cty.Value{"local": v.out.locals, "env": v.out.env})
	default:
		v.stranger(t)
	}
}

func (v *vetting) argument(t hcl.Traversal) {
	name := secondName(t)
	switch {
	case name == "":
		v.add(t.SourceRange(), "args needs a name after it").hint("write args.NAME; a rule looks at the arguments that it names, not at all of them")
	case !slices.Contains(v.out.arguments, name):
		v.out.arguments = append(v.out.arguments, name)
	}
}

func (v *vetting) stranger(t hcl.Traversal) {
	root := t.RootName()
	m := v.add(t[0].SourceRange(), "there is nothing called %q here", brief(root))
	switch n := near(root, append(roots, "false", "null", "true")); {
	case n != "":
		m.hint("did you mean %s?", n)
	case len(t) == 1:
		m.hint("an argument of the call is args.%s, and text needs quotes: %q", brief(root), brief(root))
	default:
		m.hint("there are args.NAME, tool, caller, workdir, local.NAME and env.NAME")
	}
}
