package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// ownTools are the tools that the plugin adds to those of the server, for resources and prompts.
func (b *bridge) ownTools() (out []sdk.BoundTool) {
	add := func(name, description, schema string, handle func(context.Context, *sdk.Request) (*sdk.Result, error)) {
		out = append(out, sdk.BoundTool{Handler: handle, Tool: sdk.Tool{Name: name, Description: description,
			InputSchema: json.RawMessage(schema), Category: "mcp", Timeout: b.timeout, ForeignHints: true,
			Hints: sdk.Hints{ReadOnly: sdk.Yes}}})
	}
	if b.resources {
		add("list_resources", "Lists the resources of the MCP server, such as files, and the templates of their URIs. Read "+
			"one with read_resource.", noArguments, b.lister(client.Resources, client.ResourceTemplates))
		add("read_resource", "Reads a resource of the MCP server by its URI, which list_resources shows or a result "+
			"links to.", `{"type":"object","properties":{"uri":{"type":"string","description":"The resource's URI."}},`+
			`"required":["uri"],"additionalProperties":false}`, b.readResource)
	}
	if b.prompts {
		add("list_prompts", "Lists the prompts of the MCP server, with their arguments. Get one with get_prompt.",
			noArguments, b.lister(client.Prompts))
		add("get_prompt", "Gets a prompt of the MCP server: messages that are made of its arguments.",
			`{"type":"object","properties":{"name":{"type":"string","description":"The prompt's name, as list_prompts `+
				`shows it."},"arguments":{"type":"object","description":"Its arguments, texts by their names.",`+
				`"additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`, b.getPrompt)
	}
	return out
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

func (b *bridge) ownNames() (out []string) {
	for _, t := range b.ownTools() {
		out = append(out, t.Name)
	}
	return out
}

// query is a request for one of the plugin's own tools.
func (b *bridge) query(r *sdk.Request, method string, params ...rawjson.Member) *toolRequest {
	return &toolRequest{bridge: b, request: r, method: method, params: params}
}

// lister handles a tool that returns lists of the server, with the bytes of their items.
func (b *bridge) lister(lists ...string) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		q := b.query(r, lists[0]+"/list")
		u, err := b.upstreams.use(q.workdir())
		if err != nil {
			return nil, err
		}
		defer u.release()
		if q.session, err = q.connect(ctx, u); err != nil {
			return nil, err
		}
		var all rawjson.Object
		truncated := false
		for _, list := range lists {
			listing, err := q.session.List(ctx, list)
			_, cut := errors.AsType[*client.ListError](err)
			if err != nil && !cut {
				return q.failure(err)
			}
			fit := slices.DeleteFunc(listing.Items,
				func(i json.RawMessage) bool { return rawjson.First(i) != '{' || deep(i) })
			truncated = truncated || cut || len(fit) < len(listing.Items)
			all.Add(list, rawjson.Array(fit))
		}
		out := all.JSON()
		return &sdk.Result{Structured: out, Content: []sdk.Content{sdk.TextContent(string(out))}, Truncated: truncated}, nil
	}
}

func (b *bridge) readResource(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	q := b.query(r, "resources/read", rawjson.Member{Name: "uri", Value: memberOf(r.Arguments, "uri")})
	q.read = func(raw json.RawMessage) (reply, error) {
		return readList(raw, "contents", func(item json.RawMessage) []sdk.Content {
			part := rawjson.Object{{Name: "type", Value: json.RawMessage(`"resource"`)}, {Name: "resource", Value: item}}
			return []sdk.Content{readContent(part.JSON())}
		})
	}
	return q.run(ctx)
}

func (b *bridge) getPrompt(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	params := rawjson.Object{{Name: "name", Value: memberOf(r.Arguments, "name")}}
	if arguments := memberOf(r.Arguments, "arguments"); arguments != nil {
		params.Add("arguments", arguments)
	}
	q := b.query(r, "prompts/get", params...)
	q.read = func(raw json.RawMessage) (reply, error) {
		out, err := readList(raw, "messages", func(item json.RawMessage) []sdk.Content {
			role, _ := text(memberOf(item, "role"))
			return []sdk.Content{sdk.TextContent(fmt.Sprintf("Message of the %.60s:", role)),
				readContent(memberOf(item, "content"))}
		})
		if err == nil && !out.asking {
			out.result.Structured = raw
		}
		return out, err
	}
	return q.run(ctx)
}

// readList makes a reply of a result that is a list.
func readList(raw json.RawMessage, list string, part func(json.RawMessage) []sdk.Content) (reply, error) {
	if asks, _ := text(memberOf(raw, "resultType")); asks == "input_required" {
		return readReply(raw)
	}
	all, ok := items(memberOf(raw, list))
	if !ok {
		return reply{}, fmt.Errorf("%s of the result is %s, not an array", list, rawjson.Kind(memberOf(raw, list)))
	}
	r := &sdk.Result{}
	for _, item := range all {
		r.Add(part(item)...)
	}
	if meta := withoutHop(memberOf(raw, "_meta")); meta != nil {
		r.Extra = rawjson.Object{{Name: "_meta", Value: meta}}.JSON()
	}
	return reply{result: r}, nil
}
