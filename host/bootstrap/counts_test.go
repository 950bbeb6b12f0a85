package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// Concurrent calls are counted one by one.
func TestCountsOfManyHosts(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const hosts, most = 24, 7
	var passed atomic.Int32
	var wg sync.WaitGroup
	full := errors.New("full")
	for range hosts {
		wg.Go(func() {
			err := newCounts("a.hcl", "").Change(t.Context(), "", func(k *host.Counted) error {
				if k.Calls["x"] == most {
					return full
				}
				k.Calls = map[string]int{"x": k.Calls["x"] + 1}
				return nil
			})
			if err == nil {
				passed.Add(1)
			} else if !errors.Is(err, full) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if passed.Load() != most {
		t.Errorf("%d of %d passed, want %d", passed.Load(), hosts, most)
	}
}

func TestSessionsThatRemain(t *testing.T) {
	now := time.Now()
	all := map[string]*countedSession{"over": {Ends: now}, "nil": nil, "far": {Ends: now.Add(100 * namedSession)}}
	for i := range maxCounted + 5 {
		all[fmt.Sprint(i)] = &countedSession{Ends: now.Add(time.Duration(i+1) * time.Second)}
	}
	got := remaining(all, now)
	if len(got) != maxCounted-1 || got["over"] != nil || got["far"] != nil || got["5"] != nil || got["6"] == nil {
		t.Errorf("%d sessions remain", len(got))
	}
}

// A file of another version may count otherwise.
func TestCountsOfAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	for text, works := range map[string]bool{`{"config":"a.hcl"}`: true, `{"version":99}`: false, `{`: false, "": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readCounts(path); (err == nil) != works {
			t.Errorf("%s: %v", text, err)
		}
	}
}
