package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/sdk"
)

// await lists the plugin again when the tool that is wanted is not in its list but may come: it waits for tools that
// the plugin expects soon, within the caller's timeout. The error says why the plugin has not all of its tools.
func (r *registry) await(ctx context.Context, c *Call, l *listing, own toolList, wanted func(toolList) bool) (toolList,
	error) {
	late, able := l.plugin.(Awaiter)
	if !able || wanted(own) {
		return own, nil
	}
	limited, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.timeout))
	defer cancel()
	err := late.AwaitTools(limited, func(why string) {
		c.reportProgress(fmt.Sprintf("waiting for plugin %q: %s", l.name, why))
	})
	if l.dropOld(limited) {
		now, listErr := l.list(limited)
		if listErr == nil && wanted(now) {
			return now, nil
		}
		if err == nil {
			return now, listErr
		}
	}
	if why, coded := errors.AsType[*sdk.Error](err); coded && ctx.Err() != nil {
		e := sdk.EndedError(ctx)
		e.Message += ": " + why.Message
		return own, e
	}
	return own, err
}

const longestWait = time.Minute // how long AwaitTools waits: as long as plugins/mcp lets a server start

// AwaitTools waits for the tools that plugins which are listed expect soon, such as those of servers that are still
// starting, until ctx ends, a minute at most. It calls waiting, from several goroutines, for each plugin that it waits
// for. It reports whether tools are to be listed again: plugins have others than those that were listed.
func (h *Host) AwaitTools(ctx context.Context, waiting func(plugin, why string)) bool {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	var changed atomic.Bool
	var plugins sync.WaitGroup
	for name, l := range h.current.Load().registry.plugins {
		late, able := l.plugin.(Awaiter)
		if !able || l.load().tools == nil {
			continue
		}
		plugins.Go(func() {
			callback.Run(l.log(), "Awaiter.AwaitTools", func() { // the error is what the plugin's status says
				_ = late.AwaitTools(ctx, func(why string) { waiting(name, why) })
			})
			if l.dropOld(ctx) {
				changed.Store(true)
			}
		})
	}
	plugins.Wait()
	return changed.Load()
}
