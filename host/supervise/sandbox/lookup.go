package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// PathLookup resolves paths in the background, since a file system may hang. Concurrent requests for one path share a
// lookup. The zero value is ready.
type PathLookup struct {
	mu      sync.Mutex
	pending map[string]*lookup
	begun   int // lookups, for tests
}

// A lookup has the target of a path, once done is closed.
type lookup struct {
	done     chan struct{}
	path     string   // without links
	links    []string // symbolic links on the way
	exists   bool
	dangling bool // the path is a dangling link
}

func (l *PathLookup) start(path string) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.pending[path]; at != nil {
		return at
	}
	if l.pending == nil {
		l.pending = map[string]*lookup{}
	}
	at := &lookup{done: make(chan struct{})}
	l.pending[path] = at
	l.begun++
	go func() {
		defer close(at.done)
		at.run(path)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.pending, path)
	}()
	return at
}

// run looks up a name without slashes in PATH.
func (l *lookup) run(path string) {
	if path == "" {
		return
	}
	if !fsutil.HasFolder(path) {
		found, err := exec.LookPath(path)
		if err != nil {
			return
		}
		path = found
	}
	if placeholder.IsLink(path) { // nothing exists there
		l.path, l.links = linksOn(filepath.Dir(path))
		l.path = filepath.Join(l.path, filepath.Base(path))
		return
	}
	l.path, l.links = linksOn(path)
	info, err := os.Lstat(l.path)
	l.exists, l.dangling = err == nil, err == nil && info.Mode()&os.ModeSymlink != 0
}

// lookupTime bounds the lookup of paths, so that a file system that hangs does not prevent the start of a plugin.
const lookupTime = time.Second

// A hostPath is one of Paths.
type hostPath struct {
	path string // without links, or ""
	kind pathKind

	links    []string // symbolic links on the way
	dangling bool     // it ends in a dangling link
	unknown  bool     // it could not be looked up in time
}

type pathKind int

const (
	existing       pathKind = iota // may exist
	reserved                       // a file that may exist, and that the plugin must not create
	reservedFolder                 // a folder that may exist, and that the plugin must not create
	store                          // a folder that toolhost makes
	private                        // contains sockets and temporary files of plugins, which must be able to write there
	masked                         // a file that toolhost writes, and plugins must not even read; it is created
)

// resolve looks up each of the paths once, and leaves out those that need not exist and do not. Plugins often share a
// program.
func (l *PathLookup) resolve(p Paths) (out []hostPath) {
	var named []hostPath
	type key struct {
		path string
		kind pathKind
	}
	seen := map[key]bool{}
	add := func(kind pathKind, paths []string) {
		for _, path := range paths {
			if k := (key{path, kind}); !seen[k] {
				seen[k] = true
				named = append(named, hostPath{path: path, kind: kind})
			}
		}
	}
	add(private, p.Private)
	add(store, p.Stores)
	add(reserved, p.Reserved)
	add(masked, p.Masked)
	for _, path := range p.ReadOnly {
		kind := existing
		if strings.HasSuffix(path, "/") {
			kind = reservedFolder
		}
		// It is not cleaned, as a ".." may be behind a link.
		add(kind, []string{cmp.Or(strings.TrimRight(path, "/"), "/")})
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	lookups := make([]*lookup, len(named))
	for i, n := range named {
		lookups[i] = l.start(n.path)
	}
	for i, n := range named {
		at := lookups[i]
		select {
		case <-at.done:
		case <-ctx.Done():
		}
		select { // both may be ready
		case <-at.done:
			if at.exists || n.kind != existing {
				out = append(out, hostPath{path: at.path, kind: n.kind, links: at.links, dangling: at.dangling})
			} else if len(at.links) > 0 {
				out = append(out, hostPath{path: n.path, kind: n.kind, links: at.links, dangling: true})
			}
		default:
			n.unknown = true
			out = append(out, n)
		}
	}
	return out
}

// A plugin can replace anything in a folder that it may write to, such as by a link to anywhere. So a path that leads
// through such a folder never becomes a rule of its own; the folder's rule covers it.

// withoutNested drops the paths that lead through one of the folders.
func withoutNested(paths, folders []string) []string {
	ends := allResolved(folders)
	return slices.DeleteFunc(paths, func(path string) bool { return through(path, folders, ends) != "" })
}

// through returns the first of the folders that a path leads through, "" for none. It looks from the top, so that it
// never follows a path that the plugin could have replaced. The ends are the folders without links.
func through(path string, folders, ends []string) string {
	at := ""
	for i, c := range path {
		if c != filepath.Separator {
			continue
		}
		at = resolvedBelow(at, path[:max(i, 1)])
		for n, f := range folders {
			if f != path && fsutil.Within(at, ends[n]) {
				return f
			}
		}
	}
	return ""
}

// LinkError is the error for a path that leads into one of the folders, whose links are not the user's alone, and out
// again; it begins with the prefix.
func LinkError(prefix, path string, folders []string) error {
	return linkError(prefix, path, fsutil.Resolved(path), folders)
}

func linkError(prefix, path, to string, folders []string) error {
	for _, f := range folders {
		if end := fsutil.Resolved(f); !fsutil.Within(to, end) && through(path, []string{f}, []string{end}) != "" {
			return fmt.Errorf("%s %s, which leads to %s by a link in %s, where others can change links; name %s itself",
				prefix, path, to, f, to)
		}
	}
	return nil
}

// resolvedBelow is fsutil.Resolved, for a path whose folder is resolved to parent, or "": it then looks at its last
// element alone, which makes a look at all the parents of a path linear.
func resolvedBelow(parent, path string) string {
	if parent == "" || filepath.Clean(path) != path { // the folder of a/link/.. is not a
		return fsutil.Resolved(path)
	}
	at := filepath.Join(parent, filepath.Base(path))
	if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return fsutil.Resolved(path)
	}
	return at
}

func allResolved(paths []string) (ends []string) {
	for _, path := range paths {
		ends = append(ends, fsutil.Resolved(path))
	}
	return ends
}

// linksOn returns the path without links, and the symbolic links on the way.
func linksOn(path string) (to string, links []string) {
	link, rest := firstLink(path)
	if link == "" {
		return filepath.Clean(path), nil
	}
	to = fsutil.Resolved(path)
	const most = 40 // the same limit as the kernel's
	for n := 0; n < most && link != ""; n++ {
		links = append(links, link)
		target, err := os.Readlink(link)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		link, rest = firstLink(filepath.Join(target, rest))
	}
	return to, links
}

// firstLink splits a path after the first symbolic link in it; without one the link is "".
func firstLink(path string) (link, rest string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != filepath.Separator {
			continue
		}
		if info, err := os.Lstat(path[:i]); err != nil {
			return "", ""
		} else if info.Mode()&os.ModeSymlink != 0 {
			return path[:i], path[i:]
		}
	}
	return "", ""
}
