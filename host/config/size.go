package config

import (
	"maps"
	"math/big"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// maxExponent bounds numbers, as a power of two; beyond it JSON's readers give up.
const maxExponent = 1024

// bounded is false, and says why, when the value is out of what can be passed on.
func (r *report) bounded(v cty.Value, at hcl.Range) bool {
	switch {
	case depth(v) > maxDepth:
		r.add(at, "more than %d lists or objects inside each other", maxDepth).hint("write it flatter")
	case !finite(v):
		r.add(at, "this comes to a number that is too large").hint("write the number that is meant, or a string")
	default:
		return true
	}
	return false
}

func depth(v cty.Value) int {
	deepest := 0
	for _, item := range parts(v) {
		deepest = max(deepest, depth(item))
	}
	return deepest + 1
}

func finite(v cty.Value) bool {
	if numberKind.is(v) {
		return !outOfRange(v.AsBigFloat())
	}
	for _, item := range parts(v) {
		if !finite(item) {
			return false
		}
	}
	return true
}

func outOfRange(n *big.Float) bool {
	exponent := n.MantExp(nil)
	return n.IsInf() || exponent > maxExponent || exponent < -maxExponent
}

// size is about how many bytes the value takes when it is written out.
func size(v cty.Value) int {
	if textKind.is(v) {
		return len(v.AsString()) + 2
	}
	n := 8
	for _, item := range parts(v) {
		n += size(item) + 8
	}
	return n
}

// parts are the items of a list or an object.
func parts(v cty.Value) []cty.Value {
	switch {
	case listKind.is(v):
		return v.AsValueSlice()
	case objectKind.is(v):
		return slices.Collect(maps.Values(v.AsValueMap()))
	}
	return nil
}
