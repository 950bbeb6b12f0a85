package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/sdk"
)

// notFound says that there is no such tool.
func (r *registry) notFound(ctx context.Context, c *Call, own known) error {
	e := fail(sdk.CodeToolNotFound, "ToolNotFound", "there is no tool %.100q", c.Tool)
	for _, p := range own.problems {
		if concerns(p, c.Tool) && c.catalog.allowsName(c.Tool) {
			e.Message += "; " + p.Error()
		}
	}
	e.Suggestion = r.suggest(ctx, c, own, "Call a tool by its full name, PLUGIN__TOOL, as it is listed.")
	return e
}

// notInCatalog says that the tool is not for this caller. That it exists is no secret: whoever may not know of a tool
// must not share a host with those who may.
func (r *registry) notInCatalog(ctx context.Context, c *Call, own known) error {
	e := fail(sdk.CodeNotInCatalog, "NotInCatalog", "the tool %.100q is not in this catalog; nothing was run", c.Tool)
	e.Suggestion = r.suggest(ctx, c, own, "Call only tools that are listed here, and do not try this one again.")
	return e
}

// suggest names up to three tools of the catalog that may have been meant: those of the plugin if it has any there, else
// any with a near name. None of them is run.
func (r *registry) suggest(ctx context.Context, c *Call, own known, otherwise string) string {
	if near := r.near(ctx, c, own); len(near) > 0 {
		return "Did you mean " + strings.Join(near, ", ") + "?"
	}
	return otherwise
}

func (r *registry) near(ctx context.Context, c *Call, own known) []string {
	if len(c.Tool) > 2*maxName {
		return nil
	}
	if tools, _ := c.catalog.pick(own); len(tools) > 0 {
		return nearest(c.Tool, tools, len(c.Tool)+maxName)
	}
	tools := r.suggestable(ctx, c.catalog)
	same := sameUse(c.Tool, tools)
	for _, name := range nearest(c.Tool, tools, min(max(2, len(c.Tool)/3), len(c.Tool)-1)) {
		if !slices.Contains(same, name) {
			same = append(same, name)
		}
	}
	return same[:min(3, len(same))]
}

// maxSuggesting bounds how long plugins are asked only to suggest a name.
const maxSuggesting = 5 * time.Second

func (r *registry) suggestable(ctx context.Context, c *Catalog) []*Tool {
	ctx, cancel := context.WithTimeout(ctx, maxSuggesting)
	defer cancel()
	tools, _, _ := r.all(ctx, c)
	return tools
}

// nearest gives up to three names that are at most so many edits away, the nearest first.
func nearest(name string, tools []*Tool, most int) []string {
	distances := map[string]int{}
	for _, t := range tools {
		if d := distance(name, t); d <= most {
			distances[t.Name] = d
		}
	}
	near := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), strings.Compare(a, b))
	})
	return near[:min(3, len(near))]
}

// distance counts the edits from what was said to the tool's full name, its own, or that of its plugin.
func distance(name string, t *Tool) int {
	name = strings.ToLower(name)
	return min(levenshtein.Distance(name, strings.ToLower(t.Name), nil), levenshtein.Distance(name, strings.ToLower(t.said.Name), nil),
		levenshtein.Distance(name, t.Plugin, nil))
}
