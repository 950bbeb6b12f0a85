package bootstrap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/supervise"
)

// A temporary obstacle to opening the record does not keep it closed permanently.
func TestRecordIsOpenedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRecord(path, audit.Options{})
	for range 2 {
		if r.Append(audit.Record{Kind: audit.KindStart}) == nil {
			t.Fatal("a folder took a record")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if err := r.Append(audit.Record{Kind: audit.KindStart}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if written, err := audit.Tail(path, 100); err != nil || len(written) != 8 {
		t.Errorf("%d records, %v", len(written), err)
	}
	if err := r.Append(audit.Record{Kind: audit.KindStart}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

func TestOpenChecksApprove(t *testing.T) {
	for _, wrong := range []Approve{"Never", "deny"} {
		if i, err := Open(t.Context(), Options{Config: "config.hcl", TrustNamed: true, Approve: wrong}); i != nil ||
			err == nil || !strings.Contains(err.Error(), "is not one of ask, always, never, client") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Each Close waits for the same end, also of an instance with a record.
func TestCloseAgain(t *testing.T) {
	i, err := Open(t.Context(), Options{Config: "config.hcl", TrustNamed: true})
	if err != nil {
		t.Fatal(err)
	}
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() {
			if err := i.Close(); err != nil {
				t.Error(err)
			}
			if _, err := i.supervisor.Add(supervise.Spec{Name: "late", Command: []string{"x"}}); err == nil || !i.record.closing() {
				t.Error("closing again returned before the end")
			}
		})
	}
	closers.Wait()
}

// However many starts and ends of plugins are still to be written, closing a record that another process holds takes
// the time of two attempts at most: the running one, and the one that finds that the record is being closed.
func TestRecordHeldByAnotherProcessIsClosed(t *testing.T) {
	for name, open := range map[string]bool{"before it is open": false, "once it is open": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			other, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			synctest.Test(t, func(t *testing.T) {
				r := newRecord(path, audit.Options{})
				if open {
					if err := r.Append(audit.Record{Kind: audit.KindStart}); err != nil {
						t.Error(err)
					}
				}
				if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
					t.Error(err)
				}
				for range 100 {
					r.plugin(supervise.Status{Name: "x", State: supervise.Ready, Generation: 1})
				}
				began := time.Now()
				if err := r.close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 12*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
