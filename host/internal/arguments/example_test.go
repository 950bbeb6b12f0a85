package arguments

import (
	"encoding/json"
	"testing"
)

// A schema that leads nowhere has a sample too.
func TestSampleOfASchemaWithoutEnd(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"x":{"type":"integer"}}}`: `{"x":1}`,
		`{"type":"object","$ref":"#","properties":{"x":{}}}`:      `{"x":"X"}`,
		`{"type":"object","$ref":"#/$defs/none"}`:                 `{"x":"X"}`,
		`{"anyOf":[true]}`: `{"x":"X"}`,
		`true`:             `{}`,
	} {
		if got := NewSchema(json.RawMessage(schema)).Sample("x"); string(got) != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
