//go:build unix

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// A toolhost in front of a toolhost in front of a server changes no byte of what the protocol lets it keep.
func TestBridgeOfBridge(t *testing.T) {
	npm := testutil.MCP(t)
	far := behindTwo(t, npmConfig(t, "up", npm.Server("everything")), handshake)
	direct := connect(t, exec.CommandContext(context.Background(), npm.Server("everything")[0],
		npm.Server("everything")[1:]...), handshake)
	until(t, "the inner tools", func() bool { return far.named("up_echo") != "" })
	definitions := map[string]json.RawMessage{}
	for _, d := range far.definitions() {
		definitions[nameOf(t, d)] = d
	}
	listed := direct.definitions()
	if len(listed) < 10 {
		t.Fatalf("server-everything lists %d tools", len(listed))
	}
	for _, d := range listed {
		name := nameOf(t, d)
		t.Run(name, func(t *testing.T) {
			arguments, is := everythingArguments[name]
			if !is {
				t.Fatalf("server-everything has a tool %s that this test does not know", name)
			}
			long := far.named("up_" + name)
			sameMembers(t, "definition", without(t, d, "name"), without(t, definitions[long], "name"))
			want, got := direct.call(name, arguments), far.call(long, arguments)
			if name == "simulate-research-query" { // it needs a task, which the plugin makes
				if !strings.Contains(string(want), `"isError":true`) || strings.Contains(string(got), `"isError":true`) {
					t.Errorf("%s and %s", want, got)
				}
				return
			}
			if slices.Contains(changing, name) {
				if fmt.Sprint(kinds(t, want)) != fmt.Sprint(kinds(t, got)) {
					t.Errorf("kinds of content: %v and %v", kinds(t, want), kinds(t, got))
				}
				return
			}
			sameMembers(t, "result", want, got)
		})
	}
}

// Nor of what no usual server writes: orders of members, escapes, numbers, members of one name.
func TestBridgeOfBridgeKeepsForms(t *testing.T) {
	for _, era := range []string{handshake, modern} {
		t.Run(era, func(t *testing.T) {
			far := behindTwo(t, fakeConfig(t, "old", "old")+fakeConfig(t, "new", "new"), era)
			until(t, "the inner tools", func() bool { return far.named("old_exact") != "" && far.named("new_exact") != "" })
			for _, name := range []string{"exact", "turned"} {
				want := []byte(map[string]string{"exact": exactServed, "turned": turnedServed}[name])
				for _, server := range []string{"old_", "new_"} {
					got := far.call(far.named(server+name), "{}")
					sameMembers(t, server+name, want, got)
					if want, got := topNames(t, want), topNames(t, got); !slices.Equal(want, got) {
						t.Errorf("%s%s: the members are %q, not %q", server, name, got, want)
					}
				}
			}
		})
	}
}

// topNames are the names of an object's members in their order, but for resultType, which is of one hop.
func topNames(t testing.TB, object json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // its brace
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			t.Fatalf("%.300s is not an object", object)
		}
		names = append(names, name.(string))
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "resultType" })
}

// behindTwo connects to a toolhost that serves the tools of another one with this configuration.
func behindTwo(t *testing.T, config, era string) *client {
	t.Helper()
	inner := filepath.Join(t.TempDir(), "inner.hcl")
	if err := os.WriteFile(inner, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	outer := npmConfig(t, "outer", []string{bin(t, "toolhost"), "--config", inner, "--workdir", t.TempDir(), "mcp",
		"--approve", "always"})
	// A toolhost keeps state in the home folder and has a sandbox for each plugin: it does not fit into one itself.
	outer = strings.Replace(outer, "  config {", "  sandbox {\n    level = \"supervised\"\n  }\n  config {", 1)
	return newBed(t, outer).mcp(era, "--approve", "always")
}

// npmConfig is a plugin block for an MCP server.
func npmConfig(t testing.TB, label string, command []string, more ...string) string {
	words, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("plugin %q {\n  command = [%q]\n  trust_hints = true\n  config {\n    command = %s\n    %s\n  }\n}\n",
		label, bin(t, "toolhost-plugin-mcp"), words, strings.Join(more, "\n    "))
}

// everythingArguments are for each tool of server-everything.
var everythingArguments = map[string]string{
	"echo":                           `{"message":"<&>\u2028"}`,
	"get-annotated-message":          `{"messageType":"error","includeImage":true}`,
	"get-env":                        `{}`,
	"get-resource-links":             `{"count":4}`,
	"get-resource-reference":         `{"resourceType":"Blob","resourceId":3}`,
	"get-structured-content":         `{"location":"Chicago"}`,
	"get-sum":                        `{"a":1.5,"b":2}`,
	"get-tiny-image":                 `{}`,
	"gzip-file-as-resource":          `{"name":"a.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`,
	"toggle-simulated-logging":       `{}`,
	"toggle-subscriber-updates":      `{}`,
	"trigger-long-running-operation": `{"duration":0.2,"steps":2}`,
	"simulate-research-query":        `{"topic":"bridges"}`,
	"get-roots-list":                 `{}`,
	"trigger-elicitation-request":    `{}`,
	"trigger-sampling-request":       `{"prompt":"Hello?","maxTokens":10}`,
	"trigger-url-elicitation":        `{"url":"https://example.org/"}`,
}

// changing are tools whose results differ between two processes: the environment, the time in a compressed file, the
// id of a session, the work folder of the toolhost that started it.
var changing = []string{"get-env", "get-roots-list", "gzip-file-as-resource", "get-resource-reference", "toggle-simulated-logging",
	"toggle-subscriber-updates"}

// named is the full name of a tool that has this one at its source; "" when there is none.
func (c *client) named(name string) string {
	for _, full := range c.tools() {
		if strings.HasSuffix(full, "_"+name) {
			return full
		}
	}
	return ""
}

func nameOf(t testing.TB, definition json.RawMessage) string {
	var d struct{ Name string }
	if err := json.Unmarshal(definition, &d); err != nil {
		t.Fatal(err)
	}
	return d.Name
}

func kinds(t testing.TB, result json.RawMessage) (out []string) {
	var r struct{ Content []struct{ Type string } }
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Content {
		out = append(out, c.Type)
	}
	return out
}

// sameMembers compares the members of two objects byte for byte, in any order. What a hop adds of itself is allowed:
// resultType, and its own names in _meta. So is what ends at a hop: execution says how a server takes tasks.
func sameMembers(t testing.TB, what string, want, got json.RawMessage) {
	t.Helper()
	w, g := objectOf(t, want), objectOf(t, got)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		switch {
		case name == "_meta":
			inner := objectOf(t, g[name])
			for key, value := range objectOf(t, w[name]) {
				if !strings.HasPrefix(key, "io.modelcontextprotocol/") && !bytes.Equal(inner[key], value) {
					t.Errorf("%s: _meta %s is %s, not %s", what, key, inner[key], value)
				}
			}
		case name == "resultType", name == "execution":
		case !bytes.Equal(w[name], g[name]):
			t.Errorf("%s: %s is\n%.3000s\nnot\n%.3000s", what, name, g[name], w[name])
		}
	}
	for name := range g {
		if w[name] == nil && name != "_meta" && name != "resultType" {
			t.Errorf("%s: %s was added: %.300s", what, name, g[name])
		}
	}
}

func objectOf(t testing.TB, text json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	if text != nil && json.Unmarshal(text, &out) != nil {
		t.Errorf("%.300s is not an object", text)
	}
	return out
}

func without(t testing.TB, text json.RawMessage, member string) json.RawMessage {
	object := objectOf(t, text)
	delete(object, member)
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
