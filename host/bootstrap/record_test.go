package bootstrap

import (
	"context"
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

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
)

// A temporary obstacle to opening the record does not keep it closed permanently.
func TestRecordIsOpenedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRecord(path, "", audit.Options{})
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

// Starts and ends of plugins that do not fit into the queue are told as lost.
func TestRecordsOverTheQueueAreTold(t *testing.T) {
	r := &record{later: make(chan *audit.Record, 1)} // no one writes
	lost := 0
	r.OnLost(func(records int, err error) {
		if !strings.Contains(err.Error(), "faster than the record is written") {
			t.Error(err)
		}
		lost += records
	})
	for range 3 {
		r.plugin(supervise.Status{Name: "demo", State: supervise.Ready, Generation: 1})
	}
	if lost != 2 {
		t.Errorf("%d are told as lost, want 2", lost)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	r.plugin(supervise.Status{Name: "demo", State: supervise.Stopped, Generation: 1})
	if lost != 2 {
		t.Error("a record after the end is told as lost")
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

// Plugins of the program itself are there after a reload too, and have no label of the configuration's.
func TestInProcess(t *testing.T) {
	own := func(label string) Options {
		p := sdk.New("own", "1.0.0")
		sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
			func(context.Context, *sdk.Request, struct{}) (*sdk.Result, error) { return sdk.Text("fine"), nil })
		plugin, err := host.InProcess(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = plugin.Close() })
		return Options{Config: "config.hcl", TrustNamed: true, InProcess: map[string]host.Plugin{label: plugin}}
	}
	if _, err := Open(t.Context(), own("greet")); err == nil || !strings.Contains(err.Error(), `plugin "greet" is one of`) {
		t.Errorf("a label of the configuration: %v", err)
	}
	i, err := Open(t.Context(), own("own"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	if r := i.Catalog().Call(t.Context(), host.Call{Tool: "own__x"}); r.Text() != "fine" {
		t.Errorf("%+v", r)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
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

// Whoever supplies the folder of a configuration does not choose by links in it what a record is written to, not even
// what is made for the plugins that must not see it.
func TestRecordsBehindLinks(t *testing.T) {
	dir, victim := t.TempDir(), t.TempDir()
	bashrc := filepath.Join(victim, "bashrc")
	if err := errors.Join(os.WriteFile(bashrc, []byte("alias ls=ls\n"), 0o600), os.Mkdir(dir+"/logs", 0o700),
		os.Symlink(victim, dir+"/out"), os.Symlink("logs", dir+"/in"), os.Symlink(bashrc, dir+"/logs/bashrc"),
		os.Symlink(victim+"/made", dir+"/logs/made")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"logs/bashrc":   "by a link in " + dir,
		"logs/made":     "made is a link",
		"out/new":       "name " + filepath.Join(fsutil.Resolved(victim), "new") + " itself",
		"out/bashrc":    "by a link in " + dir,
		"in/audit":      "",
		bashrc:          "bashrc is not a log",
		victim + "/log": "",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		c := &Configuration{Config: &config.Config{Dir: dir, Audit: &config.Audit{Path: path}}}
		r := newRecord(path, dir, audit.Options{})
		err := r.Append(audit.Record{Kind: audit.KindStart})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", path, err, want)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
		var out Check
		if out.checkPlaces(c); (len(out.Problems) == 0) != (want == "") {
			t.Errorf("%s: validate finds %v", path, out.Problems)
		}
		if masked := c.masked(); strings.Contains(want, "itself") && len(masked) > 0 {
			t.Errorf("%s: it would be made as %q", path, masked)
		}
	}
	entries, err := os.ReadDir(victim)
	if err != nil || len(entries) != 3 { // bashrc, log and its head
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if text, err := os.ReadFile(bashrc); err != nil || string(text) != "alias ls=ls\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
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
				r := newRecord(path, "", audit.Options{})
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
