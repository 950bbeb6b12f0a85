package schema

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is far more than anything here may take; it only distinguishes slow from endless.
const patience = time.Minute

// within fails the test if f takes longer than a whole test should.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("takes too long")
	}
}

// nestedProperties is a schema of properties in properties.
func nestedProperties(levels int) string {
	return strings.Repeat(`{"properties":{"a":`, levels) + `{}` + strings.Repeat(`}}`, levels)
}

// doubling applies each of its levels twice: 2^n schemas for one value.
func doubling(levels int, step string) string {
	var defs []string
	for i := range levels {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[`+step+`,`+step+`]}`, i, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"type":["object","string"]}`, levels))
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func chain(length int) string {
	var defs []string
	for i := range length {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), length)
}

func list(n int, item func(int) string) string {
	words := make([]string, n)
	for i := range words {
		words[i] = item(i)
	}
	return strings.Join(words, ",")
}

func number(i int) string { return strconv.Itoa(i) }

// TestHostileSchemas are refused, or used without the patterns that cost too much, and quickly.
func TestHostileSchemas(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"size", `{"description":"` + strings.Repeat("x", maxSchemaSize) + `"}`, "the limit is 262144"},
		{"depth", nestedProperties(2000), "nested more than 32 levels deep"},
		{"depth of a default", `{"default":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
			"nested more than 32 levels deep"},
		{"values", `{"enum":[` + list(9000, number) + `]}`, "more than 8000 JSON values"},
		{"long name above many schemas", `{"properties":{"` + strings.Repeat("x", 4000) + `":{"anyOf":[` +
			list(5000, func(int) string { return "{}" }) + `]}}}`, "names that are too long for the many schemas below them"},
		{"long name above few schemas", `{"properties":{"` + strings.Repeat("x", 200_000) + `":{"anyOf":[{},{}]}}}`, ""},
		{"allOf doubling 16", doubling(16, `{"$ref":"#/$defs/d%d"}`), "applies more than 10000 schemas to one value"},
		{"allOf doubling 60", doubling(60, `{"$ref":"#/$defs/d%d"}`), "applies more than 10000 schemas to one value"},
		{"long chain of references", chain(600), "nests more than 64 schemas for one value"},
		{"one large repetition", `{"pattern":"(a|b{1,900}c?)"}`, ""},
		{"many large repetitions", `{"anyOf":[` +
			list(900, func(i int) string { return fmt.Sprintf(`{"pattern":"(a|b{1,900}c?)%d"}`, i) }) + `]}`, ""},
		{"repeated repetitions", `{"pattern":"` + strings.Repeat(`(?:\\pL{10}){100}`, 25) + `"}`, ""},
		{"long pattern", `{"pattern":"` + strings.Repeat("a", 513) + `"}`, ""},
		{"deep pattern", `{"pattern":"` + strings.Repeat("(", 250) + strings.Repeat(")", 250) + `"}`, ""},
		{"absurd step", `{"multipleOf":1e-400000000}`, "too large an exponent"},
		{"long number", `{"minimum":` + strings.Repeat("9", 5000) + `}`, "too many digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			within(t, func() {
				s, err := Compile([]byte(c.schema))
				switch {
				case c.want == "" && err == nil:
					libraryOf(t, s)
					s.Validate([]byte(`"` + strings.Repeat("b", 5000) + `"`))
				case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want):
					t.Errorf("got error %.300v, want %q", err, c.want)
				}
			})
		})
	}
}

// TestHostileDocuments: harmless looking schemas and documents that multiply with each other are refused or
// answered in bounded time, and never with a wrong yes.
func TestHostileDocuments(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"c":`, n) + `{}` + strings.Repeat(`}`, n) }
	empties := "[" + strings.Repeat("{},", 50_000) + "{}]"
	for _, c := range []struct{ name, schema, doc, want string }{
		{"size", `{}`, strings.Repeat(" ", maxDocument+1), "the limit is 4194304"},
		{"depth", `{"type":"array"}`, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
			"nested more than 64 levels deep"},
		{"values", `{"uniqueItems":true}`, "[" + list(100_001, number) + "]", "more than 100000 JSON values"},
		{"number", `{"multipleOf":3}`, `1e1000000`, "too large an exponent"},
		{"numbers", `{"uniqueItems":true,"items":{"multipleOf":3}}`, `[` +
			list(40_000, func(i int) string { return fmt.Sprintf("%de399", i) }) + `]`, "too much work"},
		{"doubling through properties", doubling(26, `{"properties":{"c":{"$ref":"#/$defs/d%d"}}}`), deep(26),
			"too much work"},
		{"doubling through recursion", `{"allOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"c":{"$ref":"#"}}}]}`,
			deep(60), "too much work"},
		{"doubling through anyOf",
			`{"anyOf":[{"properties":{"c":{"$ref":"#"}},"required":["x"]},{"properties":{"c":{"$ref":"#"}},"required":["y"]}]}`,
			deep(60), "too much work"},
		{"many properties for many objects", `{"items":{"additionalProperties":false,"properties":{` +
			list(900, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `},"minProperties":0}}`, empties,
			"too much work"},
		{"many missing", `{"items":{"required":[` + list(900, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) +
			`],"properties":{` +
			list(900, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}}`, empties, "too much work"},
		{"pattern on a long text", `{"pattern":"^.{1,990}$"}`, `"` + strings.Repeat("a", 1_000_000) + `"`, "too much work"},
		{"many patterns on names", `{"patternProperties":{` +
			list(300, func(i int) string { return fmt.Sprintf(`"(a|b){1,9}%d":{}`, i) }) + `}}`,
			`{"` + strings.Repeat("ab", 200) + `":` + empties + `}`, ""},
		{"patterns compiled again for each object", `{"items":{"patternProperties":{"(a|b){1,400}":{}}}}`, empties,
			"too much work"},
		{"enum for every item", `{"items":{"enum":[` + list(1900, number) + `]},"uniqueItems":false,"minProperties":1}`, `[` +
			strings.Repeat("1900,", 50_000) + `1900]`, "too much work"},
		{"long numbers against long numbers", `{"items":{"enum":[` +
			list(500, func(i int) string { return fmt.Sprintf("%de390", i) }) + `]}}`, `[` +
			list(1000, func(int) string { return "7e391" }) + `]`, "too much work"},
		{"names at every level of a chain", `{"items":{"$ref":"#/$defs/d0"},"$defs":{` +
			list(58, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) +
			`,"d58":{"properties":{` + list(900, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) +
			`},"not":{"type":"null"}}}}`, "[" + list(1000, func(int) string { return "{}" }) + "]", "too much work"},
		{"wide schemas for what is missing", `{"items":{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d0"}}},` +
			doubling(11, `{"$ref":"#/$defs/d%d"}`)[len(`{"$ref":"#/$defs/d0",`):],
			"[" + list(100, func(int) string { return "{}" }) + "]", "too much work"},
		{"a long name in every schema", `{"allOf":[` + list(600, func(int) string { return `{"additionalProperties":{}}` }) +
			`,{"minProperties":2}]}`, `{"` + strings.Repeat("m", 100_000) + `":1}`, "too much work"},
		{"a long missing name in every item", `{"items":{"required":["` + strings.Repeat("n", 30_000) + `"]}}`, "[" +
			list(500, func(int) string { return "{}" }) + "]", "too much work"},
		{"a long enum in every item", `{"items":{"enum":["` + strings.Repeat("n", 30_000) + `"]}}`, "[" + list(500, number) +
			"]", "too much work"},
		{"numbers near 0", `{"items":{"multipleOf":1.7}}`, "[" + list(3000, func(int) string { return "1e-399" }) + "]",
			"too much work"},
		{"lists in an enum", `{"items":{"enum":[` +
			list(170, func(i int) string { return fmt.Sprintf(`[1,2,3,4,5,6,7,8,9,%d]`, i) }) + `]}}`, "[" +
			list(400, func(int) string { return "[1,2,3,4,5,6,7,8,9,-1]" }) + "]", "too much work"},
		{"long text in every alternative", `{"oneOf":[` +
			list(600, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`, `"` +
			strings.Repeat("a", 3_000_000) + `"`, "too much work"},
		{"unknown properties", `{"properties":{` +
			list(400, func(i int) string { return fmt.Sprintf(`"name_%d_of_a_property":{}`, i) }) +
			`},"additionalProperties":false}`,
			`{` + list(20_000, func(i int) string { return fmt.Sprintf(`"name-%d-of-a-propertx":1`, i) }) + `}`,
			"unknown property"},
	} {
		t.Run(c.name, func(t *testing.T) {
			within(t, func() {
				start := time.Now()
				got := mustCompile(t, c.schema).Validate([]byte(c.doc))
				if c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)) {
					t.Errorf("got %v, want %q", got, c.want)
				}
				t.Log(time.Since(start))
			})
		})
	}
}

// TestLargestWork: what just fits the budget still ends soon. The slowest found by experiment.
func TestLargestWork(t *testing.T) {
	for _, c := range []struct{ name, schema, doc string }{
		{"invalid items", `{"items":{"oneOf":[{"type":"string"}]}}`, "[" + list(10_000, number) + "]"},
		{"chain around many names", `{"items":{"$ref":"#/$defs/d0"},"$defs":{` +
			list(58, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) +
			`,"d58":{"properties":{` + list(900, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) +
			`},"not":{"type":"null"}}}}`, "[" + strings.Repeat("{},", 11) + "{}]"},
		{"names noted at every level", `{"$ref":"#/$defs/d0","$defs":{` +
			list(58, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) +
			`,"d58":{"additionalProperties":{},"not":{"type":"null"}}}}`, `{` +
			list(7_000, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + `}`},
		{"long text", `{"oneOf":[` + list(10, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`, `"` +
			strings.Repeat("a", 1_200_000) + `"`},
		{"large numbers", `{"items":{"enum":[` + list(500, func(i int) string { return fmt.Sprintf("%de390", i) }) + `]}}`,
			`[` + strings.Repeat("7e391,", 8) + `1]`},
		{"unique numbers", `{"uniqueItems":true}`, `[` + list(3_000, func(i int) string { return fmt.Sprintf("%de399", i) }) +
			`]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			within(t, func() {
				start := time.Now()
				got := mustCompile(t, c.schema).Validate([]byte(c.doc))
				t.Log(time.Since(start))
				if got != nil && strings.Contains(got.Error(), "too much work") {
					t.Errorf("does not fit the budget: %v", got)
				}
			})
		})
	}
}

// TestNothingIsFetched: no reference makes a request, whatever it is written in.
func TestNothingIsFetched(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	for _, form := range []string{ // %s is the server
		`{"$ref":"%s/a"}`, `{"$ref":"%s/a#/$defs/x"}`, `{"$dynamicRef":"%s/a"}`, `{"properties":{"a":{"$ref":"%s/a"}}}`,
		`{"$schema":"%s/meta"}`,
		`{"$id":"%s/","$ref":"a"}`, `{"$id":"%s/","allOf":[{"$ref":"//x/a"}]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"%s/a"}`,
		`{"$id":"%s/self","properties":{"a":{"$ref":"#/properties/b"},"b":{}}}`, `{"$vocabulary":{"%s/v":true}}`,
		`{"contentSchema":{"$ref":"%s/a"}}`,
	} {
		raw := []byte(strings.ReplaceAll(form, "%s", server.URL))
		if s, err := Compile(raw); err == nil {
			s.Validate([]byte(`{"a":1}`))
		}
		if l, err := newLibrary(raw); err == nil { // as if a guard had let it pass
			l.verdict(map[string]any{"a": nil})
		}
	}
	if n := asked.Load(); n > 0 {
		t.Fatalf("%d requests were made", n)
	}
}

// TestSameID: the library hands out the first schema of an $id for the second; with a compiler for each it cannot.
func TestSameID(t *testing.T) {
	first := mustCompile(t, `{"$id":"https://example.com/tool","type":"string"}`)
	second := mustCompile(t, `{"$id":"https://example.com/tool","type":"integer"}`)
	if first.Validate([]byte(`1`)) == nil || second.Validate([]byte(`1`)) != nil {
		t.Fatal("one schema took the place of the other")
	}
}

// TestConcurrentUse is for the race detector. The library writes to maps while it validates with these keywords.
func TestConcurrentUse(t *testing.T) {
	s := mustCompile(t, `{"type":"object","patternProperties":{"^a":{"type":"string","pattern":"^x"},"^b":{"$ref":"#/$defs/n"}},
		"properties":{"list":{"type":"array","uniqueItems":true,"items":{"pattern":"^y"}}},"additionalProperties":false,"$defs":{"n":{"anyOf":[{"type":"null"},{"multipleOf":2}]}}}`)
	fast := mustCompile(t, `{"type":"object","properties":{"a":{"type":"string","pattern":"^x+$"}},"required":["a"]}`)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 50 {
				if got := s.Validate([]byte(`{"a1":"xy","b":4,"list":["y1","y2"]}`)); got != nil {
					t.Error(got)
				}
				if got, want := s.Validate([]byte(`{"a1":"z"}`)), `a1: must match the pattern ^x, got "z"`; got == nil ||
					got.Error() != want {
					t.Errorf("got %v, want %s", got, want)
				}
				if valid := fast.Validate([]byte(`{"a":"xxx"}`)) == nil; !valid {
					t.Error("refused")
				}
				if fast.Validate([]byte(`{"a":"`+strings.Repeat("y", i)+`"}`)) == nil {
					t.Error("accepted")
				}
			}
		})
	}
	all.Wait()
}

// TestLibraryFailureIsAProblem: whatever the library does, the caller gets an answer, and it is no.
func TestLibraryFailureIsAProblem(t *testing.T) {
	s := mustCompile(t, `{"oneOf":[{"type":"string"}]}`)
	for _, lib := range []func() (*library, error){
		func() (*library, error) { return &library{}, nil }, // validating with no schema panics
		func() (*library, error) { return nil, errors.New("no") },
	} {
		s.lib = lib
		got := s.Validate([]byte(`"a"`))
		if got == nil || !strings.Contains(got.Error(), "cannot be checked, the schema library failed") {
			t.Fatalf("got %v", got)
		}
	}
	if l, err := newLibrary([]byte(`{"properties":`)); err == nil {
		t.Fatalf("got %v for broken JSON", l)
	}
	if _, err := newLibrary([]byte(`{"$ref":"#/$defs/missing"}`)); err == nil ||
		!strings.Contains(err.Error(), "cannot resolve") {
		t.Fatalf("an open reference gives %v", err)
	}
}

// TestEdges goes to each limit and one above: of schemas, and of what is held against them.
func TestEdges(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	compiles := func(schema func(n int) string) func(int) error {
		return func(n int) error {
			s, err := Compile([]byte(schema(n)))
			if err == nil {
				libraryOf(t, s)
			}
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
		"size of a schema": {maxSchemaSize,
			compiles(func(n int) string { return `{"title":"` + strings.Repeat("x", n-12) + `"}` }), "is 262145 bytes long"},
		"depth of a schema": {maxSchemaDepth, compiles(func(n int) string { return `{"default":` + nested(n-1) + `}` }),
			"nested more than 32 levels deep"},
		"values of a schema": {maxSchemaValues,
			compiles(func(n int) string { return `{"enum":[` + list(n-2, number) + `]}` }), "more than 8000 JSON values"},
		"schemas in each other": {maxChain - 2, compiles(chain), "nests more than 64 schemas"},
		"size of a document": {maxDocument,
			validates(`{}`, func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }), "is 4194305 bytes long"},
		"depth of a document": {maxDepth, validates(`{"uniqueItems":true}`, nested), "nested more than 64 levels deep"},
		"values of a document": {maxValues,
			validates(`{"not":{"type":"null"}}`,
				func(n int) string { return "[" + list(n-1, func(int) string { return "1" }) + "]" }),
			"more than 100000 JSON values"},
		"exponent of a number": {maxNumber,
			validates(`{"multipleOf":1}`, func(n int) string { return fmt.Sprintf("1e%d", n) }),
			"too large an exponent (limit 400)"},
		"length of a number": {maxNumber,
			validates(`{"multipleOf":1}`, func(n int) string { return strings.Repeat("9", n) }), "too many digits"},
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

// What is counted alone is not compared with what is kept: a document can have 100,000 unknown properties.
func TestFindingsOverTheLimitCostNothing(t *testing.T) {
	least, name := time.Hour, strings.Repeat("a", 1000)
	for range 3 {
		c := checker{work: maxWork}
		for i := range maxFindings {
			c.put(finding{property: name + strconv.Itoa(1000+i)})
		}
		start, last := time.Now(), finding{property: name + "last"}
		for range maxValues {
			c.put(last)
		}
		least = min(least, time.Since(start))
	}
	if least > time.Second {
		t.Errorf("it took %s", least)
	}
}
