package local_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Commands that wait for a host's end read its lock file again and again: a moment without a process in it would be
// taken for the end.
func TestHolderIsNamedWhileItsStateChanges(t *testing.T) {
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
	defer lock.Close()
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
