// Package audit keeps the record of decisions and calls: an append-only file of JSON lines, each of which holds the
// hash of the one before. Verify reports lines that were changed, removed, added or moved since. The head, in a second
// file, shows whether lines were cut off the end.
//
// The hashes have no key. A process that may write both files can write another history; only a copy of the head
// elsewhere shows that.
//
// Several processes may write one log. It is never rotated here: the operator may move the file and its head together
// while no host runs, and a new file starts a new chain with record 1.
package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
)

// Options say what a log holds.
type Options struct {
	// Secrets are values that never reach the log, each at least 6 bytes long; shorter ones are ignored: they would be
	// found everywhere.
	Secrets []string
	// Content keeps arguments and results, redacted and cut at 64 KiB each. Without it the log has their hashes only.
	Content bool
}

// A Log is open for adding records. It is safe for concurrent use.
type Log struct {
	path    string
	content bool
	redact  *redact.Redactor
	recent  recentTexts

	queue  queue
	onLost atomic.Pointer[func(records int, err error)] // see OnLost

	mu         sync.Mutex
	file, head *os.File     // nil once closed
	known      tailPosition // how the file ended after our last record
	text       []byte       // a buffer of the last group
	freed      time.Time    // when this process had the lock last
	groups     int          // how many groups of records were written
}

type tailPosition struct {
	size int64 // of the file; a file of another size has another ending
	last Head
}

// unknown is the ending of no file.
var unknown = tailPosition{size: -1}

// Open opens the log at path, and creates it, its head and its folder if necessary; only the user can read them. It
// fails if one of the two cannot be written, and where CheckPlace fails because of them.
func Open(path string, o Options) (*Log, error) {
	l := &Log{path: path, content: o.Content, redact: redact.New(o.Secrets...), known: unknown}
	l.queue.open()
	if err := l.open(); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("the audit log cannot be used: %w", err)
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	if l.file, err = openFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE); err != nil {
		return err
	}
	if err := checkRecord(l.file); err != nil { // before a head is made beside it
		return err
	}
	if l.head, err = openFile(headPath(l.path), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if err := l.lock(time.Now()); err != nil {
		return err
	}
	defer l.unlock()
	return l.begin()
}

// begin writes the first head before there is a record: a log with records and no head was tampered with.
func (l *Log) begin() error {
	log, err := l.file.Stat()
	if err != nil {
		return err
	}
	head, err := l.head.Stat()
	if err != nil || log.Size() > 0 || head.Size() > 0 {
		return err
	}
	if err := writeHead(l.head, Head{Hash: noHash}); err != nil {
		return err
	}
	return errors.Join(l.head.Sync(), syncFolder(filepath.Dir(l.path)))
}

// syncFolder makes the names of new files durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckPlace returns why no log can be kept at a path: where a file of the log or its index would be is a link,
// something that is no file, or a file that cannot be read, or the file is no log.
func CheckPlace(path string) error {
	for _, name := range Files(path) {
		if err := checkPlaceOf(name, name == path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range IndexFiles(path) {
		if err := checkPlaceOf(name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; or move it away: it is the index, which is made again from the log", err)
		}
	}
	return nil
}

func checkPlaceOf(name string, isLog bool) error {
	if err := checkFile(name, os.Lstat); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if !isLog {
		return nil
	}
	return checkRecord(f)
}

// openFile opens a regular file. For writing it follows no link: whoever can put a link there would choose the file
// that is written to.
func openFile(path string, flags int) (*os.File, error) {
	stat := os.Stat
	if flags&os.O_CREATE != 0 {
		stat = os.Lstat
	}
	if err := checkFile(path, stat); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

// checkFile makes sure that a path names a regular file. Opening a pipe could block forever.
func checkFile(path string, stat func(path string) (os.FileInfo, error)) error {
	switch info, err := stat(path); {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, and a log is not written through one; name the file that it leads to", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; name another place for the log", path)
	}
	return nil
}

// checkRecord refuses a file with content of something else. A first line that a crash has cut short is ours if there
// is a head, which is written before the first record.
func checkRecord(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if head, err := openFile(headPath(f.Name()), os.O_RDONLY); err == nil {
		defer head.Close()
		if _, err := readHead(head); err == nil {
			return nil
		}
	}
	first, err := nextLine(bufio.NewReaderSize(io.NewSectionReader(f, 0, maxLine), maxLine))
	if err != nil {
		return err
	}
	if _, ok := Parse(first.Text); !ok {
		return fmt.Errorf("%s is not a log: its first line is not a record, and it has no head; name another place for "+
			"the log", f.Name())
	}
	return nil
}

// OnLost has f called as soon as records with Later could not be written, with how many and why; Append does not return
// that error for another record then. Nil ends it. f must not block: other records wait.
func (l *Log) OnLost(f func(records int, err error)) {
	if f == nil {
		l.onLost.Store(nil)
		return
	}
	l.onLost.Store(&f)
}

// LeavesArguments says that Append does not change the arguments that it is given.
func (l *Log) LeavesArguments() {}

// Close writes the records that wait, and closes the files. A second Close does nothing.
func (l *Log) Close() error {
	err := l.closeQueue()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range []*os.File{l.file, l.head} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	l.file, l.head = nil, nil
	return err
}
