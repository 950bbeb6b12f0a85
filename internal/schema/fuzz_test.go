package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kaptinlin/jsonschema"
	other "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// offline refuses every address, so that a schema means only itself.
type offline struct{}

func (offline) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// otherSchema compiles a schema with a second, unrelated library. It may refuse what we accept.
func otherSchema(raw []byte) (*other.Schema, error) {
	doc, err := other.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := other.NewCompiler()
	c.UseLoader(offline{})
	c.UseRegexpEngine(func(s string) (other.Regexp, error) {
		if strings.HasPrefix(s, "^(?") {
			return lookaheadPattern(s), nil
		}
		return regexp.Compile(s)
	})
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema.json")
}

// failer is a testing.TB or a *rapid.T.
type failer interface{ Fatalf(string, ...any) }

// compareVerdicts fails the test if this package, the library on the author's own words, and the second library do
// not agree about a document in the ways that they must.
func compareVerdicts(t failer, s *Schema, raw, doc []byte) {
	accepted := s.fast.accepts(doc)
	v, bad := decode(doc, limits{depth: maxDepth, values: maxValues}, false)
	if bad != nil {
		if accepted || s.Validate(doc) == nil {
			t.Fatalf("accepted, but %s\nschema %s\ndocument %s", bad.reason, raw, doc)
		}
		return
	}
	c := checker{work: maxWork}
	c.check(s.root, v, nil)
	if c.work < 0 {
		if accepted {
			compareAccepted(t, s, raw, doc)
		}
		return
	}
	valid, _ := s.verdict(v)
	if valid != (len(c.findings)+c.uncounted == 0) {
		t.Fatalf("the library says valid: %v, the words say %v\nschema %s\ndocument %s", valid, c.invalid(), raw, doc)
	}
	if got := s.Validate(doc); (got == nil) != (valid || accepted) {
		t.Fatalf("Validate says %v\nschema %s\ndocument %s", got, raw, doc)
	}
	if accepted && !valid {
		t.Fatalf("accepted, but %v\nschema %s\ndocument %s", c.invalid(), raw, doc)
	}
	if accepted {
		compareAccepted(t, s, raw, doc)
	}
	// both overflow there
	if second, err := otherSchema(raw); err == nil && len(s.Unchecked) == 0 && !hugeCount.Match(raw) {
		compareOther(t, second, valid, raw, doc)
	}
}

// compareAccepted: accept is sound for the library on its own, given the schema as the author wrote it.
func compareAccepted(t failer, s *Schema, raw, doc []byte) {
	if got := libraryOf(t, s).schema.ValidateJSON(doc); !got.IsValid() {
		t.Fatalf("accepted, but the library on bytes says %v\nschema %s\ndocument %s", got.DetailedErrors(), raw, doc)
	}
	if misread(raw) {
		return
	}
	c := jsonschema.NewCompiler()
	clear(c.Loaders)
	if plain, err := c.Compile(raw); err == nil {
		if got := plain.ValidateJSON(doc); !got.IsValid() {
			t.Fatalf("accepted, but the library alone says %v\nschema %s\ndocument %s", got.DetailedErrors(), raw, doc)
		}
	}
}

// misread reports what the library gets wrong in an author's schema, and never sees from us: inner $defs and
// identifiers, content keywords, older dialects, and \u in patterns.
func misread(raw []byte) bool {
	return misreadWords.Match(raw) || hugeCount.Match(raw) || len(definitionWords.FindAll(raw, 2)) > 1
}

var (
	misreadWords    = regexp.MustCompile(`content|\$?id"|\$schema|dependencies|\\u|"#"`)
	hugeCount       = regexp.MustCompile(`(Length|Items|Properties|Contains)"\s*:\s*[0-9.]*([eE]|[0-9]{10})`)
	definitionWords = regexp.MustCompile(`\$defs|definitions`)
)

func compareOther(t failer, second *other.Schema, valid bool, raw, doc []byte) {
	v, err := other.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("the second library cannot read %s: %v", doc, err)
	}
	if err := second.Validate(v); (err == nil) != valid {
		t.Fatalf("valid: %v, but the second library says %v\nschema %s\ndocument %s", valid, err, raw, doc)
	}
}

// FuzzAccept changes schemas and documents byte by byte.
func FuzzAccept(f *testing.F) {
	for _, fact := range facts {
		for _, doc := range slices.Concat(fact.valid, fact.invalid) {
			f.Add(fact.schema, doc)
		}
	}
	forty, valid, invalid := fortyFields()
	f.Add(forty, valid)
	f.Add(forty, invalid)
	f.Add(fiveFields, fiveValid)
	f.Add(readTool, `{"path":"a","start_line":1,"mode":"b"}`)
	f.Add(editTool, `{"edits":[{"old_string":"a","new_string":"b"}]}`)
	f.Fuzz(func(t *testing.T, schema, doc string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		compareVerdicts(t, s, []byte(schema), []byte(doc))
	})
}

// FuzzCompile: no bytes make Compile or Validate panic or run on, and what compiles is a schema to others too.
func FuzzCompile(f *testing.F) {
	for _, fact := range facts {
		f.Add([]byte(fact.schema))
	}
	for _, raw := range []string{
		`{"$ref":"#"}`, `{"properties":{"a":null}}`, `{"required":true}`, `{"type":"any"}`, `{"allOf":[]}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{},true],"additionalItems":false,` +
			`"dependencies":{"a":["b"],"c":{}}}`,
		`{"pattern":"(a|b{8888888}c?G{1,"}`,
		chain(70), doubling(14, `{"$ref":"#/$defs/d%d"}`), nestedProperties(20), `{"pattern":"(a|b{1,900}c?)"}`,
		`{"minimum":1e400}`, `{"$id":"a","$defs":{"b":{"$id":"c","$ref":"#"}}}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Compile(raw)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "#") {
				t.Errorf("%s: no place in the error: %v", raw, err)
			}
			return
		}
		libraryOf(t, s)
		for _, doc := range []string{`{}`, `[[],{"a":{"a":1}}]`, `"a"`, `-1.5`, `null`, string(raw)} {
			s.Validate([]byte(doc))
		}
		if _, err := otherSchema(raw); err != nil && isSchemaError(err) && json.Valid(raw) && !looserHere(raw) &&
			len(s.Unchecked) == 0 { // patterns that RE2 does not offer are no schema for it
			t.Errorf("%s: compiles, but %v", raw, err)
		}
	})
}

// isSchemaError reports that a schema broke the rules of its own meta-schema.
func isSchemaError(err error) bool {
	_, ok := errors.AsType[*other.SchemaValidationError](err)
	return ok
}

// looserHere reports keywords whose form we do not check, since they do nothing here, and dialects whose meta-schema we
// relax.
func looserHere(raw []byte) bool {
	for _, word := range []string{"$schema", "$anchor", "$dynamicAnchor", "$vocabulary", "$id", "$recursive", "$dynamic"} {
		if bytes.Contains(raw, []byte(word)) {
			return true
		}
	}
	return bytes.Contains(raw, []byte(`\`)) // names may be written with escapes
}

// generated draws a schema from the grammar, and documents that are likely to fit parts of it.
func generated(t *rapid.T) {
	raw := []byte(marshal(anySchema(3).Draw(t, "schema")))
	s, err := Compile(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for range 8 {
		compareVerdicts(t, s, raw, []byte(marshal(anyValue(3).Draw(t, "document"))))
	}
}

func TestGenerated(t *testing.T) { rapid.Check(t, generated) }

// A pattern that is left out makes a schema accept more documents, wherever it stands: what the second library accepts
// with all patterns is never refused here.
func TestGeneratedWithUncheckedPatterns(t *testing.T) {
	replace := strings.NewReplacer(`"^.$"`, `"^(?:(?!a))"`, `"^a"`, `"^(?:(?!a))"`, `"^a|b"`, `"^(?:(?=a))"`)
	unchecked := 0
	rapid.Check(t, func(t *rapid.T) {
		var raw []byte
		var s *Schema
		for i := 0; s == nil || len(s.Unchecked) == 0; i++ { // one schema in some ten has such a pattern
			if i == 20 {
				return
			}
			raw = []byte(replace.Replace(marshal(anySchema(3).Draw(t, "schema"))))
			var err error
			if s, err = Compile(raw); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
		}
		unchecked++
		second, err := otherSchema(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for range 8 {
			doc := []byte(marshal(anyValue(3).Draw(t, "document")))
			v, err := other.UnmarshalJSON(bytes.NewReader(doc))
			if err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			if invalid := s.Validate(doc); invalid != nil && second.Validate(v) == nil {
				t.Fatalf("refused: %v\nschema %s\ndocument %s", invalid, raw, doc)
			}
		}
	})
	if unchecked == 0 {
		t.Error("no schema had such a pattern")
	}
}

// lookaheadPattern is a pattern that RE2 does not offer, for the second library.
type lookaheadPattern string

func (l lookaheadPattern) String() string { return string(l) }

func (l lookaheadPattern) MatchString(s string) bool {
	return strings.HasPrefix(s, "a") == (l == "^(?:(?=a))" || l == "^(?=a)")
}

func FuzzGenerated(f *testing.F) { f.Fuzz(rapid.MakeFuzz(generated)) }

var (
	someNames = rapid.SampledFrom([]string{"a", "b", "c", "é", "x-y"})
	someTypes = rapid.SampledFrom([]string{"null", "boolean", "object", "array", "number", "string", "integer"})
	scalarsOf = rapid.SampledFrom([]any{nil, true, false, 0, 1, 2, -1, 3, json.Number("1.0"), json.Number("1.5"),
		json.Number("2e0"), json.Number("0.3"), json.Number("1e2"),
		json.Number("9007199254740993"), "", "a", "b", "ab", "abc", "é", "a b", "\U0001F600", "\n"})
)

func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		shape := rapid.IntRange(0, 6).Draw(t, "shape")
		switch {
		case depth > 0 && shape < 3:
			return rapid.MapOfN(someNames, anyValue(depth-1), 0, 4).Draw(t, "object")
		case depth > 0 && shape == 3:
			return rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "array")
		}
		return scalarsOf.Draw(t, "scalar")
	})
}

// anySchema draws from the keywords of the newest dialect.
func anySchema(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		out := map[string]any{}
		if depth == 3 {
			out["$defs"] = map[string]any{"d": anySchema(1).Draw(t, "d"), "e": anySchema(1).Draw(t, "e")}
		}
		for range rapid.IntRange(0, 3).Draw(t, "keywords") {
			addKeyword(t, out, depth)
		}
		return out
	})
}

func addKeyword(t *rapid.T, out map[string]any, depth int) {
	small := rapid.IntRange(0, 3)
	sub := func() any { return anySchema(depth-1).Draw(t, "sub") }
	subs := func() any { return rapid.SliceOfN(anySchema(depth-1), 1, 3).Draw(t, "subs") }
	named := func() any { return rapid.MapOfN(someNames, anySchema(depth-1), 1, 3).Draw(t, "named") }
	choices := []func(){
		func() { out["type"] = someTypes.Draw(t, "type") },
		func() { out["type"] = rapid.SliceOfNDistinct(someTypes, 1, 3, rapid.ID).Draw(t, "types") },
		func() { out["enum"] = rapid.SliceOfN(anyValue(1), 1, 4).Draw(t, "enum") },
		func() { out["const"] = anyValue(1).Draw(t, "const") },
		func() { out["minimum"] = scalarNumber(t) },
		func() { out["maximum"] = scalarNumber(t) },
		func() { out["exclusiveMinimum"] = scalarNumber(t) },
		func() { out["exclusiveMaximum"] = scalarNumber(t) },
		func() {
			out["multipleOf"] = rapid.SampledFrom([]any{1, 2, json.Number("0.5"), json.Number("0.1")}).Draw(t, "step")
		},
		func() { out["minLength"] = small.Draw(t, "n") },
		func() { out["maxLength"] = small.Draw(t, "n") },
		func() {
			out["pattern"] = rapid.SampledFrom([]string{"a", "^a", "b$", "^.$", "^\\S*$", "^(?!a)", "^(?=a)"}).Draw(t, "pattern")
		},
		func() { out["minItems"] = small.Draw(t, "n") },
		func() { out["maxItems"] = small.Draw(t, "n") },
		func() { out["uniqueItems"] = rapid.Bool().Draw(t, "unique") },
		func() { out["minProperties"] = small.Draw(t, "n") },
		func() { out["maxProperties"] = small.Draw(t, "n") },
		func() { out["required"] = rapid.SliceOfNDistinct(someNames, 0, 2, rapid.ID).Draw(t, "required") },
		func() {
			out["dependentRequired"] = map[string]any{someNames.Draw(t, "name"): rapid.SliceOfNDistinct(someNames, 0, 2,
				rapid.ID).Draw(t, "needs")}
		},
		func() { out["additionalProperties"] = rapid.Bool().Draw(t, "open") },
		func() { out["unevaluatedProperties"] = rapid.Bool().Draw(t, "open") },
		func() { out["unevaluatedItems"] = rapid.Bool().Draw(t, "open") },
		func() { out["items"] = rapid.Bool().Draw(t, "open") },
		func() { out["format"] = "date" },
	}
	if depth > 1 {
		choices = append(choices,
			func() { out["$ref"] = rapid.SampledFrom([]string{"#/$defs/d", "#/$defs/e"}).Draw(t, "ref") },
			func() { out["$ref"] = rapid.SampledFrom([]string{"#/$defs/d", "#/$defs/e"}).Draw(t, "ref") })
	}
	if depth > 0 {
		choices = append(choices,
			func() { out["properties"] = named() }, func() { out["properties"] = named() },
			func() { out["properties"] = named() },
			func() { out["patternProperties"] = map[string]any{"^a|b": sub()} }, func() { out["dependentSchemas"] = named() },
			func() { out["additionalProperties"] = sub() }, func() { out["propertyNames"] = sub() },
			func() { out["items"] = sub() },
			func() { out["prefixItems"] = subs() }, func() { out["contains"] = sub(); out["minContains"] = small.Draw(t, "n") },
			func() { out["unevaluatedProperties"] = sub() }, func() { out["unevaluatedItems"] = sub() },
			func() { out["allOf"] = subs() }, func() { out["anyOf"] = subs() }, func() { out["anyOf"] = subs() },
			func() { out["oneOf"] = subs() }, func() { out["not"] = sub() },
			func() { out["if"], out["then"], out["else"] = sub(), sub(), sub() })
	}
	rapid.SampledFrom(choices).Draw(t, "keyword")()
}

func scalarNumber(t *rapid.T) any {
	return rapid.SampledFrom([]any{0, 1, 2, -1, json.Number("1.5"), json.Number("0.3"), json.Number("9007199254740993"),
		json.Number("1e2")}).Draw(t, "bound")
}
