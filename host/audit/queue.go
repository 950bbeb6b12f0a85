package audit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the records that wait to be written. One that comes when they are reached is written at once.
const (
	maxLater      = 32 << 10 // records
	maxLaterBytes = 64 << 20 // of their lines
	maxGroup      = 256      // records for later that are written under one lock
	laterPause    = 2 * time.Millisecond
)

// A queue holds the records that are not written yet. What comes while a group is being written is the next group,
// which costs one lock, one write and, if a record of it asks for that, one fsync: so many callers wait for the disk as
// long as one. The first caller writes for all that wait; the records for which no one waits go along, or are written
// after a pause. Adding one of those takes no lock that sleeps: ten thousand calls over a limit may add theirs at once.
type queue struct {
	mu      sync.Mutex
	waiting []*pending // a call waits for each
	writing bool       // a goroutine writes, or is about to
	idle    sync.Cond  // for Close

	// For gather.
	enough   int           // records, when the one that writes waits for so many; else 0
	gathered chan struct{} // receives when there are enough
	answered int           // calls that waited for the last group
	ended    time.Time     // when that was written
	took     time.Duration // how long a group takes that is synced, lately

	later      chan *line
	laterBytes atomic.Int64
	scheduled  atomic.Bool           // a timer will write the records for later
	err        atomic.Pointer[error] // of records for later, until a caller has received it

	closing sync.RWMutex // held for reading to add a record for later
	closed  atomic.Bool  // set under it, and under mu
}

// A pending is a record for which a call waits.
type pending struct {
	line  *line
	since time.Time
	done  chan error
}

func (q *queue) open() {
	q.later = make(chan *line, maxLater)
	q.gathered = make(chan struct{}, 1)
	q.idle.L = &q.mu
}

var errClosed = errors.New("it is closed")

// writeAndWait returns when the record is written.
func (l *Log) writeAndWait(r *line) error {
	p := &pending{line: r, since: time.Now(), done: make(chan error, 1)}
	q := &l.queue
	q.mu.Lock()
	if q.closed.Load() {
		q.mu.Unlock()
		return errClosed
	}
	q.waiting = append(q.waiting, p)
	if len(q.waiting) == q.enough {
		q.gathered <- struct{}{}
	}
	writer := !q.writing
	q.writing = true
	q.mu.Unlock()
	if writer && !l.writeGroup() {
		go l.writeAll() // what came meanwhile must not hold this call back
	}
	return <-p.done
}

// writeLater accepts a record to be written later; false means that the queue is full or closed.
func (l *Log) writeLater(r *line) bool {
	q := &l.queue
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed.Load() {
		return false
	}
	if q.laterBytes.Add(r.size()) > maxLaterBytes || !q.add(r) {
		q.laterBytes.Add(-r.size())
		return false
	}
	l.schedule()
	return true
}

func (r *line) size() int64 { return int64(len(r.text)) }

func (q *queue) add(r *line) bool {
	select {
	case q.later <- r:
		return true
	default:
		return false
	}
}

// schedule has the records for later written in a moment.
func (l *Log) schedule() {
	if l.queue.scheduled.CompareAndSwap(false, true) {
		time.AfterFunc(laterPause, l.flushLater)
	}
}

func (l *Log) flushLater() {
	q := &l.queue
	q.scheduled.Store(false)
	q.mu.Lock()
	writer := !q.writing && !q.closed.Load() // else the one that writes, or Close, takes them
	q.writing = q.writing || writer
	q.mu.Unlock()
	if writer {
		l.writeAll()
	}
}

func (l *Log) writeAll() {
	for !l.writeGroup() {
	}
}

// writeGroup writes what waits, and reports whether nothing waits any more, or less than a group of records for later:
// then its caller is no longer the writer.
func (l *Log) writeGroup() (done bool) {
	q := &l.queue
	waiting := q.gather()
	began := time.Now()
	synced := l.write(waiting, q.takeLater())

	q.mu.Lock()
	defer q.mu.Unlock()
	q.answered, q.ended = len(waiting), time.Now()
	if synced {
		q.took += (q.ended.Sub(began) - q.took) / 4
	}
	if len(q.waiting) > 0 || len(q.later) >= maxGroup && !q.closed.Load() {
		return false
	}
	q.writing = false
	q.idle.Broadcast()
	if len(q.later) > 0 && !q.closed.Load() {
		l.schedule()
	}
	return true
}

// maxGather is how long gather waits for more records. It waits no longer than a group takes, and not at all for calls
// one after the other.
const maxGather = time.Millisecond

// gather takes the records for which calls wait. Calls that come all the time, as those of many callers do, are
// answered together and then come again: the next group is written when three quarters of them have. Without that a
// group had three records of 16 callers, and each took its share of the next fsync in vain.
func (q *queue) gather() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := min(q.took, maxGather)
	expected := len(q.waiting)
	if len(q.waiting) > 0 && time.Since(q.ended) < limit {
		expected = (q.answered + len(q.waiting)) * 3 / 4
	}
	if len(q.waiting) < expected && !q.closed.Load() {
		q.enough = expected
		q.mu.Unlock()
		select {
		case <-q.gathered:
		case <-time.After(limit):
		}
		q.mu.Lock()
		q.enough = 0
		select { // it came with the timer
		case <-q.gathered:
		default:
		}
	}
	waiting := q.waiting
	q.waiting = nil
	return waiting
}

// takeLater returns the records for later that are next.
func (q *queue) takeLater() (out []*line) {
	if len(q.later) == 0 {
		return nil
	}
	out = make([]*line, 0, min(len(q.later), maxGroup))
	for len(out) < maxGroup {
		select {
		case r := <-q.later:
			q.laterBytes.Add(-r.size())
			out = append(out, r)
		default:
			return out
		}
	}
	return out
}

// write writes a group, and answers those who wait. The records for later go first: the decision of a call comes before
// its end. It reports whether the group was synced.
func (l *Log) write(waiting []*pending, later []*line) (synced bool) {
	if len(waiting)+len(later) == 0 {
		return false
	}
	n := len(waiting) + len(later)
	g := &group{began: time.Now(), lines: make([]*line, 0, n), errs: make([]error, n)}
	g.lines = append(g.lines, later...)
	for _, p := range waiting {
		g.lines = append(g.lines, p.line)
		g.sync = g.sync || p.line.sync
		if p.since.Before(g.began) {
			g.began = p.since
		}
	}
	l.writeRecords(g)
	for _, r := range g.lines {
		r.recycle()
	}
	for i, p := range waiting {
		p.done <- g.errs[len(later)+i]
	}
	missing, first := 0, error(nil)
	for _, err := range g.errs[:len(later)] {
		if err != nil {
			missing++
			first = err
		}
	}
	if missing > 0 {
		l.reportLost(missing, first)
	}
	return g.sync
}

// reportLost reports records for later that were not written, at once or with the next record.
func (l *Log) reportLost(missing int, err error) {
	if f := l.onLost.Load(); f != nil {
		(*f)(missing, err)
	}
	err = fmt.Errorf("%d records of calls are missing: %w", missing, err)
	l.queue.err.CompareAndSwap(nil, &err) // the first says enough
}

// takeError returns the error of earlier records, once.
func (q *queue) takeError() error {
	if q.err.Load() == nil {
		return nil
	}
	if err := q.err.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// closeQueue accepts no more records and returns when all are written. After a failure the rest is not tried: each try
// may take as long as the wait for a lock.
func (l *Log) closeQueue() error {
	q := &l.queue
	q.closing.Lock()
	q.mu.Lock()
	q.closed.Store(true)
	q.closing.Unlock()
	for q.writing {
		q.idle.Wait()
	}
	q.writing = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.writing = false
		q.idle.Broadcast()
		q.mu.Unlock()
	}()
	if l.onLost.Load() != nil {
		q.err.Store(nil) // it was reported
	}
	for later := q.takeLater(); len(later) > 0; later = q.takeLater() {
		if q.err.Load() == nil {
			l.write(nil, later)
			continue
		}
		missing := len(later)
		for rest := q.takeLater(); len(rest) > 0; rest = q.takeLater() {
			missing += len(rest)
		}
		err := fmt.Errorf("%w; %d more were not tried", *q.err.Load(), missing)
		q.err.Store(&err)
		if f := l.onLost.Load(); f != nil {
			(*f)(missing, err)
		}
	}
	return q.takeError()
}
