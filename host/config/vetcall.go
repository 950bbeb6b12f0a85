package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// elsewhere says what to use instead of functions that people know from other tools.
var elsewhere = map[string]string{
	"can":        "an expression that fails must not count as false: a deny rule would let the call through. What may be absent can be compared with null",
	"try":        "an expression that fails must not count as something else: a deny rule would let the call through. Use coalesce or lookup for what may be absent",
	"format":     "write a string with ${…} in it",
	"regex":      "write matches(PATTERN, TEXT)",
	"regexall":   "write matches(PATTERN, TEXT)",
	"replace":    "write matches(PATTERN, TEXT) to look for something",
	"jsondecode": "arguments are values already",
	"file":       "rules read no files",
}

// call reports a function that is not there or not called as it must be.
func (v *vetting) call(n *hclsyntax.FunctionCallExpr) {
	f, there := v.functions()[n.Name]
	switch n.Name {
	case "inside":
		v.out.paths, there, f = true, true, insideFunction("")
	case "paths":
		v.out.paths, there, f = true, true, pathsFunction(nil)
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
		v.add(n.Range(), "%s does not take %s", n.Name, counted(len(n.Args), "argument")).hint("write %s", usage[n.Name])
		return
	}
	if n.Name == "matches" {
		v.pattern(n)
	}
}

// missing reports a function that is not there.
func (v *vetting) missing(n *hclsyntax.FunctionCallExpr) {
	if n.Name == "env" {
		v.add(n.NameRange, "env(…) cannot be called here").hint(`give it a name outside: locals { a = env("NAME", "default") }, and write local.a here`)
		return
	}
	names := append(slices.Collect(maps.Keys(v.functions())), "inside", "paths")
	slices.Sort(names)
	v.add(n.NameRange, "there is no function %q here", brief(n.Name)).Hint = cmp.Or(elsewhere[n.Name], suggest(n.Name, names, "functions"))
}

// pattern works out the pattern of matches, which must not come from the call: what a stranger writes is not what is
// looked for.
func (v *vetting) pattern(n *hclsyntax.FunctionCallExpr) {
	e := n.Args[0]
	stranger := func(t hcl.Traversal) bool { return t.RootName() != "local" && t.RootName() != "env" }
	if n.ExpandFinal || slices.ContainsFunc(e.Variables(), stranger) {
		v.add(e.Range(), "the pattern of matches must be written in the file").hint("write %s, with the pattern first", usage["matches"])
		return
	}
	value, ok := v.eval(e)
	if !ok {
		return
	}
	if !textKind.is(value) {
		v.add(e.Range(), "the pattern of matches must be a string, not %s", kindOf(value)).hint("write %s", usage["matches"])
		return
	}
	work, problem, hint := v.patterns.compile(value.AsString())
	if problem != "" {
		v.add(e.Range(), "this pattern %s", problem).Hint = hint
		return
	}
	v.later = append(v.later, func() {
		text := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(value.AsString()), SrcRange: e.Range()}
		n.Args[0] = pattern{text, v.patterns[value.AsString()]}
		n.Args[1] = metered{Expression: n.Args[1], factor: work}
	})
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
