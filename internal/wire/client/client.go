// Package client is the host's end of the wire: it calls a running plugin and returns the types of package sdk.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// A Client calls one running plugin. It is safe for concurrent use.
type Client struct {
	wire     pluginv1.PluginServiceClient
	sessions atomic.Bool // the plugin has said that it accepts them
	dial     Dialer      // nil: there are none
	token    string
	life     context.Context // ends all calls

	// OnFlood is called when the plugin sends without end to calls that have ended, which ends their session. It is set
	// before the first call.
	OnFlood func()

	mu      sync.Mutex
	current *session
}

// New returns a client of the plugin at the other end of conn, which stays the caller's to close.
func New(conn grpc.ClientConnInterface) *Client {
	return &Client{wire: pluginv1.NewPluginServiceClient(conn), life: context.Background()}
}

// EndCallsWith has all calls and previews end with life as with their own context. A call over a session that ends so
// returns a *BrokenError. It is called before the first call, and costs a small call nothing, where a context for each
// took five allocations.
func (c *Client) EndCallsWith(life context.Context) { c.life = life }

func (c *Client) withLife(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// Handshake is that of the protocol, for go-plugin's client.
var Handshake = goplugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.EnvCookie,
	MagicCookieValue: wire.Cookie}

// PluginSet has go-plugin dispense a *Client under wire.PluginName.
func PluginSet() goplugin.PluginSet { return goplugin.PluginSet{wire.PluginName: adapter{}} }

type adapter struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer is for the plugin's end, which package sdk has.
func (adapter) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host's end serves nothing")
}

// GRPCClient returns a *Client.
func (adapter) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return New(conn), nil
}

// Describe asks what the plugin is and which tools it has now. The definitions are not checked; texts for people are
// cut to a line each. More than 16,384 tools, or 4 MiB of them, break the protocol.
func (c *Client) Describe(ctx context.Context) (*sdk.Description, error) {
	r, err := c.wire.Describe(ctx, &pluginv1.DescribeRequest{Replies: true})
	if err != nil {
		return nil, broken(ctx, err, false)
	}
	c.sessions.Store(r.GetSessions())
	return descriptionFromWire(r), nil
}

// Tools returns the definitions alone.
func (c *Client) Tools(ctx context.Context) ([]sdk.Tool, error) {
	d, err := c.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return d.Tools, nil
}

// Configure hands the plugin its configuration, a JSON object, and the tools that it reported when it last ran with it,
// if they are known. The plugin's refusal is an *sdk.Error, whose texts are cut to a line each.
func (c *Client) Configure(ctx context.Context, config json.RawMessage, workdir string, known *sdk.Description) error {
	if e := wire.CheckRequest(&pluginv1.CallRequest{Arguments: config, Workdir: workdir}); e != nil {
		return errorFromWire(e)
	}
	request := &pluginv1.ConfigureRequest{Config: config, Workdir: workdir}
	if known != nil {
		request.Memory = known.Memory
		for i := range known.Tools {
			request.KnownTools = append(request.KnownTools, toolToWire(&known.Tools[i]))
		}
	}
	r, err := c.wire.Configure(ctx, request)
	if err != nil {
		return broken(ctx, err, true)
	}
	if e := errorFromWire(r.GetError()); e != nil {
		e.Message = cmp.Or(oneLine(e.Message, maxNotice), "it gave no reason") // it is kept as a status
		e.Suggestion = oneLine(e.Suggestion, maxNotice)
		return e
	}
	return nil
}

// Preview asks what a call would do. A tool without a preview returns an empty one. With the error of a call that would
// fail comes a preview only when the plugin sent content with it.
func (c *Client) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	request := requestToWire(r)
	if e := wire.CheckRequest(request); e != nil {
		return nil, errorFromWire(e)
	}
	ctx, cancel := c.withLife(ctx)
	defer cancel()
	out, err := c.wire.Preview(ctx, &pluginv1.PreviewRequest{CallId: request.GetCallId(), Tool: request.GetTool(),
		Arguments: r.Arguments, Workdir: r.Workdir, SessionId: request.GetSessionId(), SingleCall: r.SingleCall})
	if err != nil {
		return nil, broken(ctx, err, true)
	}
	if e := unreadablePreview(out); e != nil {
		return nil, e
	}
	if e := wire.CheckPreview(out); e != nil {
		return nil, errorFromWire(e)
	}
	preview := previewFromWire(out)
	switch e := errorFromWire(out.GetError()); {
	case e == nil:
		return preview, nil
	case len(preview.Content) > 0:
		return preview, e
	default:
		return nil, e
	}
}

// Call runs one tool, once at most: the plugin refuses a RunID that it has had. A tool that fails returns a Result with
// an Error; the error of Call itself says that ctx ended (CodeTimeout, CodeCanceled), that the result is too large
// (CodeResultTooLarge), that the plugin got the call twice (CodeProtocol), or that the plugin or the connection broke
// (a *BrokenError). Each *sdk.Error has its Outcome. When ctx ends the plugin is notified, and Call returns without
// waiting for it.
func (c *Client) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	request := requestToWire(r)
	if e := wire.CheckRequest(request); e != nil {
		refusal := errorFromWire(e)
		refusal.Outcome = sdk.OutcomeNotSent
		return &sdk.Result{Error: refusal}, nil
	}
	if c.dial != nil && c.sessions.Load() {
		if m := (&wire.SessionCall{Call: request}); m.Size() <= maxSessionRequest {
			s, err := c.session(ctx)
			switch {
			case err != nil:
				return nil, notSent(ctx, err)
			case s != nil:
				return c.callSession(ctx, s, r, m)
			}
		}
	}
	ctx, cancel := c.withLife(ctx)
	defer cancel() // ends the stream however the call ends
	stream, err := c.wire.Call(ctx, request)
	if err != nil { // gRPC fails here only while no part of the request has been queued for the socket
		return nil, notSent(ctx, err)
	}
	in, out := newReceiver(r), receiver{client: c, ctx: ctx, request: r}
	defer in.Close()
	defer out.end()
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, setOutcome(broken(ctx, err, true), sdk.OutcomeUnknown)
		}
		if result, err := takeEvent(&in, m, &out); result != nil || err != nil {
			return result, err
		}
	}
}

// Watch calls changed once when the watch is established and again whenever the list of tools has changed, until ctx
// ends or the plugin does; its error is never nil.
func (c *Client) Watch(ctx context.Context, changed func()) error {
	stream, err := c.wire.Watch(ctx, &pluginv1.WatchRequest{})
	for err == nil && ctx.Err() == nil {
		if _, err = stream.Recv(); err == nil && ctx.Err() == nil { // what came before its end may be read after it
			changed()
		}
	}
	return broken(ctx, err, true)
}

// Overdue asks how many handlers of calls and previews still run in the plugin though their context has ended, and how
// many of them are late: it ended grace ago or longer. A plugin that does not implement it returns
// errors.ErrUnsupported.
func (c *Client) Overdue(ctx context.Context, grace time.Duration) (handlers, late int, err error) {
	r, err := c.wire.Overdue(ctx, &pluginv1.OverdueRequest{GraceMs: grace.Milliseconds()})
	if status.Code(err) == codes.Unimplemented {
		return 0, 0, errors.ErrUnsupported
	}
	if err != nil {
		return 0, 0, broken(ctx, err, true)
	}
	count := func(n int64) int { return int(min(max(n, 0), math.MaxInt32)) } // a plugin may send any number
	return count(r.GetHandlers()), count(r.GetLate()), nil
}

// NameListedOtherwise is the Name of the error of a call that was decided on by a definition that its tool no longer
// has.
const NameListedOtherwise = "ListedOtherwise"

// A BrokenError says that the plugin or the connection broke, so that nothing is known of what the call did. The
// supervisor of the plugin knows why.
type BrokenError struct {
	// Delivered is false when the call provably never reached the plugin: the outcome is OutcomeNotSent then, and else
	// OutcomeUnknown.
	Delivered bool
	Err       error
}

// transportWords are what gRPC writes before the system's own words.
var transportWords = strings.NewReplacer("transport: ", "", "Error while dialing: ", "", "error reading from server: ", "")

// Error says what broke.
func (e *BrokenError) Error() string {
	if errors.Is(e.Err, io.EOF) {
		return "the plugin ended the call without a result"
	}
	if s, ok := status.FromError(e.Err); ok {
		said := cmp.Or(oneLine(s.Message(), maxStatus), "a status without a message")
		if inner, quoted := strings.CutPrefix(said, `connection error: desc = "`); quoted {
			said = strings.TrimSuffix(inner, `"`)
		}
		// This is of wire.PeerCredentials.
		if _, why, refused := strings.Cut(said, "authentication handshake failed: "); refused {
			return why
		}
		if s.Code() == codes.Unavailable {
			return "the plugin ended or its connection broke: " + transportWords.Replace(said)
		}
		return fmt.Sprintf("the plugin or its connection broke: %s (%s)", said, s.Code())
	}
	return "the plugin or its connection broke: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

func setOutcome(err error, o sdk.Outcome) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		e.Outcome = o
	}
	return err
}

// broken distinguishes an ended ctx and an oversized message from a broken connection.
func broken(ctx context.Context, err error, delivered bool) error {
	code, said := status.Code(err), oneLine(status.Convert(err).Message(), maxStatus)
	switch {
	case ctx.Err() != nil, code == codes.DeadlineExceeded && callctx.DeadlinePassed(ctx): // the plugin saw it first
		return sdk.EndedError(ctx)
	case code == codes.AlreadyExists && delivered: // the caller may not have received the result of the first run
		return &sdk.Error{Code: sdk.CodeProtocol, Name: "Repeated",
			Message:    "the plugin received the call twice and ran it at most once: " + said,
			Suggestion: "Check what the call has done before you repeat it."}
	case delivered && (code == codes.ResourceExhausted && strings.Contains(strings.ToLower(said), "message") ||
		code == codes.Internal && wire.TooManyElements(err)): // all implementations of gRPC say that word
		return errorFromWire(wire.TooLarge(0, "the plugin sent one message that is too large: %s", said))
	case delivered && code == codes.ResourceExhausted: // such as of a server that limits the calls at once
		return &sdk.Error{Code: sdk.CodeProtocol, Name: "Exhausted", Message: "the plugin ended the call, because it has " +
			"too much to do or lacks a resource: " + cmp.Or(said, "it does not say which"),
			Suggestion: "Make fewer calls at once, or ask for less."}
	}
	return &BrokenError{Delivered: delivered, Err: err}
}

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
