package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Bounds for expressions. Without loops, conditionals and arithmetic on computed numbers, an expression takes time
// and memory in proportion to its own length and the values that it refers to.
const (
	MaxOperators = 64
	MaxDigits    = 100     // of a number as written, so that it stays exact
	maxExponent  = 1024    // of a number, as a power of two; JSON readers accept no more
	maxCopied    = 1 << 20 // bytes of all the values that the expressions of a file refer to
)

// A Scope has the names that the expressions of a file can refer to.
type Scope struct {
	*Report
	locals map[string]*local
	names  []string // of the locals, sorted
	chain  []string // the locals being evaluated, each needed by the one before
	unset  *[]Unset // collects variables that are not set; nil reports them
	copied int      // see maxCopied
}

// A local is evaluated when it is first needed.
type local struct {
	*hclsyntax.Attribute
	value      cty.Value
	busy, done bool
	unset      []Unset // variables that it needs
	ok         bool    // when done: the value is valid
}

// An Unset is a variable of the environment that an expression needs and that is not set.
type Unset struct {
	Name string
	At   hcl.Range
}

// Collect runs f, and returns the variables that are not set and that expressions need which f evaluates. They are no
// mistakes then, and have a value that must not be used.
func (s *Scope) Collect(f func()) (unset []Unset) {
	outer := s.unset
	s.unset = &unset
	f()
	s.unset = outer
	return unset
}

// needs collects a variable that is not set, or reports it. It is false when it was reported.
func (s *Scope) needs(u Unset) bool {
	if s.unset != nil {
		*s.unset = append(*s.unset, u)
		return true
	}
	s.Add(u.At, "the environment variable %s is not set", Brief(u.Name)).
		WithHint("set it, or write env(%q, \"default\")", Brief(u.Name))
	return false
}

// Locals reads the locals blocks at the top level of a file. One that needs a variable which is not set is wrong only
// where it is used.
func (b *Body) Locals() {
	positions := Names{}
	for _, block := range b.Blocks("locals") {
		in := b.Open(block, "locals")
		in.unlabelled(block)
		for _, a := range InOrder(block.Body.Attributes) {
			in.Know(a.Name)
			if positions.Add(b.Report, "local", a.Name, a.NameRange) {
				b.locals[a.Name] = &local{Attribute: a}
			}
		}
		in.Done()
	}
	b.names = slices.Sorted(maps.Keys(b.locals))
	b.Collect(func() {
		for _, name := range b.names {
			b.local(name, b.locals[name].NameRange)
		}
	})
}

// Local is the value of a local that could be evaluated.
func (s *Scope) Local(name string) (cty.Value, bool) {
	l := s.locals[name]
	if l == nil || !l.ok {
		return cty.NilVal, false
	}
	return l.value, true
}

// local returns the value of a local. It is false when there is none, which is reported once.
func (s *Scope) local(name string, at hcl.Range) (cty.Value, bool) {
	l := s.locals[name]
	switch {
	case l == nil:
		s.Add(at, "there is no local %q", name).Hint =
			cmp.Or(Suggest(name, s.names, "locals"), "define it: locals { "+Brief(name)+" = … }")
		return cty.DynamicVal, false
	case l.busy:
		circle := append(slices.Clone(s.chain[slices.Index(s.chain, name):]), name)
		s.Add(at, "local.%s needs itself", name).Hint = strings.Join(Shortened(circle), " needs ")
		return cty.DynamicVal, false
	case !l.done:
		l.busy, s.chain = true, append(s.chain, name)
		l.unset = s.Collect(func() { l.value, l.ok = s.Eval(l.Expr) })
		l.busy, s.chain = false, s.chain[:len(s.chain)-1]
		l.done = true
	}
	ok := l.ok
	for _, u := range l.unset {
		ok = s.needs(u) && ok
	}
	return l.value, ok
}

// Shortened leaves out the middle of a long chain.
func Shortened(steps []string) []string {
	if len(steps) > 10 {
		return append(append(steps[:5:5], "…"), steps[len(steps)-4:]...)
	}
	return steps
}

// Eval evaluates an expression. It is false on an error, which is reported here or where the value comes from.
func (s *Scope) Eval(e hclsyntax.Expression) (cty.Value, bool) {
	if !s.simple(e) {
		return cty.DynamicVal, false
	}
	found := map[string]map[string]cty.Value{"local": {}, "env": {}}
	ok := true
	for _, t := range e.Variables() {
		ok = s.Resolve(t, found) && ok
	}
	if !ok {
		return cty.DynamicVal, false
	}
	v, diags := e.Value(&hcl.EvalContext{
		Variables: map[string]cty.Value{"local": cty.ObjectVal(found["local"]), "env": cty.ObjectVal(found["env"])},
		Functions: map[string]function.Function{"env": s.envFunction()},
	})
	switch {
	case s.addDiags(diags):
		return cty.DynamicVal, false
	case depth(v) > MaxDepth:
		s.Add(e.Range(), "more than %d lists or objects inside each other", MaxDepth).WithHint("write it flatter")
		return v, false
	case !finite(v):
		s.Add(e.Range(), "this comes to a number that is too large").
			WithHint("write the number that is meant, or a string")
		return v, false
	}
	return v, true
}

// simple is false, and reports why, when the expression uses more of HCL than files may.
func (s *Scope) simple(e hclsyntax.Expression) bool {
	before, operators := s.Count(), 0
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.BinaryOpExpr:
			operators++
			s.arithmetic(n, n.Op, n.LHS, n.RHS)
		case *hclsyntax.UnaryOpExpr:
			operators++
			s.arithmetic(n, n.Op, n.Val)
		default:
			s.Allowed(n)
		}
		return nil
	})
	if operators > MaxOperators {
		s.Add(e.Range(), "more than %d operators in one expression", MaxOperators).WithHint("write the result instead")
	}
	return s.Count() == before
}

// Allowed reports a part of an expression that files may not use.
func (s *Scope) Allowed(n hclsyntax.Node) {
	switch n := n.(type) {
	case *hclsyntax.LiteralValueExpr:
		s.Number(n)
	case *hclsyntax.FunctionCallExpr:
		if n.Name != "env" {
			s.Add(n.NameRange, "unknown function %q", n.Name).WithHint(`the only one is env("NAME", "default")`)
		}
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
		s.Add(n.Range(), "loops cannot be used here").WithHint("write the values out")
	case *hclsyntax.ConditionalExpr:
		s.Add(n.Range(), "conditionals cannot be used here").
			WithHint(`write the value, or take it from the environment: env("NAME", "default")`)
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr,
		*hclsyntax.ObjectConsKeyExpr, *hclsyntax.ScopeTraversalExpr, *hclsyntax.RelativeTraversalExpr,
		*hclsyntax.IndexExpr, *hclsyntax.ParenthesesExpr:
	case *hclsyntax.AnonSymbolExpr, hclsyntax.ChildScope: // parts of loops
	default:
		s.Add(n.Range(), "this cannot be used here").WithHint("write the value out")
	}
}

// Number reports a number that cannot be kept exactly.
func (s *Scope) Number(n *hclsyntax.LiteralValueExpr) {
	if !NumberKind.Is(n.Val) {
		return
	}
	if r := n.Range(); r.End.Byte-r.Start.Byte > MaxDigits || OutOfRange(n.Val.AsBigFloat()) {
		s.Add(r, "this number is too long or too large").WithHint("write a smaller one, or a string where one may be")
	}
}

// arithmetic reports a calculation with anything but literal numbers: a string can stand for a number of a billion
// digits.
func (s *Scope) arithmetic(n hclsyntax.Node, op *hclsyntax.Operation, operands ...hclsyntax.Expression) {
	for _, o := range operands {
		if op.Type == cty.Number && !isWritten(o) {
			s.Add(n.Range(), "only written numbers can be calculated with").WithHint("for instance 64 * 1024")
			return
		}
	}
}

// isWritten reports whether the expression consists of number literals alone.
func isWritten(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return NumberKind.Is(e.Val)
	case *hclsyntax.ParenthesesExpr:
		return isWritten(e.Expression)
	case *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr: // checked on their own
		return true
	}
	return false
}

// Resolve puts the value of a local or an environment variable into found, by its root and name. It is false when
// there is none, or when the file copies too much.
func (s *Scope) Resolve(t hcl.Traversal, found map[string]map[string]cty.Value) bool {
	root, at := t.RootName(), t.SourceRange()
	if found[root] == nil {
		s.unknown(t)
		return false
	}
	name := SecondName(t)
	if name == "" {
		s.Add(at, "%s needs a name after it", root).WithHint("write %s.NAME", root)
		return false
	}
	if s.copied > maxCopied { // already reported
		return false
	}
	var v cty.Value
	var ok bool
	if root == "local" {
		v, ok = s.local(name, at)
	} else {
		v, ok = s.env(name, at)
	}
	if ok {
		found[root][name] = v
	}
	return ok && s.Copies(size(v), at)
}

// switches are how other formats write true and false.
var switches = map[string]string{"yes": "true", "on": "true", "no": "false", "off": "false"}

// unknown reports a reference to something other than local or env.
func (s *Scope) unknown(t hcl.Traversal) {
	root := t.RootName()
	m := s.Add(t[0].SourceRange(), "unknown name %q", root)
	known := []string{"local", "env"}
	if len(t) == 1 { // a word alone, such as deny, is neither of the two
		known = []string{"true", "false", "null"}
	}
	switch n := textutil.Nearest(root, known); {
	case n != "":
		m.WithHint("did you mean %s?", n)
	case len(t) == 1 && s.inTemplate(t):
		m.WithHint("only ${local.NAME}, from a locals block, and ${env.NAME}, from the environment, are replaced; a " +
			"relative path in command starts from the folder of this file")
		if root == strings.ToUpper(root) {
			m.Hint = "a variable of the environment is ${env." + Brief(root) + "}"
		}
	case len(t) == 1:
		m.WithHint("text needs quotes: %q", Brief(root))
		switch {
		case switches[root] != "":
			m.Hint = "a switch is " + switches[root] + "; " + m.Hint
		case root == strings.ToUpper(root):
			m.Hint += "; a variable of the environment is env." + Brief(root)
		}
	default:
		m.WithHint("there is local.NAME, from a locals block, and env.NAME, from the environment")
	}
}

// inTemplate reports whether a reference is inside a text: "${name}".
func (s *Scope) inTemplate(t hcl.Traversal) bool {
	before := string(s.src[:min(t.SourceRange().Start.Byte, len(s.src))])
	return strings.HasSuffix(strings.TrimRight(before, " ~"), "${")
}

// SecondName is NAME in local.NAME and in local["NAME"].
func SecondName(t hcl.Traversal) string {
	if len(t) < 2 {
		return ""
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name
	case hcl.TraverseIndex:
		if TextKind.Is(step.Key) {
			return step.Key.AsString()
		}
	}
	return ""
}

// Copies counts bytes that are used once more, so that locals which repeat locals stay small. It is false, and
// reports that the first time, when they are too many.
func (s *Scope) Copies(n int, at hcl.Range) bool {
	before := s.copied
	s.copied += n
	if s.copied > maxCopied && before <= maxCopied {
		s.Add(at, "the values that this file repeats come to more than %d KiB", maxCopied>>10).WithHint("repeat less")
	}
	return s.copied <= maxCopied
}

// env returns the value of an environment variable, which must be set.
func (s *Scope) env(name string, at hcl.Range) (cty.Value, bool) {
	v, there := os.LookupEnv(name)
	if !there {
		return cty.StringVal("env." + name), s.needs(Unset{name, at})
	}
	if problem := Unstable(v); problem != "" {
		s.Add(at, "the environment variable %s %s", name, problem).WithHint("write the value here instead")
		return cty.DynamicVal, false
	}
	s.Hidden.AddText(v, "env."+name)
	return cty.StringVal(v), true
}

func (s *Scope) envFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}, {Name: "default", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			v, there := os.LookupEnv(name)
			if !there {
				return args[1], nil
			}
			if problem := Unstable(v); problem != "" {
				return cty.DynamicVal, fmt.Errorf("the environment variable %s %s", name, problem)
			}
			if s.copied += len(v); s.copied > maxCopied {
				return cty.DynamicVal, fmt.Errorf("the values that this file repeats come to more than %d KiB", maxCopied>>10)
			}
			s.Hidden.AddText(v, "env."+name)
			return cty.StringVal(v), nil
		},
	})
}

// Source returns an expression as written, on one line, without the parentheses or "${ }" around it.
func (r *Report) Source(e hclsyntax.Expression) string {
	for {
		switch inner := e.(type) {
		case *hclsyntax.TemplateWrapExpr:
			e = inner.Wrapped
			continue
		case *hclsyntax.ParenthesesExpr:
			e = inner.Expression
			continue
		}
		return Visible(string(e.Range().SliceBytes(r.src)))
	}
}

func depth(v cty.Value) int {
	deepest := 0
	for _, item := range Parts(v) {
		deepest = max(deepest, depth(item))
	}
	return deepest + 1
}

func finite(v cty.Value) bool {
	if NumberKind.Is(v) {
		return !OutOfRange(v.AsBigFloat())
	}
	return !slices.ContainsFunc(Parts(v), func(item cty.Value) bool { return !finite(item) })
}

// OutOfRange reports whether a number is out of the range of JSON readers.
func OutOfRange(n *big.Float) bool {
	exponent := n.MantExp(nil)
	return n.IsInf() || exponent > maxExponent || exponent < -maxExponent
}

// size is the approximate number of bytes of the value when written.
func size(v cty.Value) int {
	if TextKind.Is(v) {
		return len(v.AsString()) + 2
	}
	n := 8
	for _, item := range Parts(v) {
		n += size(item) + 8
	}
	return n
}

// Parts are the items of a list or an object.
func Parts(v cty.Value) []cty.Value {
	switch {
	case ListKind.Is(v):
		return v.AsValueSlice()
	case ObjectKind.Is(v):
		return slices.Collect(maps.Values(v.AsValueMap()))
	}
	return nil
}
