package supervise

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
)

// What lies in a folder that the plugin may write to is the plugin's to replace, by a link to anywhere. So a path that leads
// through such a folder never becomes a rule of its own; the folder's rule covers it.

// withoutNested drops the paths that lead through one of the folders.
func withoutNested(paths, folders []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return through(path, folders) != "" })
}

// through gives the first of the folders that a path leads through, "" for none. It looks from the top, and so at nothing
// that could have been replaced.
func through(path string, folders []string) string {
	for i, c := range path {
		if c != filepath.Separator {
			continue
		}
		at := resolved(path[:max(i, 1)])
		for _, f := range folders {
			if f != path && within(at, resolved(f)) {
				return f
			}
		}
	}
	return ""
}

// nested says what is wrong with a path of the sandbox that leads into a folder that the plugin may write to, and out again.
func nested(path string, folders []string) error {
	f := through(path, folders)
	if to := resolved(path); f != "" && !within(to, resolved(f)) {
		return fmt.Errorf("its sandbox names %s, which leads to %s by a link in %s, where the plugin can change links; name %s itself", path, to, f, to)
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

// within says whether a path is the folder or in it.
func within(path, folder string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}
