package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// Arguments that were written as text become what the tool's schema asks for. Strings stay strings.
func TestTextArgumentsAreTyped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		property, text, want string // "" is refused
	}{
		"a string":                     {`{"type":"string"}`, `123`, `"123"`},
		"a string of JSON":             {`{"type":"string"}`, `{"a":1}`, `"{\"a\":1}"`},
		"a string true":                {`{"type":"string"}`, `true`, `"true"`},
		"a string with blanks":         {`{"type":"string"}`, ` a `, `" a "`},
		"anything":                     {`{}`, `5`, `"5"`},
		"anything at all":              {`true`, `[1]`, `"[1]"`},
		"an integer":                   {`{"type":"integer"}`, `5`, `5`},
		"an integer with blanks":       {`{"type":"integer"}`, ` 5 `, `5`},
		"a large integer":              {`{"type":"integer"}`, `12345678901234567890`, `12345678901234567890`},
		"a negative number":            {`{"type":"number"}`, `-1.50`, `-1.50`},
		"an integer for a number":      {`{"type":"number"}`, `2`, `2`},
		"a whole number in decimals":   {`{"type":"integer"}`, `5.0`, `5.0`},
		"a fraction for an integer":    {`{"type":"integer"}`, `5.5`, ``},
		"a word for an integer":        {`{"type":"integer"}`, `five`, ``},
		"a word that is no JSON":       {`{"type":"number"}`, `0x10`, ``},
		"too small":                    {`{"type":"integer","minimum":3}`, `2`, ``},
		"a boolean":                    {`{"type":"boolean"}`, `true`, `true`},
		"a boolean of Python":          {`{"type":"boolean"}`, `False`, `false`},
		"no boolean":                   {`{"type":"boolean"}`, `yes`, ``},
		"an array":                     {`{"type":"array","items":{"type":"string"}}`, `["a", "b"]`, `["a","b"]`},
		"an array over lines":          {`{"type":"array","items":{"type":"integer"}}`, "[\n 1,\n 2\n]", "[1,2]"},
		"an array of something else":   {`{"type":"array","items":{"type":"integer"}}`, `["a"]`, ``},
		"an object":                    {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, `{"a":1}`},
		"an object that lacks its end": {`{"type":"object"}`, `{"a":1`, ``},
		"an object with doubled names": {`{"type":"object"}`, `{"a":1,"a":2}`, ``},
		"null or an integer":           {`{"type":["integer","null"]}`, `null`, `null`},
		"null or an integer, 3":        {`{"type":["integer","null"]}`, `3`, `3`},
		"null or a string":             {`{"type":["string","null"]}`, `null`, `"null"`},
		"anyOf null":                   {`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `None`, `null`},
		"anyOf with a string":          {`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `3`, `"3"`},
		"oneOf":                        {`{"oneOf":[{"type":"boolean"},{"type":"integer"}]}`, `3`, `3`},
		"allOf":                        {`{"allOf":[{"type":"integer"},{"minimum":1}]}`, `3`, `3`},
		"a reference":                  {`{"$ref":"#/$defs/n"}`, `3`, `3`},
		"a reference to a reference":   {`{"$ref":"#/$defs/m"}`, `3`, `3`},
		"a reference to itself":        {`{"$ref":"#/$defs/tree"}`, `{"next":{"n":1}}`, `{"next":{"n":1}}`},
		"an enum of words":             {`{"enum":["1","2"]}`, `1`, `"1"`},
		"an enum of numbers":           {`{"enum":[1,2]}`, `1`, `1`},
		"an enum of both, a word":      {`{"enum":["auto",1]}`, `auto`, `"auto"`},
		"an enum of both, a number":    {`{"enum":["auto",1]}`, `1`, `1`},
		"none of an enum":              {`{"enum":[1,2]}`, `3`, ``},
		"a constant":                   {`{"const":true}`, `true`, `true`},
		"a string of an enum of words": {`{"type":"string","enum":["true","false"]}`, `true`, `"true"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":` + c.property + `,"text":{"type":"string"}},
				"$defs":{"n":{"type":"integer"},"m":{"$ref":"#/$defs/n"},"tree":{"type":"object","properties":{"n":{"type":"integer"},"next":{"$ref":"#/$defs/tree"}}}}}`)
			var got map[string]json.RawMessage
			h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text("done"), json.Unmarshal(r.Arguments, &got)
			}, definition), host.Options{})
			text, _ := json.Marshal(c.text)
			r := h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: fmt.Appendf(nil, `{"x":%s,"text":"7"}`, text), TextArguments: true})
			if c.want == "" {
				failed(t, r, sdk.CodeInvalidArgs)
				return
			}
			succeeded(t, r)
			if compact := strings.NewReplacer("\n", "", " ", ""); compact.Replace(string(got["x"])) != compact.Replace(c.want) || string(got["text"]) != `"7"` {
				t.Errorf("the plugin got %s, want %s", got, c.want)
			}
		})
	}
}

// Arguments of a tool that takes a map, or whose schema is made of parts, are converted too; those in JSON are not.
func TestTextArgumentsOfOtherSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, arguments string
		text              bool
		want              string
	}{
		"a map":        {`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"1"}`, true, `{"a":1}`},
		"allOf":        {`{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"minimum":0}}}]}`, `{"a":"1"}`, true, `{"a":1}`},
		"a reference":  {`{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"a":{"type":"integer"}}}}}`, `{"a":"1"}`, true, `{"a":1}`},
		"no arguments": {`{"type":"object"}`, `{}`, true, `{}`},
		"JSON":         {`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, `{"a":"1"}`, false, `{"a":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.InputSchema = json.RawMessage(c.schema)
			h := single(t, echoing(definition), host.Options{})
			r := h.Call(t.Context(), host.Call{Tool: "test__run", Arguments: json.RawMessage(c.arguments), TextArguments: c.text})
			succeeded(t, r)
			diff(t, c.want, r.Text())
		})
	}
}

// A call that is known to be incomplete is refused, whatever its arguments look like.
func TestTruncatedCallIsRefused(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	c := call("test__run", `{}`)
	c.Truncated = "max_tokens"
	e := failed(t, single(t, p, host.Options{}).Call(t.Context(), c), sdk.CodeInvalidArgs)
	if e.Name != "TruncatedCall" || !strings.Contains(e.Message, "max_tokens") || p.called.Load() > 0 {
		t.Errorf("%+v, %d calls", e, p.called.Load())
	}
}
