package main

import (
	"sync"

	"github.com/toolhost/toolhost/host/audit"
)

// A record is the audit log, opened when there is something to write: a command that makes no calls needs none.
type record struct {
	path    string // "" is the default
	options audit.Options

	once sync.Once
	log  *audit.Log
	err  error
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

func (r *record) close() error {
	if r == nil || r.log == nil {
		return nil
	}
	return r.log.Close()
}
