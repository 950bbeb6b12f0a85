package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/sdk"
)

// watch asks again for the tools whenever a dynamic plugin says that they changed.
func (g *generation) watch(describe func(int, *sdk.Description)) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopWatch = stop
	if !g.description().Dynamic {
		return
	}
	// The first word only says that the watch stands; asking then closes the gap since Describe.
	go func() { _ = g.client.Watch(ctx, func() { g.refresh(ctx, describe); pause(ctx, betweenChanges) }) }()
}

// betweenChanges is how long a plugin is not asked for its tools again: one that tells of changes without end waits.
const betweenChanges = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (g *generation) refresh(ctx context.Context, describe func(int, *sdk.Description)) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if d, err := g.describe(ctx); err == nil {
		g.said.Store(d)
		describe(g.number, d)
	}
}

const (
	// answerTime is how long a healthy plugin may take to say what it is, or that it is there.
	answerTime = 2 * time.Second
	// doubtAfter is how long a plugin may be idle before it is asked whether it lives, ahead of the next call. Nobody
	// asks a plugin that nobody calls.
	doubtAfter = 30 * time.Second
	// misses is how many questions in a row a plugin may leave unanswered while calls run in it; one without calls, none.
	misses = 3
)

// A doubt is whether a process still answers. One question at a time is under way.
type doubt struct {
	mu      sync.Mutex
	settled chan struct{} // of the newest question: closed when it has been answered, or the process killed
}

// suspect finds out whether a plugin that left a call unanswered still answers at all, and kills it if not. A tool that
// takes long is no reason: other calls go on beside it. The channel closes when that is settled.
func (g *generation) suspect() <-chan struct{} {
	d := &g.doubt
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settled == nil || isClosed(d.settled) {
		settled := make(chan struct{})
		d.settled = settled
		go func() { defer close(settled); g.question() }()
	}
	return d.settled
}

func (g *generation) question() {
	for missed := 1; !isClosed(g.done()); missed++ {
		began := time.Now()
		if g.ask() == nil {
			break
		}
		if missed == misses || g.visits.count() == 0 {
			g.child.killFor("it no longer answered")
			g.diedWithin(killTime)
			break // one that is stuck in the kernel leaves its calls to their deadlines
		}
		g.diedWithin(answerTime - time.Since(began))
	}
	g.visits.heard()
}

// awake says whether the process takes calls; one that was idle for long is asked first, so that no call is lost in one
// that does not answer.
func (g *generation) awake(ctx context.Context) bool {
	if g.visits.idle() < doubtAfter {
		return true
	}
	select {
	case <-g.suspect():
		return !isClosed(g.done())
	case <-ctx.Done():
		return false
	}
}

// ask asks go-plugin's health service, which every plugin has, whether it serves. One without it has answered as well.
func (g *generation) ask() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	r, err := healthpb.NewHealthClient(g.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch code := status.Code(err); {
	case code == codes.OK && r.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING:
		return errors.New("it says that it does not serve")
	case code == codes.OK, code == codes.Unimplemented, code == codes.NotFound:
		return nil
	}
	return fmt.Errorf("asking whether it lives: %w", err)
}
