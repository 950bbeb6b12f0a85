package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A library is the plugin's private folder, for the files of long output and of scripts. The first file makes it. What it
// holds of output stays for a while after the end of the plugin.
type library struct {
	mu     sync.Mutex
	folder *folder
	closed bool
	books  []*book // the oldest first
	count  int
}

// A shelf is where the output of one session goes.
type shelf struct {
	library *library
	session string
	limit   int64 // of one file; a session has four times that, all sessions together sixteen times
}

const (
	perSession  = 4
	perSessions = 16
	outputEnd   = ".txt" // of the names of files of output; no script has it
)

// A book is one file.
type book struct {
	shelf *shelf
	path  string
	file  *os.File
	size  int64
	open  bool
}

var (
	errFull   = errors.New("there is no room for more")
	errClosed = errors.New("the plugin is to stop")
)

// open makes a file for a stream.
func (s *shelf) open(name string) (*book, error) {
	l := s.library
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.create(name + outputEnd)
	if err != nil {
		return nil, err
	}
	b := &book{shelf: s, path: f.Name(), file: f, open: true}
	l.books = append(l.books, b)
	return b, nil
}

// create makes a numbered file that only this user can read.
func (l *library) create(name string) (*os.File, error) {
	if l.closed {
		return nil, errClosed
	}
	if l.folder == nil {
		f, err := makeFolder(keepDir())
		if err != nil {
			f, err = makeFolder(os.TempDir()) // gone with the plugin, but of use until then
		}
		if err != nil {
			return nil, err
		}
		l.folder = f
	}
	l.count++
	return os.OpenFile(filepath.Join(l.folder.path, fmt.Sprintf("%d-%s", l.count, name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// write adds to the file, up to its limit.
func (b *book) write(p []byte) error {
	room := b.shelf.room(b, int64(len(p)))
	n, err := b.file.Write(p[:room])
	b.shelf.library.mu.Lock()
	b.size -= room - int64(n)
	b.shelf.library.mu.Unlock()
	if err == nil && n < len(p) {
		return errFull
	}
	return err
}

// room takes room for n bytes, or fewer. Where a session, or all, have too much, the oldest files that nobody writes go.
func (s *shelf) room(b *book, n int64) int64 {
	l := s.library
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, s.limit-b.size)
	ours := func(o *book) bool { return o.shelf.session == s.session }
	n = l.makeRoom(n, perSession*s.limit, ours)
	n = l.makeRoom(n, perSessions*s.limit, func(*book) bool { return true })
	b.size += n
	return n
}

// makeRoom removes the oldest files of those that count until n more bytes fit in, and says how many do.
func (l *library) makeRoom(n, limit int64, counts func(*book) bool) int64 {
	for {
		var used int64
		oldest := -1
		for i, b := range l.books {
			if !counts(b) {
				continue
			}
			used += b.size
			if oldest < 0 && !b.open {
				oldest = i
			}
		}
		if used+n <= limit || oldest < 0 {
			return max(0, min(n, limit-used))
		}
		_ = os.Remove(l.books[oldest].path)
		l.books = slices.Delete(l.books, oldest, oldest+1)
	}
}

func (b *book) close() {
	b.shelf.library.mu.Lock()
	defer b.shelf.library.mu.Unlock()
	b.open = false
	_ = b.file.Close()
}

// script writes a text to a file of its own, for the time of one call.
func (l *library) script(name, text string) (path string, remove func(), err error) {
	l.mu.Lock()
	f, err := l.create(name)
	l.mu.Unlock()
	if err != nil {
		return "", nil, err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", nil, err
	}
	return f.Name(), func() { _ = os.Remove(f.Name()) }, nil
}

// close lets go of the folder, which stays for a while if there is output in it.
func (l *library) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.folder != nil {
		l.folder.leave()
		l.folder = nil
	}
}
