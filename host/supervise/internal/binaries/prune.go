//go:build unix

package binaries

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxCopies is how many programs a vault has at most, but for those in use.
	maxCopies = 64
	// maxUnused is how long a program that is not used stays in a vault.
	maxUnused = 30 * 24 * time.Hour
	// maxFresh is how long a file may stay incomplete; its writer was killed.
	maxFresh = time.Hour
)

// prune removes the copies that have not been used for longest, and what was never completed. A copy that a host uses
// stays.
func (v *Vault) prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var copies []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && isCopy(e.Name()) {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b os.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	for i, c := range copies {
		path := filepath.Join(dir, c.Name())
		if i >= maxCopies || time.Since(c.ModTime()) > maxUnused {
			unlessHeld(path, os.RemoveAll)
		}
		sweep(path)
	}
}

// isCopy knows the folder of a copy by its name, a checksum.
func isCopy(name string) bool { return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == "" }

// sweep removes what a host has left that was killed while it copied.
func sweep(dir string) {
	left, _ := fs.Glob(os.DirFS(dir), fresh) // the folder's own name is no pattern
	for _, name := range left {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > maxFresh {
			_ = os.Remove(path)
		}
	}
}
