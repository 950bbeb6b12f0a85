package audit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the records that wait to be written. One that comes when they are reached is written at once.
const (
	maxLater      = 32 << 10 // records
	maxLaterBytes = 64 << 20 // of arguments and results
	laterBatch    = 4        // records that are written under one lock
	laterShare    = 4        // they are written in one part of so many of the time
)

// A backlog holds the records that may be written later. A goroutine writes them while there are any, a few at a time
// and with pauses, so that records that a call waits for get between. Adding one takes no lock that is held for longer
// than a moment.
type backlog struct {
	records chan *Record
	bytes   atomic.Int64
	writing atomic.Bool
	writers sync.WaitGroup

	closing sync.RWMutex          // held for reading to add a record
	closed  atomic.Bool           // set under it
	err     atomic.Pointer[error] // of records that could not be written, until a caller has received it
}

func (r *Record) size() int64 { return int64(len(r.Arguments) + len(r.Result)) }

// postpone accepts a record to be written later; false means that the backlog is full or closed.
func (l *Log) postpone(r *Record) bool {
	b := &l.later
	b.closing.RLock()
	defer b.closing.RUnlock()
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if b.closed.Load() {
		return false
	}
	if b.bytes.Add(r.size()) > maxLaterBytes || !b.add(r) {
		b.bytes.Add(-r.size())
		return false
	}
	l.startLater()
	return true
}

func (b *backlog) add(r *Record) bool {
	select {
	case b.records <- r:
		return true
	default:
		return false
	}
}

// startLater starts the writer if none runs.
func (l *Log) startLater() {
	if l.later.writing.CompareAndSwap(false, true) {
		l.later.writers.Go(l.writeLater)
	}
}

func (l *Log) writeLater() {
	b := &l.later
	for batch := b.next(); len(batch) > 0; batch = b.next() {
		began := time.Now()
		err := l.appendAll(batch)
		missing := len(batch)
		for err != nil && b.closed.Load() && len(batch) > 0 { // each try may take as long as the wait for a lock
			batch = b.next()
			missing += len(batch)
		}
		if err != nil {
			err = fmt.Errorf("%d records of calls that were not run are missing: %w", missing, err)
			b.err.CompareAndSwap(nil, &err) // the first says enough
		}
		if !b.closed.Load() {
			time.Sleep((laterShare - 1) * time.Since(began))
		}
	}
	b.writing.Store(false)
	if len(b.records) > 0 { // added while this writer still counted as running
		l.startLater()
	}
}

// next returns the records to write now.
func (b *backlog) next() (batch []Record) {
	for len(batch) < laterBatch {
		select {
		case r := <-b.records:
			b.bytes.Add(-r.size())
			batch = append(batch, *r)
		default:
			return batch
		}
	}
	return batch
}

// problem returns the error of earlier records, once.
func (b *backlog) problem() error {
	if b.err.Load() == nil {
		return nil
	}
	if err := b.err.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// closeLater accepts no more records and waits until all are written. After a failure, the rest is not tried.
func (l *Log) closeLater() error {
	b := &l.later
	b.closing.Lock()
	b.closed.Store(true)
	b.closing.Unlock()
	b.writers.Wait()
	return b.problem()
}
