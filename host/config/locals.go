package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A local is evaluated when it is first needed.
type local struct {
	*hclsyntax.Attribute
	value      cty.Value
	busy, done bool
	ok         bool // when done: the value is there
}

// declare reads the locals blocks.
func (r *reader) declare(blocks []*hclsyntax.Block) {
	places := seen{}
	for _, b := range blocks {
		f := r.open(b.Body, "locals", "locals")
		f.unlabelled(b)
		for _, a := range inOrder(b.Body.Attributes) {
			f.attr(a.Name)
			if places.add(r.report, "local", a.Name, a.NameRange) {
				r.locals[a.Name] = &local{Attribute: a}
			}
		}
		f.done()
	}
	r.names = slices.Sorted(maps.Keys(r.locals))
	for _, name := range r.names {
		r.local(name, r.locals[name].NameRange)
	}
}

// local gives the value of a local. It is false when that is not to be had, which is reported once.
func (s *scope) local(name string, at hcl.Range) (cty.Value, bool) {
	l := s.locals[name]
	switch {
	case l == nil:
		s.add(at, "there is no local %q", name).Hint = cmp.Or(suggest(name, s.names, "locals"), "define it: locals { "+brief(name)+" = … }")
		return cty.DynamicVal, false
	case l.busy:
		s.add(at, "local.%s needs itself", name).hint("%s", s.circle(name))
		return cty.DynamicVal, false
	case !l.done:
		l.busy, s.chain = true, append(s.chain, name)
		l.value, l.ok = s.eval(l.Expr)
		l.busy, s.chain = false, s.chain[:len(s.chain)-1]
		l.done = true
	}
	return l.value, l.ok
}

// circle shows how a local comes to need itself.
func (s *scope) circle(name string) string {
	return strings.Join(shortened(append(slices.Clone(s.chain[slices.Index(s.chain, name):]), name)), " needs ")
}

// shortened leaves out the middle of a long chain.
func shortened(steps []string) []string {
	if len(steps) > 10 {
		return append(append(steps[:5:5], "…"), steps[len(steps)-4:]...)
	}
	return steps
}
