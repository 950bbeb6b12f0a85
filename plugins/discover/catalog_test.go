package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/internal/toolname"
)

// someSettings are enough to read a list of tools.
func someSettings() *settings {
	words := []string{"bin/call_tool", "--json"}
	return &settings{discovery: command{words: []string{"bin/get_tools"}}, call: command{words: words},
		callTimeout: 2 * time.Minute}
}

// readTools reads what a discovery command printed.
func readTools(t *testing.T, printed string) *catalog {
	t.Helper()
	var c catalog
	if err := c.read([]byte(printed), someSettings()); err != nil {
		t.Fatalf("%s: %v", printed, err)
	}
	return &c
}

// names are the tools' names, with the original ones behind a slash.
func (c *catalog) names() (out []string) {
	for _, t := range c.tools {
		name := t.Name
		if t.OriginalName != "" {
			name += "/" + t.OriginalName
		}
		out = append(out, name)
	}
	return out
}

func TestForms(t *testing.T) {
	for _, test := range []struct {
		name, printed  string
		tools, notices []string
	}{
		{"bare", `[{"name":"a"},{"name":"b"}]`, []string{"a", "b"}, nil},
		{"function_declarations", `[{"function_declarations":[{"name":"a"},{"name":"b"}]}]`, []string{"a", "b"}, nil},
		{"functionDeclarations", `[{"functionDeclarations":[{"name":"a"}]}]`, []string{"a"}, nil},
		{"all three", `[{"name":"c"},{"functionDeclarations":[{"name":"b"}]},{"function_declarations":[{"name":"a"}]}]`,
			[]string{"c", "b", "a"}, nil},
		{"the first form counts",
			`[{"name":"c","functionDeclarations":[{"name":"b"}],"function_declarations":[{"name":"a"}]}]`, []string{"a"}, nil},
		{"a form that is no list does not count", `[{"name":"c","function_declarations":{},"functionDeclarations":null}]`,
			[]string{"c"}, nil},
		{"an object for the list", `[{"functionDeclarations":{"name":"a"}},{"name":"b"}]`, []string{"b"},
			[]string{"item 1 is left out: its functionDeclarations is an object, not an array"}},
		{"as for OpenAI", `[{"type":"function","function":{"name":"a"}},{"name":"b","function":{"name":"c"}}]`,
			[]string{"a", "b"}, nil},
		{"as for Bedrock", `[{"toolSpec":{"name":"a","inputSchema":{"json":{}}}},{"name":"b","toolSpec":{"name":"c"}}]`,
			[]string{"a", "b"}, nil},
		{"properties among keywords", `[{"name":"a","parameters":{"type":"OBJECT","a":{"type":"STRING"}}},` +
			`{"name":"b","parameters":{"b":{"enum":[1]},"required":["b"]}},{"name":"c","input_schema":{"c":"String"}},` +
			`{"name":"d","parameters":{"d":{"description":""},"$defs":{"x":{}}}},` +
			`{"name":"e","parameters":{"properties":{},"e":{"type":"string"}}}]`, []string{"a", "b", "c", "d", "e"}, []string{
			`the arguments of the tool "a" are not checked: its schema has no "properties", in which "a" belongs`,
			`the arguments of the tool "b" are not checked: its schema has no "properties", in which "b" belongs`,
			`the arguments of the tool "c" are not checked: its schema has no "properties", in which "c" belongs`,
			`the arguments of the tool "d" are not checked: its schema has no "properties", in which "d" belongs`}},
		{"a schema that is none", `[{"name":"a","parameters":"object"},{"name":"b","parametersJsonSchema":true},` +
			`{"name":"c","inputSchema":[1],"parameters":{}}]`, []string{"a", "b", "c"},
			[]string{`the arguments of the tool "a" are not checked: its schema is a string, not an object`}},
		{"an empty list counts", `[{"name":"c","function_declarations":[]},{"name":"d"}]`, []string{"d"}, nil},
		{"nothing but empty lists", `[{"function_declarations":[]}]`, nil,
			[]string{"no tools: discovery_command bin/get_tools printed an empty list"}},
		{"no objects", `[1,"a",null,true,[{"name":"x"}],{"name":"a"}]`, []string{"a"}, []string{
			"item 1 is left out: it is a number, not an object", "item 2 is left out: it is a string, not an object",
			"item 3 is left out: it is null, not an object", "item 4 is left out: it is a boolean, not an object",
			"item 5 is left out: it is an array, not an object"}},
		{"no objects inside", `[{"functionDeclarations":[1,{"name":"a"},null]}]`, []string{"a"}, []string{
			"item 1, functionDeclarations 1 is left out: it is a number, not an object",
			"item 1, functionDeclarations 3 is left out: it is null, not an object"}},
		{"no names", `[{},{"name":""},{"name":" ` +
			`"},{"name":5},{"name":null},{"Name":"a"},{"functionDeclarations":[{"description":"x"}]}]`, nil, []string{
			"item 1 is left out: it has no name", "item 2 is left out: it has no name", "item 3 is left out: it has no name",
			"item 4 is left out: it has no name", "item 5 is left out: it has no name", "item 6 is left out: it has no name",
			"item 7, functionDeclarations 1 is left out: it has no name"}},
		{"names that cannot be given", `[{"name":"a\u0000b"},{"name":"` + strings.Repeat("é", 600) + `"},{"name":"a"}]`,
			[]string{"a"}, []string{
				`item 1 is left out: its name "a\x00b" has a NUL character, which no program can be given`,
				`item 2 is left out: its name "` + strings.Repeat("é", 30) + `"... has 1200 bytes, at most 1024 are allowed`}},
		{"names made to fit", `[{"name":"Get Weather!"},{"name":"get.x"},{"name":"fine_name-2"}]`,
			[]string{"get_weather_/Get Weather!", "get_x/get.x", "fine_name-2"}, nil},
		{"the same name", `[{"name":"a","description":"first"},{"name":"a","description":"second"},{"name":"b"}]`,
			[]string{"a", "b"}, []string{
				`the tool "a" is there twice; the last one counts`}},
		{"the same name once it fits", `[{"name":"Do it"},{"name":"do.it"},{"name":"do_it"}]`,
			[]string{"do_it_8af08d/Do it", "do_it_94431f/do.it", "do_it"}, []string{
				`the tool "Do it" is called "do_it_8af08d" here, since "do_it" has its name`,
				`the tool "do.it" is called "do_it_94431f" here, since "do_it" has its name`}},
		{"names that differ by case", `[{"name":"getuser"},{"name":"getUser"},{"name":"GETUSER"}]`,
			[]string{"getuser_69398c/getuser", "getUser_e28ebf/getUser", "GETUSER"}, []string{
				`the tool "getuser" is called "getuser_69398c" here, since "GETUSER" has its name`,
				`the tool "getUser" is called "getUser_e28ebf" here, since "GETUSER" has its name`}},
		{"the same in another order", `[{"name":"GETUSER"},{"name":"getUser"}]`,
			[]string{"GETUSER", "getUser_e28ebf/getUser"}, []string{
				`the tool "getUser" is called "getUser_e28ebf" here, since "GETUSER" has its name`}},
		{"a tool that is left out takes no name", `[{"name":"a","parameters":{"type":"array"}},{"name":"a"}]`, []string{"a"},
			[]string{
				`the tool "a" is left out: its schema has the type "array", but arguments are always an object`}},
		{"blanks around", " \n\uFEFF\t[ { \"name\" : \"a\" } ] \n", []string{"a"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := readTools(t, test.printed)
			if diff := cmp.Diff(test.tools, c.names()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notices, c.notices()); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefinition(t *testing.T) {
	c := readTools(t, `[{"name":"a","description":" Adds <b> & c. "}]`)
	tool := c.tools[0].Tool
	if err := tool.Check(); err != nil {
		t.Error(err)
	}
	if tool.Description != "Adds <b> & c." || tool.Category != "discovered" || tool.Timeout <= 2*time.Minute {
		t.Errorf("%+v", tool)
	}
	if tool.Hints.ReadOnly != nil || tool.Hints.Destructive != nil || tool.Hints.Idempotent != nil ||
		tool.Hints.OpenWorld != nil {
		t.Errorf("hints that no one gave: %+v", tool.Hints)
	}
}

func TestDescriptions(t *testing.T) {
	standIn := "Runs the project's command bin/call_tool --json 'My Tool' with the arguments as JSON on standard input, " +
		"and returns what it prints."
	for name, raw := range map[string]string{"missing": `"x":1`, "empty": `"description":""`,
		"blank": `"description":" \n"`, "a number": `"description":5`} {
		c := readTools(t, `[{"name":"My Tool",`+raw+`}]`)
		if got := c.tools[0].Description; got != standIn {
			t.Errorf("%s: %q", name, got)
		}
	}
	c := readTools(t, `[{"name":"long","description":"`+strings.Repeat("ä", 5000)+`"},{"name":"full","description":"`+
		strings.Repeat("x", 8192)+`"}]`)
	if got, want := c.tools[0].Description, strings.Repeat("ä", 4094)+"..."; got != want {
		t.Errorf("cut to %d bytes, want %d: ...%q", len(got), len(want), got[len(got)-10:])
	}
	if got := len(c.tools[1].Description); got != 8192 {
		t.Errorf("the description that just fits has %d bytes", got)
	}
	want := []string{`the description of the tool "long" is cut from 10000 to 8191 bytes`}
	if diff := cmp.Diff(want, c.notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// PowerShell's redirection writes UTF-16 with a byte order mark.
func TestUTF16(t *testing.T) {
	const text = `[{"name":"größe 😀"}]`
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		encoded := func(text string) (out []byte) {
			for _, unit := range utf16.Encode([]rune(text)) {
				out = order.AppendUint16(out, unit)
			}
			return out
		}
		c := readTools(t, string(encoded("\uFEFF"+text+"\r\n")))
		if len(c.tools) != 1 || c.tools[0].OriginalName != "größe 😀" {
			t.Errorf("%v: the tools are %q", order, c.names())
		}
		marked := encoded("\uFEFF" + text)
		for _, unread := range [][]byte{encoded(text), marked[:len(marked)-1]} {
			err := (&catalog{}).read(unread, someSettings())
			if err == nil || !strings.Contains(err.Error(), "print UTF-8, in PowerShell after") {
				t.Errorf("%v: %q: %v", order, unread, err)
			}
		}
	}
}

func TestFitName(t *testing.T) {
	for original, want := range map[string]string{
		"add":                      "add",
		"9lives":                   "9lives",
		"get-user_2":               "get-user_2",
		"GetUser":                  "GetUser",
		"Get User":                 "get_user",
		"a__b":                     "a_b",
		"a_____b":                  "a_b",
		"a. .b":                    "a_b",
		"_private":                 "t_private",
		"__init__":                 "t_init_",
		"-flag":                    "t-flag",
		"--flag":                   "t--flag",
		"mcp/files/read":           "mcp_files_read",
		"größe":                    "gr_e",
		"日本語":                      "tool_77710a",
		"___":                      "tool_" + toolname.Hash("___"),
		strings.Repeat("a", 40):    strings.Repeat("a", 40),
		strings.Repeat("a", 41):    strings.Repeat("a", 33) + "_" + toolname.Hash(strings.Repeat("a", 41)),
		strings.Repeat("ab__", 40): "ab_ab_ab_ab_ab_ab_ab_ab_ab_ab_ab_" + toolname.Hash(strings.Repeat("ab__", 40)),
	} {
		if got := toolNames.Fit(original); got != want {
			t.Errorf("%q: got %q, want %q", original, got, want)
		}
	}
	if a, b := toolNames.Fit(strings.Repeat("a", 50)+"1"), toolNames.Fit(strings.Repeat("a", 50)+"2"); a == b {
		t.Errorf("two long names became one: %s", a)
	}
}

func TestSchemas(t *testing.T) {
	for _, test := range []struct{ name, fields, want string }{
		{"none", `"x":1`, `{"type":"object"}`},
		{"parametersJsonSchema", `"parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"parameters", `"parameters":{"type":"object","required":["a"]}`, `{"type":"object","required":["a"]}`},
		{"both", `"parametersJsonSchema":{"type":"object","title":"j"},"parameters":{"type":"object","title":"p"}`,
			`{"type":"object","title":"j"}`},
		{"the first is not an object", `"parametersJsonSchema":[1],"parameters":{"type":"object","title":"p"}`,
			`{"type":"object","title":"p"}`},
		{"neither is an object", `"parametersJsonSchema":true,"parameters":null`, `{"type":"object"}`},
		{"as for MCP", `"inputSchema":{"type":"object","required":["a"]}`, `{"type":"object","required":["a"]}`},
		{"as for Anthropic", `"input_schema":{"type":"object","required":["a"]}`, `{"type":"object","required":["a"]}`},
		{"all four", `"parameters":{"title":"p"},"inputSchema":{"title":"i"},"input_schema":{"title":"a"}`,
			`{"type":"object","title":"p"}`},
		{"as for Bedrock", `"inputSchema":{"json":{"type":"object","required":["a"]}}`,
			`{"type":"object","required":["a"]}`},
		{"a property called json", `"parameters":{"json":{"type":"STRING"}}`,
			`{"type":"object","properties":{"json":{"type":"string"}}}`},
		{"bare properties", `"parameters":{ "city":{"type":"STRING"},"unit":{"enum":["C"]},"title":{"$ref":"#"},` +
			`"type":{"description":"d"},"x":{"anyOf":[{"type":"NULL"}]}}`,
			`{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["C"]},"title":{"$ref":"#"},` +
				`"type":{"description":"d"},"x":{"anyOf":[{"type":"null"}]}}}`},
		{"keywords with the looks of properties", `"parameters":{"not":{"type":"STRING"},"items":{"type":"STRING"},` +
			`"default":{"type":"a"},"title":"string","format":"number"}`,
			`{"type":"object","not":{"type":"string"},"items":{"type":"string"},` +
				`"default":{"type":"a"},"title":"string","format":"number"}`},
		{"other keywords with schemas in them", `"parameters":{"x-ui":{"order":["a"]},"x":1}`,
			`{"type":"object","x-ui":{"order":["a"]},"x":1}`},
		{"null", `"parametersJsonSchema":null`, `{"type":"object"}`},
		{"empty", `"parameters":{}`, `{"type":"object"}`},
		{"no type", `"parameters":{ "properties":{"a":{}}}`, `{"type":"object", "properties":{"a":{}}}`},
		{"fine ones stay byte for byte",
			`"parameters":{ "type" : "object", "properties" : {"b":{"type":"number","const":1.50}, "a":{}} }`,
			`{ "type" : "object", "properties" : {"b":{"type":"number","const":1.50}, "a":{}} }`},
		{"upper case", `"parameters":{"type":"OBJECT","properties":{"b":{"type":"STRING","enum":["STRING"]},` +
			`"a":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["b"]}`,
			`{"type":"object","properties":{"b":{"type":"string","enum":["STRING"]},"a":{"type":"array",` +
				`"items":{"type":"integer"}}},"required":["b"]}`},
		{"mixed case, lists of types", `"parameters":{"type":"Object","properties":{"a":{"type":["STRING","Null"]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]}}}`},
		{"everywhere a schema may be",
			`"parameters":{"type":"OBJECT","anyOf":[{"not":{"type":"NULL"}}],"$defs":{"d":{"type":"BOOLEAN"}},` +
				`"additionalProperties":{"type":"NUMBER"},"items":[{"type":"STRING"}],"then":{"prefixItems":[{"type":"STRING"}]}}`,
			`{"type":"object","anyOf":[{"not":{"type":"null"}}],"$defs":{"d":{"type":"boolean"}},` +
				`"additionalProperties":{"type":"number"},"items":[{"type":"string"}],"then":{"prefixItems":[{"type":"string"}]}}`},
		{"nowhere else", `"parameters":{"type":"object","properties":{"type":{"type":"STRING","default":"STRING",` +
			`"examples":[{"type":"OBJECT"}],"const":{"type":"NULL"}},"items":{"description":"<TYPE & more>"}}}`,
			`{"type":"object","properties":{"type":{"type":"string","default":"STRING","examples":[{"type":"OBJECT"}],` +
				`"const":{"type":"NULL"}},"items":{"description":"<TYPE & more>"}}}`},
		{"a property that is called type", `"parameters":{"type":"OBJECT","properties":{"type":{"enum":["A"]}}}`,
			`{"type":"object","properties":{"type":{"enum":["A"]}}}`},
		{"other words stay", `"parameters":{"type":"object","properties":{"a":{"type":"DATE"}}}`,
			`{"type":"object","properties":{"a":{"type":"DATE"}}}`},
		{"unspecified", `"parameters":{"type":"TYPE_UNSPECIFIED","properties":{"a":{"type":"TYPE_UNSPECIFIED","title":"A"}}}`,
			`{"type":"object","properties":{"a":{"title":"A"}}}`},
		{"counts as strings", `"parameters":{"type":"object","properties":{"a":{"type":"array","minItems":"1",` +
			`"maxItems":"x","maxLength":" 5"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","minItems":1,"maxItems":"x","maxLength":5}}}`},
		{"booleans as schemas", `"parameters":{"type":"OBJECT","properties":{"a":true},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":true},"additionalProperties":false}`},
		{"nullable", `"parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true},` +
			`"b":{"nullable":true,"type":["string","null"]},"c":{"type":"string","nullable":false},` +
			`"nullable":{"type":"boolean"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]},` +
				`"c":{"type":"string"},"nullable":{"type":"boolean"}}}`},
		{"nullable without a type",
			`"parameters":{"type":"object","properties":{"a":{"$ref":"#/$defs/x","nullable":true}},` +
				`"$defs":{"x":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}]}},` +
				`"$defs":{"x":{"type":"string"}}}`},
		{"the whole may be null", `"parameters":{"type":"OBJECT","nullable":true,"required":["a"]}`,
			`{"type":"object","required":["a"]}`},
		{"an object or null", `"parameters":{"required":["a"],"type":["null","object"]}`,
			`{"required":["a"],"type":"object"}`},
		{"bytes that are not UTF-8", "\"parameters\":{\"type\":\"object\",\"title\":\"caf\xe9 \\u00e9\"}",
			`{"type":"object","title":"caf` + "\uFFFD" + ` \u00e9"}`},
		{"halves of surrogate pairs", `"parameters":{"type":"object","title":"\ud83d\ude00 \ud83d \ude00\ude00 \\ud83d \uD83D\n"}`,
			`{"type":"object","title":"\ud83d\ude00 \uFFFD \uFFFD\uFFFD \\ud83d \uFFFD\n"}`},
		{"big numbers", `"parameters":{"type":"OBJECT","properties":{"a":{"maximum":12345678901234567890}}}`,
			`{"type":"object","properties":{"a":{"maximum":12345678901234567890}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := readTools(t, `[{"name":"a",`+test.fields+`}]`)
			if len(c.tools) != 1 || len(c.notices()) != 0 {
				t.Fatalf("%d tools, notices %q", len(c.tools), c.notices())
			}
			if got := string(c.tools[0].InputSchema); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A schema that cannot be used costs its own checks and not the tool, as in Gemini CLI.
func TestSchemasThatAreLeftOut(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 32) + `{}` + strings.Repeat(`}`, 32)
	for _, test := range []struct{ name, schema, want string }{
		{"deep", deep, "its schema has more than 32 levels"},
		{"large", `{"title":"` + strings.Repeat("x", 256<<10) + `"}`, "its schema has 262156 bytes, at most 262144 are allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := readTools(t, `[{"name":"bad","parameters":`+test.schema+`},{"name":"good"}]`)
			if diff := cmp.Diff([]string{"bad", "good"}, c.names()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if got := string(c.tools[0].InputSchema); got != `{"type":"object"}` || !c.tools[0].ForeignSchema {
				t.Errorf("schema %s", got)
			}
			if diff := cmp.Diff([]string{`the arguments of the tool "bad" are not checked: ` + test.want},
				c.notices()); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"string", `{"type":"string"}`, `its schema has the type "string", but arguments are always an object`},
		{"upper case", `{"type":"STRING"}`, `its schema has the type "string", but arguments are always an object`},
		{"a list of types", `{"type":["array","null"]}`,
			`its schema has the type ["array","null"], but arguments are always an object`},
		{"no type at all", `{"type":5}`, `its schema has the type 5, but arguments are always an object`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := readTools(t, `[{"name":"bad","parameters":`+test.schema+`},{"name":"good"}]`)
			if diff := cmp.Diff([]string{"good"}, c.names()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{`the tool "bad" is left out: ` + test.want}, c.notices()); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongEmptyList(t *testing.T) {
	million := strings.Repeat("1,", 1_000_000)
	for name, printed := range map[string]string{
		"items":   `[{"name":"a"},` + million + `{"name":"b"}]`,
		"members": `[{"name":"a"},{"functionDeclarations":[` + million + `{"name":"b"}]},{"name":"c"}]`,
	} {
		c := readTools(t, printed)
		if diff := cmp.Diff([]string{"a"}, c.names()); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", name, diff)
		}
		if notices := c.notices(); len(notices) != maxNotices+2 ||
			notices[0] != "only the first 10000 items are read; the rest is left out" {
			t.Errorf("%s: %d notices, the first %q", name, len(notices), notices[0])
		}
	}
}

func TestMoreToolsThanAHostTakes(t *testing.T) {
	var printed []string
	for i := range 5000 {
		printed = append(printed, fmt.Sprintf(`{"name":"t%d"}`, i))
	}
	c := readTools(t, "["+strings.Join(printed, ",")+"]")
	notices := c.notices()
	if len(c.tools) != maxTools || notices[0] != `the tool "t2048" is left out: 2048 tools are offered at most` ||
		notices[maxNotices] != fmt.Sprintf("and %d more notices like these", 5000-maxTools-maxNotices) {
		t.Errorf("%d tools, %q", len(c.tools), notices)
	}
}

func FuzzCatalog(f *testing.F) {
	for _, printed := range []string{`[]`, `[{"name":"a"}]`,
		`[{"function_declarations":[{"name":"A b","parameters":{"type":"OBJECT"}}]}]`,
		`[{"name":"é","description":"x"},{"name":"É"}]`,
		`[{"name":"a","parametersJsonSchema":{"properties":{"type":{"type":["STRING"]}},"items":[{"type":""}]}}]`,
		"\uFEFF[1,null]", `{"name":"a"}`, `[{"name":"__"},{"name":"a__b","parameters":{"a":1,"a":{"type":"X"}}}]`} {
		f.Add([]byte(printed))
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		var c, retry catalog
		err, err2 := c.read(printed, someSettings()), retry.read(printed, someSettings())
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("once %v, then %v", err, err2)
		}
		if diff := cmp.Diff([][]string{c.names(), c.notices()}, [][]string{retry.names(), retry.notices()}); diff != "" {
			t.Fatalf("once and then:\n%s", diff)
		}
		if len(c.notices()) > maxNotices+2 || err == nil && len(c.tools)+len(c.notices()) == 0 {
			t.Fatalf("%d tools, %d notices", len(c.tools), len(c.notices()))
		}
		seen := map[string]bool{}
		for _, tool := range c.tools {
			if err := tool.Check(); err != nil {
				t.Fatal(err)
			}
			if seen[tool.Name] || len(tool.Name) > toolNames.Max || !json.Valid(tool.InputSchema) || tool.Handler == nil {
				t.Fatalf("twice %v: %+v", seen[tool.Name], tool.Tool)
			}
			seen[tool.Name] = true
		}
	})
}
