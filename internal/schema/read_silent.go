package schema

import "strings"

// silent reads the keywords that assert nothing.
func (r *reader) silent(n *node, word, at string, v any) error {
	switch word {
	case "format":
		r.format(n, v)
	case "$schema":
		return r.innerDialect(n, at, v)
	case "$id", "id":
		return r.id(n, at, v)
	case "$defs", "definitions":
		_, err := r.members(at, v)
		return err
	case "contentSchema":
		_, err := r.schema(at, v)
		return err
	}
	want, ok := annotations[word]
	if ok && kindOf(v) != want {
		return fault(at, "must be %s, got %s", article(want.String()), showPlain(v))
	}
	if word == "title" {
		n.title = v.(string)
	}
	return nil
}

// format takes a foreign schema's word for what a text must be.
func (r *reader) format(n *node, v any) {
	if name, ok := v.(string); ok && r.foreign {
		n.format = formats[name]
		n.formatName = name
	}
}

func (r *reader) innerDialect(n *node, at string, v any) error {
	uri, ok := v.(string)
	if d, known := dialectOf(uri); n.at != "" && (!ok || !known || d != r.dialect) {
		return fault(at, "an inner schema cannot be of another dialect; leave $schema out here")
	}
	return nil
}

// id drops identifiers: with local references only they name nothing. One inside would change what "#" means below it.
func (r *reader) id(n *node, at string, v any) error {
	id, ok := v.(string)
	if !ok {
		return fault(at, "must be a string, got %s", showPlain(v))
	}
	_, fragment, _ := strings.Cut(id, "#")
	if r.dialect >= draft2019 && fragment != "" {
		return fault(at, "must not have a fragment, got %s", quote(id))
	}
	if n.at != "" && !strings.HasPrefix(id, "#") {
		r.embedded = append(r.embedded, n.at)
	}
	return nil
}
