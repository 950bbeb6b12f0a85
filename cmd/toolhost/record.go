package main

import (
	"sync"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/supervise"
)

// A record is the audit log, opened when there is something to write.
type record struct {
	path    string // "" is the default
	options audit.Options

	once sync.Once
	log  *audit.Log
	err  error

	mu     sync.Mutex // held to give something to the writer, and to end it
	later  chan audit.Record
	writer sync.WaitGroup
}

// newRecord begins a record; close ends it.
func newRecord(path string, o audit.Options) *record {
	later := make(chan audit.Record, 1000)
	r := &record{path: path, options: o, later: later}
	r.writer.Go(func() {
		for a := range later {
			_ = r.Append(a) // a call that needs the record finds out by itself
		}
	})
	return r
}

// Append adds a record. It fails, each time, when the log could not be opened.
func (r *record) Append(a audit.Record) error {
	r.once.Do(r.open)
	if r.err != nil {
		return r.err
	}
	return r.log.Append(a)
}

func (r *record) open() {
	if r.path == "" {
		if r.path, r.err = defaultAuditPath(); r.err != nil {
			return
		}
	}
	r.log, r.err = audit.Open(r.path, r.options)
}

// plugin takes note of a plugin's start or end, without waiting until it is written.
func (r *record) plugin(s supervise.Status) {
	a := audit.Record{Plugin: s.Name, Generation: s.Generation, Reason: s.LastError}
	switch s.State {
	case supervise.Ready:
		a.Kind = audit.KindStart
	case supervise.Crashed, supervise.Backoff, supervise.Quarantined, supervise.Invalid, supervise.Stopped:
		a.Kind = audit.KindExit
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Kind == "" || s.Generation == 0 || r.later == nil {
		return
	}
	select {
	case r.later <- a:
	default: // more of them than anybody can write
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
	if r.log == nil {
		return nil
	}
	return r.log.Close()
}
