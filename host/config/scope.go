package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxCopied bounds the bytes of all the values that the expressions of a file refer to, so that locals which repeat
// locals which repeat locals stay small.
const maxCopied = 1 << 20

// A scope is what expressions can refer to.
type scope struct {
	*report
	locals map[string]*local
	names  []string // of the locals, sorted
	chain  []string // the locals being evaluated, each because of the one before
	copied int      // see maxCopied

	funcs    map[string]function.Function // of conditions
	patterns patterns                     // of conditions
	steps    int                          // see maxLoadSteps
}

// context gives an expression what it refers to and nothing else. It is false when some of that is not there.
func (s *scope) context(e hclsyntax.Expression) (*hcl.EvalContext, bool) {
	found := map[string]map[string]cty.Value{"local": {}, "env": {}}
	ok := true
	for _, t := range e.Variables() {
		ok = s.find(t, found) && ok
	}
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{"local": cty.ObjectVal(found["local"]), "env": cty.ObjectVal(found["env"])},
		Functions: map[string]function.Function{"env": s.envFunction()},
	}, ok
}

// find puts what a reference is about in found.
func (s *scope) find(t hcl.Traversal, found map[string]map[string]cty.Value) bool {
	root := t.RootName()
	if found[root] == nil {
		s.unknown(t)
		return false
	}
	name := secondName(t)
	if name == "" {
		s.add(t.SourceRange(), "%s needs a name after it", root).hint("write %s.NAME", root)
		return false
	}
	if s.copied > maxCopied { // which has been said
		return false
	}
	v, ok := s.lookup(root, name, t.SourceRange())
	if ok {
		found[root][name] = v
	}
	return ok && s.copies(size(v), t.SourceRange())
}

func (s *scope) lookup(root, name string, at hcl.Range) (cty.Value, bool) {
	if root == "local" {
		return s.local(name, at)
	}
	return s.env(name, at)
}

// unknown reports a reference to what is neither local nor env.
func (s *scope) unknown(t hcl.Traversal) {
	root, at := t.RootName(), t[0].SourceRange()
	m := s.add(at, "there is nothing called %q here", root)
	known := []string{"local", "env"}
	if len(t) == 1 { // a word alone, such as deny, is never one of those two
		known = []string{"true", "false", "null"}
	}
	switch n := near(root, known); {
	case n != "":
		m.hint("did you mean %s?", n)
	case len(t) == 1:
		m.hint("text needs quotes: %q", brief(root))
	default:
		m.hint("there is local.NAME, from a locals block, and env.NAME, from the environment")
	}
}

// secondName is NAME in local.NAME and in local["NAME"].
func secondName(t hcl.Traversal) string {
	if len(t) < 2 {
		return ""
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name
	case hcl.TraverseIndex:
		if textKind.is(step.Key) {
			return step.Key.AsString()
		}
	}
	return ""
}

// copies counts bytes that are used once more. It is false, and says so the first time, when that is too much.
func (s *scope) copies(n int, at hcl.Range) bool {
	before := s.copied
	s.copied += n
	if s.copied > maxCopied && before <= maxCopied {
		s.add(at, "the values that this file repeats come to more than %d KiB", maxCopied>>10).hint("repeat less")
	}
	return s.copied <= maxCopied
}
