package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxIncludes is how many profiles may stand in a chain in which each includes the next.
const maxIncludes = 10

// An includer is a profile as its block says it, with the profiles that it includes.
type includer struct {
	Profile
	name  string
	at    hcl.Range
	links []link

	busy  bool
	depth int // profiles in the longest chain that starts here, 0 while nobody has looked
}

// A link is an item of an include.
type link struct {
	name string
	at   hcl.Range
	to   *includer
}

// include reads the names of other profiles. What they name is looked for once all the blocks are read.
func (f *fields) include() (out []link) {
	names, ok := f.texts("include", checkLine)
	if !ok {
		return nil
	}
	e := f.body.Attributes["include"].Expr
	if len(names) == 0 {
		f.wrong(e.Range(), "include is empty").hint("remove it, or name a profile")
	}
	for i, name := range names {
		out = append(out, link{name: name, at: itemRange(e, i)})
	}
	return out
}

// link finds what is included. It is false, and says why, when that is not all there, or never ends.
func (r *reader) link(all []*includer) bool {
	before, known := len(r.mistakes), map[string]*includer{}
	for _, p := range slices.Backward(all) { // of two with one name, which is a mistake, the first counts
		if pluginNaming.ok(p.name) {
			known[p.name] = p
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for _, p := range all {
		for i, l := range p.links {
			if p.links[i].to = known[l.name]; p.links[i].to == nil && l.name != "" {
				r.add(l.at, "there is no profile %q", brief(l.name)).Hint = suggest(l.name, names, "profiles")
			}
		}
	}
	for _, p := range all {
		r.follow(p, nil)
	}
	return len(r.mistakes) == before
}

// follow finds circles and chains that are too long. The chain is of the profiles each of which includes the next.
func (r *reader) follow(p *includer, chain []string) {
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
			r.add(l.at, "profile %q includes itself", l.name).hint("%s; take one of them out", strings.Join(shortened(steps), " includes "))
			continue
		}
		r.follow(l.to, chain)
		p.depth = max(p.depth, 1+l.to.depth)
	}
	if p.busy = false; p.depth == maxIncludes+1 {
		r.add(p.at, "profile %q begins a chain of more than %d profiles that include each other", brief(p.name), maxIncludes).
			hint("include those at its end directly")
	}
}
