package arguments

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

func TestWithoutNulls(t *testing.T) {
	t.Parallel()
	s := NewSchema(json.RawMessage(`{"type":"object","properties":{
		"path":{"type":"string"},"limit":{"type":["integer","null"]},"any":{},"old":{"type":"string","nullable":true},
		"one":{"enum":["a",null]},"either":{"anyOf":[{"type":"integer"},{"type":"null"}]},"of":{"$ref":"#/$defs/of"},
		"list":{"type":"array","items":{"$ref":"#/$defs/of"}},"map":{"type":"object","additionalProperties":{"type":"string"}}},
		"anyOf":[{"properties":{"mode":{"type":"string"}}},{"properties":{"mode":{"type":"null"},"deep":{"type":"integer"}}}],
		"$defs":{"of":{"type":"object","properties":{"on":{"type":"boolean"},"of":{"$ref":"#/$defs/of"}}}}}`))
	for arguments, want := range map[string]string{
		`{"path":null}`: `{}`,
		` {"path" : null , "limit":1.50,"deep":null}`:                               `{"limit":1.50}`,
		`{"limit":null,"any":null,"old":null,"one":null,"either":null,"mode":null}`: "",
		`{"other":null,"map":{"a":null},"list":[null]}`:                             "",
		`{"of":{"on":null,"of":{"on":true,"of":null}},"path":"null"}`:               `{"of":{"of":{"on":true}},"path":"null"}`,
		`{"list":[{"on":null},{"on":false},{"x":[null]}],"limit":null}`:             `{"list":[{},{"on":false},{"x":[null]}],"limit":null}`,
		`{"p\u0061th":null,"any":{"on":null}}`:                                      `{"any":{"on":null}}`,
		`{"path":"x","limit":7}`:                                                    "",
		`{"path":null,"list":[` + strings.Repeat("{},", maxNullWork/2) + `{}]}`:     "", // too much to look at
	} {
		if got := s.WithoutNulls(json.RawMessage(arguments)); string(got) != want {
			t.Errorf("%.80s gives %.200s, want %s", arguments, got, want)
		}
	}
}

// No schema makes the search for nulls slow.
func TestWorkOnNullsIsBounded(t *testing.T) {
	t.Parallel()
	many := func(schema string) string { return strings.Repeat(schema+",", 900) + schema }
	s := NewSchema(json.RawMessage(`{"properties":{"list":{"items":{"anyOf":[` +
		many(`{"properties":{"a":{"$ref":"#/$defs/a"}}}`) + `]}}},"$defs":{"a":{"anyOf":[` + many(`{"type":"string"}`) + `]}}}`))
	var got json.RawMessage
	took := testutil.CPUTime(t, func() {
		got = s.WithoutNulls(json.RawMessage(`{"list":[` + strings.Repeat(`{"a":null},`, 500) + `{}]}`))
	})
	if got != nil || took > 10*time.Second { // all of it would take a minute
		t.Errorf("%.100s after %s", got, took)
	}
}
