//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An mcpWire speaks MCP over HTTP with a running host.
type mcpWire struct {
	t                   *testing.T
	url, token, session string
}

// send posts a message, and returns the messages that answer it. The channel is closed after the last one.
func (w *mcpWire) send(ctx context.Context, version, message string) <-chan map[string]json.RawMessage {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/mcp", strings.NewReader(message))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", version)
	if version == modernRevision {
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "shell__exec")
	}
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	response, err := (&http.Client{Timeout: patience}).Do(r) //nolint:bodyclose // below, when it was read
	if err != nil {
		w.t.Fatal(err)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
	out := make(chan map[string]json.RawMessage, 10)
	go func() {
		defer close(out)
		defer func() { _ = response.Body.Close() }() // it was read
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m map[string]json.RawMessage
			if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &m) == nil {
				out <- m
			}
		}
	}()
	return out
}

func (w *mcpWire) next(from <-chan map[string]json.RawMessage) map[string]json.RawMessage {
	w.t.Helper()
	for ctx, cancel := context.WithTimeout(w.t.Context(), patience); ; {
		defer cancel()
		select {
		case m, ok := <-from:
			if !ok {
				w.t.Fatal("the answer ends without a message")
			}
			if m["method"] != nil && strings.Contains(string(m["method"]), "notifications/") {
				continue
			}
			return m
		case <-ctx.Done():
			w.t.Fatal("no message comes")
		}
	}
}

const (
	handshakeRevision = "2025-11-25"
	modernRevision    = "2026-07-28"
	callOfMCP         = `"name":"shell__exec","arguments":{"command":"echo made > file"}`
)

func (w *mcpWire) handshake(capabilities string) {
	w.t.Helper()
	w.next(w.send(w.t.Context(), handshakeRevision, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`, handshakeRevision, capabilities)))
	for range w.send(w.t.Context(), handshakeRevision, `{"jsonrpc":"2.0","method":"notifications/initialized"}`) {
	}
}

func (w *mcpWire) call() <-chan map[string]json.RawMessage {
	w.t.Helper()
	return w.send(w.t.Context(), handshakeRevision, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+callOfMCP+`}}`)
}

func (w *mcpWire) callModern(capabilities, more string) <-chan map[string]json.RawMessage {
	w.t.Helper()
	return w.send(w.t.Context(), modernRevision, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s%s,`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s}}}`,
		callOfMCP, more, modernRevision, capabilities))
}

func mcpHome(t *testing.T) (*home, *mcpWire) {
	t.Helper()
	h := newHome(t)
	h.write(t, "config.hcl", fmt.Sprintf("plugin_dirs = [%q]\n", h.bin))
	url, token, _ := h.serving(t)
	return h, &mcpWire{t: t, url: url, token: token}
}

func (h *home) ran(t *testing.T) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(h.dir, "file")); err != nil || string(text) != "made\n" {
		t.Errorf("the command did not run: %q, %v", text, err)
	}
}

const approveAnswer = `{"action":"accept","content":{"decision":"approve"}}`

// The user of the client answers, and the others see that, and from whom.
func TestMCPClientApproves(t *testing.T) {
	h, w := mcpHome(t)
	w.handshake(`{"elicitation":{}}`)
	stream := w.call()
	question := w.next(stream)
	if string(question["method"]) != `"elicitation/create"` {
		t.Fatalf("%s", question)
	}
	h.waiting(t, stream)
	watch := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "approvals", "watch", "--format", "json")
	out, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = watch.Process.Kill() })
	defer func() {
		limit.Stop()
		_ = watch.Process.Kill()
		_ = watch.Wait() // killed
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() { // what waits
		t.Fatal("the watch shows nothing")
	}
	for range w.send(t.Context(), handshakeRevision, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, question["id"],
		approveAnswer)) {
	}
	w.next(stream)
	h.ran(t)
	lines.Scan()
	expect(t, lines.Text(), `"approved"`, `"the MCP client"`)
}

// A client that cannot ask leaves its call to the other approvers.
func TestMCPClientThatCannotAsk(t *testing.T) {
	t.Run("handshake", func(t *testing.T) {
		h, w := mcpHome(t)
		w.handshake(`{}`)
		stream := w.call()
		expect(t, h.run(t, "approvals", "answer", h.waiting(t, stream), "yes"), "approved")
		w.next(stream)
		h.ran(t)
	})
	t.Run("modern", func(t *testing.T) {
		h, w := mcpHome(t)
		stream := w.callModern(`{}`, "") // its response begins before it is answered
		expect(t, h.run(t, "approvals", "answer", h.waiting(t, stream), "yes"), "approved")
		w.next(stream)
		h.ran(t)
	})
}

// Another terminal answers before the user of the client.
func TestMCPClientIsTooLate(t *testing.T) {
	h, w := mcpHome(t)
	w.handshake(`{"elicitation":{}}`)
	stream := w.call()
	w.next(stream)
	expect(t, h.run(t, "approvals", "answer", h.waiting(t, stream), "yes"), "approved")
	w.next(stream)
	h.ran(t)
}

// A client that answers by making its call again learns that at once, and the call runs by its answer.
func TestMCPClientThatCallsAgain(t *testing.T) {
	h, w := mcpHome(t)
	m := w.next(w.callModern(`{"elicitation":{}}`, ""))
	var required struct {
		RequestState  string
		InputRequests map[string]json.RawMessage
	}
	if err := json.Unmarshal(m["result"], &required); err != nil || len(required.InputRequests) != 1 {
		t.Fatalf("%s, %v", m, err)
	}
	w.next(w.callModern(`{"elicitation":{}}`, fmt.Sprintf(`,"inputResponses":{"toolhost_approval":%s},"requestState":%q`,
		approveAnswer, required.RequestState)))
	h.ran(t)
}
