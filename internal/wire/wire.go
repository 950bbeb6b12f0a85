// Package wire is the part of the protocol between a host and its plugins that both ends share: the handshake, the
// settings of their gRPC connection, who may connect, limits, and how large results travel. It uses the messages of
// pluginv1 and none of the types of authors and hosts: package sdk converts those at the plugin's end, package client
// those at the host's.
package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
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

// QuietGRPC drops what gRPC itself logs, on standard error: a plugin could have it print lines between toolhost's own,
// also while a question is open. Each error of a call has the cause. A program calls it before it connects to anything;
// the variable is that of gRPC.
func QuietGRPC() {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
}

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

// EnvAttach makes a plugin that was started by hand, such as under a debugger, wait for hosts that join it: "1", or the
// path of the file for its Attachment.
const EnvAttach = "TOOLHOST_ATTACH"

// AttachVersion is the version of an Attachment.
const AttachVersion = 1

// MaxAttachment is the limit, in bytes, of a file with an Attachment.
const MaxAttachment = 4 << 10

// An Attachment is how a host joins a plugin that it has not started. The plugin writes it as JSON to a file that only
// its user can read.
type Attachment struct {
	Version  int    `json:"version"`
	Plugin   string `json:"plugin"`            // the name that the plugin gives itself
	Protocol uint   `json:"protocol"`          // of the handshake
	PID      int    `json:"pid"`               // of the process that listens
	Socket   string `json:"socket"`            // its absolute path, in a folder that only the user can access, or a port
	Network  string `json:"network,omitempty"` // "tcp" where Socket is a port of the machine itself, such as 127.0.0.1:4000
	Token    string `json:"token"`             // that the host sends with each request
}

// An empty element takes two bytes on the wire and hundreds in memory, so a message within its limit could still fill
// the host's memory. The host's codec counts the elements first.
const (
	maxListed  = 1 << 14  // tools, or notices, of a plugin
	fewEnough  = maxParts // bytes of a message that cannot have too many elements
	fieldTools = 4        // of DescribeResponse; as in plugin.proto, like the others
	fieldNotes = 7
	fieldKinds = 13
	fieldParts = 1
	fieldEnd   = 7 // the Result in a CallEvent

	fieldEvents = 2 // of SessionEvent

	tooMany = "elements in one message; the limit is"
)

// hostCodec is gRPC's codec with a limit on the elements of decoded messages.
var hostCodec encoding.CodecV2 = codec{encoding.GetCodecV2(proto.Name)}

type codec struct{ encoding.CodecV2 }

// Unmarshal fails for too many elements with a text that TooManyElements recognizes.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if data.Len() <= fewEnough {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if n, most := elements(whole.ReadOnlyData(), v); n > most {
		return tooManyElements(n, most)
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v)
}

func tooManyElements(n, most int) error { return fmt.Errorf("%d %s %d", n, tooMany, most) }

// TooManyElements recognizes the error of a message that the codec has refused by its text: gRPC keeps nothing else
// of it.
func TooManyElements(err error) bool { return strings.Contains(err.Error(), tooMany) }

// elements counts the elements of the list that can make a message of v's kind large, and returns their limit.
func elements(data []byte, v any) (n, most int) {
	switch v.(type) {
	case *pluginv1.CallEvent:
		return count(data, fieldEnd, fieldParts), maxParts
	case *pluginv1.SessionEvent:
		return max(count(data, fieldEvents), count(data, fieldEvents, fieldEnd, fieldParts)), maxParts
	case *pluginv1.PreviewResponse:
		return count(data, fieldParts), maxParts
	case *pluginv1.DescribeResponse:
		return max(count(data, fieldTools), count(data, fieldNotes), count(data, fieldKinds)), maxListed
	}
	return 0, 0
}

// count counts the fields with a number, or those at the end of the path. It stops where the message is malformed;
// the decoder reports that.
func count(data []byte, field protowire.Number, path ...protowire.Number) (n int) {
	for len(data) > 0 {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		value := data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, value); size < 0 {
			return n
		}
		data = value[size:]
		switch {
		case number != field || kind != protowire.BytesType:
		case len(path) == 0:
			n++
		default:
			inside, _ := protowire.ConsumeBytes(value)
			n += count(inside, path[0], path[1:]...)
		}
	}
	return n
}

// NoResult is what an error says of a tool whose handler returned neither a result nor an error.
func NoResult(tool string) (message, suggestion string) {
	return "the tool " + tool + " has run, but returned neither a result nor an error",
		"This is a bug in the plugin. Check what the call has done before you repeat it."
}
