package sdk

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
)

// listenAt listens on a Unix socket where the system has those and tells both ends which process is at the other, else
// at a port of this machine alone.
func listenAt(path string) (net.Listener, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err == nil {
		if err = knowsPeers(lis.(*net.UnixListener)); err == nil {
			return lis, nil
		}
		_ = lis.Close()
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
}

// knowsPeers connects to the listener once: both ends are this process. A connection of another process fails too.
func knowsPeers(lis *net.UnixListener) error {
	const limit = time.Second
	own := wire.PeerCredentials(os.Getpid())
	near, err := net.DialTimeout("unix", lis.Addr().String(), limit) //nolint:gosec // its own socket
	if err != nil {
		return err
	}
	defer func() { _ = near.Close() }()
	_ = lis.SetDeadline(time.Now().Add(limit))
	defer func() { _ = lis.SetDeadline(time.Time{}) }()
	far, err := lis.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = far.Close() }()
	if _, _, err = own.ClientHandshake(context.Background(), "", near); err == nil {
		_, _, err = own.ServerHandshake(far)
	}
	return err
}
