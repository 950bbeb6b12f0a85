package host

import (
	"errors"
	"os"
	"strings"
	"sync"
)

// A keeper writes what is cut from results to files that only this user can read.
type keeper struct {
	mu  sync.Mutex
	dir string // "" until a temporary one is made
}

// keep gives words that say where the whole is now. Its file is new, whatever the call's id: ids of callers may repeat.
func (k *keeper) keep(id, suffix string, whole []byte) string {
	path, err := k.write(safeName(id)+"-*"+suffix, whole)
	if err != nil {
		return "the whole could not be kept: " + err.Error()
	}
	return "the whole is in " + path
}

func (k *keeper) write(pattern string, whole []byte) (path string, err error) {
	dir, err := k.folder()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(whole)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// folder makes the folder. The temporary one has a name that nobody can take before us.
func (k *keeper) folder() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir != "" {
		return k.dir, os.MkdirAll(k.dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "toolhost-results-")
	k.dir = dir
	return dir, err
}

// safeName keeps a caller's id from naming another folder.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id[:min(len(id), 100)])
}
