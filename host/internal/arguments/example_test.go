package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
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

// The work for a schema whose levels each name the next one eight times is bounded: tools of MCP servers may have any.
func TestSchemaThatMultiplies(t *testing.T) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		var defs strings.Builder
		const levels = 30
		for i := range levels {
			next := fmt.Sprintf(`,{"$ref":"#/$defs/%d"}`, i+1)
			fmt.Fprintf(&defs, `"%d":{%q:[%s]},`, i, key, strings.Repeat(next, 8)[1:])
		}
		text := json.RawMessage(fmt.Sprintf(`{"properties":{"a":{"$ref":"#/$defs/0"},"b":{"type":"integer"}},"required":["a"],`+
			`"$defs":{%s"%d":{"type":["object","string"]}}}`, &defs, levels))
		s := NewSchema(text)
		yes := func(json.RawMessage) bool { return true }
		if got := s.Typed(json.RawMessage(`{"a":"1","b":"2"}`), yes); string(got) != `{"a":"1","b":2}` {
			t.Errorf("%s: the arguments are %s", key, got)
		}
		for _, got := range []string{s.Usage("run", text), string(s.Example()), string(s.Sample(""))} {
			if !strings.Contains(got, "a") {
				t.Errorf("%s: %s", key, got)
			}
		}
	}
}

// A member that a pattern describes is not one of additionalProperties.
func TestKindOfAPatternsMember(t *testing.T) {
	text := json.RawMessage(`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"boolean"},` +
		`"allOf":[{"properties":{"xy":{}}}]}`)
	s := NewSchema(text)
	if got := s.Usage("run", text); got != "run takes xy." {
		t.Errorf("got %q", got)
	}
	yes := func(json.RawMessage) bool { return true }
	if got := s.Typed(json.RawMessage(`{"xy":"true"}`), yes); string(got) != `{"xy":"true"}` {
		t.Errorf("got %s", got)
	}
}
