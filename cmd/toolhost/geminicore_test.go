//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// A geminiJob is a task for Gemini CLI's core, from npm, in one folder.
type geminiJob struct {
	Dir       string            `json:"dir"`
	Discovery string            `json:"discovery"`
	Call      string            `json:"call"`
	Env       map[string]string `json:"env,omitempty"`
	Unset     []string          `json:"unset,omitempty"`
	Answer    string            `json:"answer,omitempty"`
	Calls     []geminiUse       `json:"calls"`
}

type geminiUse struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// A geminiOutcome is the result of a job.
type geminiOutcome struct {
	Error string
	Tools []struct {
		Name, Description string
		Schema            json.RawMessage
	}
	Calls []struct {
		Tool, Status, Type, Text string
		Asked                    int
	}
}

func (o geminiOutcome) names() (out []string) {
	for _, t := range o.Tools {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

// geminiCore runs the jobs in one process, since loading the core takes most of the time.
func geminiCore(t *testing.T, jobs ...geminiJob) []geminiOutcome {
	t.Helper()
	installed, err := filepath.Abs("../../.bin/gemini-cli-core")
	if err == nil {
		_, err = os.Stat(filepath.Join(installed, "installed"))
	}
	if err != nil && os.Getenv("TOOLHOST_TEST_GEMINI") == "required" {
		t.Fatalf("Gemini CLI's core is not installed, and is required: see .ci/need-gemini: %v", err)
	} else if err != nil {
		t.Skip("Gemini CLI's core is not installed; .ci/need-gemini does it, with Node 20 and npm")
	}
	input, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	driver, err := filepath.Abs("testdata/gemini/drive.mjs")
	if err != nil {
		t.Fatal(err)
	}
	home, out := t.TempDir(), filepath.Join(t.TempDir(), "outcome.json")
	cmd := exec.CommandContext(t.Context(), "node", driver, installed, out)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "GEMINI_CLI_HOME=" + home,
		"NO_PROXY=*"}
	log, err := cmd.CombinedOutput()
	var outcomes []geminiOutcome
	if text, failed := os.ReadFile(out); err == nil && failed == nil {
		err = json.Unmarshal(text, &outcomes)
	}
	if err != nil || len(outcomes) != len(jobs) {
		t.Fatalf("Gemini CLI's core: %v\n%s", err, log)
	}
	return outcomes
}

const geminiCoreConfig = `
plugin_dirs = [%q]
plugin "edit" {
  tool "write" {
    max_calls = 1
  }
}
plugin "http" {
  config {}
}
policy "user" {
  rule "not-that" {
    tools  = ["edit__replace"]
    when   = args.path == "locked.txt"
    effect = "deny"
    reason = "it is locked"
  }
  rule "each-time" {
    tools  = ["shell__script"]
    effect = "always_ask"
  }
}
`

// Gemini CLI's own core with a toolhost as its source of tools: with the printed settings, and in folders without
// tools.
func TestGeminiCoreUsesToolhost(t *testing.T) {
	dir, program := t.TempDir(), filepath.Join(bin, "toolhost")
	state := t.TempDir()
	writeConfig(t, filepath.Join(dir, "tools.hcl"), fmt.Sprintf(geminiCoreConfig, bin))
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	listing := exec.Command(program, "--config", filepath.Join(dir, "tools.hcl"), "discover", "--format", "gemini")
	listing.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	var errs bytes.Buffer
	listing.Stderr = &errs
	if err := listing.Run(); err != nil {
		t.Fatal(err, errs.String())
	}
	discovery, call := geminiSettings(t, errs.String())
	broken, untrusted, none := t.TempDir(), t.TempDir(), t.TempDir()
	writeConfig(t, filepath.Join(broken, "config.hcl"), "plugin \"x\" {")
	writeConfig(t, filepath.Join(untrusted, "config.hcl"), fmt.Sprintf("plugin_dirs = [%q]\n", bin))
	failing := program + " discover --format gemini"
	outcomes := geminiCore(t,
		geminiJob{Dir: dir, Discovery: discovery, Call: call, Calls: []geminiUse{
			{"readfile__read", map[string]any{"path": "note.txt"}},
			{"edit__replace", map[string]any{"path": "note.txt", "old_string": "one", "new_string": "two",
				"wait_for_previous": true}},
			{"edit__replace", map[string]any{"path": "locked.txt", "old_string": "one", "new_string": "two"}},
			{"shell__exec", map[string]any{"command": "echo hi > made.txt"}},
			{"shell__exec", map[string]any{"command": "sleep 600", "background": true}},
			{"shell__script", map[string]any{"command": "echo hi"}},
			{"edit__write", map[string]any{"path": "a.txt", "content": "a"}},
			{"edit__write", map[string]any{"path": "b.txt", "content": "b"}},
			{"readfile__read", map[string]any{"path": 5}},
		}},
		geminiJob{Dir: dir, Discovery: discovery, Call: call, Answer: "cancel",
			Calls: []geminiUse{{"shell__exec", map[string]any{"command": "echo no > no.txt"}}}},
		geminiJob{Dir: dir, Discovery: discovery, Call: filepath.Join(bin, callProgram),
			Env:   map[string]string{"TOOLHOST_CONFIG": filepath.Join(dir, "tools.hcl")},
			Calls: []geminiUse{{"shell__exec", map[string]any{"command": "echo no > no.txt"}}}},
		// In GitHub Actions variables are removed, also that of the configuration.
		geminiJob{Dir: none, Discovery: discovery, Call: call,
			Env:   map[string]string{"GITHUB_SHA": "abc", "TOOLHOST_CONFIG": "/proc/nowhere.hcl"},
			Calls: []geminiUse{{"shell__exec", map[string]any{"command": "echo hi > made.txt"}}}},
		geminiJob{Dir: broken, Discovery: failing, Call: call, Unset: []string{"GITHUB_SHA", "TOOLHOST_CONFIG"}},
		geminiJob{Dir: untrusted, Discovery: failing, Call: call},
		geminiJob{Dir: none, Discovery: failing, Call: call},
	)
	for i, o := range outcomes {
		if o.Error != "" {
			t.Errorf("job %d: Gemini CLI does not start: %s", i, o.Error)
		}
	}
	for _, tool := range []string{"edit__undo", "edit__diff", "shell__job"} {
		if slices.Contains(outcomes[0].names(), tool) {
			t.Errorf("%s is offered", tool)
		}
	}
	want := []struct{ status, text string }{
		{"success", "one\n"}, {"success", "Replaced 1 place"}, {"error", "E_DENIED"}, {"success", ""}, {"error",
			"NeedsLastingHost"},
		{"error", "E_APPROVAL_UNAVAILABLE"}, {"success", "Created a.txt"}, {"error", "E_LIMIT BudgetSpent"}, {"error",
			"params/path must be string"},
	}
	if len(outcomes[0].Calls) != len(want) {
		t.Fatalf("%+v", outcomes[0])
	}
	for i, w := range want {
		if c := outcomes[0].Calls[i]; c.Status != w.status || !strings.Contains(c.Text, w.text) || c.Asked != 1 &&
			c.Type != "invalid_tool_params" {
			t.Errorf("call %d: %+v, want %+v", i, c, w)
		}
	}
	if c := outcomes[1].Calls[0]; c.Status != "cancelled" {
		t.Errorf("a no gives %+v", c)
	}
	if c := outcomes[2].Calls[0]; c.Status != "error" || !strings.Contains(c.Text, "E_APPROVAL_UNAVAILABLE") {
		t.Errorf("without --approve client a yes gives %+v", c)
	}
	if c := outcomes[3].Calls[0]; c.Status != "success" {
		t.Errorf("in GitHub Actions a call gives %+v", c)
	}
	for i := 4; i < len(outcomes); i++ {
		if len(outcomes[i].Tools) != 0 {
			t.Errorf("job %d: %v", i, outcomes[i].names())
		}
	}
	for path, there := range map[string]bool{filepath.Join(dir, "made.txt"): true, filepath.Join(none, "made.txt"): true,
		filepath.Join(dir, "a.txt"): true, filepath.Join(dir, "b.txt"): false, filepath.Join(dir, "no.txt"): false} {
		if exists(path) != there {
			t.Errorf("%s is there: %v", path, !there)
		}
	}
}

// geminiScript is a project's discovery and call command, with typical behavior of such scripts.
const geminiScript = `#!/bin/sh
if [ $# = 0 ]; then cat <<'END'
[{"name":"getWeather","description":"Upper case.","parametersJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},
 {"function_declarations":[
  {"name":"when","description":"Formats.","parametersJsonSchema":{"type":"object","properties":{
    "day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},"mail":{"type":"string","format":"email"},
    "ip":{"type":"string","format":"ipv4"},"six":{"type":"string","format":"ipv6"},"link":{"type":"string","format":"uri"},"id":{"type":"string","format":"uuid"},"n":{"type":"integer","format":"int32"},"odd":{"type":"string","format":"odd"}}}},
  {"name":"maybe","description":"Nullable.","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"integer"}}}}]},
 {"functionDeclarations":[
  {"name":"strict","description":"Lookahead.","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x).*$"}},"required":["a"]}},
  {"name":"open","description":"No schema."},
  {"name":"lost","description":"A reference to nothing.","parametersJsonSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/gone"}}}},
  {"name":"pair","description":"A tuple.","parametersJsonSchema":{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}},
  {"name":"twin","description":"Small."},{"name":"Twin","description":"Capital."},
  {"name":"again","description":"First."},{"name":"again","description":"Second."},
  {"name":"fail","description":"Fails."},{"name":"env","description":"Shows variables."},{"name":"some tool!","description":"Odd name."}]}]
END
exit; fi
case "$1" in
fail) cat >/dev/null; echo partial; echo oops >&2; exit 3 ;;
env) cat >/dev/null; echo "$MY_API_TOKEN|$VIRTUAL_ENV|$PYTHONPATH|$https_proxy|$AWS_PROFILE|$SSH_AUTH_SOCK" ;;
*) printf '%s ' "$1"; cat ;;
esac
`

// The same script for Gemini CLI's own registry and for our plugin: the same tools, the same validation of arguments,
// the same texts.
func TestGeminiCoreSideBySide(t *testing.T) {
	dir, env := t.TempDir(), map[string]string{"MY_API_TOKEN": "t0", "VIRTUAL_ENV": "/venv", "PYTHONPATH": "/py",
		"https_proxy": "http://127.0.0.1:1", "AWS_PROFILE": "a", "SSH_AUTH_SOCK": "/s"}
	script, config := filepath.Join(dir, "tools"), filepath.Join(dir, "side.hcl")
	if err := os.WriteFile(script, []byte(geminiScript), 0o755); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, config, fmt.Sprintf("plugin \"own\" {\n  command = [%q]\n  config {\n    discovery_command = %q\n   "+
		" call_command      = %q\n  }\n}\n",
		filepath.Join(bin, "toolhost-plugin-discover"), script, script))
	uses := []geminiUse{
		{"getWeather", map[string]any{"city": "Bern"}}, {"getWeather", map[string]any{}}, {"getWeather",
			map[string]any{"city": 5}},
		{"when", map[string]any{"day": "2024-02-29"}}, {"when", map[string]any{"day": "2025-02-29"}}, {"when",
			map[string]any{"day": "tomorrow"}},
		{"when", map[string]any{"at": "2026-11-22T09:30:00Z"}}, {"when", map[string]any{"at": "2026-11-22 09:30"}},
		{"when", map[string]any{"mail": "ada@example.org"}}, {"when", map[string]any{"mail": "ada"}},
		{"when", map[string]any{"ip": "192.0.2.1"}}, {"when", map[string]any{"ip": "192.0.2"}}, {"when",
			map[string]any{"six": "2001:db8::1"}}, {"when", map[string]any{"six": "g::1"}},
		{"when", map[string]any{"link": "https://example.org/x"}}, {"when", map[string]any{"link": "not a link"}},
		{"when", map[string]any{"id": "123e4567-e89b-12d3-a456-426614174000"}}, {"when", map[string]any{"id": "123"}},
		{"when", map[string]any{"n": 1 << 31}}, {"when", map[string]any{"n": 7}}, {"when", map[string]any{"odd": "anything"}},
		{"maybe", map[string]any{"a": nil}}, {"maybe", map[string]any{"a": "x"}}, {"maybe", map[string]any{"b": "x"}},
		{"strict", map[string]any{"a": "yes"}}, {"strict", map[string]any{}},
		{"open", map[string]any{"any": []any{"thing", 1.5, nil, true}}}, {"lost", map[string]any{"a": "x"}},
		{"pair", map[string]any{"p": []any{"x", 1}}}, {"pair", map[string]any{"p": []any{1, "x"}}},
		{"twin", map[string]any{}}, {"Twin", map[string]any{}}, {"again", map[string]any{}}, {"some tool!",
			map[string]any{"ä": "ö"}},
		{"fail", map[string]any{}}, {"env", map[string]any{}},
	}
	theirs := geminiCore(t, geminiJob{Dir: dir, Discovery: script, Call: script, Env: env, Calls: uses})[0]
	if theirs.Error != "" || len(theirs.Calls) != len(uses) {
		t.Fatalf("%+v", theirs)
	}
	toolhost := func(stdin string, args ...string) (string, string) {
		cmd := exec.Command(filepath.Join(bin, "toolhost"), append([]string{"--config", config, "--workdir", dir},
			args...)...)
		cmd.Env = os.Environ()
		for name, value := range env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		_ = cmd.Run() // failures are compared
		return out.String(), errs.String()
	}
	listed, errs := toolhost("", "discover", "--format", "json")
	var ours []struct {
		Name         string `json:"name"`
		OriginalName string `json:"original_name"`
		Description  string `json:"description"`
	}
	if err := json.Unmarshal([]byte(listed), &ours); err != nil {
		t.Fatal(err, errs)
	}
	names, original := map[string]string{}, []string{}
	for _, o := range ours {
		name := o.OriginalName
		if name == "" {
			name = strings.TrimPrefix(o.Name, "own__")
		}
		names[name], original = o.Name, append(original, name)
		for _, their := range theirs.Tools {
			if their.Name == name && !strings.HasPrefix(their.Description, o.Description+"\n") {
				t.Errorf("%s is %q here and %q there", name, o.Description, their.Description)
			}
		}
	}
	slices.Sort(original)
	if diff := cmp.Diff(theirs.names(), original); diff != "" {
		t.Fatalf("tools (-Gemini CLI +toolhost):\n%s\n%s", diff, errs)
	}
	if names["getWeather"] != "own__getWeather" || !strings.Contains(errs, "own__lost: #/properties/a/$ref: ") {
		t.Errorf("%v\n%s", names, errs)
	}
	for i, u := range uses {
		their, arguments := theirs.Calls[i], string(mustJSON(t, u.Args))
		out, errs := toolhost(arguments, "call", names[u.Tool], "-", "--approve", "always", "--format", "json")
		var our host.Result
		if err := json.Unmarshal([]byte(out), &our); err != nil {
			t.Fatalf("%v: %v\n%s", u, err, errs)
		}
		switch {
		case their.Type == "invalid_tool_params":
			if our.Error == nil || our.Error.Code != "E_TOOL_INVALID_ARGS" {
				t.Errorf("%s %s is refused by Gemini CLI (%s), and here gives %s", u.Tool, arguments, their.Text, out)
			}
		case their.Status == "success":
			if our.Error != nil || our.Text() != their.Text {
				t.Errorf("%s %s gives %q in Gemini CLI, and here %s", u.Tool, arguments, their.Text, out)
			}
		default:
			if our.Error == nil || our.Error.Message != their.Text {
				t.Errorf("%s %s fails in Gemini CLI with %q, and here gives %s", u.Tool, arguments, their.Text, out)
			}
		}
	}
	if last := theirs.Calls[len(uses)-1].Text; last != "t0|/venv|/py|http://127.0.0.1:1|a|/s\n" {
		t.Errorf("the environment is %q", last)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
