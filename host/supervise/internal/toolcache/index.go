package toolcache

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

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

// add puts a file into the index.
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
