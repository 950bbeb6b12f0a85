package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// A worldTool is one of the tools in internal/schema/testdata/foreign.
type worldTool struct {
	Name          string
	Input, Output json.RawMessage
	Fit, Unfit    []json.RawMessage
}

func toolsOfTheWorld(t *testing.T) (out []worldTool) {
	t.Helper()
	files, err := filepath.Glob("../internal/schema/testdata/foreign/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tools []worldTool
		if err := json.Unmarshal(text, &tools); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, d := range tools {
			d.Name = strings.TrimSuffix(filepath.Base(file), ".json") + "_" + d.Name
			out = append(out, d)
		}
	}
	return out
}

func (f worldTool) definition() sdk.Tool {
	return sdk.Tool{Name: f.Name, Description: "For tests.", InputSchema: f.Input, OutputSchema: f.Output,
		ForeignSchema: true, Hints: sdk.Hints{ReadOnly: sdk.Yes}}
}

// Tools with the schemas of servers of many kinds are all listed, in the format of every vendor, and called: the
// original schema is enforced, whatever a vendor's list had to leave out, and the arguments reach the plugin
// unchanged.
func TestSchemasOfTheWorld(t *testing.T) {
	t.Parallel()
	foreign := toolsOfTheWorld(t)
	definitions := make([]sdk.Tool, len(foreign))
	for i, f := range foreign {
		definitions[i] = f.definition()
	}
	h := single(t, echoing(definitions...), host.Options{})
	tools, problems := h.Tools(t.Context())
	if len(tools) != len(foreign) || problems != nil {
		t.Fatalf("%d of %d tools: %v", len(tools), len(foreign), problems)
	}
	for _, format := range modelapi.Formats() {
		_, problems := modelapi.Export(format, tools)
		for _, p := range problems {
			if format != modelapi.FormatGeminiOpenAPI || !strings.HasSuffix(p.Error(), "use the format gemini") {
				t.Errorf("%s: %v", format, p)
			}
		}
	}
	for _, f := range foreign {
		for _, arguments := range f.Fit {
			r := h.Call(t.Context(), call("test__"+f.Name, string(arguments)))
			if succeeded(t, r); r.Text() != string(arguments) {
				t.Errorf("%s: the plugin received %s instead of %s", f.Name, r.Text(), arguments)
			}
		}
		for _, arguments := range f.Unfit {
			failed(t, h.Call(t.Context(), call("test__"+f.Name, string(arguments))), sdk.CodeInvalidArgs)
		}
	}
}

// Whatever the schemas of a foreign tool contain, the tool is listed unless no arguments could ever be valid: its
// schema is no JSON object, or does not describe one. No other tool is excluded with it.
func TestForeignToolIsLeftOutOnlyIfItCannotBeCalled(t *testing.T) {
	t.Parallel()
	words := []string{"type", "properties", "required", "items", "anyOf", "oneOf", "$ref", "$schema", "pattern", "enum",
		"not", "if", "$defs", "additionalProperties", "minimum", "x-mcp-header", "nullable", "default", "$id", "const"}
	values := []string{`null`, `true`, `false`, `0`, `-1e400`, `""`, `"object"`, `"string"`, `"#"`, `"#/$defs/a"`, `"["`,
		`"https://example.org/x"`, `[]`, `["object","null"]`, `["a","a"]`, `{}`, `{"a":{}}`, `{"a":null}`,
		`{"$ref":"#"}`, `[{"type":"x"}]`, `{"type":"object"}`, `"http://json-schema.org/draft-04/schema#"`}
	rapid.Check(t, func(t *rapid.T) {
		schema := func(what string) string {
			var members []string
			for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 6, rapid.ID).Draw(t, what) {
				value := rapid.SampledFrom(values).Draw(t, word)
				if rapid.Bool().Draw(t, "deeper") {
					value = `{"` + rapid.SampledFrom(words).Draw(t, "inner") + `":` + value + `}`
				}
				members = append(members, `"`+word+`":`+value)
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		d := sdk.Tool{Name: "wild", Description: "For tests.", ForeignSchema: true,
			InputSchema: json.RawMessage(schema("input"))}
		if rapid.Bool().Draw(t, "with output") {
			d.OutputSchema = json.RawMessage(schema("output"))
		}
		h, err := host.New(map[string]host.Plugin{"test": echoing(d, tool("tame"))}, host.Options{Approver: agreeing})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		tools, problems := h.Tools(t.Context())
		var root map[string]json.RawMessage
		_ = json.Unmarshal(d.InputSchema, &root)
		kind := string(root["type"])
		callable := slices.Contains([]string{"", `"object"`, `["object","null"]`}, kind)
		if (len(tools) == 2) != callable || (len(problems) == 0) != callable {
			t.Fatalf("%d tools, %v; input %s", len(tools), problems, d.InputSchema)
		}
		if !callable {
			return
		}
		r := h.Call(t.Context(), host.Call{Tool: "test__wild", Arguments: json.RawMessage(`{}`)})
		if r.Error != nil && r.Error.Code != sdk.CodeInvalidArgs {
			t.Fatalf("%+v; input %s", r.Error, d.InputSchema)
		}
	})
}
