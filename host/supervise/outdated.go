package supervise

import (
	"bytes"
	"slices"

	"github.com/toolhost/toolhost/sdk"
)

// outdated is the error of a call that was decided on by what its tool is not, or no longer. A caller that does not know
// what it decided by had listed, if anything.
func outdated(plugin string, r *sdk.Request, listed, is *sdk.Description) error {
	was := r.Listed
	if was == nil {
		if listed == nil || listed == is {
			return nil
		}
		was = definition(listed, r.Tool)
	}
	now := definition(is, r.Tool)
	if sameDefinition(was, now) {
		return nil
	}
	return listedOtherwise(plugin, r.Tool, now == nil)
}

// definition finds a tool, nil if there is none of that name.
func definition(d *sdk.Description, tool string) *sdk.Tool {
	i := slices.IndexFunc(d.Tools, func(t sdk.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}

// sameDefinition compares all that a tool is. It is part of every call, and allocates nothing.
func sameDefinition(a, b *sdk.Tool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.Category == b.Category &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) && sameHints(a.Hints, b.Hints) &&
		a.CostTier == b.CostTier && a.Timeout == b.Timeout && a.MaxResultBytes == b.MaxResultBytes &&
		a.OriginalName == b.OriginalName && a.Previews == b.Previews &&
		a.Stateful == b.Stateful && a.ForeignSchema == b.ForeignSchema && a.PathAware == b.PathAware
}

func sameHints(a, b sdk.Hints) bool {
	return sameHint(a.ReadOnly, b.ReadOnly) && sameHint(a.Destructive, b.Destructive) &&
		sameHint(a.Idempotent, b.Idempotent) && sameHint(a.OpenWorld, b.OpenWorld)
}

func sameHint(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
