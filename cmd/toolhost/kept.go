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
	dir, err := cacheFolder("results")
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	removeOld(dir, time.Now().Add(-keptFor))
	return dir
}

// definitionsCache is the user's own folder for what plugins say of themselves, "" when there is none.
func definitionsCache() string {
	dir, err := cacheFolder("definitions-cache")
	if err != nil {
		return ""
	}
	return dir
}

// cacheFolder is where a folder of the user's cache is, or would be.
func cacheFolder(name string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "toolhost", name), err
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
