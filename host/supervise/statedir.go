package supervise

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
)

// makeStateDir makes a plugin's folder for its state, private to the user, and returns its path. One that is there must
// be such a folder.
func makeStateDir(path string) (string, error) {
	err := os.Mkdir(path, 0o700)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	if err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir() || !ownFolder(path):
		return "", fmt.Errorf("%s is not a folder of this user", path)
	case info.Mode().Perm()&0o077 != 0:
		return path, os.Chmod(path, 0o700) //nolint:gosec // it is a folder
	}
	return path, nil
}

// RemoveState removes folders of the state of plugins, however deep they are. It takes a minute at most.
func RemoveState(dir string) error { return removal.All(dir, backgroundRemovalTime) }
