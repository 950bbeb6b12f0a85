package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reader turns a decoded schema into nodes and checks every keyword's shape on the way.
type reader struct {
	dialect   dialect
	index     map[string]*node // by JSON pointer
	refs      []*node          // those with a $ref
	embedded  []string         // pointers of inner schemas with an $id of their own
	programs  int              // instructions of all patterns
	foreign   bool             // see CompileForeign
	unchecked []string         // see Schema.Unchecked
}

// fault is an error at a JSON pointer of the schema.
func fault(at, format string, args ...any) error {
	return fmt.Errorf("#%s: %s", at, fmt.Sprintf(format, args...))
}

// read parses, checks and links a schema. It returns its root and the nodes that others refer to.
func (r *reader) read(raw []byte) (root *node, shared []*node, err error) {
	v, bad := decode(raw, limits{depth: maxSchemaDepth, values: maxSchemaValues}, true)
	if bad != nil {
		return nil, nil, fault(bad.place().pointer(), "%s", bad.reason)
	}
	if err := r.chooseDialect(v); err != nil {
		return nil, nil, err
	}
	if root, err = r.schema("", v); err != nil {
		return nil, nil, err
	}
	if shared, err = r.link(root); err != nil {
		return nil, nil, err
	}
	r.loosen()
	r.measure()
	return root, shared, nil
}

func (r *reader) chooseDialect(v any) error {
	o, ok := v.(*object)
	if !ok || o.members["$schema"] == nil {
		return nil
	}
	uri, _ := o.members["$schema"].(string)
	d, known := dialectOf(uri)
	if !known {
		return fault("/$schema", "unknown dialect %s; known: %s", showPlain(o.members["$schema"]), strings.Join(slices.Sorted(maps.Keys(dialectNames)), ", "))
	}
	r.dialect = d
	return nil
}

func (r *reader) schema(at string, v any) (*node, error) {
	n := &node{at: at}
	r.index[at] = n
	switch v := v.(type) {
	case bool:
		n.never = !v
		return n, nil
	case *object:
		return n, r.keywords(n, v)
	}
	return nil, fault(at, "must be a schema (an object or a boolean), got %s", showPlain(v))
}

func (r *reader) keywords(n *node, o *object) error {
	for _, word := range o.names {
		if !r.dialect.knows(word) {
			continue
		}
		asserts, err := r.keyword(n, word, o.members[word])
		if err != nil {
			return err
		}
		n.asserts = n.asserts || asserts
	}
	n.nullable(o)
	r.settle(n)
	return nil
}

// keyword reads one keyword into n and says whether it can refuse anything.
func (r *reader) keyword(n *node, word string, v any) (asserts bool, err error) {
	at := n.at + "/" + pointerStep(word)
	if read, ok := readers[word]; ok {
		return true, read(r, n, at, v)
	}
	if field, ok := oneSchema[word]; ok {
		*field(n), err = r.schema(at, v)
		return true, err
	}
	if field, ok := schemaLists[word]; ok {
		*field(n), err = r.schemaList(at, v)
		return true, err
	}
	if field, ok := namedSchemas[word]; ok {
		*field(n), err = r.members(at, v)
		return true, err
	}
	if field, ok := counts[word]; ok {
		*field(n), err = count(at, v)
		return true, err
	}
	if field, ok := bounds[word]; ok {
		*field(n), err = readBound(at, v)
		return true, err
	}
	return false, r.silent(n, word, at, v)
}

func (r *reader) schemaList(at string, v any) ([]*node, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, fault(at, "must be a list of at least one schema, got %s", showPlain(v))
	}
	out := make([]*node, len(list))
	for i, item := range list {
		n, err := r.schema(at+"/"+strconv.Itoa(i), item)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func (r *reader) members(at string, v any) ([]member, error) {
	o, ok := v.(*object)
	if !ok {
		return nil, fault(at, "must be an object of schemas, got %s", showPlain(v))
	}
	out := make([]member, len(o.names))
	for i, name := range o.names {
		n, err := r.schema(at+"/"+pointerStep(name), o.members[name])
		if err != nil {
			return nil, err
		}
		out[i] = member{name: name, node: n}
	}
	return out, nil
}
