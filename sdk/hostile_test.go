package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A stranger is a plugin that some other kit made, and may break every rule.
type stranger struct {
	pluginv1.UnimplementedPluginServiceServer
	call func(send func(*pluginv1.CallEvent) error) error
}

func (s *stranger) Call(_ *pluginv1.CallRequest, stream grpc.ServerStreamingServer[pluginv1.CallEvent]) error {
	return s.call(stream.Send)
}

// A crowd is a stranger that has more of everything than fits.
type crowd struct{ *stranger }

func (crowd) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Tools: emptyTools(1 << 20)}, nil
}

func (crowd) Preview(context.Context, *pluginv1.PreviewRequest) (*pluginv1.PreviewResponse, error) {
	return &pluginv1.PreviewResponse{Content: emptyContents(1 << 20)}, nil
}

// A boaster is a stranger whose words for itself are as long as it likes.
type boaster struct {
	*stranger
	word string
}

func (b boaster) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Name: b.word, Version: b.word, Sdk: b.word}, nil
}

// clientOf connects to a server in memory, with no limit on what that may send.
func clientOf(t *testing.T, s pluginv1.PluginServiceServer) *Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	pluginv1.RegisterPluginServiceServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(lis) }()
	conn := dialMemory(t, lis)
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
	})
	return NewClient(conn)
}

// dialMemory connects as a host does.
func dialMemory(t *testing.T, lis *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:memory", append(DialOptions(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// script sends events in order and ends the call with err.
func script(err error, events ...*pluginv1.CallEvent) *stranger {
	return &stranger{call: func(send func(*pluginv1.CallEvent) error) error {
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		return err
	}}
}

// endless sends one event again and again.
func endless(e *pluginv1.CallEvent) *stranger {
	return &stranger{call: func(send func(*pluginv1.CallEvent) error) error {
		for {
			if err := send(e); err != nil {
				return err
			}
		}
	}}
}

func TestStrangersBreakRules(t *testing.T) {
	for name, c := range map[string]struct {
		stranger *stranger
		want     string // the error's text, in part
		code     Code   // "" for a BrokenError
	}{
		"no result":                         {script(nil), "ended the call without a result", ""},
		"parts but no result":               {script(nil, textPart("a", 1)), "ended the call without a result", ""},
		"a piece before any part":           {script(nil, piece("x")), "a piece of 1 bytes came where 0 were to come", ""},
		"a piece too many":                  {script(nil, textPart("a", 2), piece("b"), piece("c")), "a piece of 1 bytes came where 0", ""},
		"a piece that is too long":          {script(nil, textPart("a", 2), piece("bc")), "a piece of 2 bytes came where 1", ""},
		"a part in a part":                  {script(nil, textPart("a", 2), textPart("b", 1)), "while the one before it lacked 1 bytes", ""},
		"a result in a part":                {script(nil, textPart("a", 2), last(nil)), "while a part lacked 1 bytes", ""},
		"a size below what is there":        {script(nil, textPart("abc", 2)), "a part of 3 bytes says that it has 2", ""},
		"a negative size":                   {script(nil, textPart("", -1)), "says that it has -1", ""},
		"a size over the limit":             {script(nil, textPart("a", MaxResult+1)), "at most 4194304", CodeResultTooLarge},
		"the largest size":                  {script(nil, textPart("a", math.MaxInt64)), "has a part of 9223372036854775807", CodeResultTooLarge},
		"sizes over the limit together":     {script(nil, textPart("abcd", 4), textPart("a", MaxResult-3)), "at most 4194304", CodeResultTooLarge},
		"a last message over the limit":     {script(nil, textPart("ab", 2), last(&pluginv1.Result{Structured: []byte(`"` + strings.Repeat("x", MaxResult) + `"`)})), "at most 4194304", CodeResultTooLarge},
		"one message over the limit":        {script(nil, last(&pluginv1.Result{Structured: make([]byte, maxMessage)})), "one message that is too large", CodeResultTooLarge},
		"parts without end":                 {endless(textPart(strings.Repeat("x", maxPiece), maxPiece)), "at most 4194304", CodeResultTooLarge},
		"empty parts without end":           {endless(part(nil, 0)), "has 4001 parts, at most 4000", CodeResultTooLarge},
		"long names without end":            {endless(part(&pluginv1.Content{Uri: strings.Repeat("x", 1<<10)}, 0)), "at most 4194304 and 262144", CodeResultTooLarge},
		"pieces without end":                {endless(piece(strings.Repeat("x", maxPiece))), "where 0 were to come", ""},
		"a status":                          {script(status.Error(codes.Internal, "it broke")), "it broke (Internal)", ""},
		"a status that means a deadline":    {script(status.Error(codes.DeadlineExceeded, "too late")), "too late (DeadlineExceeded)", ""},
		"a status that means it gave up":    {script(status.Error(codes.Canceled, "no more")), "no more (Canceled)", ""},
		"a status that means a full buffer": {script(status.Error(codes.ResourceExhausted, "full")), "too large: full", CodeResultTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := clientOf(t, c.stranger).Call(t.Context(), &Request{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("result %.200v and error %.300v, want one with %q", result, err, c.want)
			}
			broken, ok := errors.AsType[*BrokenError](err)
			if ok != (c.code == "") || ok && !broken.Delivered || !ok && CodeOf(err) != c.code {
				t.Errorf("error %#v, want the code %q", err, c.code)
			}
		})
	}
	t.Run("no such service", func(t *testing.T) {
		_, err := clientOf(t, pluginv1.UnimplementedPluginServiceServer{}).Call(t.Context(), &Request{Tool: "x"})
		if _, ok := errors.AsType[*BrokenError](err); !ok || status.Code(errors.Unwrap(err)) != codes.Unimplemented {
			t.Errorf("error is %v", err)
		}
	})
}

func TestStrangersHaveTheirWays(t *testing.T) {
	text := func(s string) *pluginv1.Result {
		return &pluginv1.Result{Content: []*pluginv1.Content{{Type: "text", Text: []byte(s)}}}
	}
	denied := &pluginv1.Error{Code: "E_DENIED", Message: "I decide", Details: []byte("[1]")}
	progress := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Message: "late"}}}
	for name, c := range map[string]struct {
		stranger *stranger
		want     *Result
	}{
		"two results":                {script(nil, last(text("first")), last(text("second"))), Text("first")},
		"events after the result":    {script(nil, last(text("done")), progress, piece("x")), Text("done")},
		"a status after the result":  {script(status.Error(codes.Internal, "late"), last(text("done"))), Text("done")},
		"events of a later version":  {script(nil, &pluginv1.CallEvent{}, last(text("done"))), Text("done")},
		"an empty result":            {script(nil, last(nil)), &Result{}},
		"a code that is not its own": {script(nil, last(&pluginv1.Result{Error: denied})), &Result{Error: &Error{Code: CodeTool, Message: "I decide", Outcome: OutcomeFailed}}},
		"JSON that is none": {script(nil, last(&pluginv1.Result{Structured: []byte("{"), Content: []*pluginv1.Content{{Type: "odd", Raw: []byte("{")}}})),
			&Result{Error: &Error{Code: CodeProtocol, Name: "BrokenResult", Outcome: OutcomeFailed, Suggestion: "Find out what the call has done before you make it again.",
				Message: "the result is broken: part 1 (odd) has JSON that is not valid; the structured JSON is not valid; the tool has run, and what can be read of its result is kept"}}},
		"text that begins empty":        {script(nil, textPart("", 3), piece("ab"), piece(""), piece("c"), last(nil)), Text("abc")},
		"data that begins empty":        {script(nil, part(&pluginv1.Content{Type: "image"}, 2), piece("ab"), last(nil)), &Result{Content: []Content{{Type: "image", Data: []byte("ab")}}}},
		"parts ahead and in the result": {script(nil, textPart("a", 1), last(text("b"))), Text("a").Add(TextContent("b"))},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := clientOf(t, c.stranger).Call(t.Context(), &Request{Tool: "x", Events: func(e Event) { t.Errorf("event %+v", e) }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, result); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStrangerThatNeverEnds(t *testing.T) {
	started := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}
	c := clientOf(t, endless(started))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, &Request{Tool: "x"}); CodeOf(err) != CodeTimeout {
		t.Errorf("error is %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if _, err := c.Call(ctx, &Request{Tool: "x", Events: func(Event) { cancel() }}); CodeOf(err) != CodeCanceled {
		t.Errorf("error is %v", err)
	}
}

// What a client will not send does not reach the plugin, and a server holds to the same.
func TestRequestsOverTheLimit(t *testing.T) {
	large := &Request{Tool: "x", Arguments: json.RawMessage(`"` + strings.Repeat("x", MaxArguments) + `"`)}
	elsewhere := &Request{Tool: "x", Workdir: "/\xff"}
	s := &server{plugin: New("p", "1"), base: t.Context()}
	for name, r := range map[string]*Request{"ArgumentsTooLarge": large, "BadWorkdir": elsewhere} {
		t.Run(name, func(t *testing.T) {
			c := clientOf(t, script(errors.New("it was sent")))
			result, err := c.Call(t.Context(), r)
			if err != nil || result.Error == nil || result.Error.Name != name || result.Error.Code != CodeInvalidArgs {
				t.Errorf("Call gives %+v, %v", result, err)
			}
			_, err = c.Preview(t.Context(), r)
			if e, ok := errors.AsType[*Error](err); !ok || e.Name != name {
				t.Errorf("Preview gives %v", err)
			}
			err = c.Configure(t.Context(), r.Arguments, r.Workdir)
			if e, ok := errors.AsType[*Error](err); !ok || e.Name != name {
				t.Errorf("Configure gives %v", err)
			}
		})
	}
	t.Run("server", func(t *testing.T) {
		result, err := clientWithout(t, s, large)
		if err != nil || result.GetError().GetName() != "ArgumentsTooLarge" {
			t.Errorf("the server answers %+v, %v", result, err)
		}
	})
}

// clientWithout calls as a client would that does not know the limits.
func clientWithout(t *testing.T, s *server, r *Request) (*pluginv1.Result, error) {
	t.Helper()
	stream, err := clientOf(t, s).wire.Call(t.Context(), requestToWire(r))
	for err == nil {
		var e *pluginv1.CallEvent
		if e, err = stream.Recv(); e.GetResult() != nil {
			return e.GetResult(), nil
		}
	}
	return nil, err
}
