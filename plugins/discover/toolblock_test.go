//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// say is a tool block that shows its arguments.
const say = `{"labels":["say"],"description":"Shows its words.","command":["./say","--fix={{fix}}","{{path}}","--","{{more}}"],
	"params":{"path":"string: The file.","fix":"boolean?","more":"string[]?"}}`

// sayWords is a script that shows its arguments, and what it reads if stdin is something.
const sayWords = `printf '<%s>' "$@"; cat`

func TestToolBlock(t *testing.T) {
	p := newProject(t)
	p.script(t, "say", sayWords)
	c, d := configured(t, `{"tool":`+say+`}`)
	if len(d.Tools) != 1 || len(d.Notices) != 0 {
		t.Fatalf("%+v, notices %q", d.Tools, d.Notices)
	}
	schema := `{"type":"object","properties":{"fix":{"type":"boolean"},"more":{"type":"array",` +
		`"items":{"type":"string"}},"path":{"type":"string","description":"The ` +
		`file."}},"required":["path"],"additionalProperties":false}`
	if tool := d.Tools[0]; string(tool.InputSchema) != schema || tool.Name != "say" ||
		tool.Description != "Shows its words." || tool.Category != "configured" || tool.Timeout != 130*time.Second {
		t.Errorf("%+v", tool)
	}
	for arguments, want := range map[string]string{
		`{"path":"a b"}`: "<a b><-->",
		`{"path":"x","fix":true,"more":["-1",""]}`: "<--fix=true><x><--><-1><>",
	} {
		if got := contentOf(t, c.Run(t, "say", arguments)); got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
}

func TestToolBlockRefusesArguments(t *testing.T) {
	p := newProject(t)
	p.script(t, "say", sayWords)
	c, _ := configured(t, `{"tool":`+say+`}`)
	for _, test := range []struct{ arguments, name, message string }{
		{`{"path":"--all"}`, "LooksLikeAnOption",
			`path gives the word "--all", which begins with - and could be taken for an option; nothing was run`},
		{`{}`, "MissingArgument", "path is missing; nothing was run"},
		{`{"path":null}`, "MissingArgument", "path is missing; nothing was run"},
		{`{"path":"a\u0000"}`, "NulInArgument", "path has a NUL character, which no program can be given; nothing was run"},
	} {
		r := c.Unchecked().Run(t, "say", test.arguments)
		if r.Error == nil || r.Error.Code != sdk.CodeInvalidArgs || r.Error.Name != test.name ||
			r.Error.Message != test.message || r.Error.Suggestion == "" {
			t.Errorf("%s: %+v", test.arguments, r.Error)
		}
	}
	r := c.Run(t, "say", `{"path":"`+strings.Repeat("x", 1_040_000)+`"}`)
	if wantError(t, r, "ArgumentsTooLong"); len(r.Error.Message) > 1000 ||
		!strings.HasPrefix(r.Error.Message, `command of the tool "say": `) {
		t.Errorf("%+v", r.Error)
	}
}

func TestToolBlockSettings(t *testing.T) {
	p := newProject(t)
	p.script(t, "say", sayWords)
	block := func(more string) string {
		return `{"tool":{"labels":["say"],"description":"d","command":["./say","{{text}}"],"params":{"text":"string?"},` +
			more + `}}`
	}
	for _, test := range []struct{ name, config, arguments, want string }{
		{"nothing on stdin", block(`"title":"Say"`), `{"text":"a"}`, "<a>"},
		{"all as JSON", block(`"stdin":"json"`), `{ "text": "ä" }`, `<ä>{ "text": "ä" }`},
		{"no arguments as JSON", block(`"stdin":"json"`), ``, `<>{}`},
		{"a text", block(`"stdin":"it: {{text}}\n"`), `{"text":"-a"}`, ""},
		{"a text and a dash", block(`"stdin":"it: {{text}}\n","allow_dash":true`), `{"text":"-a"}`, "<-a>it: -a\n"},
		{"a text that is absent", block(`"stdin":"it: {{text}}!"`), `{}`, "<>it: !"},
		{"schema", `{"tool":{"labels":["say"],"description":"d","command":"./say x ` +
			`'{{text}}'","schema":{"type":"OBJECT","properties":{"text":{"type":"STRING"}}}}}`, `{"text":"a b"}`, "<x><a b>"},
		{"no arguments", `{"tool":{"labels":["say"],"description":"d","command":"./say x"}}`, `{}`, "<x>"},
		{"braces", `{"tool":{"labels":["say"],"description":"d","command":["./say","{{{{.Names}}"]}}`, `{}`, "<{{.Names}}>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, d := configured(t, test.config)
			if len(d.Tools) != 1 {
				t.Fatal(d.Notices)
			}
			r := c.RunIn(t, t.TempDir(), "say", test.arguments)
			if test.want == "" {
				if r.Error == nil || r.Error.Name != "LooksLikeAnOption" {
					t.Errorf("got %+v", r)
				}
			} else if got := contentOf(t, r); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestToolBlockHints(t *testing.T) {
	newProject(t)
	_, d := configured(t, `{"tool":{"labels":["look"],"title":"Look","description":"d","command":["ls"],`+
		`"read_only":true,"destructive":false,"idempotent":true,"open_world":false,"cost_tier":"free",`+
		`"timeout_seconds":1.5}}`)
	want := sdk.Tool{Name: "look", Title: "Look", Description: "d", Category: "configured", CostTier: sdk.Free,
		Timeout:     11500 * time.Millisecond,
		Hints:       sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No},
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
	if diff := cmp.Diff([]sdk.Tool{want}, d.Tools); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestToolBlockFailures(t *testing.T) {
	p := newProject(t)
	p.script(t, "say", "echo partial; echo why >&2; exit 4")
	c, _ := configured(t, `{"tool":[
		{"labels":["fails"],"description":"d","command":["./say"]},
		{"labels":["missing"],"description":"d","command":["./nowhere"]},
		{"labels":["slow"],"description":"d","command":["sleep","600"],"timeout_seconds":0.2}]}`)
	r := c.Run(t, "fails", `{}`)
	if wantError(t, r, "ToolFailed"); r.Error.Message != "Stdout: partial\n\nStderr: why\n\nError: (none)\nExit Code: "+
		"4\nSignal: (none)" {
		t.Errorf("%+v", r.Error)
	}
	r = c.Run(t, "missing", `{}`)
	if wantError(t, r, "CommandNotFound"); !strings.HasSuffix(r.Error.Message, "/nowhere cannot be run: no such file") ||
		!strings.Contains(r.Error.Suggestion, `command of the tool "missing"`) {
		t.Errorf("%+v", r.Error)
	}
	r = c.Run(t, "slow", `{}`)
	if wantError(t, r, "Timeout"); r.Error.Message != "sleep 600 was not done after 200ms, and stopped, with everything "+
		"it had started" ||
		r.Error.Suggestion != "Ask for less at once, or have the operator raise timeout_seconds of the tool." {
		t.Errorf("%+v", r.Error)
	}
}

// Blocks are before what is discovered, and are there when the discovery fails.
func TestToolBlocksBesideDiscovery(t *testing.T) {
	p := newProject(t)
	p.script(t, "say", sayWords)
	p.prints(t, `[{"name":"one"},{"name":"Say"}]`)
	p.script(t, "bin/call_tool", `echo "$1"`)
	c, d := configured(t, `{"tool":`+say+`,"discovery_command":"bin/get_tools","call_command":"bin/call_tool"}`)
	if len(d.Tools) != 3 || d.Tools[0].Name != "say" || d.Tools[1].Name != "one" || d.Tools[2].Name != "Say_64f3cd" {
		t.Errorf("%+v", d.Tools)
	}
	want := sdk.Remarks(`the tool "Say" is called "Say_64f3cd" here, since "say" has its name`)
	if diff := cmp.Diff(want, d.Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if got := contentOf(t, c.Run(t, "one", `{}`)); got != "one\n" {
		t.Errorf("one gives %q", got)
	}
	_, d = configured(t, `{"tool":`+say+`,"discovery_command":"bin/gone","call_command":"bin/call_tool"}`)
	want = []sdk.Notice{{Kind: sdk.Problem, Text: "only the tools of the configuration: discovery_command bin/gone: " +
		p.dir + "/bin/gone cannot be run: no such file"}}
	if diff := cmp.Diff(want, d.Notices); diff != "" || len(d.Tools) != 1 {
		t.Errorf("%d tools, notices (-want +got):\n%s", len(d.Tools), diff)
	}
}

func TestMistakesInToolBlocks(t *testing.T) {
	newProject(t)
	block := func(more string) string { return `{"labels":["x"],"description":"d",` + more + `}` }
	for _, test := range []struct{ name, tool, want string }{
		{"no name", `{"description":"d"}`, `tool block 1: write it with the tool's name, as tool "NAME" { ... }`},
		{"two names", `[` + say + `,{"labels":["a","b"]}]`,
			`tool block 2: write it with the tool's name, as tool "NAME" { ... }`},
		{"no block", `5`, `tool block 1: write it with the tool's name, as tool "NAME" { ... }`},
		{"bad name", `{"labels":["Run It"],"description":"d","command":["x"]}`,
			`tool "Run It": the name must be of small letters, digits, - and _, at most 40; "run_it" would do`},
		{"twice", `[` + say + `,` + say + `]`, `tool "say" is there twice`},
		{"unknown setting", block(`"comand":["x"]`),
			`tool "x": there is no setting "comand"; there are: title, description, command, params, schema, stdin, ` +
				`timeout_seconds, allow_dash, read_only, destructive, idempotent, open_world, cost_tier`},
		{"wrong type", block(`"command":["x"],"timeout_seconds":"5s"`), `tool "x": timeout_seconds cannot be a string`},
		{"no description", `{"labels":["x"],"command":["x"]}`,
			`tool "x": description is missing: say what the tool does and when to use it; models choose by it`},
		{"no command", block(`"stdin":"json"`),
			`tool "x": command is missing: name the program and its arguments, such as command = ["./bin/lint", "{{path}}"]`},
		{"empty command", block(`"command":[]`), `tool "x": command = []: it is empty; name a program`},
		{"the program is an argument", block(`"command":["{{a}}"],"params":{"a":"string"}`),
			`tool "x": command: the program itself cannot be an argument, since a caller could run anything then`},
		{"unknown argument", block(`"command":["x","{{b}}"],"params":{"a":"string","c":"string"}`),
			`tool "x": {{b}} is not an argument; there are: a, c`},
		{"no arguments", block(`"command":["x","{{b}}"]`),
			`tool "x": {{b}} is not an argument: the tool has none; describe it in params or schema`},
		{"unknown argument on stdin", block(`"command":["x"],"stdin":"{{b}}"`),
			`tool "x": {{b}} is not an argument: the tool has none; describe it in params or schema`},
		{"no place", block(`"command":["x","{{.A}}"]`),
			`tool "x": command: {{.A}} is not {{NAME}} with the name of an argument; to mean the two braces themselves write ` +
				`{{{{`},
		{"list in a text", block(`"command":["x","--a={{a}}"],"params":{"a":"string[]"}`),
			`tool "x": {{a}} is a list and cannot stand inside of a text; make it a word of its own, or use stdin = "json"`},
		{"list on stdin", block(`"command":["x"],"stdin":"{{a}}","params":{"a":"string[]"}`),
			`tool "x": {{a}} is a list and cannot stand inside of a text; make it a word of its own, or use stdin = "json"`},
		{"both schemas", block(`"command":["x"],"params":{},"schema":{}`),
			`tool "x": it has params and a schema; keep one of the two`},
		{"schema of a text", block(`"command":["x"],"schema":{"type":"string"}`),
			`tool "x": its schema has the type "string", but arguments are always an object`},
		{"schema that is none", block(`"command":["x"],"schema":[]`), `tool "x": schema must be an object, not an array`},
		{"bad param", block(`"command":["x"],"params":{"a":"text"}`),
			`tool "x": params: a: "text" begins with no type: write string, number, integer or boolean, with [] for a list, ` +
				`with ? for one that may be absent, then ": DESCRIPTION"`},
		{"param as schema", block(`"command":["x"],"params":{"a":{"type":"string"}}`),
			`tool "x": params: a: it is an object; write "TYPE: DESCRIPTION", or use schema for more`},
		{"negative timeout", block(`"command":["x"],"timeout_seconds":-1`),
			`tool "x": timeout_seconds = -1: it must be more than 0 and at most 3600`},
		{"cost", block(`"command":["x"],"cost_tier":"dear"`),
			`tool "x": cost tier "dear" is not one of free, cheap, expensive`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := started(t).Configure(t.Context(), json.RawMessage(`{"tool":`+test.tool+`}`), here(t))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	many := strings.TrimSuffix(strings.Repeat(say+",", maxBlocks+1), ",")
	err := started(t).Configure(t.Context(), json.RawMessage(`{"tool":[`+many+`]}`), here(t))
	if want := fmt.Sprintf("there are %d tool blocks, at most %d are allowed; print so many tools with a discovery_command", maxBlocks+1, maxBlocks); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
