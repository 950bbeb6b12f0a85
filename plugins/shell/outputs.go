package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A library is the plugin's private folder, for the files of long output and of scripts. The first file makes it. What
// it holds of output stays for a while after the end of the plugin.
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
	return os.OpenFile(filepath.Join(l.folder.path, fmt.Sprintf("%d-%s", l.count, name)),
		os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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

// room takes room for n bytes, or fewer. Where a session, or all, have too much, the oldest files that nobody writes
// go.
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

// A folder is private to this process, which holds the lock in it as long as it lives. So the next process can tell the
// folder of one that is gone.
type folder struct {
	path string
	lock *os.File
}

const (
	folderPrefix = "toolhost-shell-"
	lockName     = "shell.lock" // not as that of a host, which removes folders that have one and look like its own
	// emptyAge is when a folder without a lock is one whose maker died at once.
	emptyAge = time.Hour

	// What is kept of the output of processes that are gone.
	leftAge     = 24 * time.Hour
	leftFolders = 20
	leftBytes   = 2 << 30
)

// keepDir is where folders outlive the plugin: the host removes the plugin's own TMPDIR.
func keepDir() string { return cmp.Or(os.Getenv(sdk.EnvKeepDir), os.TempDir()) }

// makeFolder makes a folder for this process in dir. Another process that sweeps may take it in the moment before it is
// locked.
func makeFolder(dir string) (*folder, error) {
	var err error
	for range 3 {
		var path string
		if path, err = os.MkdirTemp(dir, folderPrefix); err != nil { // its mode is 0700
			return nil, err
		}
		var lock *os.File
		if lock, err = takeLock(filepath.Join(path, lockName), os.O_CREATE|os.O_EXCL); err == nil {
			if _, err = os.Lstat(lock.Name()); err == nil {
				return &folder{path, lock}, nil
			}
			_ = lock.Close()
		}
	}
	return nil, fmt.Errorf("no folder could be made in %s: %w", dir, err)
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path)
	f.unlock()
}

func (f *folder) unlock() { _ = f.lock.Close() }

// leave ends the use of the folder: results have named the output in it, and somebody may still read that. Without
// output nobody knows of it.
func (f *folder) leave() {
	entries, err := os.ReadDir(f.path)
	if err != nil || !sweeps || !slices.ContainsFunc(entries, isOutput) {
		f.remove()
		return
	}
	for _, e := range entries {
		if !isOutput(e) && e.Name() != lockName {
			_ = os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
	f.unlock()
}

func isOutput(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasSuffix(e.Name(), outputEnd)
}

// sweep removes what nobody needs of the folders in dir whose process is gone.
func sweep(dir string) {
	var left []leftover
	for _, f := range abandoned(dir) {
		defer f.unlock()
		if l, ok := f.output(); ok {
			left = append(left, l)
		} else {
			f.remove()
		}
	}
	for _, l := range tooMuch(left, time.Now()) {
		l.remove()
	}
}

// abandoned takes the folders whose process is gone. Their name only says where to look; the lock decides.
func abandoned(dir string) (found []*folder) {
	paths, _ := filepath.Glob(filepath.Join(quoteGlob(dir), folderPrefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		lockPath := filepath.Join(path, lockName)
		if l, err := os.Lstat(lockPath); err != nil || !l.Mode().IsRegular() {
			if time.Since(info.ModTime()) > emptyAge {
				_ = os.Remove(path) // fails unless it is empty
			}
			continue
		}
		if lock, err := takeLock(lockPath, 0); err == nil {
			found = append(found, &folder{path, lock})
		}
	}
	return found
}

// A leftover is a folder with output that outlived its process.
type leftover struct {
	*folder
	written time.Time // the last time
	size    int64
}

// output tells of the output in the folder, if there is any.
func (f *folder) output() (l leftover, ok bool) {
	entries, _ := os.ReadDir(f.path)
	l.folder = f
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !isOutput(e) {
			continue
		}
		ok, l.size = true, l.size+info.Size()
		if info.ModTime().After(l.written) {
			l.written = info.ModTime()
		}
	}
	return l, ok
}

// tooMuch are those that are too old, and the oldest where there are too many or where they take too much room. The
// newest may be as large as it likes.
func tooMuch(left []leftover, now time.Time) (out []leftover) {
	slices.SortFunc(left, func(a, b leftover) int { return b.written.Compare(a.written) })
	var room int64 = leftBytes
	for i, l := range left {
		room -= l.size
		if i >= leftFolders || now.Sub(l.written) > leftAge || i > 0 && room < 0 {
			out = append(out, l)
		}
	}
	return out
}

// quoteGlob makes a pattern that only the path itself matches.
func quoteGlob(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' && filepath.Separator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// kept holds the start and the end of a stream, up to half bytes each, however long the stream is.
type kept struct {
	half   int
	head   []byte
	tail   []byte // a ring once it is full
	oldest int    // where the ring begins
	total  int64
}

func (k *kept) add(p []byte) {
	k.total += int64(len(p))
	n := min(k.half-len(k.head), len(p))
	k.head, p = append(k.head, p[:n]...), p[n:]
	if len(p) >= k.half {
		k.tail, k.oldest = append(k.tail[:0], p[len(p)-k.half:]...), 0
		return
	}
	n = min(k.half-len(k.tail), len(p))
	k.tail, p = append(k.tail, p[:n]...), p[n:]
	for len(p) > 0 {
		n := copy(k.tail[k.oldest:], p)
		k.oldest, p = (k.oldest+n)%k.half, p[n:]
	}
}

// full reports whether n more bytes would be too many to keep all.
func (k *kept) full(n int) bool { return k.total+int64(n) > 2*int64(k.half) }

// A snapshot is what is kept of a stream at one moment: the bytes before head and those from tail on. Where they do not
// meet, neither ends in the middle of a character.
type snapshot struct {
	head, tail []byte
	from       int64 // where the tail begins
	total      int64
}

func (k *kept) snapshot() snapshot {
	tail := slices.Concat(k.tail[k.oldest:], k.tail[:k.oldest])
	s := snapshot{head: k.head, tail: tail, from: k.total - int64(len(tail)), total: k.total}
	if s.from > int64(len(s.head)) {
		s.head, s.tail = sdk.WholeEnd(s.head), sdk.WholeStart(tail)
		s.from += int64(len(tail) - len(s.tail))
	}
	return s
}

// cut gives what is kept of the bytes from a to b, and how many between the two parts are not.
func (s *snapshot) cut(a, b int64) (start []byte, missing int64, end []byte) {
	head := int64(len(s.head))
	if a < head {
		start = s.head[a:min(b, head)]
	}
	missing = max(0, min(b, s.from)-max(a, head))
	if b > s.from {
		end = s.tail[max(a, s.from)-s.from : b-s.from]
	}
	return start, missing, end
}

// text is what a result shows of a stream: valid UTF-8, and how many bytes are left out of it.
func (s *snapshot) text(from int64) (shown string, leftOut int64) {
	start, missing, end := s.cut(from, s.total)
	if missing == 0 {
		return valid(slices.Concat(start, end)), 0
	}
	return endLine(valid(start)) + leftOutMark(missing) + valid(end), missing
}

func leftOutMark(n int64) string { return fmt.Sprintf("[... %d bytes left out ...]\n", n) }

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// endLine gives s with a line break at its end, unless it is empty.
func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// An overflow is the file of a stream that is too long for a result. It is made when the first byte would be lost.
type overflow struct {
	shelf *shelf // nil saves nothing
	name  string
	file  *book
	err   error // why there is no file, or no more in it
}

// follow writes what comes, and first, if this is where it is too much, all that was kept until here.
func (o *overflow) follow(k *kept, p []byte) {
	if o.shelf == nil || o.err != nil {
		return
	}
	if o.file == nil {
		if !k.full(len(p)) {
			return
		}
		if o.file, o.err = o.shelf.open(o.name); o.err != nil {
			return
		}
		o.err = errors.Join(o.file.write(k.head), o.file.write(k.tail)) // the ring has not turned yet
	}
	if o.err == nil {
		o.err = o.file.write(p)
	}
}

func (o *overflow) path() string {
	if o.file == nil {
		return ""
	}
	return o.file.path
}

// tell says in a line where the stream is, of which so much was printed.
func (o *overflow) tell(total int64) string {
	switch {
	case o.shelf == nil:
		return fmt.Sprintf("The %d bytes of %s are not saved: the configuration has it so. Filter the output to see more "+
			"of it.", total, o.name)
	case o.file == nil:
		return fmt.Sprintf("The %d bytes of %s could not be saved: %v. Filter the output to see more of it.", total, o.name,
			o.err)
	case errors.Is(o.err, errFull):
		return fmt.Sprintf("First %d of %d bytes of %s: %s", o.file.size, total, o.name, o.file.path)
	case o.err != nil:
		return fmt.Sprintf("First %d of %d bytes of %s: %s (%v)", o.file.size, total, o.name, o.file.path, o.err)
	}
	return fmt.Sprintf("All %d bytes of %s: %s", total, o.name, o.file.path)
}

func (o *overflow) close() {
	if o.file != nil {
		o.file.close()
	}
}
