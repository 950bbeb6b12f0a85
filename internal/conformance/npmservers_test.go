//go:build linux

package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/testutil"
)

// The reference servers work through `toolhost call`, each call with its own start of them.
func TestReferenceServers(t *testing.T) {
	npm := testutil.MCP(t)
	b := newBed(t, "")
	writeFile(t, b.config, referenceServers(t, npm, b.work))
	writeFile(t, filepath.Join(b.work, "note.txt"), "a note\n")
	writeFile(t, filepath.Join(b.work, "dot.png"), "\x89PNG\r\n\x1a\nnot really")
	listed := b.run("discover", "--format", "json")
	if listed.code != 0 || listed.errs != "" {
		t.Errorf("exit code %d: %s", listed.code, listed.errs)
	}
	for plugin, least := range map[string]int{"everything": 13, "filesystem": 14, "memory": 9, "thinking": 1} {
		if n := strings.Count(listed.out, `"name":"`+plugin+"__") + strings.Count(listed.out, `"name": "`+plugin+"__"); n < least {
			t.Errorf("%s has %d tools, not %d", plugin, n, least)
		}
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"everything__echo", `{"message":"hi"}`, "Echo: hi"},
		{"everything__get-structured-content", `{"location":"Chicago"}`, `"temperature":`},
		{"filesystem__read_text_file", `{"path":"note.txt"}`, "a note"},
		{"filesystem__write_file", `{"path":"new.txt","content":"new"}`, "Successfully wrote"},
		{"filesystem__read_media_file", `{"path":"dot.png"}`, `"type":"image"`},
		{"filesystem__read_text_file", `{"path":"/etc/passwd"}`, "Access denied"},
		{"memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}`, "Ada"},
		{"memory__read_graph", `{}`, "counts"},
		{"thinking__sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`,
			`thoughtHistoryLength`},
	} {
		if o := b.run("call", c.tool, c.arguments, "--approve", "always", "--format", "json"); !strings.Contains(o.out, c.want) {
			t.Errorf("%s %s: exit code %d\n%s%s", c.tool, c.arguments, o.code, o.out, o.errs)
		}
	}
}

// SIGKILL of a server in the middle of a call ends that call, at once and in words; the next one starts the server
// again, and the other servers do not notice.
func TestKilledServers(t *testing.T) {
	npm := testutil.MCP(t)
	b := newBed(t, "")
	writeFile(t, b.config, npmConfig(t, "everything", npm.Server("everything"))+
		npmConfig(t, "memory", npm.Server("memory"), `env = { MEMORY_FILE_PATH = "`+b.work+`/memory.jsonl" }`)+
		fixtureConfig(t))
	c := b.mcp(handshake, "--approve", "always")
	until(t, "the servers are listed", func() bool {
		names := strings.Join(c.tools(), " ")
		return strings.Contains(names, "everything__echo") && strings.Contains(names, "memory__read_graph")
	})
	p := c.start("tools/call", `{"name":"everything__trigger-long-running-operation",`+
		`"arguments":{"duration":600,"steps":6000},"_meta":{"progressToken":"p"}}`)
	until(t, "the call runs", func() bool { return len(c.received("notifications/progress")) > 0 })
	signalServer(t, "server-everything", syscall.SIGKILL)
	var result struct {
		IsError bool
		Meta    struct {
			Error struct{ Code, Outcome string } `json:"toolhost/error"`
		} `json:"_meta"`
	}
	m := p.wait()
	if err := json.Unmarshal(m.Result, &result); err != nil || !result.IsError ||
		result.Meta.Error.Outcome != "outcome_unknown" {
		t.Errorf("the call in flight gives %s%s", m.Result, m.Error)
	}
	c.fine()
	if text := c.text("memory__read_graph", "{}"); !strings.Contains(text, "entities") {
		t.Errorf("memory: %s", text)
	}
	if text := c.text("everything__echo", `{"message":"again"}`); text != "Echo: again" {
		t.Errorf("the next call: %s", text)
	}
}

// SIGKILL of a server that has stopped costs the call that waits for it, and no other: the next one works, and so do
// the other servers. Whether the stopped server was given the call is not known: then it fails, otherwise it runs on
// the next.
func TestStoppedServers(t *testing.T) {
	npm := testutil.MCP(t)
	b := newBed(t, "")
	writeFile(t, b.config, referenceServers(t, npm, b.work)+fixtureConfig(t))
	writeFile(t, filepath.Join(b.work, "note.txt"), "a note\n")
	b.run("discover") // so that the lists are known, however slow the machine is
	c := b.mcp(handshake, "--approve", "always")
	for _, s := range []struct{ server, tool, arguments, want string }{
		{"server-everything", "everything__echo", `{"message":"hi"}`, "Echo: hi"},
		{"server-filesystem", "filesystem__read_text_file", `{"path":"note.txt"}`, "a note"},
		{"server-memory", "memory__read_graph", `{}`, "entities"},
		{"server-sequential-thinking", "thinking__sequentialthinking",
			`{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtHistoryLength"},
	} {
		t.Run(s.server, func(t *testing.T) {
			if text := c.text(s.tool, s.arguments); !strings.Contains(text, s.want) {
				t.Fatalf("before: %s", text)
			}
			signalServer(t, s.server, syscall.SIGSTOP)
			p := c.start("tools/call", `{"name":"`+s.tool+`","arguments":`+s.arguments+`}`)
			c.fine()
			signalServer(t, s.server, syscall.SIGKILL)
			if m := p.wait(); !strings.Contains(string(m.Result), "ServerExited") && !strings.Contains(string(m.Result), s.want) {
				t.Errorf("the call in flight gives %s%s", m.Result, m.Error)
			}
			c.fine()
			if text := c.text(s.tool, s.arguments); !strings.Contains(text, s.want) {
				t.Errorf("the next call: %s", text)
			}
		})
	}
}

// signalServer sends a signal to the processes of a server of this test.
func signalServer(t *testing.T, server string, signal syscall.Signal) {
	t.Helper()
	found := false
	for pid, command := range descendants(os.Getpid()) {
		if strings.Contains(command, server) && strings.Contains(command, "node") && !strings.Contains(command, "toolhost") {
			found = true
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatalf("no process of %s: %v", server, descendants(os.Getpid()))
	}
}
