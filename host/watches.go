package host

import (
	"context"
	"log/slog"
)

// A watch waits for a plugin to tell that its tools have changed.
type watch struct {
	plugin Plugin
	end    context.CancelFunc
}

// watchOnly begins and ends watches so that there is one for each plugin that can be watched. It is for those who hold
// the lock.
func (h *Host) watchOnly(n *snapshot) {
	for name, w := range h.watches {
		if l := n.listing(name); l == nil || !same(l.plugin, w.plugin) {
			w.end()
			delete(h.watches, name)
		}
	}
	for name, l := range n.registry.plugins {
		w, able := l.plugin.(Watcher)
		if _, already := h.watches[name]; !already && able {
			ctx, end := context.WithCancel(h.base)
			h.watches[name] = watch{l.plugin, end}
			h.running.Go(func() { h.watch(ctx, name, w) })
		}
	}
}

func (h *Host) watch(ctx context.Context, name string, w Watcher) {
	err := w.Watch(ctx, func() { h.toolsChanged(ctx, name) })
	if err != nil && ctx.Err() == nil {
		h.logger().Warn("watching a plugin for changed tools ended", "plugin", name, "error", err)
	}
}

// toolsChanged forgets what a plugin had for tools. What one says that is watched no more is about another's.
func (h *Host) toolsChanged(ctx context.Context, plugin string) {
	now := h.now.Load()
	if l := now.listing(plugin); l != nil && ctx.Err() == nil {
		l.forget()
		now.tellChanged(plugin)
	}
}

func (h *snapshot) tellChanged(plugin string) {
	if h.options.OnToolsChanged != nil {
		h.options.OnToolsChanged(plugin)
	}
}

func (h *Host) logger() *slog.Logger { return h.now.Load().log }
