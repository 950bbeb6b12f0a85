package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/sdk"
)

// What is shown of a call has no secrets, whichever part of a result, an error or an event holds them.
func TestCallsAreShownWithoutSecrets(t *testing.T) {
	const secret = "s3cret"
	object := json.RawMessage(`{"key":"` + secret + `"}`)
	failure := &sdk.Error{Code: sdk.CodeTool, Name: "X", Message: secret, Suggestion: secret, HelpURL: secret, Details: object}
	part := sdk.Content{Type: "text", Text: secret, Data: []byte(secret), MIMEType: secret, URI: secret, Name: secret,
		Raw: object, Extra: object, Source: object}
	for name, r := range map[string]*sdk.Result{
		"failed": {Error: failure},
		"ended":  {Content: []sdk.Content{part, {Type: "other", Raw: object}}, Structured: object},
	} {
		c := NewCalls(func(text string) string { return strings.ReplaceAll(text, secret, "***") })
		call := host.Call{ID: "id", Tool: "p__t", Arguments: object}
		run := c.Middleware(func(_ context.Context, call *host.Call) (*sdk.Result, error) {
			for _, kind := range []sdk.EventType{sdk.EventProgress, sdk.EventOutput} {
				call.Events(sdk.Event{Type: kind, Message: secret, Data: []byte(secret), Attributes: object})
			}
			return r, nil
		})
		if _, err := run(t.Context(), &call); err != nil {
			t.Fatal(err)
		}
		var out apiv1.GetCallResponse
		if !c.Describe("id", &out) {
			t.Fatal("the call is not known")
		}
		for _, one := range out.Result.GetContent() {
			if bytes.Contains(one.Data, []byte(secret)) {
				t.Errorf("%s: the data has the secret", name)
			}
		}
		text := protojson.Format(&out) + protojson.Format(c.recent[0].summary())
		if strings.Contains(text, secret) || !strings.Contains(text, "***") {
			t.Errorf("%s: %s", name, text)
		}
		if string(call.Arguments) != string(object) || r.Error == nil && r.Content[0].Text != secret {
			t.Errorf("%s: the call itself has changed", name)
		}
	}
}

// What is kept of an error, and sent to all who watch, is short, however much a plugin or a person wrote.
func TestErrorsThatAreKeptAreShort(t *testing.T) {
	long := strings.Repeat("\u00e9", 1<<20)
	failure := &sdk.Error{Code: sdk.CodeRejected, Name: long, Message: long, Suggestion: long, HelpURL: long,
		Details: json.RawMessage(`"` + long + `"`)}
	for name, c := range map[string]struct {
		result *sdk.Result
		err    error
	}{"of the host": {nil, failure}, "of the tool": {&sdk.Result{Error: failure}, nil}} {
		calls := NewCalls(nil)
		call := host.Call{ID: "id", Tool: "p__t"}
		_, _ = calls.Middleware(func(context.Context, *host.Call) (*sdk.Result, error) { return c.result, c.err })(t.Context(), &call)
		var out apiv1.GetCallResponse
		if !calls.Describe("id", &out) || out.Result.GetError().GetMessage() == "" {
			t.Fatal(name, "is not known")
		}
		if n := len(protojson.Format(&out)); n > 8*maxErrorText {
			t.Errorf("%s: %d bytes are shown", name, n)
		}
		if r := calls.recent[0].result; r != nil && r.Error != nil {
			t.Errorf("%s: the result keeps the whole error", name)
		}
		if failure.Message != long {
			t.Errorf("%s: the error itself has changed", name)
		}
	}
}

// A session with running calls is kept, also the one without a name.
func TestRunningSessionsAreKept(t *testing.T) {
	c := NewCalls(nil)
	end := make(chan struct{})
	defer close(end)
	begun := make(chan struct{})
	run := c.Middleware(func(_ context.Context, call *host.Call) (*sdk.Result, error) {
		if strings.HasPrefix(call.ID, "waits") {
			begun <- struct{}{}
			<-end
		}
		return &sdk.Result{}, nil
	})
	for i := range maxSessions { // the first has no name
		id := fmt.Sprint(i)
		if i == 0 {
			id = ""
		}
		go func() { _, _ = run(context.Background(), &host.Call{ID: "waits" + id, SessionID: id}) }()
		<-begun
	}
	for _, id := range []string{"more", "and more"} {
		_, _ = run(t.Context(), &host.Call{ID: id, SessionID: id})
	}
	if s := c.sessions[sessionOf("", "")]; s == nil || s.running != 1 || len(c.sessions) > maxSessions+1 ||
		c.hasSession(sessionOf("more", "")) {
		t.Errorf("%v of %d sessions", s, len(c.sessions))
	}
}

// A small body that is large when it is decompressed would pass every bound.
func TestCompressedRequestsAreRefused(t *testing.T) {
	s := new(setup).start(t)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(`{"tool":"p__echo"}` + strings.Repeat(" ", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{apiv1connect.HostServiceCallOnceProcedure, sessionPath} {
		status, body := s.post(path, zipped.String(), map[string]string{"Authorization": "Bearer " + operatorToken,
			"Content-Encoding": "gzip"})
		if status < 400 || status >= 500 && status != http.StatusNotImplemented {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for name, o := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(),
		"gRPC-Web": connect.WithGRPCWeb()} {
		_, err := s.client(operatorToken, o, connect.WithSendGzip()).CallOnce(t.Context(),
			connect.NewRequest(&apiv1.CallRequest{Tool: "p__echo", Arguments: "{}"}))
		if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "gzip") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.unharmed()
}

// Names that people decide by have no characters that they cannot see.
func TestNamesAreVisible(t *testing.T) {
	s := new(setup).start(t)
	for _, hidden := range []string{"\u202e", "\u200b", "\n", "\x1b"} {
		for name, r := range map[string]*apiv1.CallRequest{"id": {CallId: "a" + hidden}, "session": {SessionId: "a" + hidden},
			"caller": {Caller: "api:" + hidden}} {
			r.Tool = "p__echo"
			_, err := s.client(operatorToken).CallOnce(t.Context(), connect.NewRequest(r))
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "cannot be seen") {
				t.Errorf("%s with %q: %v", name, hidden, err)
			}
		}
		ctx := context.WithValue(t.Context(), principalKey{}, principal{role: Operator})
		_, err := NewApprovals(approvals.New(approvals.Options{}), nil, nil).Answer(ctx,
			connect.NewRequest(&apiv1.AnswerApprovalRequest{Id: "x", By: "console" + hidden + "x"}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("by with %q: %v", hidden, err)
		}
	}
}

// A batch that is too large costs nothing but its message.
func TestBatchesAreBounded(t *testing.T) {
	s := new(setup).start(t)
	stream, err := s.client(operatorToken).CallBatch(t.Context(), connect.NewRequest(&apiv1.CallBatchRequest{
		Calls: make([]*apiv1.CallRequest, maxBatch+1)}))
	if err != nil {
		t.Fatal(err)
	}
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeInvalidArgument {
		t.Errorf("%v, %v", stream.Msg(), stream.Err())
	}
	_ = stream.Close()
}
