package schema

import "slices"

// settle turns what older dialects say differently into the newest form.
func (r *reader) settle(n *node) {
	if n.refText != "" && r.dialect <= draft7 {
		*n = node{at: n.at, asserts: true, refText: n.refText} // siblings of $ref mean nothing there
		return
	}
	if n.exclusiveMinimumFlag && n.minimum != nil {
		n.minimum, n.exclusiveMinimum = nil, n.minimum
	}
	if n.exclusiveMaximumFlag && n.maximum != nil {
		n.maximum, n.exclusiveMaximum = nil, n.maximum
	}
	n.numberFormat(n.formatName)
	n.asserts = n.asserts || n.format != nil
	if n.openEnded { // what the pattern would have named is not known to be additional
		n.additional, n.unevaluatedProperties = nil, nil
	}
	if n.tuple {
		n.items = n.additionalItems
	}
	if n.not != nil && n.not.anything() {
		n.never = true
	}
	n.mergeConstant()
	n.byName = make(map[string]*node, len(n.properties))
	for _, m := range n.properties {
		n.byName[m.name] = m.node
	}
}

func (n *node) mergeConstant() {
	switch {
	case n.constant != nil && n.enum == nil:
		n.enum = n.constant
	case n.constant != nil:
		want := canonical(n.constant[0])
		n.enum = slices.DeleteFunc(n.enum, func(v any) bool { return canonical(v) != want })
		n.never = n.never || len(n.enum) == 0
	}
	if n.enum != nil {
		n.enumSet = map[string]bool{}
	}
	for _, v := range n.enum {
		n.enumSet[canonical(v)] = true
	}
}
