//go:build !windows

package sdk

import (
	"context"
	"net"
)

func listenAt(path string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
}
