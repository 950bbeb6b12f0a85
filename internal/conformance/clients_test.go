//go:build unix

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// The official TypeScript clients, of both eras, use every part of the protocol over both transports.
func TestTypeScriptClient(t *testing.T) {
	npm := testutil.MCP(t)
	for _, c := range []struct{ name, generation, era, transport string }{
		{"v1 stdio", "v1", "legacy", "stdio"},
		{"v1 http", "v1", "legacy", "http"},
		{"v2 stdio legacy", "v2", "legacy", "stdio"},
		{"v2 http legacy", "v2", "legacy", "http"},
		{"v2 stdio modern", "v2", "modern", "stdio"},
		{"v2 http modern", "v2", "modern", "http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, hostileConfig(t, "list refused"))
			b.run("discover") // so that all tools are listed at once
			target := append([]string{bin(t, "toolhost")}, b.args("mcp", "--plain-names")...)
			if c.transport == "http" {
				target = []string{b.serve("--plain-names").url}
			}
			out := b.node(npm, append([]string{"testdata/npm/client.mjs", npm.Dir, c.generation, c.era}, target...)...)
			var o struct {
				Version, Canceled                       string
				Tools, Changed, Asked, Wrong            []string
				Text, Failure, Elicited, Sampled, Added json.RawMessage
				Odd, Refused                            json.RawMessage
				Progress                                []float64
			}
			if err := json.Unmarshal(out, &o); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if (o.Version == modern) != (c.era == "modern") {
				t.Errorf("the client and toolhost speak %s", o.Version)
			}
			for what, holds := range map[string]bool{
				"the tools":                  slices.Contains(o.Tools, "test_simple_text") && !slices.Contains(o.Tools, "added_1"),
				"definitions that are wrong": slices.Contains(o.Tools, "refused_0") && slices.Contains(o.Tools, "refused_12"),
				"results that are wrong":     len(o.Wrong) == len(refusedResults) && !slices.ContainsFunc(o.Wrong, isThrown),
				"the text":                   strings.Contains(firstText(o.Text), "simple text response"),
				"the odd result":             bytes.Contains(o.Odd, []byte("structuredContent")) || bytes.Contains(o.Odd, []byte("nvalid")),
				"the failure":                strings.Contains(firstText(o.Failure), "intentionally returns an error"),
				"bad arguments":              bytes.Contains(o.Refused, []byte("E_TOOL_INVALID_ARGS")),
				"progress":                   slices.Equal(o.Progress, []float64{0, 50, 100}),
				"the questions": slices.Equal(o.Asked,
					[]string{"The tool fixture__test_elicitation asks: Who are you?", "sampling"}),
				"elicitation":    strings.Contains(firstText(o.Elicited), "ada@example.org"),
				"sampling":       strings.Contains(firstText(o.Sampled), "Paris"),
				"cancellation":   o.Canceled == "canceled",
				"list_changed":   slices.Contains(o.Changed, "added_1"),
				"the added tool": firstText(o.Added) == "added_1",
			} {
				if !holds {
					t.Error(what)
				}
			}
			if t.Failed() {
				t.Logf("%.5000s", out)
			}
		})
	}
}

func isThrown(outcome string) bool { return strings.HasPrefix(outcome, "throws") }

// node runs a script, and returns what it prints.
func (b *bed) node(npm testutil.NPM, args ...string) []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm.Node, args...)
	cmd.Env = append(b.environment(), "MCP_CATALOG_PATH="+b.t.TempDir()+"/catalog.json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.t.Fatalf("%.300q: %v\n%s\n%s", args, err, tail(out.String()), tail(errs.String()))
	}
	return out.Bytes()
}

// The inspector's command line lists and calls through `toolhost mcp`.
func TestInspector(t *testing.T) {
	npm := testutil.MCP(t)
	b := newBed(t, fixtureConfig(t))
	if out := b.inspect(npm, "--method", "tools/list"); !bytes.Contains(out, []byte(`"fixture__test_simple_text"`)) {
		t.Errorf("tools/list: %s", out)
	}
	out := b.inspect(npm, "--method", "tools/call", "--tool-name", "fixture__echo", "--tool-arg", "message=hi")
	if !bytes.Contains(out, []byte(`hi`)) {
		t.Errorf("tools/call: %s", out)
	}
}

// The reference servers work through `toolhost mcp` as the inspector starts it.
func TestInspectorUsesReferenceServers(t *testing.T) {
	npm := testutil.MCP(t)
	b := newBed(t, "")
	writeFile(t, b.config, referenceServers(t, npm, b.work))
	writeFile(t, filepath.Join(b.work, "note.txt"), "a note\n")
	b.run("discover") // so that the lists are known, however slow the machine is
	listed := string(b.inspect(npm, "--approve", "always", "--method", "tools/list"))
	for _, c := range []struct{ tool, argument, want string }{
		{"everything__echo", "message=hi", "Echo: hi"},
		{"filesystem__read_text_file", "path=note.txt", "a note"},
		{"memory__search_nodes", "query=x", "entities"},
		{"thinking__sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`,
			"thoughtHistoryLength"},
	} {
		if !strings.Contains(listed, `"`+c.tool+`"`) {
			t.Errorf("%s is not in the list: %.2000s", c.tool, listed)
		}
		flag := "--tool-arg"
		if strings.HasPrefix(c.argument, "{") {
			flag = "--tool-args-json"
		}
		out := b.inspect(npm, "--approve", "always", "--method", "tools/call", "--tool-name", c.tool, flag, c.argument)
		if !bytes.Contains(out, []byte(c.want)) {
			t.Errorf("%s: %s", c.tool, out)
		}
	}
}

// inspect runs the inspector's command line with `toolhost mcp` as its server. The flag --approve is toolhost's.
func (b *bed) inspect(npm testutil.NPM, args ...string) []byte {
	b.t.Helper()
	server := []string{bin(b.t, "toolhost"), "--workdir", b.work, "mcp"}
	if args[0] == "--approve" {
		server, args = append(server, args[:2]...), args[2:]
	}
	launcher := npm.Module("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	flags := []string{"-e", "TOOLHOST_CONFIG=" + b.config, "--format", "json", "-q"}
	for _, v := range b.environment() {
		if strings.HasPrefix(v, "XDG_") { // what the inspector would not pass on, and the cached lists are found by
			flags = append(flags, "-e", v)
		}
	}
	return b.node(npm, slices.Concat([]string{launcher, "--cli"}, server, flags, args)...)
}

// The MCP client of Gemini CLI's core lists and calls through `toolhost mcp`, over both transports.
func TestGeminiMCPClient(t *testing.T) {
	installed, err := filepath.Abs("../../.bin/gemini-cli-core")
	if err == nil {
		_, err = os.Stat(filepath.Join(installed, "installed"))
	}
	switch {
	case os.Getenv("TOOLHOST_TEST_MCP_DIR") == "":
		t.Skip("needs Gemini CLI's core; `make conformance` installs it and runs this test")
	case err != nil && os.Getenv("TOOLHOST_TEST_GEMINI") == "required":
		t.Fatalf("Gemini CLI's core is not installed, and is required: see .ci/need-gemini: %v", err)
	case err != nil:
		t.Skip("Gemini CLI's core is not installed; .ci/need-gemini does it, with Node 20 and npm")
	}
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			b := newBed(t, fixtureConfig(t))
			target := append([]string{bin(t, "toolhost")}, b.args("mcp")...)
			if transport == "http" {
				target = []string{b.serve().url}
			}
			file := filepath.Join(t.TempDir(), "outcome.json")
			b.node(testutil.NPM{Node: "node"}, append([]string{"testdata/npm/gemini.mjs", installed, file}, target...)...)
			out, err := os.ReadFile(file)
			var o struct {
				Tools                []struct{ Name, Own string }
				Text, Image, Failure struct {
					Shown, Model json.RawMessage
					Error        string
				}
			}
			if err == nil {
				err = json.Unmarshal(out, &o)
			}
			if err != nil || len(o.Tools) < 30 {
				t.Fatalf("%v: %.3000s", err, out)
			}
			if !bytes.Contains(o.Text.Model, []byte("hi")) || !bytes.Contains(o.Image.Model, []byte(`"inlineData"`)) ||
				!bytes.Contains(o.Failure.Model, []byte("intentionally")) {
				t.Errorf("%.4000s", out)
			}
		})
	}
}
