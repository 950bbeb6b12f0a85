package supervise

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/sdk"
)

// dialOptions are those of the sdk, with the token that the plugin knows us by, over a connection that ends with the process, and without go-plugin's broker.
// Behind a wrapper the plugin may be another process than the one we started; then it need only be of our user, in the
// private folder.
func dialOptions(c *child, r *runner, same bool) []grpc.DialOption {
	pid := 0
	if same {
		pid = c.pid
	}
	return append(sdk.DialOptions(pid), sdk.WithToken(r.token), grpc.WithContextDialer(c.dialer(r.socket)), grpc.WithStreamInterceptor(noBroker))
}

// dialer connects to the plugin's socket. The connection ends with the process, whoever else holds the socket:
// go-plugin waits without limit for one that is open and silent.
func (c *child) dialer(socket string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			go func() { <-c.exited; _ = conn.Close() }()
		}
		return conn, err
	}
}

// noBroker refuses go-plugin's broker, which nobody uses and which keeps for ever what a plugin sends to it.
func noBroker(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	}
	return next(ctx, d, cc, method, o...)
}
