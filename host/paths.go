package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/fsutil"
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
	return cmp.Or(r.Effect, policy.Ask)
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

const (
	// maxProbes bounds the files and folders that are decided on for one call.
	maxProbes = 20_000
	// maxEntries bounds those that are looked at to find links, for tools that are not PathAware: this takes a tenth of a
	// decision.
	maxEntries = 200_000
)

// decidePaths makes the decision on a call that names files and folders as strict as the decisions on what the paths
// lead to: roots, targets of links, and the content of folders. If rules deny or ask about a part of a folder, a tool
// that is PathAware leaves that part out; for other tools the strictest part decides.
func (h *snapshot) decidePaths(c *Call, q *policy.Query, d policy.Decision) policy.Decision {
	c.leaveOut, c.roots = nil, nil
	p := &pathDecider{snapshot: h, q: q, own: d.Effect, left: maxProbes, entries: maxEntries,
		aware: c.Definition.declared.PathAware && !h.options.Plugins[c.Definition.Plugin].IgnoreHints}
	rules, able := h.options.Policy.(interface {
		LooksAtPaths(q *policy.Query) bool
	})
	p.rules = able && rules.LooksAtPaths(q)
	if !p.rules && (!p.aware || len(h.options.Roots) == 0) || !filepath.IsAbs(c.Workdir) {
		return d
	}
	p.workdir, _ = resolveLinks(c.Workdir)
	p.linked = map[string]policy.Decision{}
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
	rules     bool        // there are rules about paths
	workdir   string      // without links
	left      int         // of maxProbes
	entries   int         // of maxEntries
	folders   [][2]string // of rootFolders
	roots     []string
	leaveOut  []string
	strictest policy.Decision            // of the parts that are left out
	tooManyIn string                     // a folder with more parts than can be decided on
	linked    map[string]policy.Decision // on the folders that links in folders lead to
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
	opened := filepath.FromSlash(name)
	if !filepath.IsAbs(opened) {
		opened = p.q.Workdir + string(filepath.Separator) + opened
	}
	full := filepath.Clean(opened)
	inRoot := p.aware && !isIn(full, p.q.Workdir) && !isIn(full, p.workdir) // other tools do not use roots
	if !p.rules && !inRoot {
		return d
	}
	// Our tools clean a path before they follow its links; the system follows a link before the ".." behind it.
	target, elsewhere := resolveLinks(full)
	places := []string{full, target}
	if opened != full {
		other, too := resolveLinks(opened)
		elsewhere = elsewhere || too
		if other != target {
			places = append(places, other)
		}
	}
	for i, at := range places {
		if inRoot && !slices.Contains(places[:i], at) {
			d = p.decideRoot(d, at)
		}
	}
	if !p.rules {
		return d
	}
	if elsewhere {
		d = p.tighten(d, leadsElsewhere, name)
	}
	seen := shownIn(full, p.q.Workdir) // by the rules, in the arguments
	for i, place := range places {
		at := p.relative(place)
		if at != seen && !slices.ContainsFunc(places[:i], func(other string) bool { return p.relative(other) == at }) {
			d = p.tighten(d, p.decide(policy.Path{Name: at}), name+" leads to "+at)
		}
	}
	for _, folder := range places[1:] {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() {
			d = p.decideFolder(d, folder)
		}
	}
	return d
}

// decideFolder makes a decision as strict as those on what is in a folder.
func (p *pathDecider) decideFolder(d policy.Decision, full string) policy.Decision {
	at, before := p.relative(full), len(p.leaveOut)
	all, sure := p.decideBelow(at)
	switch {
	case !sure:
		p.scan(full)
	case all.Effect.Stricter(p.own):
		return p.tighten(d, all, "all that is in "+at)
	case !p.aware:
		p.findLinks(full)
	}
	if len(p.leaveOut) > before && !p.aware {
		d = p.tighten(d, p.strictest, at+" holds "+firstNames(p.leaveOut[before:]))
	}
	if p.tooManyIn != "" {
		// An answer for later calls, and --approve always, must not stand for what was not looked at.
		return d.Tighten(policy.Step{Layer: "paths", Rule: "too_many", Matched: true, Effect: policy.AlwaysAsk,
			Reason: fmt.Sprintf("there are rules about paths, and too many files and folders in %s to look at; name a smaller "+
				"folder", p.tooManyIn)})
	}
	return d
}

// scan finds the parts of a folder to leave out. It decides only on what is in folders for whose parts the rules decide
// differently.
func (p *pathDecider) scan(full string) {
	for _, e := range p.list(full, &p.left) {
		child := filepath.Join(full, e.Name())
		at := p.relative(child)
		switch {
		case p.leavesOut(at, p.decide(policy.Path{Name: at})):
		case e.Type()&os.ModeSymlink != 0:
			p.leavesOut(at, p.decideTarget(child))
		case e.IsDir():
			switch all, sure := p.decideBelow(at); {
			case !sure:
				p.scan(child)
			case !p.leavesOut(at, all) && !p.aware:
				p.findLinks(child)
			}
		}
		if p.tooManyIn != "" {
			return
		}
	}
}

// findLinks finds the links in a folder to leave out, on whose own parts the rules decide as on the call. Tools that
// are PathAware follow no links.
func (p *pathDecider) findLinks(full string) {
	for _, e := range p.list(full, &p.entries) {
		child := filepath.Join(full, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			p.leavesOut(p.relative(child), p.decideTarget(child))
		case e.IsDir():
			p.findLinks(child)
		}
		if p.tooManyIn != "" {
			return
		}
	}
}

// list reads a folder, and takes its entries from what is left of a limit.
func (p *pathDecider) list(full string, left *int) []os.DirEntry {
	entries, err := os.ReadDir(full)
	if err != nil {
		return nil // the tool cannot read it either
	}
	if *left -= len(entries); *left < 0 || len(p.leaveOut) >= wire.MaxPaths {
		p.tooManyIn = p.relative(full)
		return nil
	}
	return entries
}

// leadsElsewhere is the decision on a link that leads a plugin elsewhere than the host. An answer for later calls must
// not stand for it.
var leadsElsewhere = policy.Decision{Effect: policy.AlwaysAsk, Layer: "paths", Rule: "elsewhere",
	Reason: "there are rules about paths, and it goes through /proc, where links lead each process elsewhere"}

// decideTarget is the strictest decision on what a link in a folder leads to, and on what is in it. Tools that are
// PathAware follow no links: for them it looks into no other folder.
func (p *pathDecider) decideTarget(link string) policy.Decision {
	target, elsewhere := resolveLinks(link)
	if elsewhere {
		return leadsElsewhere
	}
	if d, known := p.linked[target]; known {
		return d
	}
	if p.left--; p.left < 0 {
		p.tooManyIn = p.relative(filepath.Dir(target))
		return policy.Decision{}
	}
	at := p.relative(target)
	d := p.decide(policy.Path{Name: at})
	p.linked[target] = d // for links in it that lead back
	if info, err := os.Lstat(target); err != nil || !info.IsDir() {
		return d
	}
	below, sure := p.decideBelow(at)
	if !sure && !p.aware {
		parts := *p
		parts.leaveOut, parts.strictest = nil, policy.Decision{}
		parts.scan(target)
		p.left, p.entries, p.tooManyIn = parts.left, parts.entries, parts.tooManyIn
		below = parts.strictest
	}
	if (sure || !p.aware) && below.Effect.Stricter(d.Effect) {
		d = below
	}
	p.linked[target] = d
	return d
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
	for i, r := range p.options.Roots {
		folder := p.rootFolders()[i][0]
		if !isIn(full, folder) && !isIn(full, p.rootFolders()[i][1]) {
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
	for i, r := range p.options.Roots {
		if !r.effect().Stricter(effect) {
			continue
		}
		for _, folder := range p.rootFolders()[i] {
			name := filepath.ToSlash(folder)
			if folder != full && isIn(folder, full) && !slices.Contains(p.leaveOut, name) {
				p.leaveOut = append(p.leaveOut, name)
			}
		}
	}
	return d.Tighten(policy.Step{Layer: "roots", Rule: inmost, Effect: effect, Matched: true, Reason: full +
		" lies outside of the work folder"})
}

// rootFolders are the folders of each root: as it is written, and without links.
func (p *pathDecider) rootFolders() [][2]string {
	if p.folders == nil {
		for _, r := range p.options.Roots {
			folder := filepath.Clean(r.Path)
			target, _ := resolveLinks(folder)
			p.folders = append(p.folders, [2]string{folder, target})
		}
	}
	return p.folders
}

// relative is a path in the form that rules match, also one in the work folder's own target.
func (p *pathDecider) relative(full string) string {
	if isIn(full, p.q.Workdir) {
		return shownIn(full, p.q.Workdir)
	}
	return shownIn(full, p.workdir)
}

// shownIn is a path relative to a folder that it is in, or else as it is, with slashes.
func shownIn(full, folder string) string {
	if isIn(full, folder) {
		full, _ = filepath.Rel(folder, full)
	}
	return filepath.ToSlash(full)
}

const maxLinks = 40 // how many links resolveLinks follows, as the kernel does

// resolveLinks returns a path without links, as the system opens it, and in its letters: a ".." is that of a link's
// target. What does not exist is kept as it is, and a link that leads nowhere leads to what a program would make there.
// It is led elsewhere by a link in /proc, such as /proc/self/cwd, which differs in each process.
func resolveLinks(full string) (at string, elsewhere bool) {
	const sep = string(filepath.Separator)
	at = filepath.VolumeName(full) + sep
	todo := strings.Split(full[len(at)-1:], sep)
	for left := maxLinks; len(todo) > 0; {
		next := filepath.Join(at, todo[0])
		link, err := os.Readlink(next)
		if todo = todo[1:]; err != nil || left == 0 || next == at {
			at = next
			continue
		}
		left--
		elsewhere = elsewhere || isIn(at, "/proc")
		if filepath.IsAbs(link) {
			at = filepath.VolumeName(link) + sep
			link = link[len(at)-1:]
		}
		todo = slices.Concat(strings.Split(link, sep), todo)
	}
	return fsutil.Resolved(at), elsewhere
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
