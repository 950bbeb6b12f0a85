//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// slowServer is an MCP server of the revision 2025-11-25 with the tools self, which returns what distinguishes its
// process from others, and wait, which writes a file and answers when another exists.
const slowServer = `#!/bin/sh
self=$(od -An -N8 -tx1 /dev/urandom | tr -d ' ')
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/p')
  [ -n "$id" ] || continue
  case $line in
  *'"method":"initialize"'*)
    info='"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}'
    answer='"result":{"protocolVersion":"2025-11-25",'$info'}' ;;
  *'"method":"tools/list"'*)
    schema='"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}'
    answer='"result":{"tools":[{"name":"self",'$schema'},{"name":"wait",'$schema'}]}' ;;
  *'"name":"self"'*)
    answer='"result":{"content":[{"type":"text","text":"'$self'"}]}' ;;
  *'"name":"wait"'*)
    : >"$1/called"
    while [ ! -e "$1/answer" ]; do sleep 0.1; done
    answer='"result":{"content":[{"type":"text","text":"'$self'"}]}' ;;
  *)
    answer='"error":{"code":-32601,"message":"no such method"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
`

// A reload restarts the MCP servers whose settings have changed and no others, and lets calls in flight end in the
// old process.
func TestReloadRestartsOnlyServersThatChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t, nothing)
	server := filepath.Join(p.dir, "server.sh")
	writeText(t, server, "%s", slowServer)
	if err := os.Chmod(server, 0o755); err != nil {
		t.Fatal(err)
	}
	block := func(label, folder string) string {
		return fmt.Sprintf("plugin %q {\n  command = [%q]\n  trust_hints = true\n  config { command = [%q, %q] }\n}\n", label,
			filepath.Join(bin, "toolhost-plugin-mcp"), server, folder)
	}
	old, now := filepath.Join(p.dir, "old"), filepath.Join(p.dir, "now") // confined servers may write there
	if err := errors.Join(os.Mkdir(old, 0o755), os.Mkdir(now, 0o755)); err != nil {
		t.Fatal(err)
	}
	p.configure("%s%s", block("same", old), block("other", old))
	p.reload()
	same, other := p.call("same__self"), p.call("other__self")
	answer := make(chan *host.Result, 1)
	session := p.now
	go func() { answer <- session.Catalog().Call(t.Context(), host.Call{Tool: "other__wait"}) }()
	awaitFile(t, filepath.Join(old, "called"))
	p.configure("%s%s", block("same", old), block("other", now))
	p.reload()
	p.check("same__self", same)
	if restarted := p.call("other__self"); restarted == other || strings.HasPrefix(restarted, "E_") {
		t.Errorf("after the reload the process of the changed server is %s, before it was %s", restarted, other)
	}
	writeText(t, filepath.Join(old, "answer"), "")
	select {
	case r := <-answer:
		if r.Error != nil || r.Text() != other {
			t.Errorf("the call in flight: %s, %+v; want %s", r.Text(), r.Error, other)
		}
	case <-time.After(time.Minute):
		t.Error("the call in flight did not end")
	}
}
