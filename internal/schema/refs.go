package schema

import (
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A reference is a keyword that refers to another schema.
type reference struct {
	from     *node
	word     string // $ref, or an older or newer one whose target depends on how it was reached
	text     string
	resource string // JSON pointer of the schema with an $id around it, or of the root
	base     string // its URI
}

// localBase is the base URI of a schema without an $id. The question mark keeps "." and "/" from leading to it.
const localBase = "schema:///?"

// maxURI limits the URIs of inner schemas, which others are resolved from, in bytes.
const maxURI = 2048

// identify notes what a schema may be referred to by. References in it begin at its $id, if it has one. An $id that
// is no URI names nothing.
func (r *reader) identify(n *node, o *object) {
	word := "$id"
	if r.dialect == draft4 {
		word = "id"
	}
	_, replaced := o.members["$ref"]
	if id, _ := o.members[word].(string); id != "" && !(replaced && r.dialect <= draft7) {
		uri, anchor, _ := strings.Cut(id, "#")
		if uri != "" {
			r.resource = n.at
			if uri = resolveURI(r.base, uri); uri != "" {
				r.base = uri
			}
		}
		if r.dialect <= draft7 {
			r.anchor(n, anchor)
		}
	}
	if _, taken := r.resources[r.base]; !taken && r.resource == n.at { // generators write the same schema several times
		r.resources[r.base] = n.at
	}
	if name, _ := o.members["$anchor"].(string); r.knows("$anchor") {
		r.anchor(n, name)
	}
	if name, _ := o.members["$dynamicAnchor"].(string); name != "" && r.knows("$dynamicAnchor") {
		r.anchor(n, name)
		r.dynamic["#"+name]++
	}
	if o.members["$recursiveAnchor"] == true && r.knows("$recursiveRef") {
		r.dynamic["#"]++
	}
}

func (r *reader) anchor(n *node, name string) {
	if name != "" {
		r.anchors[r.resource+"#"+name] = n.at
	}
}

// resolveURI returns "" for what is no URI, or too long for one.
func resolveURI(base, text string) string {
	from, err1 := url.Parse(base)
	uri, err2 := url.Parse(text)
	if err1 != nil || err2 != nil {
		return ""
	}
	if text = from.ResolveReference(uri).String(); len(text) > maxURI {
		return ""
	}
	return text
}

func readRef(word string) func(*reader, *node, string, any) error {
	return func(r *reader, n *node, at string, v any) error {
		text, ok := v.(string)
		switch {
		case !ok:
			return fault(at, "must be a string, got %s", showPlain(v))
		case n.refers:
			return fault(at, "a schema cannot refer to two others; write each reference into a schema of \"allOf\"")
		}
		n.refers = true
		r.refs = append(r.refs, reference{from: n, word: word, text: text, resource: r.resource, base: r.base})
		return nil
	}
}

// link resolves every reference and numbers the schemas that are referred to.
func (r *reader) link(root *node) (shared []*node, err error) {
	for _, ref := range r.refs {
		target, err := r.target(ref)
		switch {
		case err == nil:
		case r.foreign:
			r.leaveOut(ref.from, ref.word, err)
			continue
		default:
			return nil, err
		}
		ref.from.ref = target
		if target.shared == 0 {
			shared = append(shared, target)
			target.shared = len(shared)
		}
	}
	return shared, r.noLoops(root)
}

// target finds the schema that a reference leads to. A dynamic one leads to the outermost of the schemas around it, by
// the way that it was reached, that has its anchor: where only one has, it is as good as $ref.
func (r *reader) target(ref reference) (*node, error) {
	fail := func(format string, args ...any) (*node, error) {
		return nil, fault(ref.from.at+"/"+ref.word, format, args...)
	}
	uri, fragment, _ := strings.Cut(ref.text, "#")
	resource, known := ref.resource, true
	if uri != "" {
		resource, known = r.resources[resolveURI(ref.base, uri)]
	}
	if !known {
		return fail("%s leads out of this schema; nothing is ever fetched, so refer to what is in it, as in "+
			"\"#/$defs/name\"", quote(ref.text))
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if ref.word != "$ref" && r.dynamic["#"+fragment] > 1 {
		return fail("%s leads to one of several schemas, by how it is reached, which is not supported; use $ref",
			quote(ref.text))
	}
	place, known := resource, true
	switch {
	case strings.HasPrefix(fragment, "/"):
		place += canonicalPointer(fragment)
	case fragment != "":
		place, known = r.anchors[resource+"#"+fragment]
	}
	target := r.index[place]
	switch {
	case !known:
		return fail("%s names an anchor that no schema in here has", quote(ref.text))
	case target == nil && resource != "":
		return fail("%s points at no schema in the inner one with an \"$id\" (#%s), from which it is read",
			quote(ref.text), resource)
	case target == nil:
		return fail("%s points at no schema in here", quote(ref.text))
	}
	return target, nil
}

// canonicalPointer writes a JSON pointer the way the index does.
func canonicalPointer(p string) string {
	steps := strings.Split(p, "/")
	for i, s := range steps {
		steps[i] = textutil.EscapePointer(textutil.UnescapePointer(s))
	}
	return strings.Join(steps, "/")
}
