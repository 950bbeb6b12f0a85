package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever is wrong with a value that is not to be shown, no message has it.
func TestValidateShowing(t *testing.T) {
	shown := map[string]string{"/key": "env.KEY"}
	for schema, document := range map[string]string{
		`{"properties":{"key":{"type":"integer"}}}`:                                               `{"key":"SECRET"}`,
		`{"properties":{"key":{"enum":["SECRETS","b"]}}}`:                                         `{"key":"SECRET"}`,
		`{"properties":{"key":{"const":"b"}}}`:                                                    `{"key":"SECRET"}`,
		`{"properties":{"key":{"pattern":"^b"}}}`:                                                 `{"key":"SECRET"}`,
		`{"properties":{"key":{"not":{"type":"string"}}}}`:                                        `{"key":"SECRET"}`,
		`{"properties":{"key":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`:                `{"key":"SECRET"}`,
		`{"properties":{"key":{"oneOf":[{"type":"object"},{"pattern":"^b"},{"pattern":"^c"}]}}}`:  `{"key":"SECRET"}`,
		`{"properties":{"key":{"minimum":5000}}}`:                                                 `{"key":4711}`,
		`{"properties":{"key":{"multipleOf":5}}}`:                                                 `{"key":4711}`,
		`{"properties":{"key":{"items":{"type":"integer"}}}}`:                                     `{"key":["SECRET"]}`,
		`{"properties":{"key":{"properties":{"a":{"type":"integer"}},"unevaluatedItems":false}}}`: `{"key":{"a":"SECRET"}}`,
		`{"properties":{"key":{"if":{"type":"string"},"then":{"maxLength":2}}}}`:                  `{"key":"SECRET"}`,
	} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(schema, err)
		}
		invalid := s.ValidateShowing([]byte(document), shown)
		if invalid == nil {
			t.Errorf("%s takes %s", schema, document)
		} else if text := strings.ReplaceAll(invalid.Error(), `"SECRETS"`, ""); strings.Contains(text, "SECRET") || strings.Contains(text, "4711") {
			t.Errorf("%s says %s", schema, text)
		} else if !strings.Contains(text, "env.KEY") && !strings.Contains(text, "characters") {
			t.Errorf("%s does not name the reference: %s", schema, text)
		}
		if open := s.Validate([]byte(document)); (open == nil) != (invalid == nil) {
			t.Errorf("%s: the verdict differs: %v", schema, open)
		}
	}
}
