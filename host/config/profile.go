package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Profile is a selection of tools, with its own rules.
type Profile struct {
	// Include names the profiles that this one includes. Their content is already in the fields below.
	Include []string
	// Filter holds the profile's tools. Its ReadOnly and Match are not set.
	Filter host.Filter
	// ReadOnly allows reading only: tools with the read-only hint, and shell commands that only read.
	ReadOnly bool
	// Mode is the approval mode, "" for that of the file.
	Mode host.Mode
	// Rules are the layer "profile", perhaps without rules.
	Rules  policy.Layer
	Source string // such as "config.hcl:12"
}

// maxIncludes bounds a chain of profiles each of which includes the next.
const maxIncludes = 10

// A profileBlock is a profile as written in its block, with the profiles that it includes.
type profileBlock struct {
	Profile
	name  string
	at    hcl.Range
	links []includeItem

	busy  bool
	depth int // profiles in the longest chain from here, 0 while it is not known
}

// An includeItem is a name in an include.
type includeItem struct {
	name string
	at   hcl.Range
	to   *profileBlock
}

// profiles reads the profile blocks. Their order does not matter.
func (r *reader) profiles(top *hclfile.Body) {
	var all []*profileBlock
	names := hclfile.Names{}
	for _, b := range top.Blocks("profile") {
		all = append(all, r.profile(top, b, names))
	}
	if !r.resolveIncludes(all) || len(all) == 0 {
		return
	}
	r.config.Profiles = map[string]Profile{}
	reported := map[[2]string]bool{} // pairs of rules that have the same name
	for _, p := range all {
		if len(p.links) == 0 {
			r.config.Profiles[p.name] = p.Profile
			continue
		}
		parts := r.parts(p, nil, map[*profileBlock]bool{})
		r.sameRules(p, parts, reported)
		r.config.Profiles[p.name] = join(p.Profile, parts)
	}
}

func (r *reader) profile(top *hclfile.Body, b *hclsyntax.Block, names hclfile.Names) *profileBlock {
	name, at, ok := r.Label(b, hclfile.PluginNaming)
	if ok {
		names.Add(r.Report, "profile", name, at)
	}
	in := top.Open(b, fmt.Sprintf("profile %q", hclfile.Brief(name)))
	out := &profileBlock{name: name, at: at, links: include(in), Profile: Profile{
		ReadOnly: in.Bool("read_only"),
		Mode:     host.Mode(in.OneOf("mode", modes)),
		Rules:    policy.Layer{Name: "profile", Rules: r.rules(in, hclfile.Names{}, nil)},
		Source:   in.Where(),
		Filter: host.Filter{
			Categories:  in.TextOrTexts("categories", hclfile.CheckLine),
			MaxCostTier: sdk.CostTier(in.OneOf("max_cost_tier", costTiers)),
		},
	}}
	if tools, ok := in.Texts("tools", checkToolGlob); ok {
		out.Filter.Tools = tools
	}
	if exclude, ok := in.Texts("exclude", checkToolGlob); ok {
		out.Filter.Exclude = exclude
	}
	for _, l := range out.links {
		out.Include = append(out.Include, l.name)
	}
	in.Done()
	return out
}

// include reads the names of other profiles, which resolveIncludes looks up once all the blocks are read.
func include(in *hclfile.Body) (out []includeItem) {
	names, ok := in.Texts("include", hclfile.CheckLine)
	if !ok {
		return nil
	}
	e := in.ExprOf("include")
	if len(names) == 0 {
		in.Wrong(e.Range(), "include is empty").WithHint("remove it, or name a profile")
	}
	for i, name := range names {
		out = append(out, includeItem{name: name, at: hclfile.ItemRange(e, i)})
	}
	return out
}

// resolveIncludes finds the included profiles of all. It is false, and reports why, when one does not exist, or the
// includes form a circle or too long a chain.
func (r *reader) resolveIncludes(all []*profileBlock) bool {
	before, known := r.Count(), map[string]*profileBlock{}
	for _, p := range slices.Backward(all) { // of two with one name, which is a mistake, the first counts
		if hclfile.PluginNaming.OK(p.name) {
			known[p.name] = p
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for _, p := range all {
		for i, l := range p.links {
			if p.links[i].to = known[l.name]; p.links[i].to == nil && l.name != "" {
				r.Add(l.at, "there is no profile %q", hclfile.Brief(l.name)).Hint = hclfile.Suggest(l.name, names, "profiles")
			}
		}
	}
	for _, p := range all {
		r.follow(p, nil)
	}
	return r.Count() == before
}

// follow finds circles and chains that are too long. The chain has profiles each of which includes the next.
func (r *reader) follow(p *profileBlock, chain []string) {
	if p.depth > 0 {
		return
	}
	chain, p.busy, p.depth = append(chain, p.name), true, 1
	for _, l := range p.links {
		switch {
		case l.to == nil:
			continue
		case l.to.busy:
			steps := append(slices.Clone(chain[slices.Index(chain, l.name):]), l.name)
			r.Add(l.at, "profile %q includes itself", l.name).
				WithHint("%s; take one of them out", strings.Join(hclfile.Shortened(steps), " includes "))
			continue
		}
		r.follow(l.to, chain)
		p.depth = max(p.depth, 1+l.to.depth)
	}
	if p.busy = false; p.depth == maxIncludes+1 {
		r.Add(p.at, "profile %q begins a chain of more than %d profiles that include each other",
			hclfile.Brief(p.name), maxIncludes).WithHint("include those at its end directly")
	}
}

// parts are the profile and all that it includes, each once, a profile before those that it includes. The copying is
// bounded for the whole file.
func (r *reader) parts(p *profileBlock, out []*profileBlock, there map[*profileBlock]bool) []*profileBlock {
	there[p], out = true, append(out, p)
	for _, l := range p.links {
		weight := 64 + 256*len(l.to.Rules.Rules) // about the bytes of a copy
		for _, s := range slices.Concat(l.to.Filter.Tools, l.to.Filter.Exclude, l.to.Filter.Categories) {
			weight += 16 + len(s)
		}
		if !r.Copies(weight, l.at) {
			return out
		}
		if !there[l.to] { // also one that is there counts: to look at it again and again takes time
			out = r.parts(l.to, out, there)
		}
	}
	return out
}

// sameRules reports rules with the same name, since the trace of a decision uses names. Each pair is reported once.
func (r *reader) sameRules(p *profileBlock, parts []*profileBlock, reported map[[2]string]bool) {
	first := map[string]policy.Rule{}
	for _, part := range parts {
		for _, rule := range part.Rules.Rules {
			other, there := first[rule.Name]
			pair := [2]string{other.Source, rule.Source}
			if !there && rule.Name != "" {
				first[rule.Name] = rule
			} else if there && !reported[pair] {
				reported[pair] = true
				r.Add(p.at, "profile %q would have two rules called %q, of %s and %s",
					hclfile.Brief(p.name), hclfile.Brief(rule.Name), other.Source, rule.Source).
					WithHint("give one of them another name")
			}
		}
	}
}

// join makes one profile of the parts, the first of which is its own.
func join(out Profile, parts []*profileBlock) Profile {
	out.Filter.Tools, out.Filter.Categories = joinTools(parts), joinCategories(parts)
	out.Filter.Exclude, out.Rules.Rules = nil, nil
	for _, p := range parts {
		out.Filter.Exclude = append(out.Filter.Exclude, p.Filter.Exclude...)
		out.Rules.Rules = append(out.Rules.Rules, p.Rules.Rules...)
		out.ReadOnly = out.ReadOnly || p.ReadOnly
		tier, least := p.Filter.MaxCostTier, out.Filter.MaxCostTier
		if least == "" || tier != "" && tierRank(tier) < tierRank(least) {
			out.Filter.MaxCostTier = tier
		}
	}
	out.Filter.Exclude = distinct(out.Filter.Exclude)
	return out
}

func tierRank(t sdk.CostTier) int { return slices.Index(costTiers, string(t)) }

// joinTools joins patterns. A profile that includes others and has no tools adds none.
func joinTools(parts []*profileBlock) []string {
	out := []string{}
	for _, p := range parts {
		if p.Filter.Tools == nil && len(p.links) == 0 {
			return nil
		}
		out = append(out, p.Filter.Tools...)
	}
	return distinct(out)
}

// joinCategories joins categories. They limit nothing if a profile that adds tools has none.
func joinCategories(parts []*profileBlock) (out []string) {
	for _, p := range parts {
		if p.Filter.Categories == nil && (p.Filter.Tools != nil || len(p.links) == 0) {
			return nil
		}
		out = append(out, p.Filter.Categories...)
	}
	return distinct(out)
}

// distinct keeps the first of equal words.
func distinct(words []string) []string {
	there := map[string]bool{}
	return slices.DeleteFunc(words, func(w string) bool {
		again := there[w]
		there[w] = true
		return again
	})
}
