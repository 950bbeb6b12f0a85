package schema

import (
	"fmt"
	"strings"
	"testing"
)

// TestEdges goes to each limit and one above: of schemas, and of what is held against them.
func TestEdges(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	compiles := func(schema func(n int) string) func(int) error {
		return func(n int) error {
			_, err := Compile([]byte(schema(n)))
			return err
		}
	}
	validates := func(schema string, doc func(n int) string) func(int) error {
		return func(n int) error {
			if invalid := mustCompile(t, schema).Validate([]byte(doc(n))); invalid != nil {
				return invalid
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		limit int
		check func(n int) error
		words string
	}{
		"size of a schema":      {maxSchemaSize, compiles(func(n int) string { return `{"title":"` + strings.Repeat("x", n-12) + `"}` }), "is 65537 bytes long"},
		"depth of a schema":     {maxSchemaDepth, compiles(func(n int) string { return `{"default":` + nested(n-1) + `}` }), "nested more than 32 levels deep"},
		"values of a schema":    {maxSchemaValues, compiles(func(n int) string { return `{"enum":[` + list(n-2, number) + `]}` }), "more than 2000 JSON values"},
		"schemas in each other": {maxChain - 2, compiles(chain), "nests more than 64 schemas"},
		"size of a document":    {MaxDocument, validates(`{}`, func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }), "is 4194305 bytes long"},
		"depth of a document":   {maxDepth, validates(`{"uniqueItems":true}`, nested), "nested more than 64 levels deep"},
		"values of a document":  {maxValues, validates(`{"not":{"type":"null"}}`, func(n int) string { return "[" + list(n-1, func(int) string { return "1" }) + "]" }), "more than 100000 JSON values"},
		"exponent of a number":  {maxNumber, validates(`{"multipleOf":1}`, func(n int) string { return fmt.Sprintf("1e%d", n) }), "too large an exponent (limit 400)"},
		"length of a number":    {maxNumber, validates(`{"multipleOf":1}`, func(n int) string { return strings.Repeat("9", n) }), "too many digits"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.check(c.limit); err != nil {
				t.Errorf("%d is refused: %.300v", c.limit, err)
			}
			if err := c.check(c.limit + 1); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%d gives %.300v, want %q", c.limit+1, err, c.words)
			}
		})
	}
}
