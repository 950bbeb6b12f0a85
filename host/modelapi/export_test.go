package modelapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// ourTools are the tools of our plugins, from a file that a test of the command line keeps up to date.
func ourTools(t testing.TB) (out []*host.Tool) {
	t.Helper()
	text, err := os.ReadFile("../testdata/shipped.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []sdk.Tool
	if err := json.Unmarshal(text, &tools); err != nil || len(tools) < 5 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	for _, d := range tools {
		plugin, _, _ := strings.Cut(d.Name, "__")
		out = append(out, &host.Tool{Tool: d, Plugin: plugin})
	}
	return out
}

func hardTools() (out []*host.Tool) {
	for name, a := range hardSchemas {
		d := sdk.Tool{Name: "hard__" + name, Description: "For tests.", InputSchema: json.RawMessage(a.schema)}
		out = append(out, &host.Tool{Tool: d, Plugin: "hard"})
	}
	return out
}

// listed are the tools of an exported list.
func listed(t testing.TB, f modelapi.Format, list json.RawMessage) (out []exported) {
	t.Helper()
	if f == modelapi.FormatText {
		return listedText(t, list)
	}
	var tools []map[string]any
	if err := json.Unmarshal(list, &tools); err != nil {
		t.Fatalf("%v in %s", err, list)
	}
	if f == modelapi.FormatGemini || f == modelapi.FormatGeminiOpenAPI {
		var wrapped []struct{ FunctionDeclarations []map[string]any }
		if err := json.Unmarshal(list, &wrapped); err != nil || len(wrapped) != 1 {
			t.Fatalf("%v in %s", err, list)
		}
		tools = wrapped[0].FunctionDeclarations
	}
	for _, tool := range tools {
		out = append(out, takeApart(f, tool))
	}
	return out
}

func TestExportKeepsTheRules(t *testing.T) {
	t.Parallel()
	tools := append(ourTools(t), hardTools()...)
	for _, f := range modelapi.Formats() {
		list, _ := modelapi.Export(f, tools)
		for _, e := range listed(t, f, list) {
			for _, rule := range vendorRules {
				if !slices.Contains(rule.formats, f) {
					continue
				}
				if why := rule.broken(e); why != "" {
					t.Errorf("%s, %s: %s; but %s, says %s", f, e.inner["name"], why, rule.says, rule.source)
				}
			}
		}
	}
}

// Each tool is in the list or reported with the reason, and none of our tools is ever left out.
func TestExportLeavesOut(t *testing.T) {
	t.Parallel()
	for _, f := range modelapi.Formats() {
		for name, a := range hardSchemas {
			tool := &host.Tool{Tool: sdk.Tool{Name: "hard__" + name, Description: "x", InputSchema: json.RawMessage(a.schema)},
				Plugin: "hard"}
			list, problems := modelapi.Export(f, []*host.Tool{tool})
			why, out := a.leftOut[f]
			switch {
			case !out && len(problems) > 0:
				t.Errorf("%s: %v", f, problems)
			case out && (len(problems) != 1 || !strings.Contains(problems[0].Error(), why) ||
				!strings.Contains(problems[0].Error(), `plugin "hard": tool hard__`+name+" is left out: format "+string(f))):
				t.Errorf("%s, %s: %v; want text containing %q", f, name, problems, why)
			case out && string(list) != "[]":
				t.Errorf("%s: %s is reported and listed: %s", f, name, list)
			}
		}
		if _, problems := modelapi.Export(f, ourTools(t)); len(problems) > 0 {
			t.Errorf("%s: %v", f, problems)
		}
	}
}

func TestExportStrict(t *testing.T) {
	t.Parallel()
	for _, f := range openAIs {
		list, _ := modelapi.Export(f, hardTools())
		for _, e := range listed(t, f, list) {
			name := strings.TrimPrefix(e.inner["name"].(string), "hard__")
			if want := hardSchemas[name].strict; e.inner["strict"] != want {
				t.Errorf("%s, %s: strict is %v, want %t", f, name, e.inner["strict"], want)
			}
		}
	}
}

// A model may send whatever the plugin's schema accepts.
func TestExportAcceptsWhatTheSchemaAccepts(t *testing.T) {
	t.Parallel()
	for name, a := range hardSchemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := compile(t, []byte(a.schema))
			for _, f := range modelapi.Formats() {
				tool := &host.Tool{Tool: sdk.Tool{Name: "hard__a", InputSchema: json.RawMessage(a.schema)}}
				list, problems := modelapi.Export(f, []*host.Tool{tool})
				if len(problems) > 0 {
					continue
				}
				e := listed(t, f, list)[0]
				if e.openAPI {
					plainSchema(e.schema)
				}
				text, err := json.Marshal(e.schema)
				if err != nil {
					t.Fatal(err)
				}
				if e.schema == nil {
					continue
				}
				for _, arguments := range a.fits {
					if invalid := own.Validate([]byte(arguments)); invalid != nil {
						t.Errorf("the schema itself refuses %s: %v", arguments, invalid)
					}
					if invalid := compile(t, text).Validate([]byte(arguments)); invalid != nil {
						t.Errorf("%s refuses %s: %v\n%s", f, arguments, invalid, text)
					}
				}
			}
		})
	}
}

func compile(t *testing.T, text []byte) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s
}

// plainSchema makes JSON Schema of the subset of OpenAPI.
func plainSchema(s map[string]any) {
	every(s, func(s map[string]any) string {
		kind, ok := s["type"].(string)
		if ok && s["nullable"] == true {
			s["type"] = []string{strings.ToLower(kind), "null"}
			if values, ok := s["enum"].([]any); ok {
				s["enum"] = append(values, nil)
			}
		} else if ok {
			s["type"] = strings.ToLower(kind)
		}
		delete(s, "nullable")
		delete(s, "propertyOrdering")
		return ""
	})
}

// The bytes do not depend on the order of the tools, and the tools are not changed.
func TestExportIsDeterministic(t *testing.T) {
	t.Parallel()
	tools := append(ourTools(t), hardTools()...)
	before, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range modelapi.Formats() {
		first, _ := modelapi.Export(f, tools)
		for range 5 {
			shuffled := slices.Clone(tools)
			rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if again, _ := modelapi.Export(f, shuffled); !bytes.Equal(first, again) {
				t.Errorf("%s: other bytes for another order", f)
			}
		}
	}
	if after, _ := json.Marshal(tools); !bytes.Equal(before, after) {
		t.Error("the tools were changed")
	}
}

func TestExportGolden(t *testing.T) {
	t.Parallel()
	tools := append(ourTools(t), hardTools()...)
	tools = slices.DeleteFunc(tools, func(t *host.Tool) bool { return len(t.InputSchema) > 4<<10 })
	tools[0].Title, tools[0].OutputSchema = "A title", json.RawMessage(`{"type":"string"}`)
	for _, f := range modelapi.Formats() {
		list, _ := modelapi.Export(f, tools)
		var pretty bytes.Buffer
		golden := filepath.Join("testdata", "export", string(f)+".golden.json")
		if f == modelapi.FormatText {
			pretty.WriteString(textOf(t, list))
			golden = filepath.Join("testdata", "export", "text.golden.md")
		} else if err := json.Indent(&pretty, append(list, '\n'), "", " "); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, string(want), pretty.String())
	}
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	named := func(name string) *host.Tool {
		return &host.Tool{Tool: sdk.Tool{Name: name, InputSchema: json.RawMessage(`{}`)}, Plugin: "p"}
	}
	cases := map[string]struct {
		format modelapi.Format
		tools  []*host.Tool
		list   string
		want   string
	}{
		"an unknown format": {"yaml", nil, "", `there is no format "yaml"; there are anthropic, bedrock, cohere, gemini, `},
		"a name with dots":  {modelapi.FormatAnthropic, []*host.Tool{named("p__a.b")}, "[]", "its name does not match"},
		"a long name": {modelapi.FormatOpenAI, []*host.Tool{named(strings.Repeat("a", 65))}, "[]",
			"its name does not match"},
		"a name with a digit": {modelapi.FormatGemini, []*host.Tool{named("1p__a")}, "[]", "its name does not match"},
		"two of one name": {modelapi.FormatMCP, []*host.Tool{named("p__a"), named("p__a")}, "",
			"another tool of that name"},
		"invalid schema": {modelapi.FormatMCP, []*host.Tool{{Tool: sdk.Tool{Name: "a", InputSchema: json.RawMessage(`{`)}}},
			"[]",
			"its input schema does not fit: it cannot be read"},
		"invalid output schema": {modelapi.FormatMCP,
			[]*host.Tool{{Tool: sdk.Tool{Name: "a", InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{`)}}},
			"[]",
			"its output schema is not valid JSON"},
		"another type": {modelapi.FormatOpenAI,
			[]*host.Tool{{Tool: sdk.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"array"}`)}}}, "[]",
			`the type of its root is not "object"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, problems := modelapi.Export(c.format, c.tools)
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want) {
				t.Errorf("%v; want text containing %q", problems, c.want)
			}
			if c.list != "" && string(list) != c.list {
				t.Errorf("list %s, want %s", list, c.list)
			}
		})
	}
}

func TestExportOfNothing(t *testing.T) {
	t.Parallel()
	for _, f := range modelapi.Formats() {
		want := map[bool]string{true: `""`, false: `[]`}[f == modelapi.FormatText]
		if list, problems := modelapi.Export(f, []*host.Tool{nil}); string(list) != want || len(problems) > 0 {
			t.Errorf("%s: %s, %v", f, list, problems)
		}
	}
}

// Absent hints stay absent, and false ones stay false.
func TestExportMCPHints(t *testing.T) {
	t.Parallel()
	tool := &host.Tool{Tool: sdk.Tool{Name: "p__a", Title: "A", InputSchema: json.RawMessage(`{"properties":{}}`),
		Hints: sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No}}}
	list, _ := modelapi.Export(modelapi.FormatMCP, []*host.Tool{tool})
	diff(t, `[{"name":"p__a","title":"A","description":"","inputSchema":{"type":"object","properties":{}},`+
		`"annotations":{"readOnlyHint":true,"destructiveHint":false}}]`,
		string(list))
}

func TestHardSchemasNameKnownFormats(t *testing.T) {
	t.Parallel()
	for name, a := range hardSchemas {
		for f := range maps.Keys(a.leftOut) {
			if !slices.Contains(modelapi.Formats(), f) {
				t.Errorf("%s: no format %s", name, f)
			}
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	one := &host.Tool{Tool: sdk.Tool{Name: "test__run", Description: "a < b", Timeout: time.Minute,
		Category:    "not in a prompt",
		InputSchema: json.RawMessage(" { \"type\" : \"object\",\n \"properties\":{} } ")}}
	const prompt = `{"name":"test__run","description":"a < b","input_schema":{"type":"object","properties":{}}}`
	if got, want := modelapi.EstimateTokens(one), (len(prompt)+3)/4; got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
	text, err := os.ReadFile("../testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var foreign map[string][]sdk.Tool
	unmarshal(t, text, &foreign)
	sum := 0
	for plugin, tools := range foreign {
		for _, d := range tools {
			d.Name = plugin + "__" + d.Name
			sum += modelapi.EstimateTokens(&host.Tool{Tool: d, Plugin: plugin})
		}
	}
	// 5085 by cl100k_base, 5183 by o200k_base, counted once with a real tokenizer.
	if sum < 5183 || sum > 5183*12/10 {
		t.Errorf("%d tokens in all, want what a tokenizer counts or up to a fifth more", sum)
	}
}

// OpenAPI's nullable becomes a union with null in every format that is JSON Schema.
func TestExportNullable(t *testing.T) {
	t.Parallel()
	tools := []*host.Tool{{Tool: sdk.Tool{Name: "p__x",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`)}}}
	for _, f := range rooted {
		list, problems := modelapi.Export(f, tools)
		text := strings.ReplaceAll(string(list), `\"`, `"`) // of FormatText
		if len(problems) > 0 || !strings.Contains(text, `"type":["string","null"]`) || strings.Contains(text, "nullable") {
			t.Errorf("%s: %s, %v", f, list, problems)
		}
	}
	if list, _ := modelapi.Export(modelapi.FormatGeminiOpenAPI, tools); !strings.Contains(string(list),
		`"nullable":true`) {
		t.Errorf("%s", list)
	}
}

func TestExportKeepsCapitals(t *testing.T) {
	t.Parallel()
	tools := []*host.Tool{{Tool: sdk.Tool{Name: "p__getWeather", InputSchema: json.RawMessage(`{}`)}}}
	for _, f := range modelapi.Formats() {
		if list, problems := modelapi.Export(f, tools); len(problems) > 0 ||
			!strings.Contains(string(list), "p__getWeather") {
			t.Errorf("%s: %s, %v", f, list, problems)
		}
	}
}
