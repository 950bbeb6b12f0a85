package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// reader turns a decoded schema into nodes and checks every keyword's shape on the way.
type reader struct {
	dialect   dialect
	index     map[string]*node // by JSON pointer
	refs      []reference
	resource  string            // JSON pointer of the schema with an $id around what is read, or of the root
	base      string            // its URI
	resources map[string]string // JSON pointers of schemas, by URI
	anchors   map[string]string // and by the pointer of the resource, # and a name
	dynamic   map[string]int    // how many schemas have a $dynamicAnchor, by # and its name, or a $recursiveAnchor, by #
	programs  int               // instructions of all patterns
	foreign   bool              // see CompileForeign
	formats   bool              // are checked
	declared  bool              // the dialect is the author's word
	unchecked []string          // see Schema.Unchecked
}

func fault(at, format string, args ...any) error {
	return fmt.Errorf("#%s: %s", at, fmt.Sprintf(format, args...))
}

// read parses, checks and links a schema. It returns its root and the nodes that others refer to.
func (r *reader) read(raw []byte) (root *node, shared []*node, err error) {
	r.dialect, r.index, r.base = draft2020, map[string]*node{}, localBase
	r.resources, r.anchors, r.dynamic = map[string]string{}, map[string]string{}, map[string]int{}
	most := limits{depth: maxSchemaDepth, values: maxSchemaValues}
	v, bad := decode(raw, most, true)
	if bad != nil && bad.twice && r.foreign {
		r.note(fault(bad.place().pointer(), "%s; of each that is, here or elsewhere, the last counts and what is before "+
			"it means nothing", bad.reason))
		most.lastWins = true
		v, bad = decode(raw, most, true)
	}
	if bad != nil {
		return nil, nil, fault(bad.place().pointer(), "%s", bad.reason)
	}
	if pathBytes(v, 0) > maxPaths {
		return nil, nil, fault("", "has names that are too long for the many schemas below them; the limit is %d bytes for "+
			"the JSON pointers of all its values", maxPaths)
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
	r.unclose()
	r.loosen()
	r.measure()
	return root, shared, nil
}

// pathBytes is the length of the JSON pointers of v, which has one of that length itself, and of all values in it.
func pathBytes(v any, length int) int {
	sum := length
	switch v := v.(type) {
	case *object:
		for _, name := range v.names {
			sum += pathBytes(v.members[name], length+1+len(name))
		}
	case []any:
		for _, item := range v {
			sum += pathBytes(item, length+len("/1000"))
		}
	}
	return sum
}

// unclose reads additionalProperties:false in a foreign schema as it is meant where it refuses what the keywords beside
// it describe, as generators write it that close every object. Beside a branch that names properties which the schema
// itself does not, it is unevaluatedProperties; beside propertyNames alone it means nothing, and neither it does in a
// part of allOf when another part names other properties.
func (r *reader) unclose() {
	if !r.foreign {
		return
	}
	for _, n := range r.index {
		for _, part := range n.allOf {
			if part.closed() && !part.covers(n.declared(map[*node]bool{})) {
				part.additional = nil
			}
		}
	}
	for _, n := range r.index {
		switch {
		case !n.closed():
		case n.propertyNames != nil && len(n.properties)+len(n.patternProperties) == 0:
			n.additional = nil
		case n.unevaluatedProperties == nil && !n.covers(n.declared(map[*node]bool{})):
			n.additional, n.unevaluatedProperties = nil, n.additional
		}
	}
}

func (r *reader) chooseDialect(v any) error {
	o, ok := v.(*object)
	if !ok || o.members["$schema"] == nil {
		return nil
	}
	uri, _ := o.members["$schema"].(string)
	d, known := dialectOf(uri)
	if !known {
		return fault("/$schema", "unknown dialect %s; known: %s", showPlain(o.members["$schema"]),
			strings.Join(slices.Sorted(maps.Keys(dialectNames)), ", "))
	}
	r.dialect, r.declared = d, true
	return nil
}

// knows reports whether a keyword means anything in the schema. Authors who name no dialect write tuples of all.
func (r *reader) knows(keyword string) bool {
	return r.dialect.knows(keyword) || r.foreign && !r.declared && keyword == "additionalItems"
}

func (r *reader) schema(at string, v any) (*node, error) {
	n := &node{at: at}
	r.index[at] = n
	switch v := v.(type) {
	case bool:
		n.never = !v
		return n, nil
	case *object:
		defer func(resource, base string) { r.resource, r.base = resource, base }(r.resource, r.base)
		r.identify(n, v)
		return n, r.keywords(n, v)
	}
	return nil, fault(at, "must be a schema (an object or a boolean), got %s", showPlain(v))
}

// part is schema for one of several under a keyword. One that is none, in a foreign schema, accepts anything.
func (r *reader) part(at string, v any) (*node, error) {
	n, err := r.schema(at, v)
	if err != nil && r.foreign {
		n = r.index[at]
		r.normalize(n)
		r.leaveOut(n, "", err)
		return n, nil
	}
	return n, err
}

func (r *reader) keywords(n *node, o *object) error {
	for _, word := range o.names {
		if !r.knows(word) {
			continue
		}
		asserts, err := r.keyword(n, word, o.members[word])
		switch {
		case err == nil:
		case r.foreign:
			r.leaveOut(n, word, err)
			continue
		default:
			return err
		}
		n.asserts = n.asserts || asserts
	}
	n.nullable(o)
	r.normalize(n)
	return nil
}

// maxUnchecked is how many keywords that are not checked are named.
const maxUnchecked = 10

// leaveOut notes that a keyword of n is not checked, and why.
func (r *reader) leaveOut(n *node, word string, why error) {
	n.partial = true
	n.leftOut = append(n.leftOut, word)
	r.note(why)
}

func (r *reader) note(why error) {
	if len(r.unchecked) < maxUnchecked {
		r.unchecked = append(r.unchecked, fmt.Sprintf("%v; it is not checked", why))
	}
}

// withoutLeftOut removes what would refuse more beside a keyword that is left out: such as additionalProperties beside
// properties.
func (r *reader) withoutLeftOut(n *node) {
	for _, word := range n.leftOut {
		switch word {
		case "properties", "patternProperties":
			n.openEnded = true
		case "prefixItems", "items":
			n.items, n.additionalItems, n.unevaluatedItems = nil, nil, nil
		case "minContains":
			n.contains = nil
		case "if":
			n.cond, n.then, n.otherwise = nil, nil, nil
		case "$ref":
			if r.dialect <= draft7 { // its siblings mean nothing there
				*n = node{at: n.at, partial: true}
				return
			}
		}
	}
}

// keyword reads one keyword into n and reports whether it can refuse anything.
func (r *reader) keyword(n *node, word string, v any) (asserts bool, err error) {
	at := n.at + "/" + textutil.EscapePointer(word)
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
		n, err := r.part(at+"/"+strconv.Itoa(i), item)
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
		n, err := r.part(at+"/"+textutil.EscapePointer(name), o.members[name])
		if err != nil {
			return nil, err
		}
		out[i] = member{name: name, node: n}
	}
	return out, nil
}

// readers are the keywords whose values need reading of their own. Filled by init: some read schemas, which need this
// table.
var readers map[string]func(r *reader, n *node, at string, v any) error

func init() {
	readers = map[string]func(*reader, *node, string, any) error{
		"type":              readType,
		"enum":              readEnum,
		"const":             func(_ *reader, n *node, _ string, v any) error { n.constant = []any{plain(v)}; return nil },
		"required":          readRequired,
		"uniqueItems":       readUnique,
		"pattern":           readPattern,
		"patternProperties": readPatternProperties,
		"dependentRequired": readDependencies("name lists", false),
		"dependencies":      readDependencies("schemas and name lists", true),
		"items":             readItems,
		"additionalItems":   readAdditionalItems,
		"exclusiveMinimum":  readExclusive("exclusiveMinimum", func(n *node) *bool { return &n.exclusiveMinimumFlag }),
		"exclusiveMaximum":  readExclusive("exclusiveMaximum", func(n *node) *bool { return &n.exclusiveMaximumFlag }),
		"$ref":              readRef("$ref"),
		"$dynamicRef":       readRef("$dynamicRef"),
		"$recursiveRef":     readRef("$recursiveRef"),
	}
}

func readPattern(r *reader, n *node, at string, v any) (err error) {
	s, ok := v.(string)
	if !ok {
		return fault(at, "must be a regular expression in a string, got %s", showPlain(v))
	}
	n.pattern, err = r.patternOf(n, at, s)
	return err
}

func readPatternProperties(r *reader, n *node, at string, v any) (err error) {
	if n.patternProperties, err = r.members(at, v); err != nil {
		return err
	}
	seen, all := map[string]bool{}, n.patternProperties
	n.patternProperties = nil
	for _, m := range all {
		p, err := r.patternOf(n, at+"/"+textutil.EscapePointer(m.name), m.name)
		if err != nil {
			return err
		}
		if p != nil && len(p.ahead) > 0 { // the library takes one expression for a name
			r.leaveOut(n, "", fault(at+"/"+textutil.EscapePointer(m.name),
				"lookaheads in names of properties are not supported"))
			p = nil
		}
		if p == nil {
			n.openEnded = true
			continue
		}
		if seen[p.re.String()] {
			n.patternProperties = nil
			return fault(at, "pattern %s is there twice, written differently", quote(m.name))
		}
		seen[p.re.String()] = true
		m.pattern = p
		n.patternProperties = append(n.patternProperties, m)
	}
	return nil
}

// readDependencies reads dependentRequired and, with schemas, the older keyword that became that and
// dependentSchemas.
func readDependencies(what string, schemas bool) func(*reader, *node, string, any) error {
	return func(r *reader, n *node, at string, v any) error {
		o, ok := v.(*object)
		if !ok {
			return fault(at, "must be an object of %s, got %s", what, showPlain(v))
		}
		for _, name := range o.names {
			inner := at + "/" + textutil.EscapePointer(name)
			if _, list := o.members[name].([]any); schemas && !list {
				sub, err := r.schema(inner, o.members[name])
				if err != nil {
					return err
				}
				n.dependentSchemas = append(n.dependentSchemas, member{name: name, node: sub})
				continue
			}
			needs, err := r.names(inner, o.members[name])
			if err != nil {
				return err
			}
			n.dependentRequired = append(n.dependentRequired, dependency{name: name, needs: needs})
		}
		return nil
	}
}

func readItems(r *reader, n *node, at string, v any) (err error) {
	list, ok := v.([]any)
	switch {
	case !ok:
		n.items, err = r.schema(at, v)
		return err
	case r.dialect >= draft2020 && (!r.foreign || r.declared):
		return fault(at, "must be one schema, got array; a list of schemas is \"prefixItems\" now, or declare an older "+
			"\"$schema\"")
	}
	n.tuple = true
	if len(list) > 0 {
		n.prefixItems, err = r.schemaList(at, v)
	}
	return err
}

func readAdditionalItems(r *reader, n *node, at string, v any) (err error) {
	n.additionalItems, err = r.schema(at, v)
	return err
}

// readExclusive reads a bound that is a flag beside another one in draft 4, and in OpenAPI 3.0, which names no dialect.
func readExclusive(word string, flag func(*node) *bool) func(*reader, *node, string, any) error {
	return func(r *reader, n *node, at string, v any) (err error) {
		if set, ok := v.(bool); ok && (r.dialect == draft4 || r.foreign && !r.declared) {
			*flag(n) = set
			return nil
		}
		*bounds[word](n), err = readBound(at, v)
		return err
	}
}

func readType(r *reader, n *node, at string, v any) error {
	words, ok := v.([]any)
	if !ok {
		words = []any{v}
	}
	var types kind
	var names []string
	for _, w := range words {
		name, _ := w.(string)
		k, known := kindNames[name]
		switch {
		case !known:
			return fault(at, "unknown type %s; known: array, boolean, integer, null, number, object, string; leave \"type\" "+
				"out to allow anything", showPlain(w))
		case types&k != 0 && r.foreign:
			r.note(fault(at, "type %q is listed twice, of which the second means nothing", name))
			continue
		case types&k != 0:
			return fault(at, "type %q is listed twice", name)
		}
		types |= k
		names = append(names, name)
	}
	if len(words) == 0 {
		return fault(at, "must name at least one type")
	}
	n.types, n.typeWords = types, names
	return nil
}

func readEnum(_ *reader, n *node, at string, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return fault(at, "must be a list of at least one value, got %s", showPlain(v))
	}
	n.enum = make([]any, len(list))
	for i, item := range list {
		n.enum[i] = plain(item)
	}
	return nil
}

// plain forgets the order of names.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		out := make(map[string]any, len(v.members))
		for name, m := range v.members {
			out[name] = plain(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

func readRequired(r *reader, n *node, at string, v any) (err error) {
	if _, ok := v.(bool); ok {
		return fault(at, "must be a list of property names, got %s; write the name into \"required\" of the schema around it",
			show(v))
	}
	n.required, err = r.names(at, v)
	return err
}

// names reads a list of names. In a foreign schema one that is there twice counts once.
func (r *reader) names(at string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fault(at, "must be a list of property names, got %s", showPlain(v))
	}
	var out []string
	for _, item := range list {
		name, ok := item.(string)
		switch {
		case !ok:
			return nil, fault(at, "must be a list of property names, but has %s in it", showPlain(item))
		case slices.Contains(out, name) && r.foreign:
			r.note(fault(at, "property %s is listed twice, of which the second means nothing", quote(name)))
			continue
		case slices.Contains(out, name):
			return nil, fault(at, "property %s is listed twice", quote(name))
		}
		out = append(out, name)
	}
	return out, nil
}

func readUnique(_ *reader, n *node, at string, v any) error {
	unique, ok := v.(bool)
	if !ok {
		return fault(at, "must be true or false, got %s", showPlain(v))
	}
	n.uniqueItems = unique
	return nil
}

// count reads a number of things. Above what any document can hold, all are the same.
func count(at string, v any) (*int, error) {
	const most = 1 << 30
	n, ok := v.(json.Number)
	if !ok || !isInteger(n) || rational(n).Sign() < 0 {
		return nil, fault(at, "must be a whole number of at least 0, got %s", showPlain(v))
	}
	whole := rational(n).Num()
	if !whole.IsInt64() || whole.Int64() > most {
		return new(most), nil
	}
	return new(int(whole.Int64())), nil
}

func readBound(at string, v any) (*bound, error) {
	n, ok := v.(json.Number)
	if !ok {
		hint := ""
		if _, flag := v.(bool); flag {
			hint = "; the boolean form is draft-04 and needs \"$schema\": \"http://json-schema.org/draft-04/schema#\""
		}
		return nil, fault(at, "must be a number, got %s%s", showPlain(v), hint)
	}
	b := &bound{text: n, exact: rational(n)}
	if strings.HasSuffix(at, "/multipleOf") && b.exact.Sign() <= 0 {
		return nil, fault(at, "must be more than 0, got %s", n)
	}
	return b, nil
}

// showPlain is show for a value of the schema itself.
func showPlain(v any) string {
	switch v := v.(type) {
	case *object:
		return "object"
	case []any:
		if len(v) == 0 {
			return "an empty array"
		}
	}
	return show(v)
}

// silent reads the keywords that assert nothing.
func (r *reader) silent(n *node, word, at string, v any) error {
	switch word {
	case "format":
		r.format(n, v)
	case "$schema":
		uri, ok := v.(string)
		if d, known := dialectOf(uri); n.at != "" && (!ok || !known || d != r.dialect) {
			return fault(at, "an inner schema cannot be of another dialect; leave $schema out here")
		}
		return nil
	case "$id", "id":
		return r.id(at, v)
	case "$defs", "definitions":
		_, err := r.members(at, v)
		return err
	case "contentSchema":
		_, err := r.schema(at, v)
		return err
	}
	want, ok := annotations[word]
	if ok && kindOf(v) != want {
		if r.foreign { // it asserts nothing, however it is written
			return nil
		}
		return fault(at, "must be %s, got %s", article(want.String()), showPlain(v))
	}
	if word == "title" {
		n.title = v.(string)
	}
	return nil
}

func (r *reader) format(n *node, v any) {
	if name, ok := v.(string); ok && r.formats {
		n.format = formats()[name]
		n.formatName = name
	}
}

func (r *reader) id(at string, v any) error {
	id, ok := v.(string)
	if !ok {
		return fault(at, "must be a string, got %s", showPlain(v))
	}
	if _, fragment, _ := strings.Cut(id, "#"); r.dialect >= draft2019 && fragment != "" {
		return fault(at, "must not have a fragment, got %s", quote(id))
	}
	return nil
}

// dialect is a version of JSON Schema. All are read into the shape of the newest.
type dialect int

const (
	draft4 dialect = iota
	draft6
	draft7
	draft2019
	draft2020
)

var dialectNames = map[string]dialect{
	"json-schema.org/draft-04/schema":      draft4,
	"json-schema.org/draft-06/schema":      draft6,
	"json-schema.org/draft-07/schema":      draft7,
	"json-schema.org/draft/2019-09/schema": draft2019,
	"json-schema.org/draft/2020-12/schema": draft2020,
}

func dialectOf(uri string) (dialect, bool) {
	name := strings.TrimSuffix(uri, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	d, ok := dialectNames[name]
	return d, ok
}

// since and until say in which dialects a keyword means anything; elsewhere it is an unknown word and ignored. Keywords
// that are not listed are in all. Two of those are not by the letter: $defs is younger than some dialects but widely
// used in them, and dependencies is older than the newest, but servers that do not name their dialect still write it.
var (
	since = map[string]dialect{
		"const": draft6, "contains": draft6, "propertyNames": draft6, "examples": draft6, "$id": draft6,
		"if": draft7, "then": draft7, "else": draft7, "readOnly": draft7, "writeOnly": draft7, "$comment": draft7,
		"contentEncoding": draft7, "contentMediaType": draft7,
		"contentSchema": draft2019, "dependentRequired": draft2019, "dependentSchemas": draft2019,
		"minContains": draft2019, "maxContains": draft2019, "unevaluatedItems": draft2019, "unevaluatedProperties": draft2019,
		"$anchor": draft2019, "$recursiveRef": draft2019, "deprecated": draft2019, "$vocabulary": draft2019,
		"prefixItems": draft2020, "$dynamicRef": draft2020, "$dynamicAnchor": draft2020,
	}
	until = map[string]dialect{
		"id": draft4, "additionalItems": draft2019, "$recursiveRef": draft2019,
	}
)

func (d dialect) knows(keyword string) bool {
	last, limited := until[keyword]
	return d >= since[keyword] && (!limited || d <= last)
}

// The tables below say where a keyword's value is kept. Reading and writing out a schema both go by them.

// oneSchema are keywords that hold one schema.
var oneSchema = map[string]func(*node) **node{
	"not":                   func(n *node) **node { return &n.not },
	"if":                    func(n *node) **node { return &n.cond },
	"then":                  func(n *node) **node { return &n.then },
	"else":                  func(n *node) **node { return &n.otherwise },
	"items":                 func(n *node) **node { return &n.items },
	"contains":              func(n *node) **node { return &n.contains },
	"unevaluatedItems":      func(n *node) **node { return &n.unevaluatedItems },
	"additionalProperties":  func(n *node) **node { return &n.additional },
	"propertyNames":         func(n *node) **node { return &n.propertyNames },
	"unevaluatedProperties": func(n *node) **node { return &n.unevaluatedProperties },
}

// schemaLists are keywords that hold a list of schemas.
var schemaLists = map[string]func(*node) *[]*node{
	"allOf":       func(n *node) *[]*node { return &n.allOf },
	"anyOf":       func(n *node) *[]*node { return &n.anyOf },
	"oneOf":       func(n *node) *[]*node { return &n.oneOf },
	"prefixItems": func(n *node) *[]*node { return &n.prefixItems },
}

// namedSchemas are keywords that hold schemas by name.
var namedSchemas = map[string]func(*node) *[]member{
	"properties":        func(n *node) *[]member { return &n.properties },
	"patternProperties": func(n *node) *[]member { return &n.patternProperties },
	"dependentSchemas":  func(n *node) *[]member { return &n.dependentSchemas },
}

// counts are keywords that hold a number of things.
var counts = map[string]func(*node) **int{
	"minLength":     func(n *node) **int { return &n.minLength },
	"maxLength":     func(n *node) **int { return &n.maxLength },
	"minItems":      func(n *node) **int { return &n.minItems },
	"maxItems":      func(n *node) **int { return &n.maxItems },
	"minContains":   func(n *node) **int { return &n.minContains },
	"maxContains":   func(n *node) **int { return &n.maxContains },
	"minProperties": func(n *node) **int { return &n.minProperties },
	"maxProperties": func(n *node) **int { return &n.maxProperties },
}

// bounds are keywords that hold a number to compare with.
var bounds = map[string]func(*node) **bound{
	"minimum":          func(n *node) **bound { return &n.minimum },
	"maximum":          func(n *node) **bound { return &n.maximum },
	"exclusiveMinimum": func(n *node) **bound { return &n.exclusiveMinimum },
	"exclusiveMaximum": func(n *node) **bound { return &n.exclusiveMaximum },
	"multipleOf":       func(n *node) **bound { return &n.multipleOf },
}

// annotations are keywords that assert nothing, with the one type their value may have.
var annotations = map[string]kind{
	"title": kindString, "description": kindString, "$comment": kindString, "format": kindString,
	"contentEncoding": kindString, "contentMediaType": kindString, "$anchor": kindString, "$dynamicAnchor": kindString,
	"readOnly": kindBoolean, "writeOnly": kindBoolean, "deprecated": kindBoolean,
	"examples": kindArray, "$vocabulary": kindObject,
}

// normalize turns what older dialects say differently into the newest form.
func (r *reader) normalize(n *node) {
	r.withoutLeftOut(n)
	if n.refers && r.dialect <= draft7 {
		*n = node{at: n.at, asserts: true, partial: n.partial, refers: true} // siblings of $ref mean nothing there
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
