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

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// An outputStore is the plugin's private folder, for the files of long output and of scripts. The first file creates
// it. Output in it is kept for a while after the end of the plugin.
type outputStore struct {
	mu         sync.Mutex
	privateDir *privateDir
	closed     bool
	files      []*outputFile // the oldest first
	count      int
}

// A sessionOutput is the part of the store for one session.
type sessionOutput struct {
	outputStore *outputStore
	session     string
	limit       int64 // of one file; a session has four times that, all sessions together sixteen times
}

const (
	perSession  = 4
	perSessions = 16
	outputEnd   = ".txt" // of the names of output files; no script has it
)

// An outputFile is one file.
type outputFile struct {
	sessionOutput *sessionOutput
	path          string
	file          *os.File
	size          int64
	open          bool
}

var (
	errFull   = errors.New("there is no room for more")
	errClosed = errors.New("the plugin is shutting down")
)

// open makes a file for a stream.
func (s *sessionOutput) open(name string) (*outputFile, error) {
	l := s.outputStore
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.create(name + outputEnd)
	if err != nil {
		return nil, err
	}
	b := &outputFile{sessionOutput: s, path: f.Name(), file: f, open: true}
	l.files = append(l.files, b)
	return b, nil
}

// create makes a numbered file that only this user can read.
func (l *outputStore) create(name string) (*os.File, error) {
	if l.closed {
		return nil, errClosed
	}
	if l.privateDir == nil {
		f, err := newPrivateDir(sdk.KeepDir())
		if err != nil {
			f, err = newPrivateDir(os.TempDir()) // removed with the plugin, but usable until then
		}
		if err != nil {
			return nil, err
		}
		l.privateDir = f
	}
	l.count++
	return os.OpenFile(filepath.Join(l.privateDir.path, fmt.Sprintf("%d-%s", l.count, name)),
		os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// write adds to the file, up to its limit.
func (b *outputFile) write(p []byte) error {
	reserve := b.sessionOutput.reserve(b, int64(len(p)))
	n, err := b.file.Write(p[:reserve])
	b.sessionOutput.outputStore.mu.Lock()
	b.size -= reserve - int64(n)
	b.sessionOutput.outputStore.mu.Unlock()
	if err == nil && n < len(p) {
		return errFull
	}
	return err
}

// reserve reserves room for n bytes, or fewer. Where a session, or all, have too much, the oldest files that are not
// being written are removed.
func (s *sessionOutput) reserve(b *outputFile, n int64) int64 {
	l := s.outputStore
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, s.limit-b.size)
	ours := func(o *outputFile) bool { return o.sessionOutput.session == s.session }
	n = l.evict(n, perSession*s.limit, ours)
	n = l.evict(n, perSessions*s.limit, func(*outputFile) bool { return true })
	b.size += n
	return n
}

// evict removes the oldest of those files until n more bytes fit, and returns how many fit.
func (l *outputStore) evict(n, limit int64, counts func(*outputFile) bool) int64 {
	for {
		var used int64
		oldest := -1
		for i, b := range l.files {
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
		_ = os.Remove(l.files[oldest].path)
		l.files = slices.Delete(l.files, oldest, oldest+1)
	}
}

func (b *outputFile) close() {
	b.sessionOutput.outputStore.mu.Lock()
	defer b.sessionOutput.outputStore.mu.Unlock()
	b.open = false
	_ = b.file.Close()
}

// script writes a text to its own file, for the duration of one call.
func (l *outputStore) script(name, text string) (path string, remove func(), err error) {
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

// close ends the use of the folder, which is kept for a while if there is output in it.
func (l *outputStore) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.privateDir != nil {
		l.privateDir.leave()
		l.privateDir = nil
	}
}

// A privateDir is private to this process, which holds a lock in it as long as it lives. So the next process can
// recognize the privateDir of one that is gone.
type privateDir struct {
	path string
	lock *os.File
}

const (
	folderPrefix = "toolhost-shell-"
	// not the name that a host uses, which removes folders with that lock that look like its own
	lockName = "shell.lock"
	// emptyAge is the age at which a folder without a lock belongs to a process that died right after making it.
	emptyAge = time.Hour

	// Limits of the kept output of processes that are gone.
	leftAge     = 24 * time.Hour
	leftFolders = 20
	leftBytes   = 2 << 30
)

// newPrivateDir makes a folder for this process in dir. Another process that sweeps may remove it in the moment
// before it is locked.
func newPrivateDir(dir string) (*privateDir, error) {
	var err error
	for range 3 {
		var path string
		if path, err = os.MkdirTemp(dir, folderPrefix); err != nil { // its mode is 0700
			return nil, err
		}
		var lock *os.File
		if lock, err = fsutil.TryLock(filepath.Join(path, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR); err == nil {
			if _, err = os.Lstat(lock.Name()); err == nil {
				return &privateDir{path, lock}, nil
			}
			_ = lock.Close()
		}
	}
	return nil, fmt.Errorf("no folder could be made in %s: %w", dir, err)
}

func (f *privateDir) remove() {
	err := os.RemoveAll(f.path) // with the lock: who gets that later must not find the folder
	f.unlock()
	if err != nil { // Windows removes no file that is open
		_ = os.RemoveAll(f.path)
	}
}

func (f *privateDir) unlock() { _ = f.lock.Close() }

// leave ends the use of the folder: results have named the output in it, and it may still be read. Without output no
// one knows it.
func (f *privateDir) leave() {
	entries, err := os.ReadDir(f.path)
	if err != nil || !slices.ContainsFunc(entries, isOutput) {
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

// removeAbandoned removes folders in dir whose process is gone and whose content is no longer needed.
func removeAbandoned(dir string) {
	var left []abandonedOutput
	for _, f := range abandoned(dir) {
		defer f.unlock()
		if l, ok := f.output(); ok {
			left = append(left, l)
		} else {
			f.remove()
		}
	}
	for _, l := range expiredOutput(left, time.Now()) {
		l.remove()
	}
}

// abandoned returns the folders whose process is gone. Their names only select candidates; the lock decides.
func abandoned(dir string) (found []*privateDir) {
	for _, path := range fsutil.Glob(dir, folderPrefix+"*") {
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
		if lock, err := fsutil.TryLock(lockPath, os.O_RDWR); err == nil {
			found = append(found, &privateDir{path, lock})
		}
	}
	return found
}

// An abandonedOutput is a folder with output that outlived its process.
type abandonedOutput struct {
	*privateDir
	written time.Time // the last time
	size    int64
}

// output returns the output in the folder, if there is any.
func (f *privateDir) output() (l abandonedOutput, ok bool) {
	entries, _ := os.ReadDir(f.path)
	l.privateDir = f
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

// expiredOutput are the folders that are too old, and the oldest over the limits of number and size. The newest may
// have any size.
func expiredOutput(left []abandonedOutput, now time.Time) (out []abandonedOutput) {
	slices.SortFunc(left, func(a, b abandonedOutput) int { return b.written.Compare(a.written) })
	var reserve int64 = leftBytes
	for i, l := range left {
		reserve -= l.size
		if i >= leftFolders || now.Sub(l.written) > leftAge || i > 0 && reserve < 0 {
			out = append(out, l)
		}
	}
	return out
}

// headTail keeps the start and the end of a stream, up to half bytes each, however long the stream is.
type headTail struct {
	half   int
	head   []byte
	tail   []byte // a ring once it is full
	oldest int    // where the ring begins
	total  int64
}

func (k *headTail) add(p []byte) {
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
func (k *headTail) full(n int) bool { return k.total+int64(n) > 2*int64(k.half) }

// A snapshot is the kept part of a stream at one moment: the bytes before head and those from tail on. Where they do
// not meet, neither ends in the middle of a character.
type snapshot struct {
	head, tail []byte
	from       int64 // where the tail begins
	total      int64
}

func (k *headTail) snapshot() snapshot {
	tail := slices.Concat(k.tail[k.oldest:], k.tail[:k.oldest])
	s := snapshot{head: k.head, tail: tail, from: k.total - int64(len(tail)), total: k.total}
	if s.from > int64(len(s.head)) {
		s.head, s.tail = textutil.TrimPartialEnd(s.head), textutil.TrimPartialStart(tail)
		s.from += int64(len(tail) - len(s.tail))
	}
	return s
}

// cut returns the kept part of the bytes from a to b, and how many are missing in the middle.
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

// text is a stream in a result: valid UTF-8, and the number of missing bytes.
func (s *snapshot) text(from int64) (shown string, leftOut int64) {
	start, missing, end := s.cut(from, s.total)
	if missing == 0 {
		return valid(slices.Concat(start, end)), 0
	}
	return endLine(valid(start)) + leftOutMark(missing) + valid(end), missing
}

func leftOutMark(n int64) string { return fmt.Sprintf("[... %d bytes left out ...]\n", n) }

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// endLine adds a line break to s, unless it is empty.
func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// A spillFile is the file of a stream that is too long for a result. It is created when the first byte would be lost.
type spillFile struct {
	sessionOutput *sessionOutput // nil saves nothing
	name          string
	file          *outputFile
	err           error // why there is no file, or no more in it
}

// follow writes new output and, the first time that it is too much, everything kept so far.
func (o *spillFile) follow(k *headTail, p []byte) {
	if o.sessionOutput == nil || o.err != nil {
		return
	}
	if o.file == nil {
		if !k.full(len(p)) {
			return
		}
		if o.file, o.err = o.sessionOutput.open(o.name); o.err != nil {
			return
		}
		o.err = cmp.Or(o.file.write(k.head), o.file.write(k.tail)) // the ring has not wrapped yet
	}
	if o.err == nil {
		o.err = o.file.write(p)
	}
}

func (o *spillFile) path() string {
	if o.file == nil {
		return ""
	}
	return o.file.path
}

// note names the file of the stream, with the number of printed bytes.
func (o *spillFile) note(total int64) string {
	switch {
	case o.sessionOutput == nil:
		return fmt.Sprintf("The %d bytes of %s are not saved: the configuration has it so. Filter the output to see more "+
			"of it.", total, o.name)
	case o.file == nil, o.err != nil && o.file.size == 0:
		return fmt.Sprintf("The %d bytes of %s could not be saved: %v. Filter the output to see more of it.", total, o.name,
			o.err)
	case errors.Is(o.err, errFull):
		return fmt.Sprintf("First %d of %d bytes of %s: %s", o.file.size, total, o.name, o.file.path)
	case o.err != nil:
		return fmt.Sprintf("First %d of %d bytes of %s: %s (the rest could not be saved: %v)", o.file.size, total, o.name,
			o.file.path, o.err)
	}
	return fmt.Sprintf("All %d bytes of %s: %s", total, o.name, o.file.path)
}

func (o *spillFile) close() {
	if o.file != nil {
		o.file.close()
	}
}
