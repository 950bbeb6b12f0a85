package bootstrap

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const (
	mcpKeyName = "mcp-state.key"
	mcpKeySize = 32 // in bytes
)

// MCPStateKey returns the user's key for mcpserver.Options.StateKey: all servers of the user accept each other's
// states. It is made when there is none.
func MCPStateKey() (_ []byte, err error) {
	path, err := StateFolder(mcpKeyName)
	if err != nil {
		return nil, err
	}
	defer func() { err = fsutil.FolderError(err, filepath.Dir(path), otherState) }()
	if key, err := readKey(path); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key := make([]byte, mcpKeySize)
	_, _ = rand.Read(key) // it never fails
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	made := fmt.Sprintf("%s.%s", path, rand.Text())
	err = os.WriteFile(made, key, 0o600)
	if err == nil { // a link appears atomically, and never replaces a key that another process has made
		err = os.Link(made, path)
	}
	_ = os.Remove(made)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	f, err := fsutil.OpenPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, mcpKeySize+1))
	if err == nil && len(key) != mcpKeySize {
		err = fmt.Errorf("%s is not a key of %d bytes; remove it, and toolhost creates a new one", path, mcpKeySize)
	}
	return key, err
}
