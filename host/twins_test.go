package host_test

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// Names that differ only by case are two in a map, and one too many where the schema declares names.
func TestTwinsInMaps(t *testing.T) {
	t.Parallel()
	const proxies = `{"http_proxy":"a","HTTP_PROXY":"b"}`
	inside := func(name, arguments string) string { return `{"` + name + `":` + arguments + `}` }
	object := func(properties string) string { return `{"type":"object","properties":` + properties + `}` }
	cases := map[string]struct {
		schema, arguments string
		legal             bool
	}{
		"a map of strings":           {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`), inside("env", proxies), true},
		"a map of anything":          {object(`{"env":{"type":"object","additionalProperties":true}}`), inside("env", proxies), true},
		"a map by pattern":           {object(`{"env":{"type":"object","patternProperties":{"^.*$":{"type":"string"}}}}`), inside("env", proxies), true},
		"a map by the names' schema": {object(`{"env":{"type":"object","propertyNames":{"maxLength":20}}}`), inside("env", proxies), true},
		"an object of any names":     {object(`{"env":{"type":"object"}}`), inside("env", proxies), true},
		"or null":                    {object(`{"env":{"type":["object","null"]}}`), inside("env", proxies), true},
		"anyOf a map and null":       {object(`{"env":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"null"}]}}`), inside("env", proxies), true},
		"a reference to a map":       {`{"type":"object","properties":{"env":{"$ref":"#/$defs/env"}},"$defs":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`, inside("env", proxies), true},
		"a map in a list":            {object(`{"all":{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}}`), inside("all", "["+proxies+"]"), true},
		"a map in a map":             {object(`{"all":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"string"}}}}`), inside("all", inside("A", proxies)), true},
		"a map at the top":           {`{"type":"object","additionalProperties":{"type":"string"}}`, proxies, true},
		"three of them":              {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":"1","A":"2","b":"3","B":"4"}`, true},
		"beside what is declared":    {`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"path":"x","http_proxy":"a","HTTP_PROXY":"b"}`, true},
		"both are declared":          {object(`{"a":{"type":"string"},"A":{"type":"string"}}`), `{"a":"1","A":"2"}`, true},
		"by form":                    {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`), "{\"env\":{\"\u00e9\":\"1\",\"e\u0301\":\"2\"}}", true},

		"what is declared":                {object(`{"path":{"type":"string"}}`), `{"path":"1","Path":"2"}`, false},
		"what is declared, in a map":      {`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"path":"1","Path":"2"}`, false},
		"others than are declared":        {`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"Path":"1","PATH":"2"}`, false},
		"declared by a branch":            {object(`{"x":{"anyOf":[{"type":"object","properties":{"path":{"type":"string"}}},{"type":"object","additionalProperties":{"type":"string"}}]}}`), inside("x", `{"path":"1","Path":"2"}`), false},
		"declared by a reference":         {`{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"path":{"type":"string"}}}}}`, `{"path":"1","Path":"2"}`, false},
		"required":                        {object(`{"x":{"type":"object","required":["path"],"additionalProperties":{"type":"string"}}}`), inside("x", `{"path":"1","Path":"2"}`), false},
		"declared inside":                 {object(`{"x":{"type":"object","properties":{"path":{"type":"string"}}}}`), inside("x", `{"path":"1","Path":"2"}`), false},
		"declared in items":               {object(`{"x":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"}}}}}`), inside("x", `[{"path":"1","Path":"2"}]`), false},
		"not declared, and no map":        {object(`{"x":{"type":"object","properties":{"path":{"type":"string"}}}}`), inside("x", `{"a":"1","A":"2"}`), false},
		"nothing is known at the top":     {`{"type":"object"}`, proxies, false},
		"nothing is known inside":         {object(`{"x":{}}`), inside("x", proxies), false},
		"nothing is known in a map":       {object(`{"x":{"type":"object","additionalProperties":true}}`), inside("x", inside("y", proxies)), false},
		"the arguments of two maps":       {object(`{"env":{"type":"object","additionalProperties":{"type":"string"}}}`), `{"env":{},"Env":{}}`, false},
		"the same name":                   {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":"1","a":"2"}`, false},
		"a reference that goes in rounds": {`{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`, inside("x", proxies), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, echoing(definition), host.Options{})
			r := h.Call(t.Context(), call("test__run", c.arguments))
			if r.Error != nil && r.Error.Code == sdk.CodeToolNotFound {
				t.Skip("the schema is refused as a whole")
			}
			if !c.legal {
				failed(t, r, sdk.CodeInvalidArgs)
				return
			}
			succeeded(t, r)
			diff(t, c.arguments, r.Text())
		})
	}
}
