package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/policy"
)

// A Profile is a choice of tools, with rules of its own.
type Profile struct {
	// Include names the profiles that this one includes. What those hold is in the fields below already.
	Include []string
	// Tools and Exclude are patterns of full tool names. Tools that is nil stands for all, and an empty one for none.
	Tools, Exclude []string
	// ReadOnly leaves nothing but reading.
	ReadOnly bool
	// Categories, when there are any, hold the categories of the tools that are left.
	Categories []string
	// MaxCostTier is the most expensive tier that is left, "" for no limit.
	MaxCostTier string
	// Mode is the approval mode, "" for that of the file.
	Mode string
	// Rules are the layer "profile", perhaps without rules.
	Rules  policy.Layer
	Source string // such as "config.hcl:12"
}

// profiles reads the profile blocks. The order of those that include each other does not matter.
func (f *fields) profiles() {
	var all []*includer
	names := seen{}
	for _, b := range f.blocks("profile") {
		all = append(all, f.profile(b, names))
	}
	if f.link(all) {
		f.config.Profiles = f.joined(all)
	}
}

// profile reads a profile block.
func (r *reader) profile(b *hclsyntax.Block, names seen) *includer {
	name, at, ok := r.label(b, pluginNaming)
	if ok {
		names.add(r.report, "profile", name, at)
	}
	f := r.open(b.Body, "profile", fmt.Sprintf("profile %q", brief(name)))
	p := Profile{
		Tools:       f.globs("tools", checkToolGlob, true),
		Exclude:     f.globs("exclude", checkToolGlob, true),
		ReadOnly:    f.boolean("read_only"),
		Categories:  f.words("categories", checkLine),
		MaxCostTier: f.oneOf("max_cost_tier", costTiers),
		Mode:        f.oneOf("mode", modes),
		Rules:       policy.Layer{Name: "profile", Rules: f.rules(seen{})},
		Source:      r.place(b.TypeRange),
	}
	out := &includer{Profile: p, name: name, at: at, links: f.include()}
	for _, l := range out.links {
		out.Include = append(out.Include, l.name)
	}
	f.done()
	return out
}
