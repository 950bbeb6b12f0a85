package schema

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// link resolves every $ref and numbers the schemas that are referred to.
func (r *reader) link(root *node) (shared []*node, err error) {
	for _, n := range r.refs {
		if err := r.outsideEmbedded(n); err != nil {
			return nil, err
		}
		target, ok := r.index[canonicalPointer(n.refText)]
		if !ok {
			return nil, fault(n.at+"/$ref", "%s points at no schema in here", quote(n.refText))
		}
		n.ref = target
		if target.shared == 0 {
			shared = append(shared, target)
			target.shared = len(shared)
		}
	}
	return shared, r.noLoops(root)
}

func (r *reader) outsideEmbedded(n *node) error {
	for _, base := range r.embedded {
		if n.at == base || strings.HasPrefix(n.at, base+"/") {
			return fault(n.at+"/$ref", "references below an inner \"$id\" (#%s) are not supported; remove that $id", base)
		}
	}
	return nil
}

// canonicalPointer undoes percent escapes and writes the rest the way the index does.
func canonicalPointer(ref string) string {
	p := strings.TrimPrefix(ref, "#")
	if decoded, err := url.PathUnescape(p); err == nil {
		p = decoded
	}
	steps := strings.Split(p, "/")
	for i, s := range steps {
		steps[i] = pointerStep(strings.NewReplacer("~1", "/", "~0", "~").Replace(s))
	}
	return strings.Join(steps, "/")
}

// noLoops refuses schemas that apply themselves to the same value again, and measures spread and chain of all others.
// Recursion through properties or items is fine: a document ends somewhere.
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
		return fault(n.at, "this schema refers back to itself without a step into the value, so it has no meaning")
	}
	onPath[n] = true
	spread, chain := 1, 0
	n.inPlace(func(sub *node) {
		if err == nil {
			err = r.spread(sub, onPath)
		}
		spread, chain = min(spread+sub.spread, maxSpread+1), max(chain, sub.chain)
	})
	delete(onPath, n)
	if err != nil {
		return err
	}
	n.spread, n.chain = spread, chain+1
	return n.tooWide()
}

func (n *node) tooWide() error {
	if n.spread > maxSpread {
		return fault(n.at, "applies more than %d schemas to one value; combine fewer of them with $ref, allOf, anyOf and oneOf", maxSpread)
	}
	if n.chain > maxChain {
		return fault(n.at, "nests more than %d schemas for one value; shorten the chain of $ref, allOf, anyOf and oneOf", maxChain)
	}
	return nil
}

// measure sets what applying each schema costs.
func (r *reader) measure() {
	names, costs := map[*node]int{}, map[*node]int{}
	for _, n := range r.index {
		n.weight = n.ownWeight(n.total(names, func(sub *node) int { return len(sub.properties) }))
	}
	for _, n := range r.index {
		n.cost = n.total(costs, func(sub *node) int { return sub.weight })
	}
}

// ownWeight is what the library does for n each time, next to nothing being 1: it walks all properties, notes them again in
// every schema around that applies to the same value, compares with each enum value and may list them all, and compiles
// patternProperties anew.
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
