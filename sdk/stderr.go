package sdk

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// A stderr is the standard error that the plugin was given. go-plugin puts a pipe in its place and sends what comes out of
// that to the host, by calls: what a plugin prints right before it ends would be lost on that way.
type stderr struct {
	given, replaced *os.File
	once            sync.Once
}

// keepStderr is called before go-plugin is. A host that is gone, and reads no more, must not end the plugin before it is
// tidied up, as SIGPIPE would; it is caught and not ignored, since programs that the plugin starts inherit the latter.
func keepStderr() *stderr {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &stderr{given: os.Stderr}
}

// option has the server put it back ahead of the first request, which is after go-plugin took it and before any handler.
func (s *stderr) option() grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		s.once.Do(s.putBack)
		return ctx, nil
	})
}

// putBack holds on to go-plugin's pipe: once that is collected and so closed, go-plugin reads its end over and over.
func (s *stderr) putBack() { s.replaced, os.Stderr = os.Stderr, s.given }
