package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A project is a folder with commands that describe and run its tools.
type project struct {
	dir string
}

// newProject makes a folder and moves the test into it, as a host does with its plugins.
func newProject(t *testing.T) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return &project{dir: dir}
}

func (p *project) file(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := testutil.WriteProgram(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// script writes an executable shell script.
func (p *project) script(t *testing.T, name, body string) {
	t.Helper()
	p.file(t, name, "#!/bin/sh\n"+body+"\n", 0o755)
}

// prints makes bin/get_tools, a discovery command that prints the text.
func (p *project) prints(t *testing.T, text string) {
	t.Helper()
	p.file(t, "tools.json", text, 0o644)
	p.script(t, "bin/get_tools", "cat tools.json")
}

// usual is the configuration that most tests use.
const usual = `{"discovery_command":"bin/get_tools","call_command":"bin/call_tool"}`

// configured returns a running plugin and what it says of itself.
func configured(t *testing.T, config string) (*sdktest.Plugin, *sdk.Description) {
	t.Helper()
	c := started(t)
	configureHere(t, c, config)
	return c, describe(t, c)
}

// started runs a plugin that watches nothing any more once the test is over.
func started(t *testing.T) *sdktest.Plugin {
	t.Helper()
	k := newRefresher()
	t.Cleanup(k.close)
	return sdktest.Start(t, k.plugin)
}

// close ends the watch, as the end of the process does.
func (k *refresher) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unwatch()
}

func describe(t *testing.T, c *sdktest.Plugin) *sdk.Description {
	t.Helper()
	d, err := c.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// calling returns a plugin with the tools one and two, whose calls run the script.
func (p *project) calling(t *testing.T, script, config string) *sdktest.Plugin {
	t.Helper()
	p.prints(t, `[{"name":"one"},{"name":"Tool Two"}]`)
	p.script(t, "bin/call_tool", script)
	c, d := configured(t, config)
	if len(d.Tools) != 2 {
		t.Fatalf("%d tools, notices %q", len(d.Tools), d.Notices)
	}
	return c
}

// wantError compares the name of a result's error.
func wantError(t *testing.T, r *sdk.Result, name string) {
	t.Helper()
	code := sdk.CodeTool
	if name == "Timeout" {
		code = sdk.CodeTimeout
	}
	if r.Error == nil || r.Error.Name != name || r.Error.Code != code {
		t.Fatalf("error %+v, want %s; content %+v", r.Error, name, r.Content)
	}
}

// contentOf is the text of a result that is one text, or none.
func contentOf(t *testing.T, r *sdk.Result) string {
	t.Helper()
	switch {
	case r.Error != nil:
		t.Fatalf("error %+v", r.Error)
	case len(r.Content) == 0:
		return ""
	case len(r.Content) > 1 || r.Content[0].Type != "text":
		t.Fatalf("content %+v", r.Content)
	}
	return r.Content[0].Text
}

func TestBeforeConfiguration(t *testing.T) {
	d := describe(t, started(t))
	if d.Name != "discover" || d.Version != "0.1.0" || !d.Dynamic || len(d.Tools) != 0 || len(d.Notices) != 0 {
		t.Errorf("%+v", d)
	}
}

// A host that finds the plugin in a folder has no configuration for it: no tools, and nothing to complain of.
func TestWithoutConfiguration(t *testing.T) {
	c := started(t)
	configureHere(t, c, `{}`)
	if d := describe(t, c); len(d.Tools) != 0 || len(d.Notices) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestMistakesInTheConfiguration(t *testing.T) {
	newProject(t).prints(t, `[{"name":"one"}]`)
	for _, test := range []struct{ name, config, want string }{
		{"nothing but calls", `{"call_command":"bin/call_tool"}`,
			"discovery_command is missing: name the command that prints the tools"},
		{"null", `{"discovery_command":null,"call_command":"x"}`,
			"discovery_command is missing: name the command that prints the tools"},
		{"empty", `{"discovery_command":""}`, `discovery_command = "": it is empty; name a program`},
		{"blank", `{"discovery_command":" \t"}`, `discovery_command = " \t": it is empty; name a program`},
		{"empty list", `{"discovery_command":[]}`, `discovery_command = []: it is empty; name a program`},
		{"list without a program", `{"discovery_command":["","x"]}`,
			`discovery_command = ["","x"]: it is empty; name a program`},
		{"number", `{"discovery_command":5}`, `discovery_command = 5: it must be a string or a list of strings`},
		{"object", `{"discovery_command":{"a":1}}`, `discovery_command = {"a":1}: it must be a string or a list of strings`},
		{"list of other things", `{"discovery_command":["x",1]}`,
			`discovery_command = ["x",1]: it must be a string or a list of strings`},
		{"NUL", `{"discovery_command":["x","a\u0000b"]}`,
			`discovery_command = ["x","a\u0000b"]: the word "a\x00b" has a NUL character`},
		{"pipe", `{"discovery_command":"bin/get_tools | jq ."}`,
			`discovery_command = "bin/get_tools | jq .": '|' at character 15 means something to a shell, ` +
				`but it is not run through a shell; write a script, or quote it ('|') to mean the character itself`},
		{"call command", `{"discovery_command":"bin/get_tools","call_command":"'x"}`,
			`call_command = "'x": the ' at character 1 is not closed`},
		{"tools and no call command", `{"discovery_command":"bin/get_tools"}`,
			"call_command is missing: discovery_command found 1 tools, and there is nothing to call them with"},
		{"negative timeout", `{"discovery_command":"x","timeout_seconds":-1}`,
			"timeout_seconds = -1: it must be more than 0 and at most 3600"},
		{"long timeout", `{"discovery_command":"x","timeout_seconds":3601}`,
			"timeout_seconds = 3601: it must be more than 0 and at most 3600"},
		{"long calls", `{"discovery_command":"x","call_timeout_seconds":4000}`,
			"call_timeout_seconds = 4000: it must be more than 0 and at most 3600"},
		{"negative output", `{"discovery_command":"x","max_output_bytes":-1}`,
			"max_output_bytes = -1: it must be from 1 to 1572864"},
		{"much output", `{"discovery_command":"x","max_output_bytes":1572865}`,
			"max_output_bytes = 1572865: it must be from 1 to 1572864"},
		{"much discovery", `{"discovery_command":"x","max_discovery_bytes":67108865}`,
			"max_discovery_bytes = 67108865: it must be from 1 to 67108864"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := started(t).Unchecked()
			err := c.Configure(t.Context(), json.RawMessage(test.config), here(t))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if d := describe(t, c); len(d.Tools) > 0 {
				t.Errorf("there are tools all the same: %+v", d.Tools)
			}
		})
	}
}

func TestNoCallCommandAndNoToolsIsNoMistake(t *testing.T) {
	newProject(t).prints(t, `[]`)
	_, d := configured(t, `{"discovery_command":"bin/get_tools"}`)
	if len(d.Notices) != 1 || d.Notices[0] != sdk.Remarks("no tools: discovery_command bin/get_tools printed an empty list")[0] {
		t.Errorf("notices %q", d.Notices)
	}
}

func TestConfigureEndsWithItsContext(t *testing.T) {
	p := newProject(t)
	p.script(t, "bin/get_tools", "sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := (&config{DiscoveryCommand: json.RawMessage(`"bin/get_tools"`)}).settings(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.discover(ctx); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestCommandText(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"bin/x", "--list", "a=b"}, "bin/x --list a=b"},
		{[]string{"A=1", "", "a b", "it's", "$HOME", "*", "A=1"}, `'A=1' '' 'a b' 'it'\''s' '$HOME' '*' A=1`},
	} {
		if got := (command{words: test.words}).String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// here is the folder of the project that the test is in.
func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func configureHere(t *testing.T, c *sdktest.Plugin, config string) {
	t.Helper()
	if err := c.Configure(t.Context(), json.RawMessage(config), here(t)); err != nil {
		t.Fatalf("configuring the plugin: %v", err)
	}
}
