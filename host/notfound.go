package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"github.com/toolhost/toolhost/sdk"
)

// notFound names up to three tools that may have been meant: those of the plugin if it is there, else any with a near
// name. None of them is run.
func (r *registry) notFound(ctx context.Context, name string, own known) error {
	e := fail(sdk.CodeToolNotFound, "ToolNotFound", "there is no tool %.100q", name)
	for _, p := range own.problems {
		if out, ok := errors.AsType[*leftOut](p); ok && out.name == name {
			e.Message += "; " + out.Error()
		}
	}
	e.Suggestion = "Call a tool by its full name, PLUGIN__TOOL, as it is listed."
	if near := r.near(ctx, name, own); len(near) > 0 {
		e.Suggestion = "Did you mean " + strings.Join(near, ", ") + "?"
	}
	return e
}

func (r *registry) near(ctx context.Context, name string, own known) []string {
	switch {
	case len(name) > 2*maxName:
		return nil
	case len(own.tools) > 0:
		return nearest(name, slices.Collect(maps.Values(own.tools)), len(name)+maxName)
	}
	return nearest(name, r.suggestable(ctx), min(max(2, len(name)/3), len(name)-1))
}

// maxSuggesting bounds how long plugins are asked only to suggest a name.
const maxSuggesting = 5 * time.Second

func (r *registry) suggestable(ctx context.Context) []*Tool {
	ctx, cancel := context.WithTimeout(ctx, maxSuggesting)
	defer cancel()
	tools, _ := r.all(ctx)
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
	return min(levenshtein.Distance(name, t.Name, nil), levenshtein.Distance(name, t.wire, nil), levenshtein.Distance(name, t.Plugin, nil))
}
