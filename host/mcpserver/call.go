package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

func (e *endpoint) callTool(ctx context.Context, r *request) (mcp.Result, error) {
	name, args := text(r.params.Get("name")), r.params.Get("arguments")
	t, err := e.findServed(ctx, name)
	if err == nil && e.server.options.Deferred && name == callName {
		tool, own, wrong := unwrapDeferred(args)
		if wrong != nil {
			return e.failed(ctx, r, name, args, wrong), nil
		}
		name, args = tool, own
		if d := e.catalog.now().full[name]; d != nil {
			t = d.tool
		} else if t, err = e.awaitTool(ctx, name); t == nil && err == nil {
			return e.notFound(ctx, r, name, args), nil
		}
	}
	if failed, ok := errors.AsType[*sdk.Error](err); ok {
		return e.failed(ctx, r, name, args, failed), nil
	} else if err != nil {
		e.refused(ctx, r, name, args)
		return nil, err
	}
	if e.server.options.Deferred && name == searchName {
		return e.search(ctx, r, args), nil
	}
	return e.callFound(ctx, r, t, args)
}

// callFound makes the call of a tool that can be called.
func (e *endpoint) callFound(ctx context.Context, r *request, t *host.Tool, args json.RawMessage) (mcp.Result, error) {
	c, err := e.newCall(r, t, args)
	if err != nil {
		return nil, err
	}
	events := newNotifier(ctx, r, t.Name)
	call := host.Call{
		Tool: t.Name, Arguments: c.arguments, Caller: e.caller(), SessionID: e.sessionID(r), Events: events.add,
		Meta: e.levels.meta(r), Capabilities: c.capabilities, ReturnInput: r.isModern(), InputResponses: c.answers,
	}
	if c.state != nil {
		call.RequestState = c.state.Upstream
	}
	if _, ours := c.answers[approvalKey]; ours {
		call.InputResponses = maps.Clone(c.answers)
		delete(call.InputResponses, approvalKey)
	}
	out := e.backend.Catalog().Call(context.WithValue(ctx, callKey{}, c), call)
	events.flush()
	switch {
	case out.Error != nil && (out.Error.Code == sdk.CodeToolNotFound || out.Error.Code == sdk.CodeNotInCatalog):
		return nil, badParams("unknown tool %.100q: %s", text(r.params.Get("name")), out.Error.Message)
	case out.Error != nil && out.Error.Name == approvalPending && c.pending != nil:
		return c.askApproval(t.Name)
	case out.InputRequired != nil:
		return c.askFurther(t.Name, out)
	}
	return e.callResult(r, t, out), nil
}

// newCall reads what a client sent with a call, and checks the state in it.
func (e *endpoint) newCall(r *request, t *host.Tool, arguments json.RawMessage) (*toolCall, error) {
	c := &toolCall{e: e, r: r, arguments: arguments, capabilities: r.capabilities()}
	if c.arguments == nil || string(c.arguments) == "null" {
		c.arguments = json.RawMessage("{}")
	}
	if !r.isModern() {
		return c, nil
	}
	c.definition = definitionHash(t)
	for _, m := range rawjson.ObjectOf(r.params.Get("inputResponses")) {
		if c.answers == nil {
			c.answers = map[string]json.RawMessage{}
		}
		c.answers[m.Name] = m.Value
	}
	var err error
	if sent := r.params.Get("requestState"); sent != nil && string(sent) != "null" {
		c.state, err = e.seal.open(text(sent), t.Name, c.definition, c.arguments)
	}
	return c, err
}

// askApproval returns the question whether the call may run.
func (c *toolCall) askApproval(tool string) (mcp.Result, error) {
	st := c.newState(tool)
	st.Asks, st.Expires = true, c.pending.expires
	if c.state != nil {
		st.Upstream = c.state.Upstream
	}
	asked := rawjson.ObjectWith("method", methodElicit, "params", c.pending.params).JSON()
	return c.inputRequired(map[string]json.RawMessage{approvalKey: asked}, st), nil
}

// askFurther returns the questions of the tool.
func (c *toolCall) askFurther(tool string, out *host.Result) (mcp.Result, error) {
	for _, raw := range out.InputRequired.Requests {
		if q := parseQuestion(raw); !c.declares(q) {
			return nil, c.missing(q)
		}
	}
	st := c.newState(tool)
	st.Upstream, st.Approved = out.InputRequired.State, c.approved
	result := c.inputRequired(attributed(out.InputRequired.Requests, tool), st)
	addMeta(result, rawjson.ObjectOf(out.Extra))
	return result, nil
}

// missing is the error for a client that does not declare what a tool needs.
func (c *toolCall) missing(q question) error {
	path := q.capability()
	if len(path) == 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the tool asks for " +
			cmp.Or(q.method, "something") + ", which no client answers"}
	}
	needed := json.RawMessage("{}")
	for _, name := range slices.Backward(path) {
		needed = rawjson.ObjectWith(name, needed).JSON()
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities,
		Data:    rawjson.ObjectWith("requiredCapabilities", needed).JSON(),
		Message: "the tool needs a client that answers " + q.method + ", and this one does not declare that it does"}
}

func (c *toolCall) inputRequired(requests map[string]json.RawMessage, st state) *result {
	return &result{body: rawjson.ObjectWith("resultType", "input_required", "inputRequests", requests,
		"requestState", c.e.seal.close(st))}
}

// findServed returns the tool of a name. One that is not in the list as it is known may be of a plugin that was not
// listed yet; an *sdk.Error says why it cannot be.
func (e *endpoint) findServed(ctx context.Context, name string) (*host.Tool, error) {
	if d := e.catalog.now().byName[name]; d != nil {
		return d.tool, nil
	}
	var patience time.Duration
	switch lists := e.catalog.lists; {
	case e.catalog.naming.plain: // the name does not say which plugin
		patience = callPatience
	case e.catalog.expects(name) && (lists == nil || lists(name)):
		if t, err := e.awaitTool(ctx, name); t != nil || err != nil {
			return t, err
		}
		patience = callPatience // the list may have it by a name that was shortened
	}
	served, _ := e.catalog.wait(ctx, patience)
	if d := served.byName[name]; d != nil {
		return d.tool, nil
	}
	if e.server.options.Deferred {
		return nil, badParams("unknown tool %.100q: find tools with %s, and call them with %s", name, searchName, callName)
	}
	var tools []*host.Tool
	for _, d := range served.listed {
		tools = append(tools, d.tool)
	}
	near := host.Similar(name, tools)
	if len(near) == 0 {
		return nil, badParams("unknown tool %.100q", name)
	}
	for i, full := range near {
		near[i] = served.full[full].name
	}
	return nil, badParams("unknown tool %.100q; did you mean %s?", name, strings.Join(near, ", "))
}

// awaitTool returns the tool of a full name whose plugin has no tools yet, once it has; nil when there is none. The
// host waits for a plugin as long as for any call, and its error, an *sdk.Error, says what is wrong with the plugin.
func (e *endpoint) awaitTool(ctx context.Context, name string) (*host.Tool, error) {
	if !e.catalog.expects(name) {
		return nil, nil
	}
	t, err := e.backend.Catalog().Tool(ctx, name)
	if why, ok := errors.AsType[*sdk.Error](err); ok &&
		(why.Code == sdk.CodeToolNotFound || why.Code == sdk.CodeNotInCatalog) {
		return nil, nil
	}
	if t != nil { // the host finds also what its list does not have, such as what rules deny
		label, _, _ := strings.Cut(t.Name, "__")
		tools, _, _ := e.backend.Catalog().ToolsOf(ctx, label)
		if !slices.ContainsFunc(tools, func(listed *host.Tool) bool { return listed.Name == t.Name }) {
			return nil, nil
		}
	}
	return t, err
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
		id += "-" + hashOf([]byte(s))[:12]
	}
	return id
}

// addMeta adds the members of an upstream's _meta that are not about one hop.
func addMeta(to *result, extra rawjson.Object) {
	all := rawjson.ObjectOf(extra.Get("_meta"))
	to.meta = append(to.meta, slices.DeleteFunc(all, func(m rawjson.Member) bool { return mcpcontent.OfOneHop(m.Name) })...)
}
