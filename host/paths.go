package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire"
)

// A Root is a folder outside of the work folder in which tools that are sdk.Tool.PathAware may read.
type Root struct {
	// Path is absolute.
	Path string
	// Effect is policy.Allow, AlwaysAsk, or Ask, as "" is.
	Effect policy.Effect
}

// maxProbes bounds how many files and folders are asked about for one call.
const maxProbes = 20_000

// pathed makes a decision that names files and folders as strict as what those paths lead to asks for: folders outside of the
// work folder that the operator opened, what links lead to, and what is in a folder. Of a folder in which rules deny or ask
// about a part, a tool that is PathAware leaves that part out, and to other tools the folder is what its strictest part is.
func (h *snapshot) pathed(c *Call, q *policy.Query, d policy.Decision) policy.Decision {
	c.leaveOut, c.roots = nil, nil
	p := &paths{snapshot: h, q: q, own: d.Effect, aware: c.Definition.said.PathAware && !h.options.Plugins[c.Definition.Plugin].IgnoreHints, left: maxProbes}
	rules, able := h.options.Policy.(interface {
		LooksAtPaths(q *policy.Query) bool
	})
	p.rules = able && rules.LooksAtPaths(q)
	if !p.rules && (!p.aware || len(h.options.Roots) == 0) || !filepath.IsAbs(c.Workdir) {
		return d
	}
	p.real = resolved(c.Workdir)
	for _, name := range p.named() {
		d = p.look(d, name)
	}
	if n := len(p.leaveOut); n > 0 {
		d = d.Tighten(policy.Step{Layer: "paths", Rule: "left_out", Note: "rules deny or ask about a part of what the call names, which is left out: " + few(p.leaveOut)})
	}
	c.leaveOut, c.roots = p.leaveOut, p.roots
	return d
}

// paths looks at those that one call names.
type paths struct {
	*snapshot
	q           *policy.Query
	own         policy.Effect // of the call, without a look at what is behind its paths
	aware       bool
	rules       bool   // some look at paths
	real        string // the work folder without links
	left        int    // of maxProbes
	roots       []string
	leaveOut    []string
	strictest   policy.Decision // of what is left out
	unsureAbout string          // a folder in which there is too much to look at
}

// named are the paths in the arguments; a tool that is PathAware takes the work folder for none.
func (p *paths) named() (out []string) {
	var one string
	var many []string
	var edits []struct{ Path string }
	for name, into := range map[string]any{"path": &one, "paths": &many, "edits": &edits} {
		_ = json.Unmarshal(p.q.Argument(name), into) // what names no paths in the way that file tools do has none
	}
	for _, e := range edits {
		many = append(many, e.Path)
	}
	for _, name := range append(many, one) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 && p.aware {
		out = []string{"."}
	}
	return out
}

// look follows one path.
func (p *paths) look(d policy.Decision, name string) policy.Decision {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(p.q.Workdir, name)
	}
	full = filepath.Clean(full)
	if !inFolder(full, p.q.Workdir) && !inFolder(full, p.real) {
		d = p.inRoot(d, full)
	}
	if !p.rules {
		return d
	}
	leads := resolved(full)
	if at := p.relative(leads); at != p.relative(full) {
		d = p.settle(d, p.decide(policy.Path{Name: at}), name+" leads to "+at)
	}
	info, err := os.Lstat(leads)
	if err != nil || !info.IsDir() {
		return d
	}
	return p.folder(d, leads)
}

// folder looks at what is in a folder.
func (p *paths) folder(d policy.Decision, full string) policy.Decision {
	at := p.relative(full)
	whole := p.q.About(policy.Path{Name: at, Below: true})
	if all := p.decideOn(whole); !whole.Unsure() {
		return p.settle(d, all, "all that is in "+at)
	}
	before := len(p.leaveOut)
	p.scan(full)
	switch {
	case p.unsureAbout != "":
		return d.Tighten(policy.Step{Layer: "paths", Rule: "too_many", Matched: true, Effect: policy.Ask,
			Reason: fmt.Sprintf("there are rules about paths, and more than %d files and folders in %s to look at; name a smaller folder", maxProbes, p.unsureAbout)})
	case len(p.leaveOut) > before && !p.aware:
		return p.settle(d, p.strictest, at+" holds "+few(p.leaveOut[before:]))
	}
	return d
}

// scan finds what is to be left out of a folder. It goes into those folders only of which it cannot be told otherwise.
func (p *paths) scan(full string) {
	entries, err := os.ReadDir(full)
	if err != nil {
		return // and so nobody else can
	}
	for _, e := range entries {
		if p.left--; p.left < 0 || len(p.leaveOut) >= wire.MaxPaths {
			p.unsureAbout = p.relative(full)
			return
		}
		child := filepath.Join(full, e.Name())
		at := p.relative(child)
		if p.leavesOut(at, p.decide(policy.Path{Name: at})) || !e.IsDir() {
			continue
		}
		below := p.q.About(policy.Path{Name: at, Below: true})
		if all := p.decideOn(below); !below.Unsure() {
			p.leavesOut(at, all)
			continue
		}
		if p.scan(child); p.unsureAbout != "" {
			return
		}
	}
}

// leavesOut notes a path that the rules are stricter about than about the call.
func (p *paths) leavesOut(at string, d policy.Decision) bool {
	if !d.Effect.Stricter(p.own) {
		return false
	}
	p.leaveOut = append(p.leaveOut, at)
	if d.Effect.Stricter(p.strictest.Effect) {
		p.strictest = d
	}
	return true
}

func (p *paths) decide(about policy.Path) policy.Decision { return p.decideOn(p.q.About(about)) }

func (p *paths) decideOn(q *policy.Query) policy.Decision { return spoken(p.options.Policy.Decide(q)) }

// settle makes a decision as strict as that on what a path leads to.
func (p *paths) settle(d, by policy.Decision, what string) policy.Decision {
	if !by.Effect.Stricter(p.own) {
		return d
	}
	return d.Tighten(policy.Step{Layer: by.Layer, Rule: by.Rule, Source: by.Source, Effect: by.Effect, Matched: true, Reason: what + ": " + by.Why()})
}

// inRoot looks for the folders outside of the work folder that a path is in.
func (p *paths) inRoot(d policy.Decision, full string) policy.Decision {
	if !p.aware {
		return d // it does not know of roots, and stays in the work folder
	}
	inmost := Root{}
	var effect policy.Effect
	for _, r := range p.options.Roots {
		folder := filepath.Clean(r.Path)
		if !inFolder(full, folder) {
			continue
		}
		if effect = policy.Strictest(effect, r.effect()); len(folder) > len(inmost.Path) {
			inmost = Root{Path: folder}
		}
	}
	if inmost.Path == "" {
		return d
	}
	if !slices.Contains(p.roots, inmost.Path) {
		p.roots = append(p.roots, inmost.Path)
	}
	for _, r := range p.options.Roots {
		folder := filepath.Clean(r.Path)
		if folder != full && inFolder(folder, full) && r.effect().Stricter(effect) && !slices.Contains(p.leaveOut, filepath.ToSlash(folder)) {
			p.leaveOut = append(p.leaveOut, filepath.ToSlash(folder))
		}
	}
	return d.Tighten(policy.Step{Layer: "roots", Rule: inmost.Path, Effect: effect, Matched: true, Reason: full + " lies outside of the work folder"})
}

func (r Root) effect() policy.Effect {
	if r.Effect == "" {
		return policy.Ask
	}
	return r.Effect
}

// relative is a path as rules see it.
func (p *paths) relative(full string) string {
	for _, folder := range []string{p.q.Workdir, p.real} {
		if inFolder(full, folder) {
			rel, _ := filepath.Rel(folder, full)
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(full)
}

// resolved is a path without links, as far as it exists.
func resolved(full string) string {
	if target, err := filepath.EvalSymlinks(full); err == nil {
		return target
	}
	if parent := filepath.Dir(full); parent != full {
		return filepath.Join(resolved(parent), filepath.Base(full))
	}
	return full
}

func inFolder(full, folder string) bool {
	return full == folder || strings.HasPrefix(full, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// few lists some names.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// checkRoots finds what is wrong with the roots.
func (o *Options) checkRoots() error {
	for _, r := range o.Roots {
		if !filepath.IsAbs(r.Path) || path.Clean(filepath.ToSlash(r.Path)) == "/" {
			return fmt.Errorf("host: the root %q must be an absolute path, and not all of the machine", r.Path)
		}
		if e := r.effect(); e != policy.Allow && !e.Asks() {
			return fmt.Errorf("host: the root %s has the effect %q; there are allow, ask and always_ask", r.Path, r.Effect)
		}
	}
	return nil
}
