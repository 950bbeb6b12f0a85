package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *sdk.Tool)
		want   string
	}{
		"good":           {func(*sdk.Tool) {}, ""},
		"longest name":   {func(t *sdk.Tool) { t.Name = strings.Repeat("a", 61) }, ""},
		"longer name":    {func(t *sdk.Tool) { t.Name = strings.Repeat("a", 62) }, "has 62 characters; the limit is 61"},
		"no name":        {func(t *sdk.Tool) { t.Name = "" }, `tool name "" must match ^[A-Za-z0-9][A-Za-z0-9_-]*$`},
		"upper case":     {func(t *sdk.Tool) { t.Name = "readFile" }, ""},
		"line break":     {func(t *sdk.Tool) { t.Name = "a\n" }, `tool name "a\n" must match`},
		"separator":      {func(t *sdk.Tool) { t.Name = "a__b" }, `tool name "a__b" must not contain "__"`},
		"no description": {func(t *sdk.Tool) { t.Description = " \n" }, `tool "x" has no description`},
		"much description": {func(t *sdk.Tool) { t.Description = strings.Repeat("d", 8<<10+1) },
			"has 8193 bytes; the limit is 8192"},
		"cost tier": {func(t *sdk.Tool) { t.CostTier = "dear" },
			`cost tier "dear" is not one of free, cheap, expensive`},
		"timeout":       {func(t *sdk.Tool) { t.Timeout = -1 }, "must not be negative"},
		"result size":   {func(t *sdk.Tool) { t.MaxResultBytes = -1 }, "must not be negative"},
		"no schema":     {func(t *sdk.Tool) { t.InputSchema = nil }, `tool "x": the input schema must be a JSON object`},
		"null schema":   {func(t *sdk.Tool) { t.InputSchema = []byte("null") }, "the input schema must be a JSON object"},
		"list schema":   {func(t *sdk.Tool) { t.InputSchema = []byte("[]") }, "the input schema must be a JSON object"},
		"broken schema": {func(t *sdk.Tool) { t.InputSchema = []byte("{") }, "the input schema must be a JSON object"},
		"schema of a list": {func(t *sdk.Tool) { t.InputSchema = []byte(`{"type":"array"}`) },
			`the input schema must have "type":"object", not "array"`},
		"untyped schema": {func(t *sdk.Tool) { t.InputSchema = []byte(`{}`) }, ""},
		"output schema":  {func(t *sdk.Tool) { t.OutputSchema = []byte(`{"type":"array"}`) }, ""},
		"bad output schema": {func(t *sdk.Tool) { t.OutputSchema = []byte(`true`) },
			`tool "x": the output schema must be a JSON object`},
		"two things": {func(t *sdk.Tool) { t.Description, t.InputSchema = "", nil },
			"Say what it does and when to use it\ntool \"x\": the input"},
	} {
		t.Run(name, func(t *testing.T) {
			x := tool("x")
			c.change(&x)
			err := x.Check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestToolAsJSON(t *testing.T) {
	full := sdk.Tool{Name: "x", Title: "X", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{}`), Hints: sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No}, Category: "c",
		CostTier: sdk.Cheap,
		Timeout:  90 * time.Second, MaxResultBytes: 5, OriginalName: "X!", Previews: true, Stateful: true,
		ForeignSchema: true}
	for want, in := range map[string]sdk.Tool{
		`{"name":"x","description":"For tests.","input_schema":{"type":"object"}}`: tool("x"),
		`{"name":"x","title":"X","description":"d","input_schema":{"type":"object"},"output_schema":{},` +
			`"hints":{"read_only":true,"destructive":false},` +
			`"category":"c","cost_tier":"cheap","max_result_bytes":5,"original_name":"X!","previews":true,"stateful":true,` +
			`"foreign_schema":true,"timeout":"1m30s"}`: full,
	} {
		got, err := json.Marshal(in)
		if err != nil || string(got) != want {
			t.Errorf("JSON is %s, %v, want %s", got, err, want)
		}
		var back sdk.Tool
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, back); diff != "" {
			t.Error(diff)
		}
	}
	for _, bad := range []string{`{"timeout":"soon"}`, `{"name":1}`} {
		if err := json.Unmarshal([]byte(bad), new(sdk.Tool)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestContentAsJSON(t *testing.T) {
	for want, c := range map[string]sdk.Content{
		`{"type":"text","text":"a"}`:                            sdk.TextContent("a"),
		`{"type":"text","text":""}`:                             sdk.TextContent(""),
		`{"type":"image","data":"AQI=","mimeType":"image/png"}`: sdk.ImageContent([]byte{1, 2}, "image/png"),
		`{"type":"image","data":"","mimeType":"image/png"}`:     sdk.ImageContent(nil, "image/png"),
		`{"type":"audio","data":"AQ==","mimeType":"audio/ogg"}`: {Type: "audio",
			Data: []byte{1}, MIMEType: "audio/ogg"},
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"a"}}`:         sdk.FileContent("file:///a", "text/plain", []byte("a")),
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/json","text":"{}"}}`:  sdk.FileContent("file:///a", "application/json", []byte("{}")),
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/zip","blob":"AQ=="}}`: sdk.FileContent("file:///a", "application/zip", []byte{1}),
		`{"type":"resource_link","uri":"https://example.com","name":"n","mimeType":"text/html"}`:        sdk.LinkContent("https://example.com", "n", "text/html"),
		`{"type":"resource_link","uri":"u"}`: sdk.LinkContent("u",
			"", ""),
		`{"type":"hologram","depth":3}`: {Type: "hologram",
			Raw: json.RawMessage(`{"type":"hologram","depth":3}`)},
	} {
		if got, err := json.Marshal(c); err != nil || string(got) != want {
			t.Errorf("%+v becomes %s, %v, want %s", c, got, err, want)
		}
	}
}

func TestLimitsOfATool(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		set   func(d *sdk.Tool, text string)
		says  string
	}{
		"name":  {61, func(d *sdk.Tool, s string) { d.Name = s }, "62 characters; the limit is 61"},
		"title": {256, func(d *sdk.Tool, s string) { d.Title = s }, "the title has 257 bytes; the limit is 256"},
		"description": {8192, func(d *sdk.Tool, s string) { d.Description = s },
			"the description has 8193 bytes; the limit is 8192"},
		"category": {64, func(d *sdk.Tool, s string) { d.Category = s }, "the category has 65 bytes; the limit is 64"},
		"original name": {1024, func(d *sdk.Tool, s string) { d.OriginalName = s },
			"the original name has 1025 bytes; the limit is 1024"},
	} {
		for n, says := range map[int]string{c.limit: "", c.limit + 1: c.says} {
			d := sdk.Tool{Name: "x", Description: "d", InputSchema: json.RawMessage(`{}`)}
			c.set(&d, strings.Repeat("x", n))
			if err := d.Check(); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s of %d: %.300v, want %q", name, n, err, says)
			}
		}
	}
}
