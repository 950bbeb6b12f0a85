package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// callTool makes one call through the host.
func (e *endpoint) callTool(ctx context.Context, r *request) (mcp.Result, error) {
	name := text(find(r.params, "name"))
	full, err := e.fullName(ctx, name)
	if err != nil {
		return nil, err
	}
	events := newNotifier(ctx, r, full)
	out := e.backend.Catalog().Call(ctx, host.Call{
		Tool: full, Arguments: arguments(r), Caller: e.caller(), SessionID: e.sessionID(r), Events: events.add,
		Meta: find(r.params, "_meta"),
	})
	events.flush()
	if out.Error != nil && (out.Error.Code == sdk.CodeToolNotFound || out.Error.Code == sdk.CodeNotInCatalog) {
		return nil, badParams("unknown tool %.100q: %s", name, out.Error.Message)
	}
	return e.callResult(r, out), nil
}

// arguments are those of the call; none stand for {}.
func arguments(r *request) json.RawMessage {
	if raw := find(r.params, "arguments"); raw != nil && string(raw) != "null" {
		return raw
	}
	return json.RawMessage("{}")
}

// fullName returns the name of the tool in the host. A name that is not in the list as it is known may be that of a
// plugin that was not listed yet.
func (e *endpoint) fullName(ctx context.Context, name string) (string, error) {
	if d := e.catalog.now().byName[name]; d != nil {
		return d.tool.Name, nil
	}
	served, _ := e.catalog.wait(ctx)
	if d := served.byName[name]; d != nil {
		return d.tool.Name, nil
	}
	return "", badParams("unknown tool %.100q", name)
}

// caller is whom rules name.
func (e *endpoint) caller() string {
	if e.identity == "" {
		return "mcp"
	}
	return "mcp:" + e.identity
}

// sessionID names the session of a call for the host: limits count by it, and one question of it is open at a time.
func (e *endpoint) sessionID(r *request) string {
	id := "mcp"
	if e.identity != "" {
		id += "-" + e.identity
	}
	if s := r.session.ID(); s != "" { // who knows it can use the session, so it is not kept in a record
		sum := sha256.Sum256([]byte(s))
		id += "-" + hex.EncodeToString(sum[:6])
	}
	return id
}
