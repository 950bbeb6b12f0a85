package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestPlacesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "")
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "log.head"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "notes"), "alias ls=ls\n")
	for link, to := range map[string]string{"to-log": written(t, 1), "to-notes": "notes", "to-nothing": "nowhere",
		"log-2.head": "notes"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "notes"): "notes is not a log: its first line is not a record, and it has no head; name another " +
			"place",
		filepath.Join(dir, "to-log"):     "to-log is a link, and a log is not written through one; name the file that",
		filepath.Join(dir, "to-notes"):   "is a link",
		filepath.Join(dir, "to-nothing"): "is a link",
		filepath.Join(dir, "log-2"):      "log-2.head is a link",

		dir:                        "is not a regular file",
		filepath.Join(dir, "pipe"): "is not a regular file",
		"/dev/null":                "is not a regular file",
		filepath.Join(dir, "log"):  "log.head is not a regular file",
		filepath.Join(file, "log"): "not a directory",
		"":                         "no such file",
	} {
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): %v, want %q in it", path, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "log-3.index"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("notes", filepath.Join(dir, "log-4.index-wal")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"notes": false, "to-log": false, "to-nothing": false, "pipe": false,
		"log": false, "log-2": false, "log-3": false, "log-4": false, "new": true} {
		if err := CheckPlace(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("CheckPlace of %s: %v", path, err)
		}
	}
	for path, want := range map[string]bool{"notes": true, "notes.head": false, "nowhere": false} {
		if text, err := os.ReadFile(filepath.Join(dir, path)); (err == nil) != want || want && string(text) != "alias ls=ls\n" {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
	if _, err := Verify(filepath.Join(dir, "pipe")); err == nil {
		t.Error("a pipe was verified")
	}
	if _, err := Verify(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there was verified")
	}
}

func TestPermissions(t *testing.T) {
	path := written(t, 1)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path, Options{})
	if os.Getuid() == 0 { // root may write all the same
		if err != nil {
			t.Error(err)
		}
		l.Close()
		return
	}
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("Open: %v", err)
	}
}

// removals are ways to take a log away under its host.
var removals = map[string]func(path string) error{
	"removed":      os.Remove,
	"moved":        func(path string) error { return os.Rename(path, path+".1") },
	"replaced":     func(path string) error { _ = os.Remove(path); return os.WriteFile(path, nil, 0o600) },
	"head removed": func(path string) error { return os.Remove(headPath(path)) },
	"head replaced": func(path string) error {
		_ = os.Remove(headPath(path))
		return os.WriteFile(headPath(path), nil, 0o600)
	},
}

// A log that was taken away under its host is not replaced by a new one.
func TestRemovedLogIsNotReplaced(t *testing.T) {
	for name, act := range removals {
		t.Run(name, func(t *testing.T) {
			path := logPath(t)
			l := openLog(t, path, Options{})
			add(t, l, call(1))
			if err := act(path); err != nil {
				t.Fatal(err)
			}
			if err := l.Append(call(2)); err == nil ||
				!strings.Contains(err.Error(), "was removed or replaced while the log was open") {
				t.Errorf("Append: %v", err)
			}
		})
	}
}

// A record whose head cannot be written is taken back.
func TestHeadCannotBeWritten(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{})
	add(t, l, call(1))
	writable := l.head
	readOnly, err := os.Open(headPath(path))
	if err != nil {
		t.Fatal(err)
	}
	l.head = readOnly
	if err := l.Append(call(2)); err == nil {
		t.Error("a record without a head was accepted")
	}
	checkWhole(t, path, 1)
	readOnly.Close()
	l.head = writable
	add(t, l, call(2))
	checkWhole(t, path, 2)
}

func TestClosed(t *testing.T) {
	l := openLog(t, logPath(t), Options{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := l.Append(call(1)); err == nil || !strings.Contains(err.Error(), "it is closed") {
		t.Errorf("Append: %v", err)
	}
}

// A process that is stopped while it holds the lock does not hold the others forever.
func TestLockedByAnother(t *testing.T) {
	path := written(t, 1)
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, path, Options{})
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		for what, try := range map[string]func() error{
			"Append": func() error { return l.Append(call(2)) },
			"Open":   func() error { _, err := Open(path, Options{}); return err },
			"Verify": func() error { _, err := Verify(path); return err },
		} {
			err := try()
			if err == nil || !strings.Contains(err.Error(), "locked by another process for 5s") {
				t.Errorf("%s: %v", what, err)
			}
			if holder(other) != "" && !strings.Contains(err.Error(), fmt.Sprintf(", process %d (", os.Getpid())) {
				t.Errorf("%s does not tell who: %v", what, err)
			}
		}
	})
	unlock(other)
	if by := holder(other); by != "" {
		t.Errorf("no process holds the lock, and yet%s", by)
	}
	add(t, openLog(t, path, Options{}), call(2))
	checkWhole(t, path, 2)
}

// A caller that waits while others write has a turn later, and does not learn that one of them is stopped.
func TestLockedByMany(t *testing.T) {
	path := logPath(t)
	for _, c := range []struct {
		busy time.Duration
		want string
	}{{3 * lockWait, ""}, {2 * busyWait, "was locked by other processes that write to it for 1m0s"}} {
		other, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			var others sync.WaitGroup
			defer others.Wait()
			others.Go(func() { // hold the lock all the time between them
				defer unlock(other)
				for began := time.Now(); time.Since(began) < c.busy; <-time.After(lockWait / 2) {
					_, _ = other.WriteString("x")
				}
			})
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := lockForReading(f); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
		other.Close()
	}
}

// A caller that waits behind others of this process, while other processes write, does not learn that one of those is
// stopped.
func TestLockedByManyForSeveral(t *testing.T) {
	path := written(t, 1)
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	synctest.Test(t, func(t *testing.T) {
		l, came := openLog(t, path, Options{}), time.Now()
		for range 3 {
			if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(lockWait-time.Second, func() { unlock(other) })
			if err := l.lock(came); err != nil {
				t.Fatalf("after %v: %v", time.Since(came), err)
			}
			l.unlock()
		}
	})
}

// A file that does not end like a log is not read as a whole to find that out.
func TestNotALog(t *testing.T) {
	path := written(t, 1)
	write(t, path, strings.Repeat("x", 3*maxLine))
	l := openLog(t, path, Options{})
	if err := l.Append(call(1)); err == nil || !strings.Contains(err.Error(), "does not end as an audit log does") {
		t.Errorf("Append: %v", err)
	}
}

// A log stays one when a crash has cut its first line short, and when it has lost its head.
func TestLogsThatAreDamagedAreOpened(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"the first line is cut short": func(path string) { write(t, path, read(t, path)[:20]) },
		"the head is gone":            func(path string) { _ = os.Remove(headPath(path)) },
		"the head is empty":           func(path string) { write(t, headPath(path), "") },
	} {
		path := written(t, 1)
		damage(path)
		if err := CheckPlace(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		add(t, openLog(t, path, Options{}), call(2))
	}
}

// Records that come while others are written are the next group, with one write and one head for all.
func TestRecordsThatWaitAreWrittenTogether(t *testing.T) {
	path := written(t, 1)
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const callers = 50
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, path, Options{})
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range callers {
			r := call(i)
			r.Sync, r.Later = i%2 == 0, i%5 == 1
			all.Go(func() {
				if err := l.Append(r); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		unlock(other)
		all.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if l.groups > 4 { // the first caller's, those that waited for it, and two of those for later
			t.Errorf("%d records were written in %d groups", callers, l.groups)
		}
	})
	checkWhole(t, path, callers+1)
}

// A record that cannot be written costs the others of its group nothing.
func TestRecordThatCannotBeWrittenInAGroup(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{})
	g := &group{errs: make([]error, 3), began: time.Now()}
	for i := range g.errs {
		r := call(i + 1)
		text, err := r.appendTo(nil, l)
		if err != nil {
			t.Fatal(err)
		}
		g.lines = append(g.lines, &line{text: text})
	}
	g.lines[1].text = []byte(strings.Repeat(" ", maxLine))
	l.writeRecords(g)
	if g.errs[0] != nil || g.errs[1] == nil || g.errs[2] != nil {
		t.Errorf("errors %v", g.errs)
	}
	checkWhole(t, path, 2)
}
