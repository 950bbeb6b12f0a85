package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Commands that wait for a host's end read its lock file again and again: a moment without a process in it would be
// taken for the end.
func TestHolderIsNamedWhileItsStateChanges(t *testing.T) {
	place, lock := lockedPlace(t)
	if err := local.Hold(lock, local.Starts); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	defer writer.Wait()
	stop := make(chan struct{})
	defer close(stop)
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := local.Hold(lock, []local.State{local.Serves, local.Stops}[i%2]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 20_000 {
		if h := place.Holder(); h == nil || h.PID != os.Getpid() {
			t.Fatalf("the lock file names %+v, want process %d", h, os.Getpid())
		}
	}
}

// A folder that was deleted is named as the cause, and what to do.
func TestFindInADeletedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Skip(err) // Windows keeps it
	}
	if _, err := local.Find("config.hcl", "", ""); err == nil || !strings.Contains(err.Error(), "it was deleted") {
		t.Errorf("Find: %v", err)
	}
}

// A process that was killed leaves its number in the lock file, and the lock with the one that has handed over to it.
func TestHolderThatIsGone(t *testing.T) {
	place, lock := lockedPlace(t)
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for text, pid := range map[string]int{
		fmt.Sprintf("%d serves", os.Getpid()):             os.Getpid(), // of an older version
		fmt.Sprintf("%d serves", ended.Process.Pid):       0,
		fmt.Sprintf("%d serves 1", os.Getpid()):           0, // the number is another process's now
		fmt.Sprintf("%d serves 12345", ended.Process.Pid): 0,
	} {
		if err := os.WriteFile(place.Lock(), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if h := place.Holder(); h == nil || h.PID != pid {
			t.Errorf("%q: %+v, want process %d", text, h, pid)
		}
	}
	self, _, err := local.Process(os.Getpid())
	if err == nil { // a system that tells
		other := fmt.Sprintf("%d/1", os.Getpid()) // the number is another process's now
		dead := fmt.Sprintf("%d/1", ended.Process.Pid)
		for _, end := range []func() error{
			func() error { return local.Release(lock, dead, self, other) },
			func() error {
				text := fmt.Sprintf("%s serves 1 %s %s\n", dead, self, dead)
				return os.WriteFile(place.Lock(), []byte(strings.Replace(text, "/1", "", 1)), 0o600)
			},
		} {
			if err := end(); err != nil {
				t.Fatal(err)
			}
			h := place.Holder()
			if h == nil || *h != (local.Holder{Earlier: os.Getpid()}) || !strings.HasSuffix(h.Ending(),
				fmt.Sprintf(": kill %d", os.Getpid())) {
				t.Errorf("the one that still ends its calls is %+v", h)
			}
		}
	}
	if err := local.Release(lock, "9999999/1"); err != nil {
		t.Fatal(err)
	}
	if h := place.Holder(); h == nil || *h != (local.Holder{}) || !strings.HasSuffix(h.Ending(), "wait for it") {
		t.Errorf("%+v", h)
	}
	if err := local.Hold(lock, local.Serves); err != nil {
		t.Fatal(err)
	}
	if h := place.Holder(); h == nil || *h != (local.Holder{PID: os.Getpid(), State: local.Serves}) {
		t.Errorf("this process is told as %+v", h)
	}
}

func lockedPlace(t *testing.T) (local.Place, *os.File) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	place, err := local.Find(filepath.Join(t.TempDir(), "config.hcl"), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := fsutil.TryLock(place.Lock(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return place, lock
}
