package toolcache

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A folder has small files of this user, each with its checksum. Several hosts may use it at once.
type folder struct {
	dir    string
	now    func() time.Time
	opened atomic.Int64 // how many files were read, for tests
	index  index
}

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
	checksumSize  = 64 + 1 // characters, and a line break
)

func openFolder(dir string) (*folder, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = fsutil.CheckPrivateDir(dir)
	}
	return &folder{dir: dir, now: time.Now}, err
}

func (f *folder) path(prefix, name string) string { return filepath.Join(f.dir, prefix+name) }

// read returns the text of a file, if that is private and undamaged. The caller must not change it.
func (f *folder) read(prefix, name string) ([]byte, bool) {
	if text, ok := f.indexed(prefix + name); ok {
		return text, true
	}
	text, state, ok := f.readFile(prefix + name)
	if !ok {
		return nil, false
	}
	now := f.now()
	if now.Sub(time.Unix(0, state.Written)) > touchAfter { // the file is in use
		_ = os.Chtimes(f.path(prefix, name), now, now)
	} else if state.Settled(now) {
		f.index.add(prefix+name, state, text)
	}
	return text, true
}

// readFile reads a file itself, and the state in which it was read.
func (f *folder) readFile(name string) (text []byte, state binaries.Identity, ok bool) {
	f.opened.Add(1)
	file, err := fsutil.OpenPrivate(f.path("", name))
	if err != nil {
		return nil, state, false
	}
	defer file.Close()
	if state, err = (&binaries.File{File: file}).Identity(); err != nil || state.Size > maxFile {
		return nil, state, false
	}
	all := make([]byte, state.Size)
	if _, err := io.ReadFull(file, all); err != nil {
		return nil, state, false
	}
	sum, text, whole := bytes.Cut(all, []byte("\n"))
	return text, state, whole && hexSum(text) == string(sum)
}

// write ignores errors: what is not stored is found out again.
func (f *folder) write(prefix, name string, text []byte) {
	if len(text) <= maxFile-checksumSize {
		_ = fsutil.WriteFile(f.path(prefix, name), []byte(hexSum(text)+"\n"+string(text)), 0o600)
	}
}

// prune removes files that were not used for long, then the oldest of those over the limits.
func (f *folder) prune() {
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
func (f *folder) files() (out []fs.FileInfo) {
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
