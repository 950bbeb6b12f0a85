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

// A Root is a folder outside the work folder in which tools that are sdk.Tool.PathAware may read.
type Root struct {
	// Path is an absolute path.
	Path string
	// Effect is policy.Allow, AlwaysAsk or Ask; "" is Ask.
	Effect policy.Effect
}

func (r Root) effect() policy.Effect {
	if r.Effect == "" {
		return policy.Ask
	}
	return r.Effect
}

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

// maxProbes bounds the files and folders that are decided on for one call.
const maxProbes = 20_000

// decidePaths makes the decision on a call that names files and folders as strict as the decisions on what the paths
// lead to: roots, targets of links, and the content of folders. If rules deny or ask about a part of a folder, a tool
// that is PathAware leaves that part out; for other tools the strictest part decides.
func (h *snapshot) decidePaths(c *Call, q *policy.Query, d policy.Decision) policy.Decision {
	c.leaveOut, c.roots = nil, nil
	p := &pathDecider{snapshot: h, q: q, own: d.Effect, left: maxProbes,
		aware: c.Definition.declared.PathAware && !h.options.Plugins[c.Definition.Plugin].IgnoreHints}
	rules, able := h.options.Policy.(interface {
		LooksAtPaths(q *policy.Query) bool
	})
	p.rules = able && rules.LooksAtPaths(q)
	if !p.rules && (!p.aware || len(h.options.Roots) == 0) || !filepath.IsAbs(c.Workdir) {
		return d
	}
	p.workdir = resolveLinks(c.Workdir)
	for _, name := range p.namedPaths() {
		d = p.decidePath(d, name)
	}
	if n := len(p.leaveOut); n > 0 {
		d = d.Tighten(policy.Step{Layer: "paths", Rule: "left_out",
			Note: "rules deny or ask about a part of what the call names, which is left out: " + firstNames(p.leaveOut)})
	}
	c.leaveOut, c.roots = p.leaveOut, p.roots
	return d
}

// A pathDecider decides on the paths of one call.
type pathDecider struct {
	*snapshot
	q         *policy.Query
	own       policy.Effect // of the call, ignoring where its paths lead
	aware     bool
	rules     bool   // there are rules about paths
	workdir   string // without links
	left      int    // of maxProbes
	roots     []string
	leaveOut  []string
	strictest policy.Decision // of the parts that are left out
	tooManyIn string          // a folder with more parts than can be decided on
}

// namedPaths are the paths in the arguments, by the names that file tools use; a tool that is PathAware defaults to
// the work folder.
func (p *pathDecider) namedPaths() (out []string) {
	var one string
	var many []string
	var edits []struct{ Path string }
	for name, into := range map[string]any{"path": &one, "paths": &many, "edits": &edits} {
		_ = json.Unmarshal(p.q.Argument(name), into) // arguments of another type name no paths
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

func (p *pathDecider) decidePath(d policy.Decision, name string) policy.Decision {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(p.q.Workdir, name)
	}
	full = filepath.Clean(full)
	if p.aware && !isIn(full, p.q.Workdir) && !isIn(full, p.workdir) { // other tools do not use roots
		d = p.decideRoot(d, full)
	}
	if !p.rules {
		return d
	}
	target := resolveLinks(full)
	at := p.relative(target)
	if at != p.relative(full) {
		d = p.tighten(d, p.decide(policy.Path{Name: at}), name+" leads to "+at)
	}
	info, err := os.Lstat(target)
	if err != nil || !info.IsDir() {
		return d
	}
	if all, sure := p.decideBelow(at); sure {
		return p.tighten(d, all, "all that is in "+at)
	}
	before := len(p.leaveOut)
	p.scan(target)
	switch {
	case p.tooManyIn != "":
		return d.Tighten(policy.Step{Layer: "paths", Rule: "too_many", Matched: true, Effect: policy.Ask,
			Reason: fmt.Sprintf("there are rules about paths, and more than %d files and folders in %s to look at; name a "+
				"smaller folder", maxProbes, p.tooManyIn)})
	case len(p.leaveOut) > before && !p.aware:
		return p.tighten(d, p.strictest, at+" holds "+firstNames(p.leaveOut[before:]))
	}
	return d
}

// scan finds the parts of a folder to leave out. It reads only folders for whose parts the rules decide differently.
func (p *pathDecider) scan(full string) {
	entries, err := os.ReadDir(full)
	if err != nil {
		return // the tool cannot read it either
	}
	for _, e := range entries {
		if p.left--; p.left < 0 || len(p.leaveOut) >= wire.MaxPaths {
			p.tooManyIn = p.relative(full)
			return
		}
		child := filepath.Join(full, e.Name())
		at := p.relative(child)
		if p.leavesOut(at, p.decide(policy.Path{Name: at})) || !e.IsDir() {
			continue
		}
		if all, sure := p.decideBelow(at); sure {
			p.leavesOut(at, all)
			continue
		}
		if p.scan(child); p.tooManyIn != "" {
			return
		}
	}
}

// leavesOut adds a path to leave out if the rules are stricter about it than about the call.
func (p *pathDecider) leavesOut(at string, d policy.Decision) bool {
	if !d.Effect.Stricter(p.own) {
		return false
	}
	p.leaveOut = append(p.leaveOut, at)
	if d.Effect.Stricter(p.strictest.Effect) {
		p.strictest = d
	}
	return true
}

func (p *pathDecider) decide(about policy.Path) policy.Decision {
	return validDecision(p.options.Policy.Decide(p.q.About(about)))
}

// decideBelow decides on everything in a folder; not sure if the rules decide differently on its parts.
func (p *pathDecider) decideBelow(at string) (d policy.Decision, sure bool) {
	q := p.q.About(policy.Path{Name: at, Below: true})
	d = validDecision(p.options.Policy.Decide(q))
	return d, !q.Unsure()
}

// tighten makes a decision as strict as the one on what a path leads to.
func (p *pathDecider) tighten(d, by policy.Decision, what string) policy.Decision {
	if !by.Effect.Stricter(p.own) {
		return d
	}
	return d.Tighten(policy.Step{Layer: by.Layer, Rule: by.Rule, Source: by.Source, Effect: by.Effect, Matched: true,
		Reason: what + ": " + by.Why()})
}

// decideRoot makes a decision as strict as those on the roots that contain the path.
func (p *pathDecider) decideRoot(d policy.Decision, full string) policy.Decision {
	inmost := ""
	var effect policy.Effect
	for _, r := range p.options.Roots {
		folder := filepath.Clean(r.Path)
		if !isIn(full, folder) {
			continue
		}
		if effect = policy.Strictest(effect, r.effect()); len(folder) > len(inmost) {
			inmost = folder
		}
	}
	if inmost == "" {
		return d
	}
	if !slices.Contains(p.roots, inmost) {
		p.roots = append(p.roots, inmost)
	}
	for _, r := range p.options.Roots {
		folder := filepath.Clean(r.Path)
		if folder != full && isIn(folder, full) && r.effect().Stricter(effect) &&
			!slices.Contains(p.leaveOut, filepath.ToSlash(folder)) {
			p.leaveOut = append(p.leaveOut, filepath.ToSlash(folder))
		}
	}
	return d.Tighten(policy.Step{Layer: "roots", Rule: inmost, Effect: effect, Matched: true, Reason: full +
		" lies outside of the work folder"})
}

// relative is a path in the form that rules match.
func (p *pathDecider) relative(full string) string {
	for _, folder := range []string{p.q.Workdir, p.workdir} {
		if isIn(full, folder) {
			rel, _ := filepath.Rel(folder, full)
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(full)
}

// resolveLinks returns a path without links, as far as it exists.
func resolveLinks(full string) string {
	if target, err := filepath.EvalSymlinks(full); err == nil {
		return target
	}
	if parent := filepath.Dir(full); parent != full {
		return filepath.Join(resolveLinks(parent), filepath.Base(full))
	}
	return full
}

func isIn(full, folder string) bool {
	return full == folder || strings.HasPrefix(full,
		strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// firstNames lists up to three names, and the number of the others.
func firstNames(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
