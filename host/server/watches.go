package server

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
)

// watches are the methods whose streams last.
var watches = map[string]bool{
	apiv1connect.HostServiceWatchCallsProcedure:     true,
	apiv1connect.ApprovalServiceWatchProcedure:      true,
	apiv1connect.PluginServiceWatchProcedure:        true,
	apiv1connect.PluginServiceLogsProcedure:         true,
	apiv1connect.ConfigurationServiceWatchProcedure: true,
}

// watchCounter bounds the watches that are open at once.
type watchCounter struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by principal
}

// beginWatch admits a stream that lasts. The context that it returns also ends when the server stops; done must be
// called at the end.
func (s *Server) beginWatch(ctx context.Context, p principal) (_ context.Context, done func(), refused *connect.Error) {
	key, most := p.key(), s.limits.watches
	c := &s.watches
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key] >= most || c.all >= 4*most {
		return nil, nil, fail(connect.CodeResourceExhausted, "", "too many watches are open", "Close some, and open fewer.")
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[key]++
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(s.stopping, cancel)
	return ctx, func() {
		unlink()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[key]--; c.of[key] == 0 {
			delete(c.of, key)
		}
	}, nil
}

// open is how many watches are open.
func (c *watchCounter) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
