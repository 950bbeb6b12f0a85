package supervise

import (
	"context"
	"log/slog"

	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/sdk"
)

// openCache makes the cache that the options ask for, or nil. A folder that cannot be used is no reason to fail.
func openCache(o Options, log *slog.Logger) *toolcache.Cache {
	if o.CacheDir == "" {
		return nil
	}
	c, err := toolcache.Open(o.CacheDir)
	if err != nil {
		log.Warn("what plugins say of themselves is not kept", "error", err)
		return nil
	}
	c.Refresh, c.Offline = o.Refresh, o.Offline
	return c
}

// recall gives what is known of a plugin without a start, or nil.
func (s *Supervisor) recall(ctx context.Context, spec Spec) *sdk.Description {
	if s.cache == nil {
		return nil
	}
	path, err := s.verified(spec)
	if err != nil {
		return nil // which the start tells
	}
	return s.cache.Recall(ctx, s.describing(spec, path))
}

// describing is what the description of a plugin depends on, whose program is the file at path.
func (s *Supervisor) describing(spec Spec, path string) toolcache.Plugin {
	return toolcache.Plugin{Program: path, Command: spec.Command, Env: spec.Env, Inherited: inheritedEnvironment(spec),
		Dir: spec.Dir, Workdir: s.workdir, Config: spec.Config}
}
