package schema

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kaptinlin/jsonschema"
)

// library is one schema compiled by the JSON Schema library. Validating with one concurrently can end the process
// (it fills maps while it validates), hence the lock. It also panics on schemas that are no schemas, hence recover.
type library struct {
	mu     sync.Mutex
	schema *jsonschema.Schema
}

// newLibrary compiles a schema in its normal form. Each gets a compiler of its own, since a compiler keeps schemas by $id and
// hands out the first for the second, and no loaders, since those fetch.
func newLibrary(normal []byte) (l *library, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = nil, fault("", "the schema library failed on it: %v", p)
		}
	}()
	compiler := jsonschema.NewCompiler()
	clear(compiler.Loaders)
	compiler.SetAssertFormat(true) // only formats that are checked are in the normal form
	for name, f := range formats {
		compiler.RegisterFormat(name, func(v any) bool { s, ok := v.(string); return !ok || f.holds(s) })
	}
	compiled, err := compiler.Compile(normal)
	if err != nil {
		return nil, fault("", "the schema library refuses it: %v", err)
	}
	if open := compiled.UnresolvedReferenceURIs(); len(open) > 0 {
		return nil, fault("", "the schema library cannot resolve %s", quote(open[0]))
	}
	return &library{schema: compiled}, nil
}

// verdict says whether a decoded document is valid, and if not, why in the library's own words. Few need those.
// A panic counts as not valid.
func (l *library) verdict(v any) (valid bool, words func() *Invalid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			valid, words = false, func() *Invalid { return invalid("cannot be checked, the schema library failed: %v", p) }
		}
	}()
	result := l.schema.Validate(v)
	return result.IsValid(), func() *Invalid { return ownWords(result.DetailedErrors()) }
}

// ownWords sorts the library's messages, which come in random order.
func ownWords(errors map[string]string) *Invalid {
	out := &Invalid{}
	for _, path := range slices.Sorted(maps.Keys(errors)) {
		if len(out.Problems) == MaxProblems {
			out.More++
			continue
		}
		out.Problems = append(out.Problems, Problem{Message: fmt.Sprintf("%s (%s)", shorten(errors[path], 200), shorten(path, maxQuoted))})
	}
	if len(out.Problems) == 0 {
		return invalid("does not fit its schema")
	}
	return out
}
