package fsutil

import "path/filepath"

// Shortened returns a path as it is seen from the current folder, if it leads into it; else the path.
func Shortened(path string) string {
	here, err := filepath.Abs(".")
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
