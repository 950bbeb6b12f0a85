package schema

func (c *checker) array(n *node, list []any, at *place) {
	for i, v := range list {
		switch {
		case i < len(n.prefixItems):
			c.check(n.prefixItems[i], v, at.item(i))
		case n.items == nil:
		case n.items.never:
			c.work--
		default:
			c.check(n.items, v, at.item(i))
		}
	}
	if n.items != nil && n.items.never && len(list) > len(n.prefixItems) {
		c.add(at, "items", "must have at most %s, got %d", plural(len(n.prefixItems), "item"), len(list))
	}
	if n.minItems != nil && len(list) < *n.minItems {
		c.add(at, "minItems", "must have at least %s, got %d", plural(*n.minItems, "item"), len(list))
	}
	if n.maxItems != nil && len(list) > *n.maxItems {
		c.add(at, "maxItems", "must have at most %s, got %d", plural(*n.maxItems, "item"), len(list))
	}
	if n.uniqueItems {
		c.unique(list, at)
	}
	if n.contains != nil {
		c.contains(n, list, at)
	}
	if n.unevaluatedItems != nil {
		c.unevaluatedItems(n, list, at)
	}
}

func (c *checker) unique(list []any, at *place) {
	first := make(map[string]int, len(list))
	for i, v := range list {
		if c.work -= breadth(v); c.work < 0 {
			return
		}
		key := canonical(v)
		if j, twice := first[key]; twice {
			c.add(at, "uniqueItems", "must not have equal items, but [%d] and [%d] are", j, i)
			return
		}
		first[key] = i
	}
}

func (c *checker) contains(n *node, list []any, at *place) {
	found := 0
	for i, v := range list {
		if c.valid(n.contains, v, at.item(i)) {
			found++
		}
	}
	least := 1
	if n.minContains != nil {
		least = *n.minContains
	}
	if found < least {
		c.add(at, "contains", "must have at least %s that is %s, got %d", plural(least, "item"), n.contains.describe(), found)
	}
	if n.maxContains != nil && found > *n.maxContains {
		c.add(at, "maxContains", "must have at most %s that is %s, got %d", plural(*n.maxContains, "item"), n.contains.describe(), found)
	}
}
