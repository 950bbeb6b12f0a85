package supervise

import (
	"context"
	"time"

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
	go func() { _ = g.client.Watch(ctx, func() { g.refresh(ctx, describe) }) }()
}

func (g *generation) refresh(ctx context.Context, describe func(int, *sdk.Description)) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if d, err := g.client.Describe(ctx); err == nil {
		g.said.Store(d)
		describe(g.number, d)
	}
}

// answerTime is how long a healthy plugin may take to say what it is.
const answerTime = 2 * time.Second

// suspect finds out whether a plugin that left a call unanswered still answers at all, and kills it if not. A tool that
// takes long is no reason: other calls go on beside it.
func (g *generation) suspect() {
	if isClosed(g.done()) || !g.suspecting.TryLock() {
		return
	}
	go func() {
		defer g.suspecting.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		if _, err := g.client.Describe(ctx); err != nil {
			g.child.killFor("it no longer answered")
		}
	}()
}
