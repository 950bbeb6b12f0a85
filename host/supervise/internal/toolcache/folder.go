package toolcache

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A shelf is a folder of the user's own with small files that say what they hold, and are believed only when they do.
// Several hosts may use it at once: a file is there whole or not at all.
type shelf struct{ dir string }

// What is on a shelf, by the beginning of the name.
const (
	descriptions = "description-"
	images       = "program-"
	unfinished   = fsutil.TempPrefix
)

// Bounds of a shelf.
const (
	maxEntry      = 8 << 20 // bytes
	maxShelf      = 64 << 20
	maxEntries    = 2000
	keptUnused    = 90 * 24 * time.Hour
	keptNew       = time.Hour // an unfinished file, whose writer died
	renewedAfter  = 24 * time.Hour
	shelfChecksum = 64 // characters, and a line break
)

// openShelf makes the folder if need be. It must be the user's, and nobody else may look into it.
func openShelf(dir string) (*shelf, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := fsutil.CheckPrivateDir(dir); err != nil {
		return nil, err
	}
	return &shelf{dir}, nil
}

// read gives what the file holds, if it is ours and whole.
func (s *shelf) read(kind, name string, into any) bool {
	f, err := fsutil.OpenPrivate(s.path(kind, name))
	if err != nil {
		return false
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil || is.Size() > maxEntry {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxEntry+1))
	if err != nil {
		return false
	}
	sum, rest, whole := bytes.Cut(text, []byte("\n"))
	if !whole || hashed(rest) != string(sum) || json.Unmarshal(rest, into) != nil {
		return false
	}
	if now := time.Now(); now.Sub(is.ModTime()) > renewedAfter {
		_ = os.Chtimes(f.Name(), now, now) // else it is removed one day as unused
	}
	return true
}

// write stores a text. One that cannot be stored is not there.
func (s *shelf) write(kind, name string, text []byte) {
	if len(text) > maxEntry-shelfChecksum-1 {
		return
	}
	_ = fsutil.WriteFile(s.path(kind, name), []byte(hashed(text)+"\n"+string(text)), 0o600)
}

func (s *shelf) path(kind, name string) string { return filepath.Join(s.dir, kind+name) }

// prune removes what nobody has used for long, and then the oldest of what is too much.
func (s *shelf) prune() {
	files := s.files()
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) }) // the newest first
	var bytes int64
	for i, f := range files {
		bytes += f.Size()
		age, most := time.Since(f.ModTime()), keptUnused
		if isUnfinished(f.Name()) {
			most = keptNew
		}
		if age > most || i >= maxEntries || bytes > maxShelf {
			_ = os.Remove(filepath.Join(s.dir, f.Name()))
		}
	}
}

func isOurs(name string) bool {
	return isUnfinished(name) || strings.HasPrefix(name, descriptions) || strings.HasPrefix(name, images)
}

func isUnfinished(name string) bool { return strings.HasPrefix(name, unfinished) }

// files are those that a shelf has written; others in the folder are somebody's.
func (s *shelf) files() (out []fs.FileInfo) {
	f, err := os.Open(s.dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(1000)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && isOurs(e.Name()) {
				out = append(out, info)
			}
		}
		if err != nil {
			return out
		}
	}
}
