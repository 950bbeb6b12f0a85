package schema

import (
	"encoding/json"
	"math/big"
)

// node is one schema. The zero node accepts everything.
type node struct {
	at      string // JSON pointer into the author's schema
	title   string
	never   bool // the schema false
	asserts bool // has a keyword that can refuse something
	refText string
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

	partial bool // a keyword in it, or in a schema that it holds or refers to, is not checked

	shared int // number among the nodes that are referred to, from 1; 0 if none refers to it
	spread int // how many schemas are applied to a value when this one is, itself included
	chain  int // how deep those are nested
	weight int // cost of applying this one alone, in steps of the work budget
	cost   int // of applying it with all schemas in place
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
