package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
)

// node is one schema. The zero node accepts everything.
type node struct {
	at      string // JSON pointer into the author's schema
	title   string
	never   bool // the schema false
	asserts bool // has a keyword that can refuse something
	refers  bool // to ref, when it is linked
	ref     *node

	types     kind
	typeWords []string // in the author's order
	enum      []any    // also const, which is an enum of one
	constant  []any    // const, until it is merged into enum
	enumSet   map[string]bool

	allOf, anyOf, oneOf        []*node
	not, cond, then, otherwise *node

	properties, patternProperties, dependentSchemas  []member
	byName                                           map[string]*node // properties
	additional, propertyNames, unevaluatedProperties *node
	required                                         []string
	dependentRequired                                []dependency
	minProperties, maxProperties                     *int

	prefixItems                                []*node
	items, contains, unevaluatedItems          *node
	minContains, maxContains                   *int
	minItems, maxItems                         *int
	uniqueItems                                bool
	tuple                                      bool  // items was a list, as before 2020-12
	additionalItems                            *node // meant only beside such a list
	exclusiveMinimumFlag, exclusiveMaximumFlag bool  // draft-04 booleans

	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf *bound
	minLength, maxLength                                             *int
	pattern                                                          *pattern
	format                                                           *format // nil: none that is checked
	formatName                                                       string
	openEnded                                                        bool // a pattern of its properties was left out

	partial bool     // a keyword in it, or in a schema that it holds or refers to, is not checked
	leftOut []string // its keywords that are not checked; "" for a pattern

	shared int // number among the nodes that are referred to, from 1; 0 if none refers to it
	spread int // how many schemas are applied to a value when this one is, itself included
	chain  int // how deep those are nested
	weight int // cost of applying this one alone, in steps of the work budget
	cost   int // of applying it with all schemas in place
}

// referred is the schema that n refers to in the end; n itself if it refers to none.
func (n *node) referred() *node {
	for n.ref != nil {
		n = n.ref
	}
	return n
}

// member is a schema under a name or, in patternProperties, under a pattern.
type member struct {
	name    string
	node    *node
	pattern *pattern
}

// dependency lists the properties that must be present when name is.
type dependency struct {
	name  string
	needs []string
}

// bound is a number of the schema, as written and exact.
type bound struct {
	text  json.Number
	exact *big.Rat
}

// anything reports a schema that asserts nothing.
func (n *node) anything() bool { return !n.never && !n.asserts }

// closed reports additionalProperties:false.
func (n *node) closed() bool { return n.additional != nil && n.additional.never }

// covers reports whether n itself describes all of these properties.
func (n *node) covers(properties []member) bool {
	return !slices.ContainsFunc(properties, func(m member) bool { return n.byName[m.name] == nil && !n.matches(m.name) })
}

// eachSub calls f for each schema that n holds or refers to.
func (n *node) eachSub(f func(*node)) {
	for _, field := range oneSchema {
		if sub := *field(n); sub != nil {
			f(sub)
		}
	}
	for _, field := range schemaLists {
		for _, sub := range *field(n) {
			f(sub)
		}
	}
	for _, field := range namedSchemas {
		for _, m := range *field(n) {
			f(m.node)
		}
	}
	if n.ref != nil {
		f(n.ref)
	}
}

// inPlace calls f for each schema that is applied to the same value as n.
func (n *node) inPlace(f func(*node)) {
	each := func(list ...*node) {
		for _, sub := range list {
			if sub != nil {
				f(sub)
			}
		}
	}
	each(n.ref, n.not, n.cond, n.then, n.otherwise)
	each(n.allOf...)
	each(n.anyOf...)
	each(n.oneOf...)
	for _, m := range n.dependentSchemas {
		f(m.node)
	}
}

// A loopError is about a schema that applies itself to the same value again.
type loopError struct{ error }

// noLoops refuses schemas that apply themselves to the same value again, and measures spread and chain of all others.
// In a foreign schema it leaves out a reference in the loop. Recursion through properties or items is fine: a document
// ends somewhere.
func (r *reader) noLoops(root *node) error {
	onPath := map[*node]bool{}
	if err := r.spread(root, onPath); err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(r.index)) {
		if err := r.spread(r.index[at], onPath); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) spread(n *node, onPath map[*node]bool) (err error) {
	switch {
	case n.spread > 0:
		return nil
	case onPath[n]:
		return loopError{fault(n.at, "this schema refers back to itself without a step into the value, so it has no meaning")}
	}
	onPath[n] = true
	spread, chain := 1, 0
	n.inPlace(func(sub *node) {
		if err == nil {
			err = r.spread(sub, onPath)
		}
		if _, loops := errors.AsType[loopError](err); loops && sub == n.ref && r.foreign {
			r.leaveOut(n, "$ref", err)
			n.ref, err = nil, nil
			return
		}
		spread, chain = min(spread+sub.spread, maxSpread+1), max(chain, sub.chain)
	})
	delete(onPath, n)
	if err != nil {
		return err
	}
	n.spread, n.chain = spread, chain+1
	switch {
	case n.spread > maxSpread:
		return fault(n.at, "applies more than %d schemas to one value; combine fewer of them with $ref, allOf, anyOf and "+
			"oneOf", maxSpread)
	case n.chain > maxChain:
		return fault(n.at, "nests more than %d schemas for one value; shorten the chain of $ref, allOf, anyOf and oneOf",
			maxChain)
	}
	return nil
}

func (r *reader) measure() {
	names, costs := map[*node]int{}, map[*node]int{}
	for _, n := range r.index {
		n.weight = n.ownWeight(n.total(names, func(sub *node) int { return len(sub.properties) }))
	}
	for _, n := range r.index {
		n.cost = n.total(costs, func(sub *node) int { return sub.weight })
	}
}

// ownWeight is the library's work for n each time, next to nothing being 1: it walks all properties, notes them
// again in every schema around that applies to the same value, compares with each enum value and may list them all, and
// compiles patternProperties again.
func (n *node) ownWeight(allProperties int) int {
	w := 1 + allProperties/8 + len(n.required)/8 + len(n.properties)*len(n.required)/64 + len(n.dependentSchemas)/8
	w += len(n.dependentRequired) / 16
	for _, m := range n.patternProperties {
		w += m.pattern.size / 2
	}
	if n.enum != nil {
		w += breadth(n.enum)/4 + len(canonical(n.enum))/50
	}
	return w
}

// total adds up what one gives for n and for each schema applied to the same value.
func (n *node) total(done map[*node]int, one func(*node) int) int {
	if sum, ok := done[n]; ok {
		return sum
	}
	sum := one(n)
	n.inPlace(func(sub *node) { sum = min(sum+sub.total(done, one), maxWork) })
	done[n] = sum
	return sum
}
