// Package audit keeps the record of what was decided and run: a file of JSON lines to which lines are only ever added,
// each of which holds the hash of the one before. Verify tells whether a line was changed, removed, added or moved since,
// and a head in a second file whether lines were cut off the end.
//
// The hashes have no key. Whoever may write both files can write another history; only a head that was copied to
// somewhere else shows that.
//
// Several processes may write one log at once. A log is never rotated here: the operator may move the file and its head
// together while no host runs, and a new file starts a new chain with record 1.
package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
)

// Options say what a log holds.
type Options struct {
	// Secrets are values that never reach the log, each at least 6 bytes long; shorter ones would be found everywhere and
	// are ignored.
	Secrets []string
	// Content keeps arguments and results, redacted and cut at 64 KiB each. Without it the log has their hashes only.
	Content bool
}

// A Log is open for adding records. It may be used from several goroutines.
type Log struct {
	path    string
	content bool
	redact  *redact.Redactor

	later backlog

	mu         sync.Mutex
	file, head *os.File  // nil once closed
	known      ending    // how the file ended after our last record
	heard      time.Time // when we had the file last
}

// An ending is where a chain goes on.
type ending struct {
	size int64 // of the file; a file of another size ends differently
	last Head
}

// unknown is the ending of no file.
var unknown = ending{size: -1}

// Open opens the log at path, and makes it, its head and its folder if they are not there; only the user can read them.
// It fails if the file cannot be written or is not a regular file.
func Open(path string, o Options) (*Log, error) {
	l := &Log{path: path, content: o.Content, redact: redact.New(o.Secrets...), known: unknown}
	l.later.records = make(chan *Record, maxLater)
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
	if l.head, err = openFile(headPath(l.path), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if err := l.lock(time.Now()); err != nil {
		return err
	}
	defer l.unlock()
	return l.begin()
}

// begin writes the first head, before there is a record, so that a log with records and no head was tampered with.
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

// syncFolder makes names of new files last.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// openFile opens a regular file. Opening a pipe could wait for ever.
func openFile(path string, flags int) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; name another place for the log", path)
	}
	return os.OpenFile(path, flags, 0o600)
}

// Close writes the records that were left for later, and closes the files. Records that Append accepted stay; a second
// Close does nothing.
func (l *Log) Close() error {
	err := l.closeLater()
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
