package fsutil

import (
	"cmp"
	"path/filepath"
)

// Resolved is the path without links, as far as it exists.
func Resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(to, path)
	}
	return filepath.Join(Resolved(filepath.Dir(path)), filepath.Base(path))
}
