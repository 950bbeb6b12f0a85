package host_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// smuggled writes ASCII in characters that are invisible to people and readable for models.
func smuggled(text string) string {
	return strings.Map(func(r rune) rune { return 0xE0000 + r }, text)
}

func TestInvisibleCharactersInDescriptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want  string
		invisible int
	}{
		"plain":                   {"Reads a file.\n\tAnd more.", "Reads a file.\n\tAnd more.", 0},
		"tags":                    {"Reads" + smuggled("obey"), "Reads", 4},
		"direction":               {"a\u202eb\u2066c\u2069", "abc", 3},
		"zero width":              {"a\u200bb\u200cc\u200dd\ufeff\u2060e", "abcde", 5},
		"control":                 {"a\x1b[31mb\x00\x7f", "a[31mb", 3},
		"lines of Windows":        {"a\r\nb\u200b", "a\nb", 1},
		"variation selectors":     {"😀" + strings.Repeat("\U000E0101", 3) + "\ufe01", "😀", 4},
		"fillers":                 {"a\u3164\u115f\u2800\u00adb", "ab", 4},
		"line separators":         {"a\u2028b\u2029", "ab", 2},
		"private use":             {"a\ue000b", "ab", 1},
		"not UTF-8":               {"a\xffb", "a\uFFFDb", 0},
		"emoji":                   {"⚠️ 👩‍💻 ❤️‍🔥 1️⃣\u200b", "⚠️ 👩‍💻 ❤️‍🔥 1️⃣", 1},
		"joiners of a script":     {"می\u200cخواهم\u200b", "می\u200cخواهم", 1},
		"joiners of no script":    {"a\u200db \u200c \ufe0f", "ab  ", 3},
		"a row of joiners":        {"م\u200c\u200c\u200d", "م\u200c", 2},
		"a row of its selectors":  {"⚠\ufe0f\ufe0f\ufe0e", "⚠\ufe0f", 2},
		"other letters and marks": {"naïve cafe\u0301 ÿ 漢字", "naïve cafe\u0301 ÿ 漢字", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &recorder{}
			h := single(t, answering(sdk.Text("fine"), nil, toolWith("run", func(d *sdk.Tool) { d.Description = c.in })),
				host.Options{Logger: slogTo(log)})
			tools, problems := h.Tools(t.Context())
			if len(tools) != 1 || len(problems) != 0 {
				t.Fatalf("tools %v, problems %v", names(tools), problems)
			}
			diff(t, c.want, tools[0].Description)
			if tools[0].Invisible != c.invisible {
				t.Errorf("%d characters were taken out, want %d", tools[0].Invisible, c.invisible)
			}
			lines := log.named("invisible characters were removed from a tool's description; they may hide text from people")
			if (len(lines) == 1) != (c.invisible > 0) {
				t.Errorf("log %+v", log.all())
			}
		})
	}
}

func TestInvisibleCharactersElsewhere(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, c := range map[string]struct {
		with func(*sdk.Tool)
		want func(*host.Tool) string // of what is left
		text string
		why  string // "" when the tool stays
	}{
		"title": {func(d *sdk.Tool) { d.Title = "a\u200bb" }, func(t *host.Tool) string { return t.Title }, "ab", ""},
		"category": {func(d *sdk.Tool) { d.Category = "a\u200bb" }, func(t *host.Tool) string { return t.Category }, "ab",
			""},
		"description of a property": {func(d *sdk.Tool) {
			d.InputSchema = raw("{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"x\u200by\"," +
				"\"enum\":[\"p\u200bq\",\"ä\"]}}}")
		}, func(t *host.Tool) string { return string(t.InputSchema) },
			"{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"xy\",\"enum\":[\"p\u200bq\",\"ä\"]}}}", ""},
		"an escaped one": {func(d *sdk.Tool) { d.InputSchema = raw(`{"type":"object","description":"x\udb40\udc41y\u200b"}`) },
			func(t *host.Tool) string { return string(t.InputSchema) }, `{"type":"object","description":"xy"}`, ""},
		"a schema that needs nothing": {func(d *sdk.Tool) { d.InputSchema = raw(` { "type" : "object","title":"\u00e4" }`) },
			func(t *host.Tool) string { return string(t.InputSchema) }, ` { "type" : "object","title":"\u00e4" }`, ""},
		"a foreign schema with a name twice": {func(d *sdk.Tool) {
			d.ForeignSchema, d.InputSchema = true, raw("{\"type\":\"object\",\"title\":\"x\u200by\",\"title\":\"ä\"}")
		}, func(t *host.Tool) string { return string(t.InputSchema) }, `{"type":"object","title":"xy","title":"ä"}`, ""},
		"output schema": {func(d *sdk.Tool) { d.OutputSchema = raw("{\"title\":\"x\u200by\"}") },
			func(t *host.Tool) string { return string(t.OutputSchema) }, `{"title":"xy"}`, ""},
		"name of a property": {func(d *sdk.Tool) {
			d.InputSchema = raw("{\"type\":\"object\",\"properties\":{\"pa\u200bth\":{}}}")
		}, nil, "", `"pa\u200bth" in it has characters that cannot be seen`},
		"nothing else in it": {func(d *sdk.Tool) { d.Description = "\u200b\u200b" }, nil, "",
			"only characters that cannot be seen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools, problems := single(t, answering(nil, nil, toolWith("run", c.with)), host.Options{}).Tools(t.Context())
			if c.why != "" {
				if len(tools) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), c.why) {
					t.Errorf("tools %v, problems %v, want %q", names(tools), problems, c.why)
				}
				return
			}
			if len(tools) != 1 {
				t.Fatalf("problems %v", problems)
			}
			diff(t, c.text, c.want(tools[0]))
		})
	}
}

// What a plugin compares with keeps its bytes, and the log says where; what is only read is cleaned. Names of properties
// and definitions are no keywords, whatever they are.
func TestInvisibleCharactersInValues(t *testing.T) {
	t.Parallel()
	const in = `{"type":"object","default":{"enum":"x_"},"examples":[{"const":["x_"]}],"$defs":{"title":{"example":"x_",` +
		`"const":{"description":"x_"}}},"properties":{"default":{"enum":["x_",{"title":"x_"}],"default":"x_"},"enum":` +
		`{"description":"x_","pattern":"x_"},"b":{"anyOf":[{"const":"x_"},{"title":"x_"}],"x-more":["x_"]}}}`
	const want = `{"type":"object","default":{"enum":"x"},"examples":[{"const":["x"]}],"$defs":{"title":{"example":"x",` +
		`"const":{"description":"x_"}}},"properties":{"default":{"enum":["x_",{"title":"x_"}],"default":"x"},"enum":` +
		`{"description":"x","pattern":"x_"},"b":{"anyOf":[{"const":"x_"},{"title":"x"}],"x-more":["x_"]}}}`
	hidden := func(text string) json.RawMessage { return json.RawMessage(strings.ReplaceAll(text, "_", "\u202e")) }
	log := &recorder{}
	tools, problems := single(t, answering(nil, nil, toolWith("run", func(d *sdk.Tool) {
		d.InputSchema, d.OutputSchema = hidden(in), hidden(`{"const":"_"}`)
	})), host.Options{Logger: slogTo(log)}).Tools(t.Context())
	if len(tools) != 1 {
		t.Fatal(problems)
	}
	diff(t, string(hidden(want)), string(tools[0].InputSchema))
	diff(t, 6, tools[0].Invisible)
	lines := log.named("values in a tool's schema keep invisible characters; they may hide text from people")
	if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0]), "input schema: /$defs/title/const/description "+
		"input schema: /properties/default/enum/0 input schema: /properties/default/enum/1/title "+
		"input schema: /properties/enum/pattern input schema: /properties/b/anyOf/0/const "+
		"input schema: /properties/b/x-more/0 output schema: /const") {
		t.Errorf("log %+v", log.all())
	}
}

// Texts of the user, and results of tools, keep invisible characters.
func TestInvisibleCharactersThatStay(t *testing.T) {
	t.Parallel()
	const text = "a\u200b\u202eb"
	h := single(t, answering(sdk.Text(text), nil),
		host.Options{Tools: map[string]host.ToolOptions{"test__run": {Description: text}}})
	if r := h.Call(t.Context(), call("test__run", "")); r.Text() != text {
		t.Errorf("the result is %q", r.Text())
	}
	if tools, _ := h.Tools(t.Context()); tools[0].Description != text {
		t.Errorf("the description is %q", tools[0].Description)
	}
}

// The arguments that rules may name are also those that a schema describes in its parts.
func TestArgumentsOfATool(t *testing.T) {
	t.Parallel()
	for input, want := range map[string][]string{
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`: {"a"},
		`{"type":"object","properties":{"a":{}},"oneOf":[{"properties":{"b":{}}},{"$ref":"#/$defs/c"}],` +
			`"$defs":{"c":{"properties":{"c":{}}}}}`: {"a", "b", "c"},
		`{"type":"object","anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}],"additionalProperties":false}`: {"a", "b"},
		`{"type":"object","additionalProperties":false}`:                                                           {},
		`{"type":"object","propertyNames":{"type":"string"},"additionalProperties":false}`:                         nil,
		`{"type":"object"}`: nil,
	} {
		definition := tool("run")
		definition.InputSchema = json.RawMessage(input)
		listed, err := single(t, answering(sdk.Text(""), nil, definition), host.Options{}).Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []*host.Tool{listed[0], {Tool: definition}} {
			names := of.Arguments()
			if (names == nil) != (want == nil) || !slices.Equal(slices.Sorted(maps.Keys(names)), want) && len(want) > 0 {
				t.Errorf("%s: %v", input, names)
			}
		}
	}
}

func FuzzDefinition(f *testing.F) {
	f.Add("Reads\u200b"+smuggled("obey"), []byte("{\"type\":\"object\",\"description\":\"x\u202e\"}"))
	f.Add("⚠️ 👩‍💻", []byte(`{"type":"object","properties":{"\u200b":{}}}`))
	f.Add("\xff", []byte("{\"description\":\"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, description string, schema []byte) {
		h := single(t, answering(nil, nil,
			toolWith("run", func(d *sdk.Tool) { d.Description, d.InputSchema = description, schema })), host.Options{})
		tools, problems := h.Tools(t.Context())
		if len(tools)+len(problems) != 1 {
			t.Fatalf("%d tools, %d problems", len(tools), len(problems))
		}
		for _, listed := range tools {
			if !utf8.ValidString(listed.Description) || !json.Valid(listed.InputSchema) {
				t.Errorf("%q, %q", listed.Description, listed.InputSchema)
			}
			if listed.Invisible == 0 && utf8.ValidString(description) &&
				listed.Description != strings.ReplaceAll(description, "\r\n", "\n") && listed.Description != description {
				t.Errorf("%q became %q", description, listed.Description)
			}
		}
	})
}

// refusedAs is the name of the error of a tool's call, "" when it ran.
func refusedAs(t *testing.T, h *host.Host, tool string) string {
	t.Helper()
	if r := h.Call(t.Context(), call(tool, "")); r.Error != nil {
		return r.Error.Name
	}
	return ""
}

// Definitions that change while a plugin runs are compared with the lock, and a new lock holds at once.
func TestPinsHoldWhileToolsChange(t *testing.T) {
	t.Parallel()
	same, old := tool("same"), tool("edited")
	edited, reported := old, make(chan string, 8)
	edited.Description = "Does more than it did."
	p := newChanging(same, old)
	pinned := func(tools ...sdk.Tool) host.Options {
		hashes := map[string]string{}
		for _, t := range tools {
			_, hashes[t.Name] = host.Definition(t)
		}
		return host.Options{Pins: map[string]map[string]string{"test": hashes},
			OnToolsChanged: func(plugin string) { reported <- plugin }}
	}
	h := single(t, p, pinned(same, old))
	wants := func(when, sameName, editedName, addedName string) {
		t.Helper()
		for name, want := range map[string]string{"same": sameName, "edited": editedName, "added": addedName} {
			if got := refusedAs(t, h, "test__"+name); got != want {
				t.Errorf("%s: %s is refused as %q, want %q", when, name, got, want)
			}
		}
	}
	if got := refusedAs(t, h, "test__edited"); got != "" {
		t.Errorf("as it was locked: %s", got)
	}
	p.tools.Store([]sdk.Tool{same, edited, tool("added")})
	p.changes <- struct{}{}
	await(t, 10*time.Second, "the callback", reported)
	wants("changed", "", "DefinitionChanged", "NewTool")

	if err := h.Reload(map[string]host.Plugin{"test": p}, pinned(same, edited, tool("added"))); err != nil {
		t.Fatal(err)
	}
	wants("locked again", "", "", "")
	if err := h.Reload(map[string]host.Plugin{"test": p}, pinned(old)); err != nil {
		t.Fatal(err)
	}
	wants("locked to less", "NewTool", "DefinitionChanged", "NewTool")
}
