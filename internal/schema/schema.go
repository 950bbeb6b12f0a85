// Package schema makes JSON Schemas of third parties safe to compile and cheap to validate with.
//
// A schema is read into a tree of our own, which is also its meta-validation: every keyword has a known shape,
// references stay inside the schema, and size, depth, patterns and expansion are bounded. The tree is written out again
// in one normal form (JSON Schema 2020-12, no annotations, all shared parts in one place) and only that form reaches
// the JSON Schema library. Arguments then take one of two ways:
//
//   - accept reads the bytes once, allocates nothing, and says yes or "don't know";
//   - for the rest, check finds and words the problems within a budget of work, and the library decides.
//
// The library is not safe for concurrent use, fetches URLs and can be made to panic. No other package imports it.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kaptinlin/jsonschema"
)

// Limits on schemas. Strangers write them, so each bounds what compiling or validating can cost.
const (
	maxSchemaSize   = 256 << 10 // bytes
	maxSchemaDepth  = 32        // nested JSON objects and arrays
	maxSchemaValues = 8000      // JSON values of any kind, so sub-schemas too
	maxPaths        = 16 << 20  // bytes of the JSON pointers of all values; each sub-schema keeps its own
	maxSpread       = 10000     // schemas applied to one value, references followed
	maxChain        = 64        // of those, nested in each other
	maxPattern      = 512       // bytes
	maxProgram      = 2000      // instructions of one compiled pattern
	maxPrograms     = 20000     // of all patterns of a schema
)

// Limits on documents.
const (
	// maxDocument is the size in bytes above which a document is refused unread.
	maxDocument = 4 << 20

	maxDepth  = 64      // nested objects and arrays
	maxValues = 100_000 // JSON values of any kind; a document that accept takes is not counted
	maxNumber = 400     // characters of a number, and its exponent
	maxWork   = 100_000 // steps of validating one document, each up to a few microseconds and a kilobyte
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	// Unchecked says which keywords are not checked, where each stands and why, at most ten: patterns that are right in
	// ECMA-262 and that RE2 does not offer, such as back references, or that are larger than the limits; of a foreign
	// schema also other keywords that cannot be used.
	Unchecked []string

	root *node
	fast *rule // nil if the schema has keywords that accept does not know
	// The library takes two thirds of the time of all, and what accept takes does not need it.
	lib func() (*library, error)
}

// Compile guards and compiles one JSON Schema, 2020-12 unless its $schema names an older draft (04, 06, 07, 2019-09).
// Nothing at all, or only white space, is the schema {} which accepts every document.
// An error says what is wrong and, as a JSON pointer, where.
func Compile(raw json.RawMessage) (*Schema, error) {
	return compile(raw, &reader{})
}

// Validate checks one JSON document and returns nil if it is valid. It takes any bytes, answers in bounded time, and
// refuses what it cannot check within its limits (see maxDocument) with a problem that says so.
func (s *Schema) Validate(doc []byte) *Invalid { return s.validateShowing(doc, nil) }

// ErrNoConfig is the error of CheckConfig about a plugin that publishes no schema of a configuration.
var ErrNoConfig = errors.New("it takes no configuration")

// CheckConfig checks a plugin's configuration against the schema that the plugin publishes, if any, and returns it: {}
// if it is blank, nil for a plugin that takes none. What is shown, see validateShowing. The error is of the schema, or
// has an *Invalid.
func CheckConfig(published, config json.RawMessage, shown map[string]string) (json.RawMessage, error) {
	if config = bytes.TrimSpace(config); len(config) == 0 {
		config = json.RawMessage("{}")
	}
	switch {
	case len(published) == 0 && string(config) != "{}":
		return nil, ErrNoConfig
	case len(published) == 0:
		return nil, nil
	}
	s, err := Compile(published)
	if err != nil {
		return nil, fmt.Errorf("the schema of its configuration is invalid: %w", err)
	}
	if wrong := s.validateShowing(config, shown); wrong != nil {
		return nil, fmt.Errorf("its configuration is wrong: %w", wrong)
	}
	return config, nil
}

// validateShowing is Validate for a document with values that are not to be shown. In messages each is called by the
// name that shown has for its JSON pointer, or for that of a value around it.
func (s *Schema) validateShowing(doc []byte, shown map[string]string) *Invalid {
	if len(doc) > maxDocument {
		return invalid("is %d bytes long, the limit is %d", len(doc), maxDocument)
	}
	if s.fast.accepts(doc) {
		return nil
	}
	v, err := decode(doc, limits{depth: maxDepth, values: maxValues}, false)
	if err != nil {
		return &Invalid{Problems: []Problem{{Path: err.place().String(), Message: err.reason}}}
	}
	c := checker{work: maxWork, shown: shown}
	c.check(s.root, v, nil)
	if c.work < 0 {
		return invalid("is too much work to check against its schema; send a smaller value or simplify the schema")
	}
	valid, why := s.verdict(v)
	switch {
	case valid:
		return nil
	case len(c.findings) > 0:
		return c.invalid()
	case len(shown) > 0: // a panic of the library may tell a value
		return invalid("does not fit its schema")
	}
	return invalid("%s", why)
}

// CompileForeign compiles an input schema that was written for clients of another kind, which compile with ajv: formats
// are checked, and a list of items is a tuple where no dialect is named. A keyword that cannot be used, because it is
// malformed, leads out of the schema or back to itself, or is over a limit, is left out, noted in Unchecked, and costs
// no other check; of what is there twice, all but one is. An error means that nothing of the schema can be used: no
// JSON, an unknown dialect, or too large.
func CompileForeign(raw json.RawMessage) (*Schema, error) {
	return compile(raw, &reader{foreign: true, formats: true})
}

// CompileForeignOutput is CompileForeign for the schema of results, without formats: what a call has already brought is
// worth more than the form of a text in it.
func CompileForeignOutput(raw json.RawMessage) (*Schema, error) {
	return compile(raw, &reader{foreign: true})
}

// nullable reads the keyword of OpenAPI 3.0, which beside a type allows null too.
func (n *node) nullable(o *object) {
	if o.members["nullable"] != true || n.types == 0 || n.types&kindNull != 0 {
		return
	}
	n.types |= kindNull
	n.typeWords = append(n.typeWords[:len(n.typeWords):len(n.typeWords)], "null")
}

// numberFormat has the formats of numbers, which are bounds.
func (n *node) numberFormat(name string) {
	atLeast := func(b **bound, text json.Number) {
		if *b == nil {
			*b = &bound{text: text, exact: rational(text)}
		}
	}
	switch name {
	case "int32":
		atLeast(&n.minimum, "-2147483648")
		atLeast(&n.maximum, "2147483647")
		fallthrough
	case "int64":
		atLeast(&n.multipleOf, "1")
	}
}

func compile(raw json.RawMessage, r *reader) (*Schema, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if len(raw) > maxSchemaSize {
		return nil, fault("", "is %d bytes long, the limit is %d", len(raw), maxSchemaSize)
	}
	root, shared, err := r.read(raw)
	if err != nil {
		return nil, err
	}
	lib := sync.OnceValues(func() (*library, error) {
		normal, err := emit(root, shared)
		if err != nil {
			return nil, fmt.Errorf("it cannot be written out: %w", err)
		}
		return newLibrary(normal)
	})
	return &Schema{Unchecked: r.unchecked, root: root, fast: newRule(root), lib: lib}, nil
}

// verdict is the library's about a decoded document. Where it has none, the document is not valid; why then says so.
func (s *Schema) verdict(v any) (valid bool, why string) {
	lib, err := s.lib()
	if err != nil {
		return false, libraryFailed(err)
	}
	return lib.verdict(v)
}

// library is one schema compiled by the JSON Schema library. Validating with one concurrently can end the process
// (it fills maps while it validates), hence the lock. It also panics on schemas that are no schemas, hence recover.
type library struct {
	mu     sync.Mutex
	schema *jsonschema.Schema
}

// newLibrary compiles a schema in its normal form. Each gets a compiler of its own, since a compiler keeps schemas by
// $id and hands out the first for the second, and no loaders, since those fetch.
func newLibrary(normal []byte) (l *library, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = nil, fmt.Errorf("%v", p)
		}
	}()
	compiler := jsonschema.NewCompiler()
	clear(compiler.Loaders)
	compiler.SetAssertFormat(true) // only formats that are checked are in the normal form
	for name, f := range formats() {
		compiler.RegisterFormat(name, func(v any) bool { s, ok := v.(string); return !ok || f.holds(s) })
	}
	compiled, err := compiler.Compile(normal)
	if err != nil {
		return nil, err
	}
	if open := compiled.UnresolvedReferenceURIs(); len(open) > 0 {
		return nil, fmt.Errorf("it cannot resolve %s", quote(open[0]))
	}
	return &library{schema: compiled}, nil
}

// verdict reports whether a decoded document is valid. A panic counts as not valid; why then says so.
func (l *library) verdict(v any) (valid bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			valid, why = false, libraryFailed(p)
		}
	}()
	return l.schema.Validate(v).IsValid(), "does not fit its schema"
}

func libraryFailed(cause any) string {
	return fmt.Sprintf("cannot be checked, the schema library failed: %v", cause)
}
