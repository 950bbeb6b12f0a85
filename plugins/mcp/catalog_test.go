package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

func catalogOf(t *testing.T, list string, choice selection) *catalog {
	t.Helper()
	all, ok := items(json.RawMessage(list))
	if !ok {
		t.Fatalf("no list: %s", list)
	}
	return readCatalog(all, choice, nil)
}

// names are the tools' names, with the server's behind a slash where they differ.
func (c *catalog) names() (out []string) {
	for _, d := range c.tools {
		name := d.Name
		if d.OriginalName != "" {
			name += " of " + d.OriginalName
		}
		out = append(out, name)
	}
	return out
}

func tool(name, rest string) string {
	if rest == "" {
		rest = `"description":"d","inputSchema":{"type":"object"}`
	}
	return fmt.Sprintf(`{"name":%q,%s}`, name, rest)
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 41)
	for original, want := range map[string]string{
		"echo": "echo", "get-Sum": "get-Sum", "9lives": "9lives", "files/read": "files_read", "Get User": "Get_User",
		"a__b": "a_b", "a. .b": "a_b", "_private": "t_private", "-x": "t-x", "日本": "tool_" + toolname.Hash("日本"),
		long: strings.Repeat("a", 33) + "_" + toolname.Hash(long), "größe": "gr_e", "a.b": "a_b",
	} {
		if got := toolNames.Fit(original); got != want {
			t.Errorf("%q becomes %q, want %q", original, got, want)
		}
		if d := (sdk.Tool{Name: toolNames.Fit(original), Description: "d", InputSchema: []byte(`{}`)}); d.Check() != nil {
			t.Error(d.Check())
		}
	}
}

func TestToolsOfOneName(t *testing.T) {
	c := catalogOf(t, "["+strings.Join([]string{tool("do it", ""), tool("do_it", ""), tool("do.it", ""), tool("DO_IT", ""),
		tool("echo", ""), tool("echo", `"description":"another"`)}, ",")+"]", selection{})
	want := []string{toolNames.Hashed("do_it", "do it") + " of do it", toolNames.Hashed("do_it", "do_it") + " of do_it",
		toolNames.Hashed("do_it", "do.it") + " of do.it", "DO_IT", "echo"}
	if diff := cmp.Diff(want, c.names()); diff != "" {
		t.Error(diff)
	}
	if len(c.notices) != 4 || !strings.Contains(strings.Join(c.notices, "\n"), `two tools called "echo"`) ||
		!strings.Contains(strings.Join(c.notices, "\n"), `"do it" and "DO_IT"`) {
		t.Errorf("%q", c.notices)
	}
}

func TestDefinitionKeepsTheServersTexts(t *testing.T) {
	input := `{ "type":"object","$schema":"http://json-schema.org/draft-07/schema#", ` +
		`"properties":{"z":{},"a":{"maximum":9007199254740993}} }`
	c := catalogOf(t, `[{"name":"a.b","title":"A B","description":"Does it.","inputSchema":`+input+`,
		"outputSchema":{"type":"array"},"annotations":{"title":"other","readOnlyHint":true,"openWorldHint":false,"x":1,
		"destructiveHint":"no"},"icons":[{"src":"data:,"}],"execution":{"taskSupport":"optional"},"_meta":{"k" : 1}}]`,
		selection{})
	want := sdk.Tool{Name: "a_b", OriginalName: "a.b", Title: "A B", Description: "Does it.", Category: "mcp",
		InputSchema: json.RawMessage(input), OutputSchema: json.RawMessage(`{"type":"array"}`),
		Hints:         sdk.Hints{ReadOnly: sdk.Yes, OpenWorld: sdk.No},
		ForeignHints:  true,
		ForeignSchema: true,
		Extra: json.RawMessage(`{"icons":[{"src":"data:,"}],"execution":{"taskSupport":"optional"},"_meta":{"k" : 1},` +
			`"annotations":{"title":"other","x":1,"destructiveHint":"no"}}`)}
	if len(c.tools) != 1 || len(c.notices) != 0 {
		t.Fatalf("%q", c.notices)
	}
	if diff := cmp.Diff(want, c.tools[0].Tool); diff != "" {
		t.Error(diff)
	}
}

func TestSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`:                         `{"type":"object"}`,
		`{}`:                                        `{"type":"object"}`,
		`{"properties":{"b":{}, "a":{}}}`:           `{"type":"object","properties":{"b":{}, "a":{}}}`,
		`{"anyOf":[{"type":"object"}]}`:             `{"type":"object","anyOf":[{"type":"object"}]}`,
		`{"$ref":"#/$defs/a"}`:                      `{"type":"object","$ref":"#/$defs/a"}`,
		`{"type":["object","null"],"minimum": 1.0}`: `{"type":"object","minimum":1.0}`,
		`true`: `{"type":"object"}`,
		`null`: `{"type":"object"}`,
		`"x"`:  `{"type":"object"}`,
	} {
		c := catalogOf(t, `[`+tool("a", `"inputSchema":`+schema)+`]`, selection{})
		if len(c.tools) != 1 || string(c.tools[0].InputSchema) != want {
			t.Errorf("%s: %v %q", schema, c.tools, c.notices)
			continue
		}
		if (len(c.notices) == 0) != (schema == want) {
			t.Errorf("%s: notices %q", schema, c.notices)
		}
	}
}

// One tool that cannot be called is named and left out; the others are there.
func TestBadToolsCostNoOthers(t *testing.T) {
	for bad, want := range map[string]string{
		`5`:              "tool 2 of the list is left out: it is a number",
		`{}`:             "tool 2 of the list is left out: it has no name",
		`{"name":" "}`:   `the tool " " is left out: it has no name`,
		`{"name":["x"]}`: "tool 2 of the list is left out: it has no name",
		tool("s", `"inputSchema":{"type":"string"}`):                                                         `the tool "s" is left out: its arguments would have the type "string"`,
		tool("h", `"inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`): `the tool "h" is left out: x-mcp-header of the property "a": the property is not a string`,
		tool("h", `"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a `+
			`b"}}}`): `is not a name of a header`,
		tool("h", `"inputSchema":{"type":"object","items":{"properties":{"a":{"type":"string",`+
			`"x-mcp-header":"A"}}}}`): `does not belong to one argument`,
		tool("h", `"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},`+
			`"b":{"type":"string","x-mcp-header":"a"}}}`): `two properties have the x-mcp-header "a"`,
		`{"name":"` + strings.Repeat("n", 2000) +
			`"}`: "has 2000 bytes",
	} {
		c := catalogOf(t, `[`+tool("a", "")+`,`+bad+`,`+tool("b", "")+`]`, selection{})
		if diff := cmp.Diff([]string{"a", "b"}, c.names()); diff != "" {
			t.Errorf("%s:\n%s", bad, diff)
		}
		if len(c.notices) != 1 || !strings.Contains(c.notices[0], want) {
			t.Errorf("%s: %q, want %q", bad, c.notices, want)
		}
	}
}

func TestDescriptions(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	c := catalogOf(t, `[`+tool("a", `"description":"`+long+`"`)+`,`+tool("b", `"title":"x"`)+`,`+
		tool("c", `"description":"red\u001b[31m \u202e","title":"t\u0007"`)+`]`, selection{})
	if got := c.tools[0].Description; len(got) > sdk.MaxDescription || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := c.tools[1].Description; !strings.Contains(got, "The tool b of an MCP server") {
		t.Error(got)
	}
	if got := c.tools[2]; got.Description != "red\uFFFD[31m \uFFFD" || got.Title != "t\uFFFD" {
		t.Errorf("%q %q", got.Description, got.Title)
	}
	all := strings.Join(c.notices, "\n")
	if !strings.Contains(all, "its description of 10000 bytes is cut") ||
		!strings.Contains(all, "2 characters that cannot") {
		t.Error(all)
	}
}

func TestLargeExtraMembers(t *testing.T) {
	c := catalogOf(t, `[`+tool("a", `"_meta":{"a":1},"icons":["`+strings.Repeat("x", 70<<10)+`"]`)+`]`, selection{})
	if len(c.tools) != 1 || string(c.tools[0].Extra) != `{"_meta":{"a":1}}` ||
		!strings.Contains(strings.Join(c.notices, "\n"), "its member icons of 71684 bytes is left out") {
		t.Errorf("%s %q", c.tools[0].Extra, c.notices)
	}
}

func TestIncludeAndExclude(t *testing.T) {
	list := "[" + strings.Join([]string{tool("read_file", ""), tool("write_file", ""), tool("files/list", ""),
		tool("echo", "")}, ",") + "]"
	for _, test := range []struct {
		include, exclude, want []string
		notice                 string
	}{
		{nil, nil, []string{"read_file", "write_file", "files_list of files/list", "echo"}, ""},
		{[]string{"*_file"}, nil, []string{"read_file", "write_file"}, ""},
		{[]string{"*_file", "echo"}, []string{"write*"}, []string{"read_file", "echo"}, ""},
		{nil, []string{"*"}, nil, ""},
		{[]string{"echo"}, []string{"echo"}, nil, ""},
		{[]string{"files/list"}, nil, []string{"files_list of files/list"}, ""},
		{[]string{"files_list"}, nil, []string{"files_list of files/list"}, ""},
		{[]string{"ecko", "read_fil?"}, nil, []string{"read_file"}, `the server has no tool "ecko"; did you mean "echo"?`},
	} {
		c := catalogOf(t, list, selection{test.include, test.exclude})
		if diff := cmp.Diff(test.want, c.names()); diff != "" {
			t.Errorf("%v - %v:\n%s", test.include, test.exclude, diff)
		}
		if got := strings.Join(c.notices, "\n"); !strings.Contains(got, test.notice) || (got == "") != (test.notice == "") {
			t.Errorf("%v - %v: %q", test.include, test.exclude, c.notices)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acb", false},
		{"*a*b*", "xxayyb", true}, {"*ab", "aab", true}, {"a?", "aé", true}, {"a?", "a", false},
		{strings.Repeat("a*", 50) + "b", strings.Repeat("a", 2000), false}} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q and %.20q: %t", c.pattern, c.name, got)
		}
	}
}

func TestManyTools(t *testing.T) {
	var list []json.RawMessage
	for i := range 100_000 {
		list = append(list, json.RawMessage(tool(fmt.Sprintf("t%d", i), "")))
	}
	c := readCatalog(list, selection{}, nil)
	if len(c.tools) != maxTools || len(c.notices) != 2 ||
		!strings.Contains(c.notices[0], "the server has 100000 tools; only the first 10000") ||
		!strings.Contains(c.notices[1], `"t2048" and those after it are left out: 2048 tools are offered at most`) {
		t.Errorf("%d tools, %q", len(c.tools), c.notices)
	}
	c = readCatalog(list[:5000], selection{include: []string{"t4*"}}, nil) // also those that come late
	if len(c.tools) != 1111 || len(c.notices) != 0 {
		t.Errorf("%d tools, %q", len(c.tools), c.notices)
	}
	c = readCatalog(list[:5000], selection{}, []string{"read_resource", "get_prompt"})
	if len(c.tools) != maxTools-2 {
		t.Errorf("%d tools beside two of its own", len(c.tools))
	}
	big := `"description":"` + strings.Repeat("x", 8000) + `"`
	list = nil
	for i := range 1000 {
		list = append(list, json.RawMessage(tool(fmt.Sprintf("t%d", i), big)))
	}
	c = readCatalog(list, selection{}, nil)
	if len(c.tools) < 300 || len(c.tools) == 1000 ||
		!strings.Contains(strings.Join(c.notices, "\n"), "and those after it") {
		t.Errorf("%d tools, %q", len(c.tools), c.notices)
	}
}

func TestHeadersOfACall(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
		"on":{"type":"boolean","x-mcp-header":"On"},"x-mcp-header":{"type":"object"}}}`)
	declared, err := paramHeaders(schema)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]map[string]string{
		`{"region":"eu","deep":{"n":42},"on":true}`: {"Mcp-Param-Region": "eu", "Mcp-Param-N": "42", "Mcp-Param-On": "true"},
		`{"region":" ö","deep":{"n":null}}`:         {"Mcp-Param-Region": "=?base64?IMO2?="},
		`{"region":"a\r\nb"}`:                       {"Mcp-Param-Region": "=?base64?YQ0KYg==?="},
		`{"region":"=?base64?eA==?="}`:              {"Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		`{"region":""}`:                             {"Mcp-Param-Region": ""},
		`{}`:                                        nil,
	} {
		if diff := cmp.Diff(want, headersOf(declared, json.RawMessage(arguments))); diff != "" {
			t.Errorf("%s:\n%s", arguments, diff)
		}
	}
}
