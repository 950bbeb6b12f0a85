package fsutil

import "path/filepath"

// Shortened returns path relative to the current folder if it is inside that folder, otherwise path unchanged.
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
