package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/toolsearch"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A Hit is a tool found by Catalog.Search.
type Hit struct {
	Tool *Tool
	// Score is positive, and higher for a better match. Scores of different searches cannot be compared.
	Score float64
}

// Search returns up to n tools of the catalog that match a query in plain words, the best first; ten if n is not
// positive. A tool whose name or full name is the query comes first. Search looks at names, titles, descriptions,
// categories and parameters. The last word of the query may be incomplete, and a word of five letters or more that no
// tool has may be misspelled. A query without words finds nothing. Tools of plugins that cannot be listed are not
// searched; Catalog.Tools reports those plugins.
func (c *Catalog) Search(ctx context.Context, query string, n int) []Hit {
	hits, _ := c.search(ctx, query, n)
	return hits
}

// search is Search, which also returns the problems of listing.
func (c *Catalog) search(ctx context.Context, query string, n int) (hits []Hit, problems []error) {
	q := toolsearch.ParseQuery(query)
	if len(q) == 0 {
		return nil, nil
	}
	tools, problems := c.all(ctx)
	documents := make([]*toolsearch.Document, len(tools))
	for i, t := range tools {
		documents[i] = t.searchDocument()
	}
	best, exact := 0.0, strings.TrimSpace(query)
	for i, score := range q.Rank(documents) {
		best = max(best, score)
		if score > 0 || tools[i].isCalled(exact) {
			hits = append(hits, Hit{tools[i], score})
		}
	}
	for i, h := range hits {
		if h.Tool.isCalled(exact) {
			hits[i].Score += best + 1
		}
	}
	// equal ones stay sorted by name
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), firstPositive(n, 10))], problems
}

// isCalled reports whether a name is the tool's own or full name, ignoring case.
func (t *Tool) isCalled(name string) bool {
	return strings.EqualFold(name, t.Name) || strings.EqualFold(name, t.declared.Name) ||
		strings.EqualFold(name, t.OriginalName)
}

// SearchToolName is the full name of the built-in tool that searches the catalog. Every host and every catalog has it;
// only deferred catalogs list it.
const SearchToolName = builtIn + "__search"

const builtIn = "toolhost" // the name of the host's own plugin, unless an embedder's plugin has that name

var searchTool = sdk.Tool{
	Name:  "search",
	Title: "Find tools",
	Description: "Finds tools by what they do. Most tools are not listed here: search before you say that something " +
		"cannot be done. The tools that are found can be called from then on.",
	InputSchema: json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{` +
		`"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools at most; 5 by default"}}}`),
	Hints:    sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No},
	CostTier: sdk.Free,
}

// SearchTool returns the definition of the tool that searches, for a server that describes it in other words.
func SearchTool() sdk.Tool { return searchTool }

// A searchPlugin is the built-in plugin. It has only the search tool.
type searchPlugin struct{ host *Host }

func isBuiltIn(p Plugin) bool { _, ok := p.(searchPlugin); return ok }

// Tools returns the search tool.
func (searchPlugin) Tools(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{searchTool}, nil }

// Close does nothing.
func (searchPlugin) Close() error { return nil }

// catalogKey is the context key of the catalog through which the search tool was called.
type catalogKey struct{}

// searchListing is how long the search tool waits for plugins that have not listed their tools: one that hangs is not
// searched.
const searchListing = time.Second

// Call searches the catalog through which the call was made, and adds the tools that it finds to those that the
// catalog lists.
func (p searchPlugin) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(r.Arguments, &in); err != nil { // cannot fail: they match the schema
		return nil, fail(sdk.CodeInvalidArgs, "InvalidArguments", "%s", err)
	}
	c, _ := ctx.Value(catalogKey{}).(*Catalog)
	if c == nil {
		c = &Catalog{host: p.host}
	}
	var found toolsearch.Found
	ctx, cancel := context.WithTimeout(ctx, searchListing)
	defer cancel()
	hits, problems := c.search(ctx, in.Query, firstPositive(in.Limit, 5))
	for _, hit := range hits {
		found.Tools = append(found.Tools, toolsearch.FoundTool{Name: hit.Tool.Name, Description: hit.Tool.Description,
			InputSchema: hit.Tool.InputSchema})
		c.deferral.add(hit.Tool.Name)
	}
	found.NotSearched = notSearched(problems)
	return found.Result(), nil
}

// maxNotSearched is how many plugins that were not searched a result names.
const maxNotSearched = 10

// notSearched says which plugins could not be listed, for a model that would otherwise conclude that there is no tool.
func notSearched(problems []error) (plugins []string) {
	for _, p := range problems {
		if e, ok := errors.AsType[*sdk.Error](p); ok && problemTool(p) == "" {
			plugins = append(plugins, cutText(strings.TrimSuffix(e.Message, "; nothing was run"), 200))
		}
	}
	if more := len(plugins) - maxNotSearched; more > 0 {
		plugins = append(plugins[:maxNotSearched], strconv.Itoa(more)+" more plugins")
	}
	return plugins
}

// A deferral is the set of tools that a deferred catalog lists. It is nil for other catalogs.
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
	d.found[name] = true
}

// filter removes the tools that are not listed.
func (d *deferral) filter(tools []*Tool) []*Tool {
	d.mu.Lock()
	found := maps.Clone(d.found)
	d.mu.Unlock()
	return slices.DeleteFunc(tools,
		func(t *Tool) bool { return !found[t.Name] && !toolname.MatchesAny(d.always, t.Name) })
}

// Deferred returns a catalog of the same tools that lists only some of them: the search tool, tools whose names match
// one of the globs, and tools that its search tool has found so far, so that they are in the next prompt. All of its
// tools can be called and found. Make one for each session: it keeps what was found, and shares it with catalogs
// narrowed from it. Deferred fails if a glob is invalid, or if an embedder's plugin has the name of the built-in one.
func (c *Catalog) Deferred(always ...string) (*Catalog, error) {
	if err := (&Filter{Tools: always}).check(); err != nil {
		return nil, err
	}
	if l := c.host.current.Load().listing(builtIn); l == nil || !isBuiltIn(l.plugin) {
		return nil, fail(sdk.CodeToolNotFound, "ToolNotFound",
			"there is no search tool in this host: a plugin of the embedder is called %q", builtIn)
	}
	out := c.with(c.filters)
	out.deferral = &deferral{always: slices.Clone(always), found: map[string]bool{}}
	return out, nil
}

// searchDefinition returns the search tool as the catalog lists it, nil if the host has none.
func (c *Catalog) searchDefinition(ctx context.Context) *Tool {
	l := c.host.current.Load().listing(builtIn)
	if l == nil {
		return nil
	}
	own, _ := l.list(ctx) // never fails
	return own.tools[SearchToolName]
}
