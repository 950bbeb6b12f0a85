package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// Revisions of the protocol.
const (
	modern       = "2026-07-28" // without handshake and sessions
	lastOfLegacy = "2025-11-25"
)

// announcer is a tool of the SDK's own list, which is not served: adding it again makes the SDK notify clients that the
// list has changed.
const announcer = "toolhost-list-changed"

func (e *endpoint) newMCP() *mcp.Server {
	o := &e.server.options
	s := mcp.NewServer(&mcp.Implementation{Name: "toolhost", Title: "toolhost", Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions, Logger: slog.New(debugHandler{o.Logger.Handler()}), Capabilities: capabilities(),
	})
	s.AddReceivingMiddleware(e.receive)
	s.AddSendingMiddleware(sendExact, e.announceOnly)
	return s
}

// capabilities are what clients are told that this server has.
func capabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, //nolint:staticcheck // clients of all revisions may have logging
		Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{},
		Prompts: &mcp.PromptCapabilities{}} // there are none; clients ask whatever is declared
}

// discover answers server/discover. The SDK's own answer would make the session one of revision 2026-07-28, and a
// client that then falls back to the handshake on the same stream would be refused.
func (e *endpoint) discover() mcp.Result {
	return &mcp.DiscoverResult{SupportedVersions: mcp.SupportedProtocolVersions(), Capabilities: capabilities(),
		Instructions: e.server.options.Instructions, Cacheable: mcp.Cacheable{CacheScope: "public"}}
}

// listChanged keeps the SDK's list up to date, and notifies clients that have seen another one.
func (e *endpoint) listChanged(now *servedTools, seen bool) {
	next := map[string]bool{}
	for _, d := range now.listed {
		if bytes.Contains(d.tool.InputSchema, []byte("x-mcp-header")) && e.addHeaders(d) {
			next[d.name] = true
		}
	}
	for name := range e.headers {
		if !next[name] {
			e.mcp.RemoveTools(name)
		}
	}
	e.headers = next
	if seen {
		e.announced.Store(true)
		e.mcp.AddTool(&mcp.Tool{Name: announcer, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
}

// addHeaders adds a tool to the SDK's list, by which it checks the headers that repeat arguments. The SDK panics when
// the schema asks for headers in a way that the protocol does not allow; no client sends such headers.
func (e *endpoint) addHeaders(d *definition) (ok bool) {
	defer func() { ok = recover() == nil }()
	e.mcp.AddTool(&mcp.Tool{Name: d.name, InputSchema: objectSchema(d.tool.InputSchema)}, nil)
	return true
}

// announceOnly drops what the SDK sends when its list grows before a client has seen the served one.
func (e *endpoint) announceOnly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "notifications/tools/list_changed" && !e.announced.Load() {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// debugHandler logs what the SDK says of clients and their mistakes for debugging only.
type debugHandler struct{ slog.Handler }

func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h debugHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

// receive answers what is about tools, and leaves the rest to the SDK. A panic ends the request, not the process.
func (e *endpoint) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				e.server.options.Logger.Error("a panic was caught", "method", method, "panic", fmt.Sprint(cause),
					"stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
					Message: "the request was stopped by a panic, which is a bug; see the log of toolhost"}
			}
		}()
		if e.ctx.Err() != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this server no longer serves the client"}
		}
		if w := e.streams.response(req.GetExtra()); w != nil {
			w.promise()
			defer func() {
				if ctx.Err() != nil {
					w.cancel()
				}
			}()
		}
		switch r := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			// The SDK takes what a client asks for, not what is agreed, for the session's revision.
			if !slices.Contains(mcp.SupportedProtocolVersions(), r.Params.ProtocolVersion) ||
				r.Params.ProtocolVersion >= modern {
				r.Params.ProtocolVersion = lastOfLegacy
			}
		case *mcp.ServerRequest[*mcp.DiscoverParams]:
			return e.discover(), nil
		case *mcp.ServerRequest[*mcp.PingParams]:
			if err := refusedAs(r.Params); err != nil {
				return nil, err
			}
		case *mcp.ListToolsRequest:
			return e.listTools(ctx, newRequest(r.Params, r.Extra, r.Session))
		case *mcp.CallToolRequest:
			ctx, done := e.use.call(ctx, r.Session.ID())
			defer done()
			q := newRequest(r.Params, r.Extra, r.Session)
			return e.callTool(q.trace(ctx), q)
		case *mcp.ReadResourceRequest:
			return e.readResource(newRequest(r.Params, r.Extra, r.Session))
		case *mcp.ServerRequest[*mcp.SetLoggingLevelParams]: //nolint:staticcheck // clients of all revisions may have logging
			level := string(r.Params.Level)
			if !slices.Contains(logLevelNames, level) {
				return nil, badParams("unknown log level %.100q", level)
			}
			e.levels.note(r.Session, level, e.mcp)
		}
		return next(ctx, method, req)
	}
}

// paramsHeader is the name under which transports hand on the bytes of a request's params. No header that comes over
// HTTP has such a name.
const paramsHeader = "\x00params"

// A request is a client's request, in its own bytes.
type request struct {
	session *mcp.ServerSession
	params  rawjson.Object
	meta    rawjson.Object
	header  http.Header // over HTTP
}

func newRequest(params mcp.Params, extra *mcp.RequestExtra, session *mcp.ServerSession) *request {
	r := &request{session: session}
	var raw json.RawMessage
	if extra != nil {
		r.header = extra.Header
	}
	if extra != nil && len(extra.Header[paramsHeader]) == 1 {
		raw = json.RawMessage(extra.Header[paramsHeader][0])
	} else { // of a JSON-RPC batch
		raw, _ = json.Marshal(params) // it was JSON before
	}
	r.params = rawjson.ObjectOf(raw)
	r.meta = rawjson.ObjectOf(r.params.Get("_meta"))
	return r
}

// trace returns a context that belongs to the client's trace: that of the request's _meta, otherwise of its headers,
// which may be those of a proxy.
func (r *request) trace(ctx context.Context) context.Context {
	parent, state := text(r.meta.Get("traceparent")), text(r.meta.Get("tracestate"))
	if parent == "" {
		parent = strings.Join(r.header.Values("Traceparent"), ",")
		state = strings.Join(r.header.Values("Tracestate"), ",")
	}
	return host.WithTraceParent(ctx, parent, state)
}

// isModern reports whether the request follows the revision without sessions.
func (r *request) isModern() bool {
	return text(r.meta.Get(mcp.MetaKeyProtocolVersion)) >= modern
}

// A result has the members that its maker wrote, byte for byte.
type result struct {
	mcp.ResultBase // with what the SDK adds to _meta
	body           rawjson.Object
	meta           rawjson.Object
	behind         rawjson.Object // the members that follow _meta
}

// MarshalJSON writes the members, with _meta in its place.
func (r *result) MarshalJSON() ([]byte, error) {
	out, meta := slices.Clone(r.body), slices.Clone(r.meta)
	for name, value := range r.Meta {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		meta.Add(name, raw)
	}
	out.Add("_meta", meta.JSON())
	if out = append(out, r.behind...); len(out) == 0 {
		return []byte("{}"), nil
	}
	return out.JSON(), nil
}

// complete marks a result for a client that wants it.
func (r *result) complete(req *request) *result {
	if req.isModern() {
		r.body.AddText("resultType", "complete")
	}
	return r
}

func badParams(format string, a ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, a...)}
}
