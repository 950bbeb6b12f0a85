package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kaptinlin/jsonschema"
)

const fiveFields = `{"type":"object","properties":{
	"path":{"type":"string","minLength":1,"maxLength":4096,"description":"file to read"},
	"start_line":{"type":"integer","minimum":1},
	"end_line":{"type":"integer","minimum":1,"maximum":100000},
	"mode":{"type":"string","enum":["text","binary","auto"]},
	"follow":{"type":"boolean","default":false}},
	"required":["path","mode"],"additionalProperties":false}`

const (
	fiveValid   = `{"path":"internal/host/registry.go","start_line":10,"end_line":250,"mode":"text","follow":true}`
	fiveInvalid = `{"path":"internal/host/registry.go","start_line":"10","end_line":250,"mode":"text","follow":true}`
)

// fortyFields is a schema of forty properties in four types, with a document that fits and one that does not.
func fortyFields() (schema, valid, invalid string) {
	properties, doc := map[string]any{}, map[string]any{}
	for i := range 10 {
		properties[fmt.Sprintf("text_%d",
			i)] = json.RawMessage(`{"type":"string","minLength":1,"maxLength":200,"description":"some text"}`)
		properties[fmt.Sprintf("count_%d", i)] = json.RawMessage(`{"type":"integer","minimum":0,"maximum":1000}`)
		properties[fmt.Sprintf("kind_%d", i)] = json.RawMessage(`{"enum":["red","green","blue"]}`)
		properties[fmt.Sprintf("list_%d", i)] = json.RawMessage(`{"type":"array","items":{"type":"string"},"maxItems":10}`)
		doc[fmt.Sprintf("text_%d", i)] = "the quick brown fox"
		doc[fmt.Sprintf("count_%d", i)] = i * 7
		doc[fmt.Sprintf("kind_%d", i)] = "green"
		doc[fmt.Sprintf("list_%d", i)] = []string{"one", "two", "three"}
	}
	root := map[string]any{"type": "object", "properties": properties, "required": []string{"text_0", "count_9"},
		"additionalProperties": false}
	schema, valid = marshal(root), marshal(doc)
	doc["count_3"] = "seven"
	return schema, valid, marshal(doc)
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func BenchmarkAccept(b *testing.B) {
	forty, valid, _ := fortyFields()
	for _, c := range []struct{ name, schema, doc string }{{"5fields", fiveFields, fiveValid},
		{"40fields", forty, valid}} {
		b.Run(c.name, func(b *testing.B) {
			rule, doc := mustCompile(b, c.schema).fast, []byte(c.doc)
			b.ReportAllocs()
			for b.Loop() {
				if !rule.accepts(doc) {
					b.Fatal("a valid document is not accepted")
				}
			}
		})
	}
}

// BenchmarkLibrary is the same work without this package.
func BenchmarkLibrary(b *testing.B) {
	forty, valid, invalid := fortyFields()
	for _, c := range []struct {
		name, schema, doc string
		valid             bool
	}{
		{"5fields", fiveFields, fiveValid, true}, {"40fields", forty, valid, true},
		{"5fieldsInvalid", fiveFields, fiveInvalid, false}, {"40fieldsInvalid", forty, invalid, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			compiled, err := jsonschema.NewCompiler().Compile([]byte(c.schema))
			if err != nil {
				b.Fatal(err)
			}
			doc := []byte(c.doc)
			b.ReportAllocs()
			for b.Loop() {
				if compiled.ValidateJSON(doc).IsValid() != c.valid {
					b.Fatal("wrong verdict")
				}
			}
		})
	}
}

func BenchmarkValidateInvalid(b *testing.B) {
	forty, _, invalid := fortyFields()
	for _, c := range []struct{ name, schema, doc string }{{"5fields", fiveFields, fiveInvalid},
		{"40fields", forty, invalid}} {
		b.Run(c.name, func(b *testing.B) {
			s, doc := mustCompile(b, c.schema), []byte(c.doc)
			b.ReportAllocs()
			for b.Loop() {
				if s.Validate(doc) == nil {
					b.Fatal("an invalid document is accepted")
				}
			}
		})
	}
}

func BenchmarkAcceptLongText(b *testing.B) {
	s := mustCompile(b, `{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`)
	doc := []byte(marshal(map[string]string{"content": string(make([]byte, 0)) + longText(1<<20)}))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if !s.fast.accepts(doc) {
			b.Fatal("a valid document is not accepted")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	forty, _, _ := fortyFields()
	for b.Loop() {
		mustCompile(b, forty)
	}
}
