// Package wire is the part of the protocol between a host and its plugins that both ends share: the handshake, the
// settings of their gRPC connection, who may connect, limits, and how large results travel. It uses the messages of
// pluginv1 and none of the types of authors and hosts: package sdk converts those at the plugin's end, package client
// those at the host's.
package wire

import (
	"context"
	"net"

	"google.golang.org/grpc"
)

// ProtocolVersion is the version of the protocol in the handshake.
const ProtocolVersion = 1

// EnvCookie is the variable whose value says that a host has started the plugin, Cookie. It prevents people from
// running a plugin by hand. It is not a security measure. It never changes.
const (
	EnvCookie = "TOOLHOST_PLUGIN"
	Cookie    = "9b1f3c5e-toolhost-plugin-v1"
)

// PluginName is the name under which go-plugin knows the one service of a plugin.
const PluginName = "plugin"

// Environment variables that a host sets for its plugins.
const (
	// EnvSocketDir is the private folder in which the plugin makes its socket; go-plugin's clients set it too.
	EnvSocketDir = "PLUGIN_UNIX_SOCKET_DIR"
	// EnvHostPID is the process that may connect; without it any process of the same user may.
	EnvHostPID = "TOOLHOST_HOST_PID"
	// EnvKeepDir is a folder for temporary files that outlive the plugin, unlike those in TMPDIR. See sdk.KeepDir.
	EnvKeepDir = "TOOLHOST_KEEP_DIR"
	// EnvStateDir is a private folder that the plugin may keep files in; empty when it has none. See sdk.Plugin.StateDir.
	EnvStateDir = "TOOLHOST_STATE_DIR"
	// EnvInstance is the label of the plugin in the host's configuration. See sdk.Instance.
	EnvInstance = "TOOLHOST_INSTANCE"
	// EnvToken is the token that the host sends with each request, see WithToken; without it no request needs one.
	EnvToken = "TOOLHOST_TOKEN"
	// EnvLifeline is "stdin" when the plugin must end as soon as its standard input does.
	EnvLifeline = "TOOLHOST_LIFELINE"
)

// A fixed flow-control window saves the pings that measure one (measured: a tenth off large calls).
const window = 4 << 20

// DialOptions are the host's options for a connection to the plugin with this process id: peer credentials, the
// limits of messages, and no automatic retries. A pid of 0 accepts any process of the same user.
func DialOptions(pid int) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(peerCredentials{pid: pid}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage),
			grpc.ForceCodecV2(hostCodec)),
		grpc.WithMaxHeaderListSize(64 << 10),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(4 * window),
	}
}

// ServerOptions are the plugin's options: the limits of messages.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(4 * window),
	}
}

// ServeListener serves an *sdk.Plugin on a listener over plain gRPC, without go-plugin, until ctx ends, and returns
// when all calls have ended. Package sdk sets it for package sdktest, so that it is not part of sdk's API.
var ServeListener func(ctx context.Context, plugin any, lis net.Listener) error

// UseStateDir gives an *sdk.Plugin another state folder than that in EnvStateDir. Package sdk sets it, likewise.
var UseStateDir func(plugin any, dir string)
