package client

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// A Memory is a client of a plugin that is served in this process, over the real wire and with its limits.
type Memory struct {
	*Client
	conn   *grpc.ClientConn
	stop   context.CancelFunc
	served chan error
}

// InMemory serves a plugin until Stop is called.
func InMemory(p *sdk.Plugin) (*Memory, error) {
	lis := bufconn.Listen(1 << 20)
	conn, err := grpc.NewClient("passthrough:memory", append(wire.DialOptions(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Memory{New(conn), conn, stop, make(chan error, 1)}
	go func() { m.served <- wire.ServeListener(ctx, p, lis) }()
	return m, nil
}

// Close ends the connection, and so all calls.
func (m *Memory) Close() error { return m.conn.Close() }

// Stop ends the connection and the plugin. The channel receives once, when all handlers have returned: the error of
// serving, or nil.
func (m *Memory) Stop() <-chan error {
	_ = m.Close() // an error says that it is closed
	m.stop()
	return m.served
}
