package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
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

// Describe asks what the plugin is and which tools it has now. The definitions are not checked; what is for people is cut
// to a line each. More than 16 384 tools, or 4 MiB of them, are a broken wire.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	r, err := c.wire.Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		return nil, broken(ctx, err, false)
	}
	out := &Description{Name: shown(r.GetName(), maxWord), Version: shown(r.GetVersion(), maxWord), SDK: shown(r.GetSdk(), maxWord),
		ConfigSchema: orNil(r.GetConfigSchema()), Dynamic: r.GetDynamic(), Notices: notices(r.GetNotices())}
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
	if e := brokenPreview(out); e != nil {
		return nil, e
	}
	preview := previewFromWire(out)
	if e := preview.excess(out.GetError()); e != nil {
		return nil, e
	}
	if e := errorFromWire(out.GetError()); e != nil && len(preview.Content) > 0 {
		return preview, e
	} else if e != nil {
		return nil, e
	}
	return preview, nil
}

// excess tells that a preview is too large to be shown, or nil.
func (p *Preview) excess(failure *pluginv1.Error) *Error {
	var w weight
	w.add(p.Content...)
	w.addRest(&Result{Structured: p.Structured, Error: errorFromWire(failure)})
	w.envelope += len(p.Effect) + len(p.Reason)
	return w.check("preview")
}

// Call runs one tool, once at most: the plugin refuses a RunID that it has had. A tool that fails gives a Result with an
// Error; the error of Call itself says that ctx ended (CodeTimeout, CodeCanceled), that the result is too large
// (CodeResultTooLarge), that the plugin got the call twice (CodeProtocol), or that the plugin or the wire broke (a
// *BrokenError). Each *Error has its Outcome. When ctx ends the plugin is told, and Call returns without waiting for it.
func (c *Client) Call(ctx context.Context, r *Request) (*Result, error) {
	if e := r.check(); e != nil {
		e.Outcome = OutcomeNotSent
		return failed(e), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream however the call ends
	stream, err := c.wire.Call(ctx, requestToWire(r))
	if err != nil { // gRPC gives an error here only while the request is not in its line for the socket, not even a part
		return nil, withOutcome(broken(ctx, err, false), OutcomeNotSent)
	}
	in := reassembly{meter: newMeter(2)}
	for {
		e, err := stream.Recv()
		if err != nil {
			return nil, withOutcome(broken(ctx, err, true), OutcomeUnknown)
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
	for err == nil && ctx.Err() == nil {
		if _, err = stream.Recv(); err == nil && ctx.Err() == nil { // what came before its end may be read after it
			changed()
		}
	}
	return broken(ctx, err, true)
}

func withOutcome(err error, o Outcome) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Outcome = o
	}
	return err
}

// A BrokenError says that the plugin or the wire broke, so that nothing is known of what came of the call. Whoever keeps
// the plugin running knows why.
type BrokenError struct {
	// Delivered is false when the call provably never reached the plugin: the outcome is OutcomeNotSent then, and else
	// OutcomeUnknown.
	Delivered bool
	Err       error
}

// Error says what broke.
func (e *BrokenError) Error() string {
	if errors.Is(e.Err, io.EOF) {
		return "the plugin ended the call without a result"
	}
	if s, ok := status.FromError(e.Err); ok {
		return fmt.Sprintf("the plugin or its connection broke: %s (%s)", shown(s.Message(), maxStatus), s.Code())
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
	case code == codes.AlreadyExists && delivered:
		return repeatRefused(err)
	case delivered && (code == codes.ResourceExhausted || code == codes.Internal && strings.Contains(err.Error(), crowded)):
		return tooLarge("the plugin sent one message that is too large: " + shown(status.Convert(err).Message(), maxStatus))
	}
	return &BrokenError{Delivered: delivered, Err: err}
}

// EndedError is the error of a call whose ctx ended: CodeCanceled when the caller gave up, else CodeTimeout. It has no
// Outcome: that depends on when ctx ended.
func EndedError(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Code: CodeCanceled, Name: "Canceled", Message: "the call was canceled"}
	}
	return &Error{Code: CodeTimeout, Name: "Timeout", Message: "the call took longer than it may",
		Suggestion: "Ask for less at once, or for a longer timeout."}
}
