package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A kind is a type as people think of it: HCL has two types each for lists and objects.
type kind struct {
	words string
	is    func(cty.Value) bool
}

var (
	textKind   = kind{"a string", isType(cty.String)}
	boolKind   = kind{"true or false", isType(cty.Bool)}
	numberKind = kind{"a number", isType(cty.Number)}
	listKind   = kind{"a list of strings", func(v cty.Value) bool {
		t := v.Type()
		return !v.IsNull() && (t.IsTupleType() || t.IsListType() || t.IsSetType())
	}}
	objectKind = kind{"an object", func(v cty.Value) bool {
		t := v.Type()
		return !v.IsNull() && (t.IsObjectType() || t.IsMapType())
	}}
)

func isType(t cty.Type) func(cty.Value) bool {
	return func(v cty.Value) bool { return !v.IsNull() && v.Type() == t }
}

// kindOf says what a value is, for "must be …, not …".
func kindOf(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case textKind.is(v):
		return "a string"
	case numberKind.is(v):
		return "a number"
	case boolKind.is(v):
		return "a bool"
	case listKind.is(v):
		return "a list"
	default:
		return "an object"
	}
}

// itemRange is where an item of a list is written, if the list is written out there.
func itemRange(e hclsyntax.Expression, i int) hcl.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}

// keyRanges is where each key and its value are written, if the object is written out there.
func keyRanges(e hclsyntax.Expression) map[string]hcl.Range {
	out := map[string]hcl.Range{}
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return out
	}
	for _, item := range object.Items {
		if key, ok := literalKey(item); ok {
			out[key] = hcl.RangeBetween(item.KeyExpr.Range(), item.ValueExpr.Range())
		}
	}
	return out
}

// literalKey gives a key that needs no evaluation.
func literalKey(item hclsyntax.ObjectConsItem) (string, bool) {
	key, diags := item.KeyExpr.Value(nil)
	if diags.HasErrors() || !textKind.is(key) || !key.IsKnown() {
		return "", false
	}
	return key.AsString(), true
}
