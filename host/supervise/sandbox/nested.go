package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// What lies in a folder that the plugin may write to is the plugin's to replace, by a link to anywhere. So a path that leads
// through such a folder never becomes a rule of its own; the folder's rule covers it.

// withoutNested drops the paths that lead through one of the folders.
func withoutNested(paths, folders []string) []string {
	ends := allResolved(folders)
	return slices.DeleteFunc(paths, func(path string) bool { return through(path, folders, ends) != "" })
}

// through gives the first of the folders that a path leads through, "" for none. It looks from the top, and so at nothing
// that could have been replaced. The ends are the folders without links.
func through(path string, folders, ends []string) string {
	for i, c := range path {
		if c != filepath.Separator {
			continue
		}
		at := resolved(path[:max(i, 1)])
		for n, f := range folders {
			if f != path && within(at, ends[n]) {
				return f
			}
		}
	}
	return ""
}

// nested says what is wrong with a path that leads into a folder that the plugin may write to, and out again; the words
// before it are said of the path.
func nested(words, path string, folders []string) error {
	f := through(path, folders, allResolved(folders))
	if to := resolved(path); f != "" && !within(to, resolved(f)) {
		return fmt.Errorf("%s %s, which leads to %s by a link in %s, where the plugin can change links; name %s itself", words, path, to, f, to)
	}
	return nil
}

// resolved is the path without links, as far as it is there.
func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(to, path)
	}
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

func allResolved(paths []string) (ends []string) {
	for _, path := range paths {
		ends = append(ends, resolved(path))
	}
	return ends
}

// within says whether a path is the folder or in it.
func within(path, folder string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}

// onTheWay gives the path without links, and the symbolic links on the way there.
func onTheWay(path string) (to string, links []string) {
	link, rest := firstLink(path)
	if link == "" {
		return filepath.Clean(path), nil
	}
	to = resolved(path)
	const most = 40 // as the kernel
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

// firstLink parts a path behind the first symbolic link in it; without one the link is "".
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
