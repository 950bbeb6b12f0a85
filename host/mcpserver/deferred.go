package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/toolsearch"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A deferred list has two tools instead of all: one finds tools, and one calls what was found.
const (
	searchName = host.SearchToolName
	callName   = "toolhost__call"
)

const (
	// searchPatience is how long searches wait for a plugin that has not said what tools it has, since a list or search
	// first waited for it: a model takes a tool that is not found for one that does not exist.
	searchPatience = 5 * time.Second
	// searchTime is how long names are searched that are near one that does not exist.
	searchTime = time.Second
)

var deferredTools = []*host.Tool{
	{Tool: sdk.Tool{
		Name: callName, Title: "Call a tool",
		Description: "Calls a tool that " + searchName + " has found, by its name and with its arguments.",
		InputSchema: json.RawMessage(`{"type":"object","required":["tool"],"additionalProperties":false,"properties":{` +
			`"tool":{"type":"string","description":"The name that the search has given"},` +
			`"arguments":{"type":"object","description":"What the tool's input_schema asks for"}}}`),
	}},
	{Tool: searchTool()},
}

// searchTool is the host's, which says that the tools that are found can be called: here they are called with callName.
func searchTool() sdk.Tool {
	t := host.SearchTool()
	t.Name = searchName
	t.Description = "Finds tools by what they do, or by name. Most tools are not listed here: search before you say that " +
		"something cannot be done. Call those that are found with " + callName + "."
	return t
}

// checkGlobs refuses a pattern that matches nothing because it is wrong.
func checkGlobs(globs []string) error {
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return fmt.Errorf("mcpserver: %q is not a pattern of tool names, such as readfile__*", g)
		}
	}
	return nil
}

// search answers a call of the search tool, which is the host's: policy and record are about it like about any other.
func (e *endpoint) search(ctx context.Context, r *request, arguments json.RawMessage) *result {
	label, _, _ := strings.Cut(searchName, "__")
	if slices.Contains(e.backend.Catalog().Plugins(), label) {
		return e.failed(ctx, r, searchName, arguments, &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound",
			Message:    fmt.Sprintf("there is no search: a plugin is called %q; nothing was run", label),
			Suggestion: "Ask the user to give the plugin another name, or to serve all tools, without deferring them."})
	}
	_, _ = e.catalog.wait(ctx, searchPatience)
	out := e.backend.Catalog().Call(ctx, host.Call{Tool: searchName, Arguments: arguments, Caller: e.caller(),
		SessionID: e.sessionID(r)})
	if out.Error == nil {
		e.onlyServed(out)
	}
	return e.callResult(r, deferredTools[1], out)
}

// onlyServed takes tools that cannot be called here out of the result of a search, such as those of one name.
func (e *endpoint) onlyServed(out *host.Result) {
	var found toolsearch.Found
	if json.Unmarshal(out.Structured, &found) != nil { // there is none when nothing was found
		return
	}
	served := e.catalog.now() // after the search, which finds tools of plugins that have just been listed
	found.Tools = slices.DeleteFunc(found.Tools, func(t toolsearch.FoundTool) bool { return served.full[t.Name] == nil })
	for i := range found.Tools {
		found.Tools[i].InputSchema = objectSchema(found.Tools[i].InputSchema)
	}
	shown := sdk.JSON(found)
	if len(found.Tools)+len(found.NotSearched) == 0 {
		shown = found.Result()
	}
	out.Structured, out.Content = shown.Structured, shown.Content
}

// unwrapDeferred returns the name and the arguments of the tool that a call of the call tool is for.
func unwrapDeferred(arguments json.RawMessage) (tool string, args json.RawMessage, e *sdk.Error) {
	all := rawjson.ObjectOf(arguments)
	tool, args = text(all.Get("tool")), all.Get("arguments")
	if tool == "" || args != nil && string(args) != "null" && rawjson.First(args) != '{' {
		return "", nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments",
			Message: "the arguments must be like {\"tool\":\"NAME\",\"arguments\":{…}}; nothing was run"}
	}
	return tool, args, nil
}

// refused has the host record a call that is refused before it reaches the host: it is made with a catalog that has no
// tool. The name may be that of a tool that the host has, and that is not served.
func (e *endpoint) refused(ctx context.Context, r *request, name string, args json.RawMessage) {
	nothing, err := e.backend.Catalog().Narrow(host.Filter{Tools: []string{"-"}})
	if err != nil {
		return
	}
	if name == searchName { // it is in every catalog, and refuses these
		args = json.RawMessage("0")
	}
	_ = nothing.Call(ctx, host.Call{Tool: textutil.Cut(name, maxRefused), Arguments: args, Caller: e.caller(),
		SessionID: e.sessionID(r)})
}

// maxRefused is how many bytes of the name in a refused call are recorded.
const maxRefused = 200

// failed is the result of a call that does not reach the host.
func (e *endpoint) failed(ctx context.Context, r *request, name string, args json.RawMessage, why *sdk.Error) *result {
	e.refused(ctx, r, name, args)
	why = new(*why) // calls that wait for the same plugin have the same error
	why.Outcome = sdk.OutcomeNotSent
	return e.callResult(r, deferredTools[0], &host.Result{Error: why})
}

// notFound is the result of a call of a tool that does not exist, with the names of some that may be meant.
func (e *endpoint) notFound(ctx context.Context, r *request, name string, args json.RawMessage) *result {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	why := &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound", Message: fmt.Sprintf("there is no tool %.100q; "+
		"nothing was run", name), Suggestion: "Find tools with " + searchName + "."}
	var near []string
	for _, hit := range e.backend.Catalog().Search(limited, name, 3) {
		if e.catalog.now().full[hit.Tool.Name] != nil {
			near = append(near, hit.Tool.Name)
		}
	}
	if len(near) > 0 {
		why.Suggestion = "Did you mean " + strings.Join(near, ", ") + "? " + why.Suggestion
	}
	return e.failed(ctx, r, name, args, why)
}
