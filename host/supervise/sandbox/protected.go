package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
)

// What others run or obey without being asked must not be a plugin's to change, though it lies in a folder that the plugin
// may write to. Whoever wants a plugin to change it names it with write.

// heldNames are folders at the top of a writable one that are kept from the plugin also while they are not there.
var heldNames = []string{".git", ".vscode", ".idea"}

// linkedName is the one of them that others must not see as a folder: git, go and their like take it for a repository. The others
// would be seen by git if they were links.
const linkedName = ".git"

// guardedNames are kept from it if they are there: settings of editors and agents that name commands, and usual places of
// git hooks.
var guardedNames = []string{".husky", ".githooks", ".devcontainer", ".zed", ".fleet", ".mcp.json", ".claude", ".codex", ".continue", ".cursor", ".gemini"}

// homeNames are what shells, logins and git run or read in the user's home folder.
var homeNames = []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout", ".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout",
	".xprofile", ".xsessionrc", ".pam_environment", ".ssh", ".gitconfig", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".local/bin", "bin"}

// A shield is what a plugin must not change in its folders.
type shield struct {
	fixed, readOnly []string // see proctree.Cmd
	held            []string // of readOnly, those to hold as folders
	links           []string // of readOnly, those to hold as links
	made            []string // of readOnly, folders of ours that are to be made first
	hidden          []string // see proctree.Cmd
	missing         []string // what is not kept from it, and what follows
	open            bool     // of that, some takes it out of its level
}

// shield says what is to be kept from the plugin, by mounts if they can be had. Nothing is changed.
func (s Plan) shield() (out shield) {
	roots, mounts := s.roots(), s.Means.Protects()
	named, home := allResolved(s.Box.Write), homeFolder() // named is what the user lets it write to in so many words
	out.judgeOurs(roots, named, s.Own(), mounts)
	if !mounts {
		out.judgeSight(s.Box.Asked())
	}
	out.judgeNames(roots, named, home, mounts)
	out.judgeHome(roots, home)
	out.simplify(roots)
	return out
}

// roots are the user's folders that the plugin may write to, without links.
func (s Plan) roots() (roots []string) {
	for _, folder := range s.writable() {
		folder = resolved(folder)
		if info, err := os.Stat(folder); err == nil && info.IsDir() && folder != SharedMemory { // which is the plugin's own
			roots = append(roots, folder)
		}
	}
	return roots
}

// judgeOurs looks at what is toolhost's own. What cannot be kept from the plugin lets it have its own programs run in the
// place of others.
func (h *shield) judgeOurs(roots, named []string, ours []Sighted, mounts bool) {
	var open, links []string
	for _, p := range ours {
		for _, link := range p.links {
			if root := rootOf(link, roots); root != "" && link != root {
				links = append(links, link)
			}
		}
		path, root := p.Path, rootOf(p.Path, roots)
		if p.Kind == Unseen && !p.silent && !p.dangling && path != "" && !allows(named, path) {
			h.hidden = append(h.hidden, path)
		}
		switch {
		case path == "" || root == "" || p.dangling:
		case p.Kind == Private || p.silent || !mounts || path == root || allows(named, path):
			open = append(open, path)
		default:
			h.keep(path, p.Kind)
		}
	}
	for _, link := range links {
		if !slices.ContainsFunc(h.readOnly, func(above string) bool { return within(link, above) }) {
			open = append(open, "the symbolic link "+link)
		}
	}
	if slices.Sort(open); len(open) > 0 {
		h.open, open = true, slices.Compact(open)
		h.missing = append(h.missing, fmt.Sprintf("it can write to %s, and so to what toolhost reads or runs in %s; name less with write, or work in a folder below", strings.Join(roots, ", "), strings.Join(open, ", ")))
	}
}

// judgeSight gives up what cannot be hidden. Isolated plugins cannot open it anyhow.
func (h *shield) judgeSight(asked Level) {
	if len(h.hidden) > 0 && asked != Isolated {
		h.missing = append(h.missing, fmt.Sprintf("it can read %s, and lock it, which holds up calls that are to be recorded: that takes process namespaces, and Linux 5.12", strings.Join(h.hidden, ", ")))
	}
	h.hidden = nil
}

// keep has one of ours kept from the plugin.
func (h *shield) keep(path string, kind Kind) {
	h.readOnly = append(h.readOnly, path)
	switch kind {
	case Made:
		h.made = append(h.made, path)
	case Hollow:
		h.held = append(h.held, path)
	case Reserved:
		if missing(path) {
			h.links = append(h.links, path)
		}
	case Found, Private, Unseen:
	}
}

// missing says whether nothing is there but a placeholder.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && placeholder.IsLink(path)
}

// allows says whether the user lets the plugin change the path, or something in it.
func allows(named []string, path string) bool {
	return slices.ContainsFunc(named, func(n string) bool { return within(n, path) })
}

// rootOf gives the uppermost folder that a path is in, or "".
func rootOf(path string, roots []string) (root string) {
	for _, r := range roots {
		if within(path, r) && (root == "" || within(root, r)) {
			root = r
		}
	}
	return root
}

// judgeNames looks at what other programs run.
func (h *shield) judgeNames(roots, named []string, home string, mounts bool) {
	var open []string
	for _, path := range candidates(roots, home) {
		info, err := os.Lstat(path)
		held := slices.Contains(heldNames, filepath.Base(path)) && slices.Contains(roots, filepath.Dir(path))
		switch {
		case slices.Contains(named, path):
		case allows(named, path):
			h.missing = append(h.missing, fmt.Sprintf("it can change all of %s, since write names something in it", path))
		case err != nil && !(held && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission))):
		case !mounts:
			open = append(open, path)
		case missing(path) && filepath.Base(path) == linkedName:
			h.readOnly, h.links = append(h.readOnly, path), append(h.links, path)
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			h.missing = append(h.missing, path+" is a symbolic link, which it can replace")
		default:
			h.readOnly = append(h.readOnly, path)
			if held {
				h.held = append(h.held, path)
			}
		}
	}
	if len(open) > 0 {
		h.missing = append(h.missing, fmt.Sprintf("it can change %s, which other programs run or obey: that takes process namespaces, and Linux 5.12", strings.Join(open, ", ")))
	}
}

// candidates are all paths that have one of the names.
func candidates(roots []string, home string) (paths []string) {
	for _, r := range roots {
		if slices.ContainsFunc(strings.Split(r, "/"), func(part string) bool { return slices.Contains(heldNames, part) }) {
			continue // nobody looks for them in there
		}
		for _, name := range slices.Concat(heldNames, guardedNames) {
			paths = append(paths, filepath.Join(r, name))
		}
	}
	if home != "" {
		for _, name := range homeNames {
			if path := filepath.Join(home, name); rootOf(path, roots) != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// homeFolder is the user's, without links, "" when there is none.
func homeFolder() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return resolved(home)
}

// judgeHome: too much in a home folder is run by others for a list of it.
func (h *shield) judgeHome(roots []string, home string) {
	if root := rootOf(home, roots); home != "" && root != "" {
		h.open = true
		h.missing = append(h.missing, fmt.Sprintf("it can write to %s, and so to your home folder, much of which is run by others; name less with write, or work in a folder below", root))
	}
}

// simplify leaves out what lies in what is read-only as a whole, and fixes the folders on the way to the rest.
func (h *shield) simplify(roots []string) {
	slices.Sort(h.readOnly)
	all := slices.Compact(h.readOnly)
	h.readOnly = nil
	for _, path := range all {
		if slices.ContainsFunc(h.readOnly, func(above string) bool { return within(path, above) }) {
			continue
		}
		h.readOnly = append(h.readOnly, path)
		root := rootOf(path, roots)
		for dir := filepath.Dir(path); dir != root && within(dir, root); dir = filepath.Dir(dir) {
			h.fixed = append(h.fixed, dir)
		}
	}
	slices.Sort(h.fixed) // what is above comes first
	h.fixed = slices.Compact(h.fixed)
}

// protect puts the shield among what is told of the plugin's sandbox. It fails when that is less than is required.
func (s Plan) protect(c *Confinement, h shield) error {
	c.ReadOnly, c.Hidden = slices.Clone(h.readOnly), slices.Clone(h.hidden)
	c.Missing = append(c.Missing, h.missing...)
	if h.open && c.Got.AtLeast(Confined) {
		c.Got = Supervised
	}
	return c.Meets(s.Box.Require)
}

// raise makes what must be there to be kept from the plugin, and adds to what is missing what could not be made.
func (h *shield) raise(notes string, lacks *[]string) (held []*placeholder.Placeholder) {
	for _, path := range h.made {
		_ = os.MkdirAll(path, 0o700)
	}
	hold := func(path string, how func(path, notes string) (*placeholder.Placeholder, error)) bool {
		p, err := how(path, notes)
		switch {
		case p != nil:
			held = append(held, p)
		case err != nil && (absent(path) || placeholder.IsLink(path)) && !closed(path, err):
			*lacks = append(*lacks, fmt.Sprintf("it can make %s, which other programs run or obey: nothing can stand in for it (%v)", path, reason(err)))
		}
		return p != nil
	}
	for _, path := range h.held {
		hold(path, placeholder.Hold)
	}
	links := h.links
	h.links = nil
	for _, path := range links {
		if !slices.Contains(h.readOnly, path) { // it is in a folder that is
			continue
		}
		if path = uppermost(path); hold(path, placeholder.HoldLink) {
			h.links = append(h.links, path)
		}
	}
	h.readOnly, h.fixed = slices.DeleteFunc(h.readOnly, placeholder.IsLink), slices.DeleteFunc(h.fixed, placeholder.IsLink)
	for _, path := range h.hidden {
		makeFile(path)
	}
	h.fixed, h.readOnly, h.hidden = slices.DeleteFunc(h.fixed, absent), slices.DeleteFunc(h.readOnly, absent), slices.DeleteFunc(h.hidden, absent)
	return held
}

// uppermost is the path, or of the folders above that are not there the uppermost.
func uppermost(path string) string {
	for above := filepath.Dir(path); above != path && missing(above); above = filepath.Dir(above) {
		path = above
	}
	return path
}

// closed says whether the plugin cannot make the path either, for the reason that we could not: a folder that may not be
// written to is one of another user, since its own user can change that.
func closed(path string, err error) bool {
	if !errors.Is(err, syscall.EACCES) {
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	}
	var above syscall.Stat_t
	return syscall.Stat(filepath.Dir(path), &above) == nil && int(above.Uid) != os.Geteuid()
}

// makeFile makes an empty file that only the user can read. If it cannot be made, nothing has to be hidden.
func makeFile(path string) {
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// IsPlaceholder is true for the symbolic link that stands in for a reserved file while plugins run: the file does not exist.
func IsPlaceholder(path string) bool { return placeholder.IsLink(path) }
