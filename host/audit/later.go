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

// A backlog holds the records that may be written later. A goroutine writes them while there are any, a few at a time and
// with pauses, so that records which a call waits for go between. To leave one takes no lock that others hold
// for longer than a moment.
type backlog struct {
	records chan *Record
	bytes   atomic.Int64
	writing atomic.Bool
	writers sync.WaitGroup

	closing sync.RWMutex          // held for reading to leave a record
	closed  atomic.Bool           // set under it
	err     atomic.Pointer[error] // of records that could not be written, until somebody has received it
}

func (r *Record) size() int64 { return int64(len(r.Arguments) + len(r.Result)) }

// postpone takes a record to be written later; false means that it has no room.
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
	if b.bytes.Add(r.size()) > maxLaterBytes || !b.leave(r) {
		b.bytes.Add(-r.size())
		return false
	}
	l.startLater()
	return true
}

func (b *backlog) leave(r *Record) bool {
	select {
	case b.records <- r:
		return true
	default:
		return false
	}
}

// startLater makes sure that somebody writes.
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
		for err != nil && b.closed.Load() && len(batch) > 0 { // each try may take as long as a lock is waited for
			batch = b.next()
			missing += len(batch)
		}
		if err != nil {
			err = fmt.Errorf("%d records of calls that were not run are missing: %w", missing, err)
			b.err.CompareAndSwap(nil, &err) // the first tells enough
		}
		if !b.closed.Load() {
			time.Sleep((laterShare - 1) * time.Since(began))
		}
	}
	b.writing.Store(false)
	if len(b.records) > 0 { // who left one in this moment saw that somebody writes
		l.startLater()
	}
}

// next gives the records to write now.
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

// problem gives the error of earlier records, once.
func (b *backlog) problem() error {
	if b.err.Load() == nil {
		return nil
	}
	if err := b.err.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// closeLater waits until all is written, and takes no more. When something cannot be written, the rest is not tried.
func (l *Log) closeLater() error {
	b := &l.later
	b.closing.Lock()
	b.closed.Store(true)
	b.closing.Unlock()
	b.writers.Wait()
	return b.problem()
}
