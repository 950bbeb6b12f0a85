package schema

// object reads an object. It gives up on names with escapes and on names given twice, anywhere.
func (a *attempt) object(r *rule) bool {
	if a.depth++; a.depth > maxDepth {
		return false
	}
	a.pos++
	var seen bits256
	outer, next := a.used, 0
	for more := a.peek() != '}'; more; more = a.separator() {
		name, ok := a.name()
		if !ok {
			return false
		}
		i := r.find(a.data[name.start:name.end], next)
		switch {
		case i >= 0 && seen.has(i):
			return false
		case i >= 0:
			seen.add(i)
			next = i + 1
			ok = a.value(r.props[i].rule)
		default:
			ok = !r.closed && a.newExtra(name, outer) && a.value(r.extra)
		}
		if !ok {
			return false
		}
	}
	a.depth--
	a.used = outer
	return a.close('}') && seen.covers(&r.required)
}

// name reads a property name and the colon after it.
func (a *attempt) name() (text, bool) {
	if a.peek() != '"' {
		return text{}, false
	}
	t, ok := a.cursor.text()
	if !ok || t.escaped || a.peek() != ':' {
		return t, false
	}
	a.pos++
	return t, true
}

// find looks a property up, first where the schema's own order would have it.
func (r *rule) find(name []byte, next int) int {
	for i := next; i < len(r.props); i++ {
		if r.props[i].name == string(name) {
			return i
		}
	}
	for i := range min(next, len(r.props)) {
		if r.props[i].name == string(name) {
			return i
		}
	}
	return -1
}

// newExtra notes a name outside props and reports whether it is new in this object, whose names start at outer.
func (a *attempt) newExtra(name text, outer int) bool {
	if a.used == len(a.extras) {
		return false
	}
	for _, other := range a.extras[outer:a.used] {
		if string(a.data[other.start:other.end]) == string(a.data[name.start:name.end]) {
			return false
		}
	}
	a.extras[a.used] = span{int32(name.start), int32(name.end)}
	a.used++
	return true
}
