package schema

import "encoding/json"

// Limits on schemas. Strangers write them, so each bounds what compiling or validating can cost.
const (
	maxSchemaSize   = 64 << 10 // bytes
	maxSchemaDepth  = 32       // nested JSON objects and arrays
	maxSchemaValues = 2000     // JSON values of any kind, so sub-schemas too
	maxSpread       = 10000    // schemas applied to one value, references followed
	maxChain        = 64       // of those, nested in each other
	maxPattern      = 512      // bytes
	maxProgram      = 2000     // instructions of one compiled pattern
	maxPrograms     = 20000    // of all patterns of a schema
)

// Limits on documents.
const (
	// MaxDocument is the size in bytes above which a document is refused unread.
	MaxDocument = 4 << 20

	maxDepth  = 64      // nested objects and arrays
	maxValues = 100_000 // JSON values of any kind; a document that accept takes is not counted
	maxNumber = 400     // characters of a number, and its exponent
	maxWork   = 100_000 // steps of validating one document, each up to a few microseconds and a kilobyte
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	// Unchecked says which keywords are not checked, where each stands and why, at most ten: patterns that are right in
	// ECMA-262 and that RE2 does not offer, such as lookaheads, or that are larger than the limits.
	Unchecked []string

	root *node
	fast *rule // nil if the schema has keywords that accept does not know
	lib  *library
}

// Compile guards and compiles one JSON Schema, 2020-12 unless its $schema names an older draft (04, 06, 07, 2019-09).
// Nothing at all, or only white space, is the schema {} which accepts every document.
// An error says what is wrong and, as a JSON pointer, where.
func Compile(raw json.RawMessage) (*Schema, error) {
	return compile(raw, &reader{dialect: draft2020, index: map[string]*node{}})
}

// Validate checks one JSON document and returns nil if it is valid. It takes any bytes, answers in bounded time, and
// refuses what it cannot check within its limits (see MaxDocument) with a problem that says so.
func (s *Schema) Validate(doc []byte) *Invalid { return s.ValidateShowing(doc, nil) }

// ValidateShowing is Validate for a document with values that are not to be shown. In messages each is called by the name
// that shown has for its JSON pointer, or for that of a value around it.
func (s *Schema) ValidateShowing(doc []byte, shown map[string]string) *Invalid {
	if len(doc) > MaxDocument {
		return invalid("is %d bytes long, the limit is %d", len(doc), MaxDocument)
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
	valid, words := s.lib.verdict(v)
	switch {
	case valid:
		return nil
	case len(c.findings) > 0:
		return c.invalid()
	case len(shown) > 0: // the library's words may tell a value
		return invalid("does not fit its schema")
	}
	return words()
}
