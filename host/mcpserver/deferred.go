package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A deferred list has two tools instead of all: one finds tools, and one calls what was found.
const (
	searchName = host.SearchToolName
	callName   = "toolhost__call"
)

// searchTime is how long a search waits for plugins that have not said what tools they have.
const searchTime = time.Second

var deferredTools = []*host.Tool{
	{Tool: sdk.Tool{
		Name: callName, Title: "Call a tool",
		Description: "Calls a tool that " + searchName + " has found, by its name and with its arguments.",
		InputSchema: json.RawMessage(`{"type":"object","required":["tool"],"additionalProperties":false,"properties":{` +
			`"tool":{"type":"string","description":"The name that the search has given"},` +
			`"arguments":{"type":"object","description":"What the tool's input_schema asks for"}}}`),
	}},
	{Tool: sdk.Tool{
		Name: searchName, Title: "Find tools",
		Description: "Finds tools by what they do, or by name. Most tools are not listed here: search before you say that " +
			"something cannot be done. Call those that are found with " + callName + ".",
		InputSchema: json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{` +
			`"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools at most; 5 unless told"}}}`),
		Hints: sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No},
	}},
}

// checkGlobs refuses a pattern that matches nothing because it is wrong.
func checkGlobs(globs []string) error {
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return fmt.Errorf("mcpserver: %q is no pattern of tool names, such as readfile__*", g)
		}
	}
	return nil
}

func matchesAny(globs []string, name string) bool {
	for _, g := range globs {
		if ok, err := path.Match(g, name); ok && err == nil {
			return true
		}
	}
	return false
}

// search answers a call of the search tool. It takes no part in the route of calls: it looks at nothing that the client
// may not see, and starts nothing that a list would not start.
func (e *endpoint) search(ctx context.Context, r *request, arguments json.RawMessage) *result {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil || in.Query == "" {
		return e.failed(r, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments",
			Message: "the arguments must be like {\"query\":\"read a file\"}; nothing was run"})
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	type foundTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	_, _ = e.catalog.wait(ctx)
	found := []foundTool{}
	limit := defaultFound
	if in.Limit > 0 {
		limit = min(in.Limit, maxFound)
	}
	hits := e.backend.Catalog().Search(ctx, in.Query, limit)
	served := e.catalog.now() // after the search, which finds tools of plugins that have just been listed
	for _, hit := range hits {
		if served.full[hit.Tool.Name] != nil {
			found = append(found, foundTool{hit.Tool.Name, hit.Tool.Description, objectSchema(hit.Tool.InputSchema)})
		}
	}
	if len(found) == 0 {
		return e.callResult(r, deferredTools[1], &host.Result{Content: sdk.Text("No tool fits. Try other words for what it " +
			"should do, or fewer.").Content})
	}
	out := sdk.Encode(map[string]any{"tools": found})
	return e.callResult(r, deferredTools[1], &host.Result{Content: sdk.Text(string(out)).Content, Structured: out})
}

// How many tools a search returns.
const (
	defaultFound = 5
	maxFound     = 50
)

// inner returns the name and the arguments of the tool that a call of the call tool is for.
func inner(arguments json.RawMessage) (tool string, args json.RawMessage, e *sdk.Error) {
	all := members(arguments)
	tool, args = text(find(all, "tool")), find(all, "arguments")
	if tool == "" || args != nil && string(args) != "null" && !isObject(args) {
		return "", nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments",
			Message: "the arguments must be like {\"tool\":\"NAME\",\"arguments\":{…}}; nothing was run"}
	}
	return tool, args, nil
}

// failed is the result of a call that does not reach the host.
func (e *endpoint) failed(r *request, why *sdk.Error) *result {
	why.Outcome = sdk.OutcomeNotSent
	return e.callResult(r, deferredTools[0], &host.Result{Error: why})
}

// notFound is the result of a call of a tool that does not exist, with the names of some that may be meant.
func (e *endpoint) notFound(ctx context.Context, r *request, name string) *result {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	why := &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound", Message: fmt.Sprintf("there is no tool %.100q; "+
		"nothing was run", name), Suggestion: "Find tools with " + searchName + "."}
	var near []string
	for _, hit := range e.backend.Catalog().Search(ctx, name, 3) {
		if e.catalog.now().full[hit.Tool.Name] != nil {
			near = append(near, hit.Tool.Name)
		}
	}
	if len(near) > 0 {
		why.Suggestion = "Did you mean " + strings.Join(near, ", ") + "? " + why.Suggestion
	}
	return e.failed(r, why)
}
