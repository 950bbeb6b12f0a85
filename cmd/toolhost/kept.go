package main

import (
	"os"
	"path/filepath"
	"time"
)

const (
	// keptFor is how long results that were cut can be read whole.
	keptFor = 7 * 24 * time.Hour
	// maxSwept bounds what one command spends on tidying; the next goes on.
	maxSwept = 1000
)

// keepResults gives the user's own folder for results that were cut, and removes old ones from it. Without such a
// folder it gives "": then the host makes one in the system's temporary folder.
func keepResults() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "toolhost", "results")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	removeOld(dir, time.Now().Add(-keptFor))
	return dir
}

// definitionsCache is the user's own folder for what plugins say of themselves, "" when there is none.
func definitionsCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "toolhost", "definitions-cache")
}

// removeOld removes files that were last written before the time. What cannot be removed stays.
func removeOld(dir string, before time.Time) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxSwept)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
