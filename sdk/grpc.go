package sdk

import (
	"context"
	"net"
	"os"
	"strconv"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file is the only seam with go-plugin on the wire's side: what both ends tell it. The host's process keeping is in
// host/supervise.

// Handshake is what host and plugin must agree on before anything else. The cookie keeps people from running a plugin by
// hand; it protects nothing. It never changes.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "TOOLHOST_PLUGIN",
	MagicCookieValue: "9b1f3c5e-toolhost-plugin-v1",
}

// Environment variables that a host sets for its plugins.
const (
	// EnvHostPID is the process that may connect; without it any process of the same user may.
	EnvHostPID = "TOOLHOST_HOST_PID"
	// EnvKeepDir is a folder for temporary files that are to be there for a while when the plugin has ended, unlike those in
	// TMPDIR. It is not the plugin's own; whoever puts something there makes a private folder, and removes it in time.
	EnvKeepDir = "TOOLHOST_KEEP_DIR"
	// EnvToken is what the host shows with each request, see WithToken; without it nobody needs to.
	EnvToken = "TOOLHOST_TOKEN"
	// EnvLifeline is "stdin" when the plugin must end as soon as its standard input does.
	EnvLifeline = "TOOLHOST_LIFELINE"
)

// PluginSet is what go-plugin dispenses under the name "plugin" on the host's side: a *Client.
func PluginSet() goplugin.PluginSet { return goplugin.PluginSet{"plugin": &glue{}} }

// DialOptions are the host's options for a connection to the plugin with this process id: who is at the other end, how
// much may come, and no retries behind our back.
func DialOptions(pid int) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(peerCredentials{pid: pid}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(sparing)),
		grpc.WithMaxHeaderListSize(64 << 10),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(4 * window),
	}
}

// A fixed flow-control window does away with the pings that measure one (measured: a tenth off large calls).
const window = 4 << 20

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(4 * window),
	}
}

func hostPID() int {
	pid, _ := strconv.Atoi(os.Getenv(EnvHostPID)) // absent or broken: 0, any process of this user
	return pid
}

// glue is the pair of functions that go-plugin wants, one for each end.
type glue struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer puts the plugin on the server that go-plugin made.
func (g *glue) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServiceServer(s, g.server)
	return nil
}

// GRPCClient gives a *Client.
func (g *glue) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// ServeListener serves the plugin on lis over plain gRPC, without go-plugin, until ctx ends: for tests, and for a host
// that keeps a plugin in its own process. It returns when all calls have ended.
func ServeListener(ctx context.Context, p *Plugin, lis net.Listener) error {
	s := &server{plugin: p, base: ctx}
	g := grpc.NewServer(append(serverOptions(), grpc.WaitForHandlers(true))...)
	pluginv1.RegisterPluginServiceServer(g, s)
	defer context.AfterFunc(ctx, g.GracefulStop)()
	err := g.Serve(lis)
	g.Stop() // for when the listener broke; it waits for the calls
	p.end()
	if ctx.Err() != nil {
		return nil // also when it ended before Serve began, which is an error to gRPC
	}
	return err
}
