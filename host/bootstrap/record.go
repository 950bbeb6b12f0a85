package bootstrap

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/supervise"
)

// A record is the audit log, opened at the first record.
type record struct {
	path    string // "" is the default
	where   string // the block that has it
	dir     string // of the configuration that names it
	options audit.Options

	log     atomic.Pointer[audit.Log] // nil before it is open
	opening sync.Mutex
	err     error     // of the last attempt to open it
	tried   time.Time // when that attempt ended

	onLost atomic.Pointer[func(records int, err error)] // see OnLost

	mu     sync.Mutex // held to queue for the writer, and to end it
	later  chan *audit.Record
	writer sync.WaitGroup
}

// newRecord begins a record for the configuration in a folder; close ends it.
func newRecord(path, dir string, o audit.Options) *record {
	later := make(chan *audit.Record, 1000)
	r := &record{path: path, dir: dir, options: o, later: later}
	r.writer.Go(func() { r.write(later) })
	return r
}

// write appends queued records. When that fails, a call that needs the record gets the error itself, and close does
// not wait for the rest: each attempt may take as long as a lock is waited for.
func (r *record) write(later <-chan *audit.Record) {
	for a := range later {
		err := r.Append(*a)
		if onLost := r.onLost.Load(); err != nil && onLost != nil {
			(*onLost)(1, err)
		}
		if err != nil && r.closing() {
			return
		}
	}
}

func (r *record) closing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.later == nil
}

// Append adds a record. It fails as long as the log cannot be opened.
func (r *record) Append(a audit.Record) error {
	log, err := r.opened()
	if err == nil {
		err = log.Append(a)
	}
	return r.explain(err)
}

// explain adds to an error what to do about the folder of the record.
func (r *record) explain(err error) error {
	if err == nil {
		return nil // before the path is looked up, which takes more system calls than all else of a call
	}
	if path, unknown := AuditPath(r.path, r.dir); unknown == nil {
		return AuditError(err, path, r.where)
	}
	return err
}

// OnLost has f called for records that could not be written and for which no call waits: see audit.Log.
func (r *record) OnLost(f func(records int, err error)) {
	r.opening.Lock()
	defer r.opening.Unlock()
	explained := func(records int, err error) { f(records, r.explain(err)) }
	r.onLost.Store(&f)
	if log := r.log.Load(); log != nil {
		log.OnLost(explained)
	}
}

// LeavesArguments says that Append does not change the arguments, as audit.Log does not.
func (r *record) LeavesArguments() {}

// opened opens the log, again if the last attempt failed: the cause, such as a lock, may be gone. Callers that waited
// for an attempt share its result.
func (r *record) opened() (*audit.Log, error) {
	if log := r.log.Load(); log != nil {
		return log, nil
	}
	asked := time.Now()
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.log.Load() == nil && !r.tried.After(asked) {
		path, err := AuditPath(r.path, r.dir)
		var log *audit.Log
		if err == nil {
			log, err = audit.Open(path, r.options)
		}
		if onLost := r.onLost.Load(); log != nil && onLost != nil {
			log.OnLost(func(records int, err error) { (*onLost)(records, r.explain(err)) })
		}
		r.log.Store(log)
		r.err, r.tried = err, time.Now()
	}
	return r.log.Load(), r.err
}

// plugin records a plugin's start or end, without waiting until it is written.
func (r *record) plugin(s supervise.Status) {
	a := &audit.Record{Plugin: s.Name, Generation: s.Generation, Reason: s.LastError}
	switch s.State {
	case supervise.Ready:
		a.Kind = audit.KindStart
	case supervise.Crashed, supervise.Backoff, supervise.Quarantined, supervise.Invalid, supervise.Stopped:
		a.Kind = audit.KindExit
	}
	if a.Kind == "" || s.Generation == 0 {
		return
	}
	if onLost := r.onLost.Load(); !r.queue(a) && onLost != nil {
		(*onLost)(1, errFullQueue)
	}
}

// errFullQueue is why a record of a plugin's start or end is lost.
var errFullQueue = errors.New("plugins start and end faster than the record is written")

// queue hands a record to the writer; false means that its queue is full. After the end nothing is queued.
func (r *record) queue(a *audit.Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.later == nil {
		return true
	}
	select {
	case r.later <- a:
		return true
	default:
		return false
	}
}

func (r *record) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	close(r.later)
	r.later = nil
	r.mu.Unlock()
	r.writer.Wait()
	r.opening.Lock()
	defer r.opening.Unlock()
	if log := r.log.Load(); log != nil {
		return log.Close()
	}
	return nil
}
