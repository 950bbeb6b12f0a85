//go:build unix

package supervise

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	// maxCopies is how many programs a vault has at most, but for those in use.
	maxCopies = 64
	// maxUnused is how long a program that is not used stays in a vault.
	maxUnused = 30 * 24 * time.Hour
)

// prune removes the copies that have not been used for longest. The vault is locked. One that a host uses stays.
func (v *vault) prune() {
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return
	}
	var copies []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && isSHA256(e.Name()) {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b os.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	for i, c := range copies {
		if i >= maxCopies || time.Since(c.ModTime()) > maxUnused {
			removeUnused(filepath.Join(v.dir, c.Name()))
		}
	}
}

func removeUnused(dir string) {
	f, err := lockFolder(dir, syscall.LOCK_EX)
	if err != nil {
		return
	}
	defer f.Close()
	_ = os.RemoveAll(dir)
}

// holdFolder keeps a folder from removeUnused until the file is closed.
func holdFolder(dir string) (*os.File, error) {
	f, err := lockFolder(dir, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if err := ownFolder(dir); err != nil || !samePlace(f, dir) {
		_ = f.Close()
		return nil, cmp.Or(err, fmt.Errorf("%s is being replaced", dir))
	}
	return f, nil
}

func lockFolder(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// samePlace says whether the open folder is still the one at the path.
func samePlace(f *os.File, dir string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(dir)
	return err == nil && os.SameFile(open, there)
}
