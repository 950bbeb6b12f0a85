package toolcache

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	entries, _ := os.ReadDir(f.dir) // those that could be read
	for _, e := range entries {
		ours := slices.ContainsFunc([]string{descriptions, programs, fsutil.TempPrefix},
			func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) })
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && ours {
			out = append(out, info)
		}
	}
	return out
}

// An index has copies of many small files of a folder in one file, so that a listing of many plugins opens one file in
// place of two for each. A copy counts only while its file is in the state in which it was read, which takes one stat:
// what several hosts write, remove or damage at once never lets the index differ from the files. An index that is
// damaged or missing costs time, no more.
type index struct {
	mu      sync.Mutex
	reads   int // of files, until the index is needed
	loaded  bool
	changed bool
	copies  map[string]indexedFile // by name
}

// An indexedFile is one file of a folder as it was read.
type indexedFile struct {
	name  string
	state binaries.Identity
	text  []byte
}

const (
	indexName = "index"
	// maxIndex is how many bytes an index has at most: those of about 300 plugins.
	maxIndex = 4 << 20
	// indexAfter is how many files are read before the index is: one call takes two, and would read all for them.
	indexAfter = 6
)

// indexed returns the text of a file that has not changed since it was put into the index.
func (f *folder) indexed(name string) ([]byte, bool) {
	f.index.mu.Lock()
	f.index.reads++
	if !f.index.loaded && f.index.reads > indexAfter {
		f.loadIndex()
	}
	file, there := f.index.copies[name]
	f.index.mu.Unlock()
	if !there {
		return nil, false
	}
	now, err := binaries.Identify(f.path("", name))
	if err != nil || now != file.state {
		return nil, false
	}
	return file.text, true
}

// loadIndex adds what the index file has. The caller holds the lock.
func (f *folder) loadIndex() {
	f.index.loaded = true
	text, _, ok := f.readFile(indexName)
	if !ok {
		return
	}
	c := coder{reading: true, bytes: text}
	var files []indexedFile
	list(&c, &files, c.indexedFile)
	if c.damaged {
		return
	}
	known := f.index.copies
	f.index.copies, f.index.changed = make(map[string]indexedFile, len(files)), false
	for _, file := range files {
		f.index.copies[file.name] = file
	}
	for name, file := range known { // read before the index was
		f.index.changed = f.index.changed || f.index.copies[name].state != file.state
		f.index.copies[name] = file
	}
}

func (c *coder) indexedFile(f *indexedFile) {
	c.text(&f.name)
	c.state(&f.state)
	c.part(&f.text)
}

func (c *coder) state(s *binaries.Identity) {
	device, inode := int64(s.Device), int64(s.Inode)
	for _, n := range []*int64{&device, &inode, &s.Size, &s.Written, &s.Changed} {
		c.number(n)
	}
	s.Device, s.Inode = uint64(device), uint64(inode)
}

func (i *index) add(name string, state binaries.Identity, text []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.copies == nil {
		i.copies = map[string]indexedFile{}
	}
	if i.copies[name].state != state {
		i.copies[name] = indexedFile{name, state, text}
		i.changed = true
	}
}

// writeIndex writes the index if it has changed and was needed. Of several hosts that do so at once one wins; what the
// others had is added again when it is needed. Files that were not used for long go first.
func (f *folder) writeIndex() {
	f.index.mu.Lock()
	defer f.index.mu.Unlock()
	if !f.index.changed || !f.index.loaded {
		return
	}
	f.index.changed = false
	files := slices.SortedFunc(maps.Values(f.index.copies), func(a, b indexedFile) int {
		return cmp.Or(cmp.Compare(b.state.Written, a.state.Written), cmp.Compare(a.name, b.name))
	})
	const overhead = 200 // bytes of each file's name and state
	size := 0
	for n, file := range files {
		if size += len(file.text) + overhead; size > maxIndex {
			files = files[:n]
			break
		}
	}
	var c coder
	list(&c, &files, c.indexedFile)
	f.write("", indexName, c.bytes)
}
