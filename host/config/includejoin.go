package config

import (
	"slices"

	"github.com/toolhost/toolhost/host/policy"
)

// joined gives the profiles with what they include, by their names.
func (r *reader) joined(all []*includer) map[string]Profile {
	out, told := map[string]Profile{}, map[[2]string]bool{}
	for _, p := range all {
		out[p.name] = p.Profile
		if len(p.links) == 0 {
			continue
		}
		parts := r.parts(p, nil, map[*includer]bool{})
		r.sameRules(p, parts, told)
		out[p.name] = join(p.Profile, parts)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// parts are the profile and all that it includes, each once: those in front before those behind them. What that copies
// is bounded for the whole file.
func (r *reader) parts(p *includer, out []*includer, there map[*includer]bool) []*includer {
	there[p], out = true, append(out, p)
	for _, l := range p.links {
		if !r.copies(l.to.weight(), l.at) {
			return out
		}
		if !there[l.to] {
			out = r.parts(l.to, out, there)
		}
	}
	return out
}

// weight is about the bytes that a copy of the profile takes.
func (p *includer) weight() int {
	n := 64 + 256*len(p.Rules.Rules)
	for _, s := range slices.Concat(p.Tools, p.Exclude, p.Categories) {
		n += 16 + len(s)
	}
	return n
}

// sameRules reports rules of one name that come together, since the trace of a decision goes by names. Each two are told once.
func (r *reader) sameRules(p *includer, parts []*includer, told map[[2]string]bool) {
	first := map[string]policy.Rule{}
	for _, part := range parts {
		for _, rule := range part.Rules.Rules {
			other, there := first[rule.Name]
			two := [2]string{other.Source, rule.Source}
			if !there && rule.Name != "" {
				first[rule.Name] = rule
			} else if there && !told[two] {
				told[two] = true
				r.add(p.at, "profile %q would have two rules called %q, of %s and %s", brief(p.name), brief(rule.Name), other.Source, rule.Source).
					hint("give one of them another name")
			}
		}
	}
}

// join makes one profile of the parts, the first of which is its own.
func join(out Profile, parts []*includer) Profile {
	out.Tools, out.Categories = toolsOf(parts), categoriesOf(parts)
	out.Exclude, out.Rules.Rules = nil, nil
	for _, p := range parts {
		out.Exclude = append(out.Exclude, p.Exclude...)
		out.Rules.Rules = append(out.Rules.Rules, p.Rules.Rules...)
		out.ReadOnly = out.ReadOnly || p.ReadOnly
		out.MaxCostTier = lowerTier(out.MaxCostTier, p.MaxCostTier)
	}
	out.Exclude = distinctWords(out.Exclude)
	return out
}

// toolsOf joins patterns. A profile that includes others and has no tools adds none.
func toolsOf(parts []*includer) []string {
	out := []string{}
	for _, p := range parts {
		if p.Tools == nil && len(p.links) == 0 {
			return nil
		}
		out = append(out, p.Tools...)
	}
	return distinctWords(out)
}

// categoriesOf joins categories. They limit nothing as soon as one that adds tools names none.
func categoriesOf(parts []*includer) (out []string) {
	for _, p := range parts {
		if p.Categories == nil && (p.Tools != nil || len(p.links) == 0) {
			return nil
		}
		out = append(out, p.Categories...)
	}
	return distinctWords(out)
}

// lowerTier gives the cheaper of two tiers; "" is no limit.
func lowerTier(a, b string) string {
	if a == "" || b != "" && slices.Index(costTiers, b) < slices.Index(costTiers, a) {
		return b
	}
	return a
}

// distinctWords leaves each word where it comes first.
func distinctWords(words []string) []string {
	there := map[string]bool{}
	return slices.DeleteFunc(words, func(w string) bool {
		again := there[w]
		there[w] = true
		return again
	})
}
