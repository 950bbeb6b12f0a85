package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/sdk/internal/pluginv1"
)

// A Client is the host's end of the wire: one running plugin. It is safe for concurrent use.
type Client struct {
	wire pluginv1.PluginServiceClient
}

// NewClient speaks to the plugin at the other end of conn, which stays the caller's to close.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{wire: pluginv1.NewPluginServiceClient(conn)}
}

// A Description is what a plugin says of itself.
type Description struct {
	Name, Version, SDK string
	Tools              []Tool
	// ConfigSchema is nil when the plugin takes no configuration.
	ConfigSchema json.RawMessage
	// Dynamic says that the tools depend on the configuration or change while running.
	Dynamic bool
	// Notices are for the operator.
	Notices []string
}

// Describe asks what the plugin is and which tools it has now. The definitions are not checked.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	r, err := c.wire.Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		return nil, broken(ctx, err, false)
	}
	out := &Description{Name: r.GetName(), Version: r.GetVersion(), SDK: r.GetSdk(), ConfigSchema: orNil(r.GetConfigSchema()),
		Dynamic: r.GetDynamic(), Notices: r.GetNotices()}
	for _, t := range r.GetTools() {
		out.Tools = append(out.Tools, toolFromWire(t))
	}
	return out, nil
}

// Tools gives the definitions alone.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	d, err := c.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return d.Tools, nil
}

// Configure hands the plugin its configuration, a JSON object. What the plugin has against it is an *Error.
func (c *Client) Configure(ctx context.Context, config json.RawMessage, workdir string) error {
	if e := (&Request{Arguments: config, Workdir: workdir}).check(); e != nil {
		return e
	}
	r, err := c.wire.Configure(ctx, &pluginv1.ConfigureRequest{Config: config, Workdir: workdir})
	if err != nil {
		return broken(ctx, err, true)
	}
	if e := errorFromWire(r.GetError()); e != nil {
		return e
	}
	return nil
}

// Preview asks what a call would do. A tool without a preview gives an empty one. With the error of a call that would fail
// comes a preview only when the plugin gave something to read with it.
func (c *Client) Preview(ctx context.Context, r *Request) (*Preview, error) {
	if e := r.check(); e != nil {
		return nil, e
	}
	out, err := c.wire.Preview(ctx, previewRequestToWire(r))
	if err != nil {
		return nil, broken(ctx, err, true)
	}
	preview := previewFromWire(out)
	if e := errorFromWire(out.GetError()); e != nil && len(preview.Content) > 0 {
		return preview, e
	} else if e != nil {
		return nil, e
	}
	return preview, nil
}

// Call runs one tool. A tool that fails gives a Result with an Error; the error of Call itself says that ctx ended
// (CodeTimeout, CodeCanceled), that the result is too large (CodeResultTooLarge), or that the plugin or the wire broke (a
// *BrokenError). When ctx ends the plugin is told, and Call returns without waiting for it.
func (c *Client) Call(ctx context.Context, r *Request) (*Result, error) {
	if e := r.check(); e != nil {
		return failed(e), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream however the call ends
	stream, err := c.wire.Call(ctx, requestToWire(r))
	if err != nil {
		return nil, broken(ctx, err, false)
	}
	var in reassembly
	for {
		e, err := stream.Recv()
		if err != nil {
			return nil, broken(ctx, err, true)
		}
		result, err := in.take(e, r)
		if result != nil || err != nil {
			return result, err
		}
	}
}

// Watch calls changed once when it stands and again whenever the list of tools has changed, until ctx ends or the plugin
// does; its error is never nil.
func (c *Client) Watch(ctx context.Context, changed func()) error {
	stream, err := c.wire.Watch(ctx, &pluginv1.WatchRequest{})
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			changed()
		}
	}
	return broken(ctx, err, true)
}

// A BrokenError says that the plugin or the wire broke, so that nothing is known of what came of the call. Whoever keeps
// the plugin running knows why.
type BrokenError struct {
	// Delivered is false when the call provably never reached the plugin.
	Delivered bool
	Err       error
}

// Error says what broke.
func (e *BrokenError) Error() string {
	if errors.Is(e.Err, io.EOF) {
		return "the plugin ended the call without a result"
	}
	if s, ok := status.FromError(e.Err); ok {
		return fmt.Sprintf("the plugin or its connection broke: %s (%s)", s.Message(), s.Code())
	}
	return "the plugin or its connection broke: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// broken tells an ended ctx and an oversized message from a broken wire.
func broken(ctx context.Context, err error, delivered bool) error {
	code := status.Code(err)
	_, hasDeadline := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return EndedError(ctx)
	case code == codes.DeadlineExceeded && hasDeadline: // the plugin's clock was a moment faster than ours
		return EndedError(ctx)
	case code == codes.ResourceExhausted && delivered:
		return tooLarge("the plugin sent one message that is too large: " + status.Convert(err).Message())
	}
	return &BrokenError{Delivered: delivered, Err: err}
}

// EndedError is the error of a call whose ctx ended: CodeCanceled when the caller gave up, else CodeTimeout. What the
// tool did is not known then.
func EndedError(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Code: CodeCanceled, Name: "Canceled", Message: "the call was canceled; what it had done by then is not known"}
	}
	return &Error{Code: CodeTimeout, Name: "Timeout", Message: "the call took longer than it may; what it had done by then is not known",
		Suggestion: "Ask for less at once, or for a longer timeout."}
}
