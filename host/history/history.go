// Package history makes the record of calls searchable: an SQLite index beside the record, which is made from the
// record alone and can be rebuilt at any time. The record is the source of truth: the index stores where a call's lines
// are, and what is shown is read from there.
//
// The index follows the record as it grows. It reads the file like any other program, takes no lock on it, and is no
// part of a call's route. Several processes may follow one record with one index.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Options say what is indexed.
type Options struct {
	// Record is the path of the record; the file need not exist yet.
	Record string
	// Index is the path of the index, audit.IndexPath(Record) when it is "". Only the user can read it.
	Index string
	// KeepFor and KeepCalls bound the index: calls that are older, or over the number, are removed from it, in steps of
	// 1024 calls. Zero keeps all. Nothing is ever removed from the record.
	KeepFor   time.Duration
	KeepCalls int64
	// Log receives what happens to the index; nil discards it.
	Log *slog.Logger
}

// An Index is open for searching. It is safe for concurrent use.
type Index struct {
	options Options
	place   place
	log     *slog.Logger

	opened sync.RWMutex // held for reading while the store is used, for writing to replace it
	store  *store       // nil while it cannot be opened, and once closed
	closed bool

	syncing chan struct{} // has one element while no one synchronizes; guards the rest
	writer  writer
}

var errClosed = errors.New("the history is closed")

// Open opens the index, and creates it if necessary; Sync or Follow fill it. A damaged index and one of an older
// version are replaced by an empty one; the damaged file stays as INDEX.damaged. It fails with ErrLocked while another
// process keeps the index locked. Files that are no index stay as they are, and are an error; but what is not readable
// as a database at audit.IndexPath(Record) is taken for a damaged index.
func Open(ctx context.Context, o Options) (*Index, error) {
	if o.Record == "" {
		return nil, errors.New("there is no record to search; a line `audit {}` in the configuration has calls recorded")
	}
	var err error
	for _, path := range []*string{&o.Record, &o.Index} {
		if *path == "" {
			*path = audit.IndexPath(o.Record)
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	if o.Record == o.Index || fsutil.SameFile(o.Record, o.Index) {
		return nil, fmt.Errorf("%s is the record, so it cannot be the index; name another place", o.Index)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	i := &Index{options: o, log: o.Log, syncing: make(chan struct{}, 1)}
	i.place = place{o.Index, o.Index == audit.IndexPath(o.Record), o.Log}
	i.syncing <- struct{}{}
	if i.store, err = openStore(ctx, i.place); err != nil {
		return nil, err
	}
	return i, nil
}

// Close closes the index. Searches that run end first.
func (i *Index) Close() error {
	i.opened.Lock()
	defer i.opened.Unlock()
	if i.store != nil {
		i.store.close()
	}
	i.store, i.closed = nil, true
	return nil
}

// use runs f on the open store. When the file turns out to be damaged it is replaced, and when another process has
// replaced it, it is opened again; f's error is then a RebuildError.
func (i *Index) use(ctx context.Context, f func(*store) error) error {
	i.opened.RLock()
	s, closed := i.store, i.closed
	var err error
	if s != nil {
		err = f(s)
	}
	i.opened.RUnlock()
	switch {
	case closed:
		return errClosed
	case s == nil:
		if err := i.reopen(ctx, nil, nil); err != nil {
			return err
		}
		return i.use(ctx, f)
	case err == nil || ctx.Err() != nil:
		return err
	case !isDamage(err) && !s.replaced():
		return describe(err)
	}
	if reopened := i.reopen(ctx, s, err); reopened != nil {
		return reopened
	}
	return &RebuildError{Index: i.options.Index, Why: err}
}

// A RebuildError says that the index was damaged or replaced, and is made again from the record.
type RebuildError struct {
	Index string
	Why   error
}

func (e *RebuildError) Error() string {
	return fmt.Sprintf("the index %s is made again from the record: %v; ask again", e.Index, e.Why)
}

func (e *RebuildError) Unwrap() error { return e.Why }

// reopen replaces the store that failed, nil for one that could not be opened.
func (i *Index) reopen(ctx context.Context, failed *store, why error) error {
	i.opened.Lock()
	defer i.opened.Unlock()
	if i.closed {
		return errClosed
	}
	if i.store != failed {
		return nil // another goroutine has done it
	}
	if failed != nil {
		failed.close()
		i.store = nil
		if isDamage(why) && !failed.replaced() {
			if err := failed.setAside(why); err != nil {
				return fmt.Errorf("the index %s cannot be used: %w", failed.path, err)
			}
		}
	}
	s, err := openStore(ctx, i.place)
	if err != nil {
		return err // the next use tries again
	}
	i.store = s
	return nil
}
