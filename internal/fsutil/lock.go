package fsutil

import (
	"context"
	"errors"
	"os"
	"time"
)

// lockRetry is the pause between two tries of [Lock].
const lockRetry = 10 * time.Millisecond

// Lock is [TryLock] that retries until ctx ends; then its error is [ErrLocked] and the cause of ctx.
func Lock(ctx context.Context, path string, flags int) (*os.File, error) {
	t := time.NewTicker(lockRetry)
	defer t.Stop()
	for {
		f, err := TryLock(path, flags)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-t.C:
		}
	}
}
