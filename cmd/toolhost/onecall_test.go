//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// addOneCallTools are tools of the test binary as a plugin, for tests of commands that make one call.
func addOneCallTools(p *sdk.Plugin) {
	add := func(t sdk.Tool, f func() *sdk.Result) {
		t.Description = "for tests"
		sdk.AddTool(p, t, func(context.Context, *sdk.Request, faultyArgs) (*sdk.Result, error) { return f(), nil })
	}
	reads := sdk.Hints{ReadOnly: sdk.Yes}
	add(sdk.Tool{Name: "structured", Hints: reads},
		func() *sdk.Result { return &sdk.Result{Structured: json.RawMessage(`{"n": [1, 2.50]}`)} })
	add(sdk.Tool{Name: "blank", Hints: reads}, func() *sdk.Result {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("")}, Structured: json.RawMessage(`{"n":1}`)}
	})
	add(sdk.Tool{Name: "both", Hints: reads}, func() *sdk.Result {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("one")}, Structured: json.RawMessage(`{"n":1}`)}
	})
	add(sdk.Tool{Name: "parts", Hints: reads}, func() *sdk.Result {
		return sdk.Text("one").Add(sdk.FileContent("f://t", "", nil), sdk.FileContent("f://t", "text/plain", []byte("hello")),
			sdk.LinkContent("f://l", "log", ""), sdk.ImageContent([]byte("tiff"), "image/tiff"),
			sdk.Content{Raw: json.RawMessage(`{"type":"new","x":1}`)})
	})
	add(sdk.Tool{Name: "silent", Hints: reads}, func() *sdk.Result { return &sdk.Result{} })
	add(sdk.Tool{Name: "history", Hints: reads, Stateful: true}, func() *sdk.Result { return sdk.Text("of nothing") })
}

// A oneCall is a folder with a configuration in it, and the programs that make calls there.
type oneCall struct {
	dir, config string
	t           *testing.T
}

// newOneCall has the test binary as the plugin faulty; more is added to its block and after it.
func newOneCall(t *testing.T, inBlock, after string) *oneCall {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &oneCall{dir, filepath.Join(dir, "one.hcl"), t}
	writeConfig(t, o.config, fmt.Sprintf("plugin_dirs = [%q]\nplugin \"faulty\" {\n  command = [%q]\n  env     = { %s "+
		"= %q }\n%s\n}\n%s\n",
		bin, program, faultyVar, filepath.Join(dir, "ran"), inBlock, after))
	return o
}

// run runs a program by its name, as a person or a client would, and returns its output.
func (o *oneCall) run(program, stdin string, args ...string) (code int, stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	code = named(program)(append([]string{"--config", o.config, "--workdir", o.dir}, args...),
		io.Reader(strings.NewReader(stdin)), &out, &errs)
	return code, out.String(), errs.String()
}

// All of a result is printed, for people and clients: the text of a resource, and JSON where there is no text.
func TestResultIsPrinted(t *testing.T) {
	o := newOneCall(t, "", "")
	for tool, want := range map[string]string{
		"structured": "{\"n\": [1, 2.50]}\n", "blank": "{\"n\":1}\n", "both": "one\n", "silent": "",
		"parts": "one\n[file f://t]\n[file f://t text/plain]\nhello\n[link log f://l]\n" +
			"[image image/tiff, 4 bytes, which cannot be shown here]\n{\"type\":\"new\",\"x\":1}\n",
	} {
		if code, out, errs := o.run("toolhost", "", "call", "faulty__"+tool); code != exitOK || out != want {
			t.Errorf("call %s: exit code %d, %q\n%s", tool, code, out, errs)
		}
		if code, out, errs := o.run(callProgram, "{}", "faulty__"+tool); code != exitOK || out != want || errs != "" {
			t.Errorf("%s %s: exit code %d, %q\n%s", callProgram, tool, code, out, errs)
		}
	}
}

// Tools that use the state of earlier calls are not offered by a host that ends after one, and refused with the
// reason.
func TestSingleCallOffersNoStatefulTools(t *testing.T) {
	o := newOneCall(t, "", "policy \"user\" {\n  rule \"all\" {\n    tools  = [\"*\"]\n    effect = \"allow\"\n  }\n}\n")
	code, out, errs := o.run("toolhost", "", "discover", "--format", "gemini")
	if code != exitOK || !strings.Contains(out, "edit__replace") || !strings.Contains(out, "faulty__structured") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, tool := range []string{"edit__undo", "edit__diff", "shell__job", "faulty__history"} {
		if strings.Contains(out, `"`+tool+`"`) {
			t.Errorf("%s is offered", tool)
		}
		arguments := map[string]string{"shell__job": `{"action":"list"}`}[tool]
		for program, run := range map[string]func() (int, string, string){
			"toolhost":  func() (int, string, string) { return o.run("toolhost", arguments, "call", tool, "-") },
			callProgram: func() (int, string, string) { return o.run(callProgram, arguments, tool) },
		} {
			if code, out, errs := run(); code != exitDenied || out != "" ||
				!strings.Contains(errs, "NeedsLastingHost: "+tool+" works with what earlier calls left") {
				t.Errorf("%s %s: exit code %d, %q\n%s", program, tool, code, out, errs)
			}
		}
	}
	code, out, errs = o.run(callProgram, `{"command":"sleep 600","background":true}`, "shell__exec")
	if code != exitTool || out != "" || !strings.Contains(errs,
		"NeedsLastingHost: background: this host makes one call and ends") {
		t.Errorf("background: exit code %d, %q\n%s", code, out, errs)
	}
	if code, out, _ := o.run("toolhost", "", "discover", "--format", "json"); code != exitOK ||
		!strings.Contains(out, `"faulty__history"`) {
		t.Errorf("who embeds the host is not shown all tools: exit code %d\n%s", code, out)
	}
}

// Each call has its own host, and they count together.
func TestLimitsAreKeptFromCallToCall(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	o := newOneCall(t, `
  tool "structured" {
    max_calls = 2
  }
  tool "both" {
    rate  = "0.001/s"
    burst = 1
  }`, "")
	other := &oneCall{t.TempDir(), o.config, t}
	for i, c := range []struct {
		from *oneCall
		tool string
		args []string
		want string // "" is a success
	}{
		{o, "structured", nil, ""},
		{o, "structured", nil, ""},
		{o, "structured", nil, "E_LIMIT BudgetSpent"},
		{o, "structured", []string{"--session", "next"}, ""},
		{other, "structured", nil, ""},
		{o, "structured", nil, "E_LIMIT BudgetSpent"},
		{o, "both", nil, ""},
		{o, "both", nil, "E_LIMIT RateLimited"},
		{other, "both", []string{"--session", "next"}, "E_LIMIT RateLimited"}, // the machine is no faster for another session
		{o, "silent", nil, ""},
	} {
		program, stdin, args := "toolhost", "", append([]string{"call", "faulty__" + c.tool}, c.args...)
		if i%2 == 1 {
			program, stdin, args = callProgram, "{}", args[1:]
		}
		code, _, errs := c.from.run(program, stdin, args...)
		if (code == exitOK) != (c.want == "") || !strings.Contains(errs, c.want) {
			t.Errorf("call %d, %s: exit code %d, want %q\n%s", i, c.tool, code, c.want, errs)
		}
	}
}

// A call whose limit cannot be counted is refused.
func TestLimitsThatCannotBeCounted(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	o := newOneCall(t, "  tool \"structured\" {\n    max_calls = 2\n  }", "")
	calls := func(tool, want string) {
		t.Helper()
		code, _, errs := o.run("toolhost", "", "call", "faulty__"+tool)
		if (code == exitOK) != (want == "") || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, want %q\n%s", code, want, errs)
		}
	}
	calls("structured", "")
	files, err := filepath.Glob(filepath.Join(state, "toolhost", "counts", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for text, want := range map[string]string{"{": "is broken", strings.Repeat(" ", 1<<20+1): "is not a file of call counts"} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		calls("structured",
			"E_LIMIT NotCounted: the calls of this tool are limited, and they cannot be counted: "+files[0]+" "+want)
		calls("silent", "")
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	calls("structured", "")
}

// The project's own commands have the environment of the user's shell, unless the operator configures otherwise;
// other plugins do not.
func TestEnvironmentOfProjectCommands(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(bin, "toolhost")
	for name, c := range map[string]struct{ inBlock, want string }{
		"as in the shell": {"",
			"MY_API_TOKEN=t0,VIRTUAL_ENV=/venv,https_proxy=p,AWS_PROFILE=a,SSH_AUTH_SOCK=/s,BASH_ENV=,TOOLHOST_X=,"},
		"not": {"  inherit_env = false\n",
			"MY_API_TOKEN=,VIRTUAL_ENV=,https_proxy=,AWS_PROFILE=,SSH_AUTH_SOCK=,BASH_ENV=,TOOLHOST_X=,"},
		"confined": {"  sandbox {\n    level = \"confined\"\n  }\n",
			"MY_API_TOKEN=,VIRTUAL_ENV=,https_proxy=,AWS_PROFILE=,SSH_AUTH_SOCK=,BASH_ENV=,TOOLHOST_X=,"},
	} {
		config := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".hcl")
		writeConfig(t, config, fmt.Sprintf(`plugin_dirs = [%q]
plugin "shell" {
  sandbox {
    new_privileges = true
  }
}
plugin "own" {
  command = [%q]
%s  config {
    tool "show" {
      description = "Shows variables."
      command     = ["sh", "-c", "for v in MY_API_TOKEN VIRTUAL_ENV https_proxy AWS_PROFILE SSH_AUTH_SOCK BASH_ENV TOOLHOST_X; do eval printf '%%s=%%s,' $v \\\"\\$$v\\\"; done"]
      read_only   = true
    }
  }
}
`, bin, filepath.Join(bin, "toolhost-plugin-discover"), c.inBlock))
		for _, call := range []struct{ tool, arguments, want string }{
			{"own__show", "{}", c.want}, {"shell__exec", `{"command":"echo $MY_API_TOKEN$VIRTUAL_ENV."}`, ".\n"},
		} {
			cmd := exec.Command(program, "--config", config, "--workdir", dir, "call", call.tool, call.arguments, "--approve",
				"always")
			cmd.Env = append(os.Environ(), "MY_API_TOKEN=t0", "VIRTUAL_ENV=/venv", "https_proxy=p", "AWS_PROFILE=a",
				"SSH_AUTH_SOCK=/s", "BASH_ENV=/proc/nowhere", "TOOLHOST_X=y")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), call.want) {
				t.Errorf("%s, %s: %v, %q\n%s", name, call.tool, err, out, errs.String())
			}
		}
	}
}

// A person and a client may call a tool by another name; the record has its own name.
func TestAliasesOfCommands(t *testing.T) {
	record := filepath.Join(t.TempDir(), "audit.jsonl")
	o := newOneCall(t, "  tool \"both\" {\n    aliases = [\"read_both\"]\n  }",
		fmt.Sprintf("audit {\n  path = %q\n}\npolicy \"user\" {\n  rule \"no\" {\n    tools  = [\"faulty__both\"]\n    "+
			"effect = \"deny\"\n  }\n}\n", record))
	if code, _, errs := o.run("toolhost", "", "call", "read_both"); code != exitDenied ||
		!strings.Contains(errs, "faulty__both was denied") {
		t.Errorf("a rule about the tool does not hold for its alias: exit code %d\n%s", code, errs)
	}
	if code, out, errs := o.run("toolhost", "", "policy", "explain", "read_both"); code != exitOK ||
		!strings.Contains(out, "deny") {
		t.Errorf("explain: exit code %d\n%s\n%s", code, out, errs)
	}
	if code, _, errs := o.run(callProgram, "{}", "grep_search"); code != exitUsage ||
		!strings.Contains(errs, "Did you mean readfile__grep") {
		t.Errorf("another agent's name: exit code %d\n%s", code, errs)
	}
	text, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(text), `"tool":"faulty__both"`) ||
		strings.Contains(string(text), "read_both") {
		t.Errorf("the record says %s, %v", text, err)
	}
}
