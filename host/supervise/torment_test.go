package supervise

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A tally counts what became of calls.
type tally struct{ ok, failed, late atomic.Int64 }

// one makes a call and checks it: an answer in time, at most one run, and a run if it says so.
func (c *tally) one(t *testing.T, p *Process, dir, id string) {
	const deadline = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	began := time.Now()
	result, err := p.Call(ctx, &sdk.Request{CallID: id, Tool: "count", Arguments: []byte(`{}`), Workdir: "/"})
	if took := time.Since(began); took > deadline+stopTime {
		t.Errorf("%s was answered after %s", id, took)
	}
	runs := size(filepath.Join(dir, id))
	switch {
	case runs > 1, err == nil && (result.Error != nil || runs != 1):
		t.Errorf("%s ran %d times: %+v, %v", id, runs, result, err)
	case err == nil:
		c.ok.Add(1)
	case sdk.CodeOf(err) == sdk.CodeTimeout:
		c.late.Add(1)
	default:
		c.failed.Add(1)
	}
}

// Kills, stops, reloads good and bad, and resets come at random while calls run: each call has its answer, none runs twice,
// and in the end the plugin works and nothing is left.
func TestTorment(t *testing.T) {
	const steps = 60
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	spec := counting("1", "DIR="+dir)
	spec.Restart = Restart{MaxCrashes: 1000, Backoff: time.Millisecond, BackoffMax: 5 * time.Millisecond}
	spec.DrainTimeout = 2 * time.Second
	s := supervisor(t)
	p := add(t, s, spec)
	mustCall(t, p, "count", "")
	goroutines, files := runtime.NumGoroutine(), openFiles()

	var counts tally
	var wg sync.WaitGroup
	over := make(chan struct{})
	for c := range 8 {
		wg.Go(func() {
			for n := 0; !isClosed(over); n++ {
				counts.one(t, p, dir, fmt.Sprintf("c%d-%d", c, n))
			}
		})
	}
	signal := func(sig syscall.Signal) func() {
		return func() {
			if pid := p.Status().PID; pid > 0 {
				_ = syscall.Kill(pid, sig)
			}
		}
	}
	broken := playing("counts", "exits")
	torments := []func(){
		signal(syscall.SIGKILL), signal(syscall.SIGTERM), signal(syscall.SIGSTOP), signal(syscall.SIGCONT), p.Reset,
		func() { _ = p.Reload(t.Context(), spec) },
		func() { _ = p.Reload(t.Context(), broken) },
		func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(20))*time.Millisecond)
			defer cancel()
			_ = p.Reload(ctx, spec)
		},
	}
	for range steps {
		torments[random.IntN(len(torments))]()
		checkLegal(t, p.Status())
		<-time.After(time.Duration(random.IntN(50)) * time.Millisecond)
	}
	close(over)
	wg.Wait()
	signal(syscall.SIGCONT)()                 // one that was stopped last would be found out only when the next call's time is over
	if p.spec.Load().Env["PLAY"] == "exits" { // a plugin that does not run takes any spec
		t.Log("reloaded, since the last spec it took is the broken one")
		mustReload(t, p, spec)
	}
	soon(t, "the plugin works", patience, func() bool { _, err := call(t, p, "count", ""); return err == nil })
	soon(t, "old processes have ended", patience, func() bool { return p.Status().Draining == 0 })
	soon(t, "nothing is left", patience, func() bool {
		return runtime.NumGoroutine() <= goroutines+3 && openFiles() <= files+3 && len(sockets(t, s)) == 1
	})
	t.Logf("%d answered, %d failed, %d late", counts.ok.Load(), counts.failed.Load(), counts.late.Load())
	if counts.ok.Load() == 0 {
		t.Error("no call was answered")
	}
}

// checkLegal checks what a status may say.
func checkLegal(t *testing.T, s Status) {
	t.Helper()
	legal := []State{Known, Starting, Ready, Crashed, Backoff}
	if !slices.Contains(legal, s.State) || s.Reason == "" || s.Since.IsZero() || (s.State == Ready) != (s.PID != 0) ||
		s.Calls < 0 || s.Draining < 0 || s.Draining > maxDraining || (s.State == Backoff) == s.RetryAt.IsZero() {
		t.Errorf("status: %+v", s)
	}
}
