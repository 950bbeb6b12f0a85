package host

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// SearchToolName is the name of the tool that finds others. Every host has it, and every catalog; only deferred catalogs
// list it.
const SearchToolName = builtIn + "__search"

// builtIn is the name of the plugin that is the host's own, unless an embedder has one of that name.
const builtIn = "toolhost"

// searchTool is offered in the place of tools that are deferred: the model finds them by it.
var searchTool = sdk.Tool{
	Name:  "search",
	Title: "Find tools",
	Description: "Finds tools by what they do. Most tools are not listed here: search before you say that something cannot be done. " +
		"The tools that are found can be called from then on.",
	InputSchema: json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{` +
		`"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools at most; 5 unless told"}}}`),
	Hints:    sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No},
	CostTier: sdk.Free,
}

// defaultFound is how many tools a search gives when it is not told.
const defaultFound = 5

// A searcher is the built-in plugin.
type searcher struct{ host *Host }

// Tools gives the search tool.
func (searcher) Tools(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{searchTool}, nil }

// Close does nothing.
func (searcher) Close() error { return nil }

type catalogKey struct{}

// foundTool is a tool as a model that has not seen it needs it.
type foundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Call searches the catalog that the call was made through.
func (s searcher) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(r.Arguments, &in); err != nil { // they fit the schema
		return nil, fail(sdk.CodeInvalidArgs, "InvalidArguments", "%s", err)
	}
	c, _ := ctx.Value(catalogKey{}).(*Catalog)
	if c == nil {
		c = &Catalog{host: s.host}
	}
	found := []foundTool{}
	for _, hit := range c.Search(ctx, in.Query, firstPositive(in.Limit, defaultFound)) {
		found = append(found, foundTool{hit.Tool.Name, hit.Tool.Description, hit.Tool.InputSchema})
		c.deferral.add(hit.Tool.Name)
	}
	if len(found) == 0 {
		return sdk.Text("No tool fits. Try other words for what it should do, or fewer."), nil
	}
	return sdk.JSON(map[string]any{"tools": found}), nil
}

// A deferral is what a catalog lists when it defers its tools. The zero value, and nil, defer none.
type deferral struct {
	always []string // globs
	mu     sync.Mutex
	found  map[string]bool
}

func (d *deferral) add(name string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found == nil {
		d.found = map[string]bool{}
	}
	d.found[name] = true
}

// lists gives those tools that are listed.
func (d *deferral) lists(tools []*Tool) []*Tool {
	d.mu.Lock()
	found := maps.Clone(d.found)
	d.mu.Unlock()
	return slices.DeleteFunc(tools, func(t *Tool) bool { return !found[t.Name] && !matchesAny(d.always, t.Name) })
}

// Deferred makes a catalog of the same tools that lists only a few of them: the search tool, those whose names match one of
// the globs, and those that its search has found since, so that they are in the next prompt. All can be called, and found.
// Each Deferred catalog has findings of its own, as for one session; catalogs narrowed from it share them. It fails for
// a glob that is none, and where an embedder's plugin takes the search tool's place.
func (c *Catalog) Deferred(always ...string) (*Catalog, error) {
	if err := (&Filter{Tools: always}).check(); err != nil {
		return nil, err
	}
	if l := c.host.now.Load().listing(builtIn); l == nil || !isBuiltIn(l.plugin) {
		return nil, fail(sdk.CodeToolNotFound, "ToolNotFound", "there is no search tool in this host: a plugin of the embedder is called %q", builtIn)
	}
	out := c.with(c.filters)
	out.deferral = &deferral{always: slices.Clone(always)}
	return out, nil
}

func isBuiltIn(p Plugin) bool { _, own := p.(searcher); return own }

// searchDefinition is the search tool as it is offered.
func (c *Catalog) searchDefinition(ctx context.Context) *Tool {
	l := c.host.now.Load().listing(builtIn)
	if l == nil {
		return nil
	}
	own, _ := l.list(ctx) // it always can
	return own.tools[SearchToolName]
}
