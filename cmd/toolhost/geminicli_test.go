//go:build unix

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/testutil"
)

// geminiCLI imitates Gemini CLI's use of its discovery and call commands, as far as a command can tell:
// https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/tools/tool-registry.ts
type geminiCLI struct {
	dir             string
	env             []string
	discovery, call string
}

// A geminiDeclared is a tool as Gemini CLI registers it.
type geminiDeclared struct {
	name, original, description string
	schema                      json.RawMessage
}

const geminiMost = 10 * 1024 * 1024

// discover runs the discovery command; with an error Gemini CLI would not start.
func (g *geminiCLI) discover() (tools []geminiDeclared, err error) {
	words, err := geminiWords(g.discovery)
	if err != nil {
		return nil, err
	}
	cmd := g.command(words[0], words[1:]...)
	stdin, err := cmd.StdinPipe() // exists, but is neither written to nor closed
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	stdout, stderr := &geminiOutput{end: func() { _ = cmd.Process.Signal(syscall.SIGTERM) }}, &geminiOutput{end: func() {}}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = 5 * time.Second // for a child of the command that continues
	err = cmd.Run()
	switch _, ended := errors.AsType[*exec.ExitError](err); {
	case stdout.over() || stderr.over():
		return nil, fmt.Errorf("Tool discovery command output exceeded size limit of %d bytes.", geminiMost)
	case ended:
		return nil, fmt.Errorf("Tool discovery command failed with exit code %d: %s", cmd.ProcessState.ExitCode(),
			stderr.text())
	case err != nil:
		return nil, err
	}
	return geminiTools(stdout.text())
}

func (g *geminiCLI) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		cmd.Path, cmd.Err = filepath.Join(g.dir, program), nil
	}
	cmd.Dir, cmd.Env = g.dir, g.env
	return cmd
}

// geminiOutput collects a command's output, and ends the command when that is too large.
type geminiOutput struct {
	mu  sync.Mutex
	b   bytes.Buffer
	n   int
	end func()
}

func (o *geminiOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n += len(p); o.n > geminiMost {
		o.end()
	} else {
		o.b.Write(p)
	}
	return len(p), nil
}

func (o *geminiOutput) over() bool   { return o.n > geminiMost }
func (o *geminiOutput) text() string { return strings.ToValidUTF8(o.b.String(), "\uFFFD") }

var (
	geminiToken = regexp.MustCompile(`[|&;<>()]+|(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'\\|&;<>()])+`)
	geminiQuote = regexp.MustCompile(`\\(.)|"((?:\\.|[^"\\])*)"|'([^']*)'|\$\w+`)
)

// geminiWords splits a command like Gemini CLI's parser: syntax other than words, such as a pipe or a glob, is
// silently dropped, and a variable is empty.
func geminiWords(command string) (words []string, err error) {
	for _, token := range geminiToken.FindAllString(command, -1) {
		if strings.ContainsAny(token[:1], "|&;<>()") || strings.ContainsAny(geminiQuote.ReplaceAllString(token, ""), "*?") {
			continue
		}
		words = append(words, geminiQuote.ReplaceAllStringFunc(token, func(q string) string {
			switch q[0] {
			case '\'':
				return q[1 : len(q)-1]
			case '"':
				return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
			case '\\':
				return q[1:]
			}
			return ""
		}))
	}
	if len(words) == 0 {
		return nil, errors.New("Tool discovery command is empty or contains only whitespace.")
	}
	return words, nil
}

// geminiTools reads a list in all the forms of its items. Other items are skipped.
func geminiTools(printed string) (tools []geminiDeclared, err error) {
	var whole any
	if err := json.Unmarshal([]byte(strings.TrimSpace(printed)), &whole); err != nil {
		return nil, err
	}
	list, ok := whole.([]any)
	if !ok {
		return nil, errors.New("Tool discovery command did not return a JSON array of tools.")
	}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		members := []any{fields}
		if snake, ok := fields["function_declarations"].([]any); ok {
			members = snake
		} else if camel, ok := fields["functionDeclarations"].([]any); ok {
			members = camel
		}
		for _, m := range members {
			if d, ok := geminiDeclaration(m); ok {
				tools = append(tools, d)
			}
		}
	}
	return tools, nil
}

func geminiDeclaration(m any) (d geminiDeclared, ok bool) {
	fields, _ := m.(map[string]any)
	if d.original, _ = fields["name"].(string); d.original == "" {
		return d, false
	}
	d.name = "discovered_tool_" + d.original
	d.description, _ = fields["description"].(string)
	d.schema = json.RawMessage("{}")
	if schema, ok := fields["parametersJsonSchema"].(map[string]any); ok {
		d.schema, _ = json.Marshal(schema)
	}
	return d, true
}

// errPipe stands for an event without a handler there.
var errPipe = errors.New("unhandled 'error' event: write EPIPE")

// invoke runs the call command, which is one path, for a tool by its original name. The text is what the model reads;
// an error ends Gemini CLI.
func (g *geminiCLI) invoke(original string, params map[string]any) (text string, success bool, _ error) {
	input, err := json.Marshal(params)
	if err != nil {
		return "", false, err
	}
	cmd := g.command(g.call, original)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", false, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	failed := cmd.Start()
	if failed == nil {
		_, written := stdin.Write(input)
		_ = stdin.Close()
		failed = cmd.Wait()
		if errors.Is(written, syscall.EPIPE) {
			return "", false, errPipe
		}
	}
	text, success = g.result(cmd.ProcessState, failed, stdout.String(), stderr.String())
	return text, success, nil
}

// result is the outcome of a call: it succeeds only without output on standard error.
func (g *geminiCLI) result(state *os.ProcessState, failed error, stdout, stderr string) (text string, success bool) {
	problem, code, signal := "(none)", "(none)", "(none)"
	switch {
	case errors.Is(failed, fs.ErrNotExist):
		problem, code = "Error: spawn "+g.call+" ENOENT", "-2"
	case errors.Is(failed, fs.ErrPermission):
		problem, code = "Error: spawn "+g.call+" EACCES", "-13"
	case state.ExitCode() < 0:
		signal = unix.SignalName(state.Sys().(syscall.WaitStatus).Signal())
	default:
		code = strconv.Itoa(state.ExitCode())
	}
	if code == "0" && stderr == "" {
		return stdout, true
	}
	return fmt.Sprintf("Stdout: %s\nStderr: %s\nError: %s\nExit Code: %s\nSignal: %s",
		cmp.Or(stdout, "(empty)"), cmp.Or(stderr, "(empty)"), problem, code, signal), false
}

// The imitation behaves as observed in Gemini CLI itself.
func TestGeminiClient(t *testing.T) {
	for command, want := range map[string]string{
		`./x | jq .`: "./x jq .", `./x *.json`: "./x", `./x > out`: "./x out", `$HOME/y`: "/y", `FOO=1 ./x`: "FOO=1 ./x",
		`a 'b c' "d\"e"`: `a b c d"e`,
	} {
		if words, err := geminiWords(command); err != nil || strings.Join(words, " ") != want {
			t.Errorf("%s: %q, %v", command, words, err)
		}
	}
	dir := t.TempDir()
	script := func(text string) *geminiCLI {
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return &geminiCLI{dir: dir, discovery: "./x", call: path}
	}
	for text, want := range map[string]string{
		"cat >/dev/null; printf 'partial\\n'; exit 3": "Stdout: partial\n\nStderr: (empty)\nError: (none)\nExit Code: " +
			"3\nSignal: (none)",
		"cat; echo careful >&2": "Stdout: {\"a\":1}\nStderr: careful\n\nError: (none)\nExit Code: " +
			"0\nSignal: (none)",
		"cat; echo \" $1\"": "{\"a\":1} it\n",
		"cat >/dev/null":    "",
		"cat >/dev/null; kill -TERM $$": "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: " +
			"(none)\nSignal: SIGTERM",
	} {
		if got, _, err := script(text).invoke("it", map[string]any{"a": 1}); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for call, want := range map[string]string{
		dir + "/gone":            "Error: Error: spawn " + dir + "/gone ENOENT\nExit Code: -2\n",
		script("").call + " one": "Error: Error: spawn " + dir + "/x one ENOENT\nExit Code: -2\n", // a path, not a command
		dir:                      "Error: Error: spawn " + dir + " EACCES\nExit Code: -13\n",
	} {
		if got, _, err := (&geminiCLI{dir: dir, call: call}).invoke("it", nil); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", call, got, err)
		}
	}
	if _, _, err := script("exec true").invoke("it", map[string]any{"a": strings.Repeat("x", 5_000_000)}); !errors.Is(err,
		errPipe) {
		t.Errorf("a child that reads nothing: %v", err)
	}
	for text, want := range map[string]string{
		"echo '{}'": "Tool discovery command did not return a JSON array of tools.",
		"exit 4":    "Tool discovery command failed with exit code 4: ",
		"exec yes":  "Tool discovery command output exceeded size limit of 10485760 bytes.",
	} {
		if _, err := script(text).discover(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The scripts that our own plugin runs also run in Gemini CLI: both accept the same ones.
func TestGeminiClientRunsTheScripts(t *testing.T) {
	scripts, err := filepath.Glob("../../plugins/discover/testdata/tools/*")
	if err != nil || len(scripts) < 4 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			path, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			if exec.Command(path).Run() != nil && filepath.Base(script) != "sh" {
				return // this machine lacks the interpreter
			}
			g := &geminiCLI{dir: t.TempDir(), env: os.Environ(), discovery: path, call: path}
			tools, err := g.discover()
			if err != nil || len(tools) != 4 || tools[1].name != "discovered_tool_Echo It" {
				t.Fatalf("%+v, %v", tools, err)
			}
			if text, ok, err := g.invoke("add", map[string]any{"a": 40, "b": 2}); text != "42" || !ok || err != nil {
				t.Errorf("add gives %q, %v, %v", text, ok, err)
			}
			if text, ok, err := g.invoke("warn", map[string]any{}); ok || err != nil ||
				!strings.HasPrefix(text, "Stdout: done\nStderr: careful\n") {
				t.Errorf("warn gives %q, %v, %v", text, ok, err)
			}
		})
	}
}

// toolhostForGemini is Gemini CLI with a toolhost as its source of tools.
func toolhostForGemini(t *testing.T, config string) *geminiCLI {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "gemini.hcl")
	for name, text := range map[string]string{path: config, filepath.Join(dir, "hello.txt"): "grüße 日本\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &geminiCLI{
		dir:       dir,
		env:       append(os.Environ(), "TOOLHOST_CONFIG="+path),
		discovery: filepath.Join(bin, "toolhost") + " discover --format gemini",
		call:      filepath.Join(bin, callProgram),
	}
}

// geminiTestConfig allows an everyday command; other changes need approval.
const geminiTestConfig = `
plugin_dirs = [%q]
plugin "own" {
  command = [%[2]q]
  config {
    tool "wait" {
      description = "Knows the word that Gemini CLI adds."
      command     = ["cat"]
      stdin       = "json"
      params      = { wait_for_previous = "boolean?", n = "number?" }
      read_only   = true
    }
    tool "nowait" {
      description = "Does not know it."
      command     = ["cat"]
      stdin       = "json"
      params      = { n = "number?" }
      read_only   = true
    }
    tool "warn" {
      description = "Says something on standard error."
      command     = ["sh", "-c", "echo careful >&2; echo done"]
      read_only   = true
    }
  }
}
policy "user" {
  rule "echo" {
    tools = ["shell__*"]
    commands {
      allow     = ["echo"]
      otherwise = "ask"
    }
  }
}
`

func TestGeminiUsesToolhost(t *testing.T) {
	g := toolhostForGemini(t, fmt.Sprintf(geminiTestConfig, bin, filepath.Join(bin, "toolhost-plugin-discover")))
	tools, err := g.discover()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]geminiDeclared{}
	for _, d := range tools {
		found[d.name] = d
	}
	read := found["discovered_tool_readfile__read"]
	if read.original != "readfile__read" || read.description == "" || !describes(read.schema, "path") {
		t.Errorf("%+v", read)
	}
	for _, test := range []struct {
		name, tool string
		params     map[string]any
		want       string // all of a success, or a part of a failure
		success    bool
	}{
		{"a success", "readfile__read", map[string]any{"path": "hello.txt"}, "grüße 日本\n", true},
		{"the added word", "readfile__read", map[string]any{"path": "hello.txt", "wait_for_previous": true}, "grüße 日本\n",
			true},
		{"a tool that knows it", "own__wait", map[string]any{"wait_for_previous": true}, "{\"wait_for_previous\":true}\n",
			true},
		{"a tool that does not", "own__nowait", map[string]any{"n": 1.5, "wait_for_previous": false}, "{\"n\":1.5}\n", true},
		{"a tool that writes to standard error", "own__warn", map[string]any{}, "done\n", true},
		{"allowed by a rule", "shell__exec", map[string]any{"command": "echo hi"}, "hi\n", true},
		{"a failure", "readfile__read", map[string]any{"path": "hallo.txt"}, "Exit Code: 1\n", false},
		{"what was wrong", "readfile__read", map[string]any{"path": "hallo.txt"}, "Stderr: toolhost: E_TOOL FileNotFound: ",
			false},
		{"not what the schema asks", "readfile__read", map[string]any{"path": 5}, "Exit Code: 2\n", false},
		{"no such tool", "readfile__raed", map[string]any{}, "E_TOOL_NOT_FOUND", false},
		{"needs a yes", "shell__exec", map[string]any{"command": "touch x"}, "Exit Code: 3\n", false},
		{"how to give it", "shell__exec", map[string]any{"command": "touch x"},
			"toolhost-call cannot ask a person. Where the client has asked its user, start it with --approve client", false},
		{"very large arguments", "readfile__read", map[string]any{"path": strings.Repeat("x", 9_000_000)}, "Exit Code: 2\n",
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, success, err := g.invoke(test.tool, test.params)
			if err != nil || success != test.success || !utf8.ValidString(text) {
				t.Fatalf("%v, %v: %.2000s", success, err, text)
			}
			if success && !strings.HasPrefix(text, test.want) || !strings.Contains(text, test.want) {
				t.Errorf("got  %.2000q\nwant %q", text, test.want)
			}
		})
	}
}

// A plugin that cannot be used must not prevent Gemini CLI from starting.
func TestGeminiStartsWithoutAPlugin(t *testing.T) {
	g := toolhostForGemini(t, fmt.Sprintf("plugin_dirs = [%q]\nplugin \"gone\" {\n  command = [\"./gone\"]\n}\n", bin))
	if tools, err := g.discover(); err != nil || len(tools) < 4 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	if text, success, err := g.invoke("readfile__read", map[string]any{"path": "hello.txt"}); !success || err != nil {
		t.Errorf("%v, %q", err, text)
	}
}

// Neither a name that makes Gemini refuse all requests, nor a list that is too long to be read.
func TestGeminiTakesTheList(t *testing.T) {
	testutil.Long(t)
	const long = "a_name_that_is_too_long_for_gemini_cli"
	list := ""
	for i := range 177 {
		list += fmt.Sprintf(`,{"name":"t%d","parameters":{"properties":{"a":{"properties":{"b":{"anyOf":[{}%s]}}}}}}`, i,
			strings.Repeat(",{}", 1899))
	}
	config := ""
	for i := range 3 { // a plugin has at most 256 tools
		config += fmt.Sprintf(`
plugin "project-tools%d" {
  command = [%q]
  config {
    discovery_command = "cat tools.json"
    call_command      = "true"
  }
}
`, i, filepath.Join(bin, "toolhost-plugin-discover"))
	}
	g := toolhostForGemini(t, config)
	if err := os.WriteFile(filepath.Join(g.dir, "tools.json"), []byte(`[{"name":"`+long+`"}`+list+"]"),
		0o644); err != nil {
		t.Fatal(err)
	}
	tools, err := g.discover()
	if err != nil || len(tools) != 3*177 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	for _, tool := range tools {
		if len(tool.name) > 64 {
			t.Errorf("the name %s is too long", tool.name)
		}
	}
}

func TestHeldLogIsCut(t *testing.T) {
	var h stderrBuffer
	var out bytes.Buffer
	for range 3 {
		_, _ = h.Write(make([]byte, maxHeld/2))
	}
	h.writeTo(&out)
	if out.Len() > maxHeld+100 || !strings.HasSuffix(out.String(), "\n[... the rest of the log is left out ...]\n") {
		t.Errorf("%d bytes: %q", out.Len(), out.String()[out.Len()-60:])
	}
}

func TestToolCallUsage(t *testing.T) {
	for _, test := range []struct {
		name, stdin string
		args        []string
		code        int
		stdout      string
		stderr      string
	}{
		{"help", "", []string{"--help"}, 0, "toolhost-call TOOL", ""},
		{"no name", "", []string{}, 2, "", "name one tool: toolhost-call TOOL"},
		{"two names", "", []string{"a", "b"}, 2, "", "name one tool: toolhost-call TOOL"},
		{"unknown flag", "", []string{"--nosuch", "a"}, 2, "", "unknown flag: --nosuch"},
		{"no configuration", "{}", []string{"--config", "gone.hcl", "a__b"}, 2, "", "gone.hcl"},
		{"bad level", "{}", []string{"--log-level", "loud", "a__b"}, 2, "", "--log-level must be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := named("/usr/bin/toolhost-call")(test.args, io.Reader(strings.NewReader(test.stdin)), &out, &errs)
			if code != test.code || !strings.Contains(out.String(), test.stdout) ||
				!strings.Contains(errs.String(), test.stderr) {
				t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
			}
			if (test.stdout == "") != (out.Len() == 0) || (test.stderr == "") != (errs.Len() == 0) {
				t.Errorf("more than wanted:\n%s\n%s", out.String(), errs.String())
			}
		})
	}
}

func TestWithout(t *testing.T) {
	for object, want := range map[string]string{
		`{ "a" : 1.50 }`:                            `{ "a" : 1.50 }`,
		`{"wait_for_previous":true}`:                `{}`,
		`{"b":"<\u00e4>","wait_for_previous":null}`: `{"b":"<\u00e4>"}`,
		`{"b":12345678901234567890,"a":{"wait_for_previous":1},"wait_for_previous":false}`: `{"a":{"wait_for_previous":1},"b":12345678901234567890}`,
	} {
		if got := string(without(json.RawMessage(object), waitForPrevious)); got != want {
			t.Errorf("%s: got %s, want %s", object, got, want)
		}
	}
}
