//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server over HTTP continues with the identities of a changed configuration: a removed identity loses access, an
// added one gets it, one with another profile sees its tools, and a configuration with a mistake changes nothing.
func TestIdentitiesAreReloaded(t *testing.T) {
	t.Setenv("ANN_TOKEN", "token-of-ann-0123456789")
	t.Setenv("BOB_TOKEN", "token-of-bob-0123456789")
	dir := t.TempDir()
	g := &options{config: filepath.Join(dir, "config.hcl"), workdir: dir, logLevel: "error"}
	plugin := newVersioned(t, dir, "tell other")
	configure := func(blocks string) { // as careful editors do
		text := fmt.Sprintf("plugin \"versioned\" {\n  command = [%q, %q]\n  trust_hints = true\n}\n"+
			"profile \"few\" {\n  tools = [\"*__tell\"]\n}\nprofile \"all\" {\n  tools = [\"*\"]\n}\nmcp {\n%s}\n", plugin.path,
			plugin.ran, blocks)
		writeText(t, g.config+".new", "%s", text)
		if err := os.Rename(g.config+".new", g.config); err != nil {
			t.Fatal(err)
		}
	}
	identity := func(name, profile string) string {
		return fmt.Sprintf("identity %q {\n  token = env.%s_TOKEN\n  profile = %q\n}\n", name, strings.ToUpper(name), profile)
	}
	said := &shared{}
	g.terminal = &terminal{in: strings.NewReader(""), out: &stdoutWriter{w: io.Discard}, err: said}
	configure(identity("ann", "all"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.serveMCP(ctx, mcpFlags{http: "127.0.0.1:0"}) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var url string
	eventually(t, "it serves", func() bool {
		_, rest, _ := strings.Cut(said.String(), "serving MCP at ")
		line, _, whole := strings.Cut(rest, "\n")
		url = line
		return whole
	})
	list := func(token string) string {
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}, "Authorization": {"Bearer " + token}}
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Body.Close()
		text, _ := io.ReadAll(out.Body)
		switch {
		case out.StatusCode != http.StatusOK:
			return fmt.Sprint(out.StatusCode)
		case strings.Contains(string(text), "versioned__other"):
			return "all"
		case strings.Contains(string(text), "versioned__tell"):
			return "few"
		}
		return string(text)
	}
	await := func(ann, bob string) {
		t.Helper()
		eventually(t, "ann has "+ann+" and bob "+bob, func() bool {
			return list(os.Getenv("ANN_TOKEN")) == ann && list(os.Getenv("BOB_TOKEN")) == bob
		})
	}
	await("all", "401")
	configure(identity("bob", "few"))
	await("401", "few")
	configure(identity("bob", "all") + identity("ann", "few"))
	await("few", "all")
	configure(identity("ann", "none"))
	eventually(t, "the mistake is reported", func() bool {
		return strings.Contains(said.String(), "the old identities of the mcp block stay in use")
	})
	await("few", "all")
	configure(identity("ann", "few"))
	await("few", "401")
	configure("")
	await("401", "401")
}
