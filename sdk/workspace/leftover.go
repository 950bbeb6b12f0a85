package workspace

import (
	"path/filepath"
	"regexp"
	"sync"
)

// Files that a killed process has left are told from those of one that writes by a lock, which ends with the process.

// tempPrefix begins the names of files that are not in place yet; what follows is a text of crypto/rand.
const tempPrefix = ".toolhost-"

var tempName = regexp.MustCompile(`^\.toolhost-[A-Z2-7]{26}$`)

const (
	// maxSwept bounds how many names of a folder are looked at, and maxSweptFolders how many folders a process remembers.
	maxSwept        = 10_000
	maxSweptFolders = 10_000
)

// swept are the folders that were looked at: once is enough, since whoever leaves a file is killed before.
type swept struct {
	mu      sync.Mutex
	folders map[string]bool
}

// allSwept is the process's: a workspace is opened for each call.
var allSwept swept

// first says whether the folder was not looked at yet.
func (s *swept) first(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[folder] || len(s.folders) >= maxSweptFolders {
		return false
	}
	if s.folders == nil {
		s.folders = map[string]bool{}
	}
	s.folders[folder] = true
	return true
}

// sweep removes from a folder what was left by processes that are gone. What cannot be removed stays.
func (r *Root) sweep(folder string) {
	if !allSwept.first(filepath.Join(r.real, folder)) {
		return
	}
	dir, err := r.root.Open(folder)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(maxSwept)
	for _, name := range names {
		if tempName.MatchString(name) {
			r.removeLeft(filepath.Join(folder, name))
		}
	}
}
