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
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Protected paths: files that toolhost reads or runs, and files that other programs run by themselves (auto-executed
// paths), must not be changed by a plugin, even in a folder that it may write to. From Confined on such paths are
// read-only, reserved (they cannot be created either) or masked (they appear empty to the plugin). Paths named in
// Write stay writable.

// Paths are toolhost's own files and folders.
type Paths struct {
	// ReadOnly cannot be changed where they exist. One that ends in a slash is a folder that cannot be created either.
	ReadOnly []string
	// Reserved are files that cannot be created or changed, such as programs of plugins; a name without slashes is one
	// in PATH.
	Reserved []string
	// Masked are files that appear empty to plugins, such as the record of calls. One that does not exist is created.
	Masked []string
	// Stores are folders that cannot be changed, and are created if necessary.
	Stores []string
	// Private are the folders in which plugins have sockets and temporary files: a plugin that can write to one of them
	// as a whole has no level from Confined on.
	Private []string
}

// reservedNames are names at the top of a writable folder that are protected also while they do not exist.
var reservedNames = []string{".git", ".vscode", ".idea"}

// linkedName is the one of them whose placeholder is a link: git, go and the like take a folder for a repository.
// Links with the other names would show up in git.
const linkedName = ".git"

// protectedNames are protected where they exist: settings of editors and agents that contain commands, and usual
// places of git hooks.
var protectedNames = []string{
	".husky", ".githooks", ".devcontainer", ".zed", ".fleet", ".mcp.json",
	".claude", ".codex", ".continue", ".cursor", ".gemini",
}

// homeNames are the files that shells, logins and git run or read in the user's home folder.
var homeNames = []string{
	".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout",
	".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", ".xprofile", ".xsessionrc", ".pam_environment",
	".ssh", ".gitconfig", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d",
	".local/bin", "bin",
}

// A protection is the protected paths of one sandbox.
type protection struct {
	pinned, readOnly, masked []string // see proctree.Sandbox

	folders []string // the part of readOnly whose placeholder is a folder
	links   []string // the part of readOnly whose placeholder is a link
	stores  []string // the part of readOnly that toolhost creates first
	fixed   []string // links on the way to the paths, which lead there now
	missing []string // what is not protected, with the consequences
	broken  bool     // some of that lowers the level
}

// protection determines what is protected in the plugin's folders. It changes nothing.
func (r request) protection() (p protection) {
	var roots []string // the user's folders that the plugin may write to, without links
	for _, folder := range r.writable() {
		folder = fsutil.Resolved(folder)
		if info, err := os.Stat(folder); err == nil && info.IsDir() && folder != SharedMemory { // it is the plugin's own
			roots = append(roots, folder)
		}
	}
	named := allResolved(r.spec.Write) // the user allows these explicitly
	canMount := r.Capabilities.ReadOnlyMounts()
	if r.Paths != nil {
		lookup := r.Lookup
		if lookup == nil {
			lookup = new(PathLookup)
		}
		p.addHostPaths(roots, named, lookup.resolve(r.Paths()), canMount)
	}
	if !canMount {
		if len(p.masked) > 0 && r.spec.Requested() != Isolated { // it cannot open them anyway
			p.missing = append(p.missing, fmt.Sprintf("it can read %s, and lock it, which delays calls that are recorded: "+
				"preventing that takes process namespaces, and Linux 5.12", strings.Join(p.masked, ", ")))
		}
		p.masked = nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	} else {
		home = fsutil.Resolved(home)
	}
	p.addNames(roots, named, home, canMount)
	if root := rootOf(home, roots); home != "" && root != "" { // it has too many auto-executed files to list
		p.broken = true
		p.missing = append(p.missing, fmt.Sprintf("it can write to %s, and so to your home folder, much of which is run by "+
			"others; name less with write, or work in a folder below", root))
	}
	p.simplify(roots)
	return p
}

// addHostPaths adds toolhost's own paths. A plugin that can change one could replace programs of others by its own.
func (p *protection) addHostPaths(roots, named []string, paths []hostPath, canMount bool) {
	var open, loose, fixed []string
	for _, h := range paths {
		for _, link := range h.links {
			switch root := rootOf(link, roots); {
			case root == "" || link == root:
			case !canMount || h.dangling || allows(named, link): // what a dangling one leads to could be made
				loose = append(loose, link)
			default:
				fixed = append(fixed, link)
			}
		}
		root := rootOf(h.path, roots)
		if h.kind == masked && !h.unknown && !h.dangling && h.path != "" && !allows(named, h.path) && !isFolder(h.path) {
			p.masked = append(p.masked, h.path)
		}
		switch {
		case h.path == "" || root == "" || h.dangling:
		case h.kind == private || h.unknown || !canMount || h.path == root || allows(named, h.path):
			open = append(open, h.path)
		default:
			p.readOnly = append(p.readOnly, h.path)
			switch {
			case h.kind == store:
				p.stores = append(p.stores, h.path)
			case h.kind == reservedFolder:
				p.folders = append(p.folders, h.path)
			case h.kind == reserved && isVacant(h.path):
				p.links = append(p.links, h.path)
			}
		}
	}
	for _, link := range loose {
		if !p.covers(link) {
			open = append(open, "the symbolic link "+link)
		}
	}
	p.fixed = slices.DeleteFunc(fixed, p.covers)
	if slices.Sort(open); len(open) > 0 {
		p.broken, open = true, slices.Compact(open)
		p.missing = append(p.missing, fmt.Sprintf("it can write to %s, and so to what toolhost reads or runs in %s; "+
			"name less with write, or work in a folder below", strings.Join(roots, ", "), strings.Join(open, ", ")))
	}
}

// covers reports whether a path is in a folder that is read-only as a whole.
func (p *protection) covers(path string) bool {
	return slices.ContainsFunc(p.readOnly, func(above string) bool { return fsutil.Within(path, above) })
}

// isVacant reports whether nothing but a placeholder exists there.
func isVacant(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && placeholder.IsLink(path)
}

// allows reports whether the user lets the plugin change the path, or something in it.
func allows(named []string, path string) bool {
	return slices.ContainsFunc(named, func(n string) bool { return fsutil.Within(n, path) })
}

// rootOf returns the uppermost folder that a path is in, or "".
func rootOf(path string, roots []string) (root string) {
	for _, r := range roots {
		if fsutil.Within(path, r) && (root == "" || fsutil.Within(root, r)) {
			root = r
		}
	}
	return root
}

// addNames adds auto-executed paths.
func (p *protection) addNames(roots, named []string, home string, canMount bool) {
	var open []string
	for _, path := range autoExecuted(roots, home) {
		info, err := os.Lstat(path)
		isReserved := slices.Contains(reservedNames, filepath.Base(path)) && slices.Contains(roots, filepath.Dir(path))
		vacant := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		switch {
		case slices.Contains(named, path):
		case allows(named, path):
			p.missing = append(p.missing, fmt.Sprintf("it can change all of %s, since write names something in it", path))
		case err != nil && !(isReserved && vacant):
		case !canMount:
			open = append(open, path)
		case filepath.Base(path) == linkedName && isVacant(path):
			p.readOnly, p.links = append(p.readOnly, path), append(p.links, path)
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			p.missing = append(p.missing, path+" is a symbolic link, which it can replace")
		default:
			p.readOnly = append(p.readOnly, path)
			if isReserved {
				p.folders = append(p.folders, path)
			}
		}
	}
	if len(open) > 0 {
		p.missing = append(p.missing, fmt.Sprintf("it can change %s, which other programs run by themselves: "+
			"preventing that takes process namespaces, and Linux 5.12", strings.Join(open, ", ")))
	}
}

// autoExecuted are all paths with one of the names.
func autoExecuted(roots []string, home string) (paths []string) {
	for _, r := range roots {
		isReserved := func(part string) bool { return slices.Contains(reservedNames, part) }
		if slices.ContainsFunc(strings.Split(r, "/"), isReserved) {
			continue // they have no effect there
		}
		for _, name := range slices.Concat(reservedNames, protectedNames) {
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

// simplify leaves out paths in folders that are read-only as a whole, and pins the folders on the way to the rest.
func (p *protection) simplify(roots []string) {
	slices.Sort(p.readOnly)
	all := slices.Compact(p.readOnly)
	p.readOnly = nil
	for _, path := range all {
		if p.covers(path) {
			continue
		}
		p.readOnly = append(p.readOnly, path)
	}
	slices.Sort(p.fixed)
	p.fixed = slices.DeleteFunc(slices.Compact(p.fixed), p.covers)
	for _, path := range slices.Concat(p.readOnly, p.fixed) {
		root := rootOf(path, roots)
		for dir := filepath.Dir(path); dir != root && fsutil.Within(dir, root); dir = filepath.Dir(dir) {
			p.pinned = append(p.pinned, dir)
		}
	}
	slices.Sort(p.pinned) // parents first
	p.pinned = slices.Compact(p.pinned)
}

// hold creates what must exist to be protected, and adds what it could not create to missing.
func (p *protection) hold(notes string, lacks *[]string) (placeholders []*placeholder.Placeholder) {
	for _, path := range p.stores {
		_ = os.MkdirAll(path, 0o700)
	}
	hold := func(path string, how func(path, notes string) (*placeholder.Placeholder, error)) bool {
		h, err := how(path, notes)
		switch {
		case h != nil:
			placeholders = append(placeholders, h)
		case err != nil && (absent(path) || placeholder.IsLink(path)) && !isClosed(path, err):
			*lacks = append(*lacks, fmt.Sprintf("it can make %s, which other programs run by themselves: "+
				"no placeholder can be made (%v)", path, reason(err)))
		}
		return h != nil
	}
	for _, path := range p.folders {
		hold(path, placeholder.Hold)
	}
	links := p.links
	p.links = nil
	for _, path := range links {
		if !slices.Contains(p.readOnly, path) { // a read-only folder covers it
			continue
		}
		for above := filepath.Dir(path); above != path && isVacant(above); above = filepath.Dir(above) {
			path = above // the uppermost that does not exist
		}
		if hold(path, placeholder.HoldLink) {
			p.links = append(p.links, path)
		}
	}
	for _, path := range p.masked {
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_ = f.Close() // if it cannot be created, there is nothing to mask
		}
	}
	gone := func(path string) bool { return absent(path) || placeholder.IsLink(path) }
	p.readOnly, p.pinned = slices.DeleteFunc(p.readOnly, gone), slices.DeleteFunc(p.pinned, gone)
	p.masked, p.fixed = slices.DeleteFunc(p.masked, absent), slices.DeleteFunc(p.fixed, absent)
	return placeholders
}

// isClosed reports whether the plugin cannot create the path either, for the reason that we could not: a folder that
// is not writable counts only if it belongs to another user, since its own user can change that.
func isClosed(path string, err error) bool {
	if !errors.Is(err, syscall.EACCES) {
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	}
	return ofOtherUser(filepath.Dir(path))
}

// isFolder is true for what stands in place of a file of toolhost's and cannot be masked like one: no host has written
// to it, so there is nothing to hide.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// IsPlaceholder is true for the symbolic link that stands in for a reserved file while plugins run: the file does not
// exist.
func IsPlaceholder(path string) bool { return placeholder.IsLink(path) }
