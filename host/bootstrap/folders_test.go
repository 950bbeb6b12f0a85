package bootstrap

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestResultFolder(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	dir := resultFolder()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%s: %v, %v", dir, info, err)
	}
	for name, age := range map[string]time.Duration{"old": keptFor + time.Hour, "new": keptFor - time.Hour,
		"large": time.Hour, "large and older": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if age < keptFor-time.Hour && os.Truncate(path, maxResults/3*2) != nil { // it takes no room
			t.Skip("the file system has no large files")
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if again := resultFolder(); again != dir {
		t.Errorf("another folder: %s", again)
	}
	for name, want := range map[string]bool{"old": false, "new": false, "folder": true, "large": true, "large and older": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a folder of the user, the host uses a temporary one.
func TestResultFolderNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	if runtime.GOOS == "darwin" {
		t.Setenv("HOME", file)
	}
	if dir := resultFolder(); dir != "" {
		t.Errorf("results would go to %s", dir)
	}
}
