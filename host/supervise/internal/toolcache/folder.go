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

// A folder has small files of this user, each with its checksum. Several hosts may use it at once.
type folder struct{ dir string }

// Prefixes of the files' names.
const (
	descriptions = "description-"
	programs     = "program-"
)

// Limits of a folder.
const (
	maxFile       = 8 << 20 // bytes
	maxBytes      = 64 << 20
	maxFiles      = 2000
	maxUnused     = 90 * 24 * time.Hour
	maxIncomplete = time.Hour // how long a file may stay incomplete; its writer was killed
	touchAfter    = 24 * time.Hour
	checksumSize  = 64 // characters, and a line break
)

func openFolder(dir string) (folder, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = fsutil.CheckPrivateDir(dir)
	}
	return folder{dir}, err
}

func (f folder) path(prefix, name string) string { return filepath.Join(f.dir, prefix+name) }

// read decodes a file, if it is private and undamaged.
func (f folder) read(prefix, name string, into any) bool {
	file, err := fsutil.OpenPrivate(f.path(prefix, name))
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() > maxFile {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return false
	}
	sum, rest, whole := bytes.Cut(text, []byte("\n"))
	if !whole || hexSum(rest) != string(sum) || json.Unmarshal(rest, into) != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > touchAfter { // the file is in use
		_ = os.Chtimes(file.Name(), now, now)
	}
	return true
}

// write ignores errors: what is not stored is found out again.
func (f folder) write(prefix, name string, text []byte) {
	if len(text) <= maxFile-checksumSize-1 {
		_ = fsutil.WriteFile(f.path(prefix, name), []byte(hexSum(text)+"\n"+string(text)), 0o600)
	}
}

// prune removes files that were not used for long, then the oldest of those over the limits.
func (f folder) prune() {
	files := f.files()
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) }) // the newest first
	var bytes int64
	for i, file := range files {
		bytes += file.Size()
		age, most := time.Since(file.ModTime()), maxUnused
		if strings.HasPrefix(file.Name(), fsutil.TempPrefix) {
			most = maxIncomplete
		}
		if age > most || i >= maxFiles || bytes > maxBytes {
			_ = os.Remove(filepath.Join(f.dir, file.Name()))
		}
	}
}

// files are the cache's own; there may be others in the folder.
func (f folder) files() (out []fs.FileInfo) {
	dir, err := os.Open(f.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			ours := slices.ContainsFunc([]string{descriptions, programs, fsutil.TempPrefix},
				func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) })
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && ours {
				out = append(out, info)
			}
		}
		if err != nil {
			return out
		}
	}
}
