package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/sdk"
)

// Whoever has a token that is removed or changed is shut out at once, also from what is open; others go on.
func TestRevokedTokens(t *testing.T) {
	own := Token{Value: operatorToken, Role: Operator}
	ann := Token{Name: "ann", Value: "token-of-ann-of-before", Role: Operator}
	for name, now := range map[string][]Token{
		"removed":            {own},
		"another value":      {own, {ann.Name, "token-of-ann-from-now-on", ann.Role}},
		"another role":       {own, {ann.Name, ann.Value, Viewer}},
		"another name":       {own, {"eve", ann.Value, ann.Role}},
		"beside a wrong one": {own, {"bob", "short", Viewer}},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{}, 1)
			s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
				"wait": waitTool(begun, nil)}}}
			s.start(t)
			if err := s.server.SetTokens([]Token{own, ann}); err != nil {
				t.Fatal(err)
			}
			watch := func(token string) *connect.ServerStreamForClient[apiv1.WatchCallsResponse] {
				w, err := s.client(token).WatchCalls(t.Context(), connect.NewRequest(&apiv1.WatchCallsRequest{}))
				if err != nil || !w.Receive() {
					t.Fatal(err, w.Err())
				}
				t.Cleanup(func() { _ = w.Close() })
				return w
			}
			kept, ended := watch(own.Value), watch(ann.Value)
			call, err := s.client(ann.Value).Call(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait"}))
			if err != nil {
				t.Fatal(err)
			}
			<-begun
			err = s.server.SetTokens(now)
			if wrong := now[len(now)-1].Value == "short"; wrong != (err != nil) || wrong && !strings.Contains(err.Error(), `"bob"`) {
				t.Errorf("the error is %v", err)
			}
			for ended.Receive() {
			}
			if connect.CodeOf(ended.Err()) != connect.CodeUnauthenticated {
				t.Errorf("the watch ends with %v", ended.Err())
			}
			var result *apiv1.CallResult
			for call.Receive() {
				result = call.Msg().GetResult()
			}
			if result.GetStatus() == "ok" || result == nil && connect.CodeOf(call.Err()) != connect.CodeUnauthenticated {
				t.Errorf("the call ends with %v, %v", result, call.Err())
			}
			if !kept.Receive() { // the end of the call is reported
				t.Errorf("another watch ends with %v", kept.Err())
			}
			status, _ := s.post(apiv1connect.HostServiceCallOnceProcedure, `{"tool":"p__echo"}`,
				map[string]string{"Authorization": "Bearer " + ann.Value})
			if may := name == "another name"; may != (status == http.StatusOK) {
				t.Errorf("a call with the old token has the status %d", status)
			}
		})
	}
}

// Behind a proxy that speaks TLS, the names that the operator has given lead here, and no others.
func TestNamedHosts(t *testing.T) {
	s := &setup{hosts: []string{"tools.example.org", "other.example.org:8443"}}
	s.start(t)
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"tools.example.org", "https://tools.example.org", 200},
		{"Tools.example.org", "https://tools.example.ORG", 200},
		{"tools.example.org", "http://tools.example.org", 200},
		{"tools.example.org", "https://evil.example", 403},
		{"tools.example.org", "https://tools.example.org:8443", 403},
		{"tools.example.org:" + port(s.address), "", 200},
		{"tools.example.org:8443", "", 403},
		{"other.example.org:8443", "https://other.example.org:8443", 200},
		{"other.example.org", "", 403},
		{"evil.example", "", 403},
		{s.address, "https://" + s.address, 403},
	} {
		header := map[string]string{"Authorization": "Bearer " + operatorToken, "Host": c.host}
		if c.origin != "" {
			header["Origin"] = c.origin
		}
		if status, body := s.post(apiv1connect.HostServiceGetInfoProcedure, "{}", header); status != c.status {
			t.Errorf("%s from %s: %d, want %d: %s", c.host, c.origin, status, c.status, body)
		}
	}
}

// With other arguments than those of the waiting call, an answer would be a call of the approver.
func TestOnlyOperatorsChangeArguments(t *testing.T) {
	for role, want := range map[Role]connect.Code{Approver: connect.CodePermissionDenied, Operator: connect.CodeNotFound} {
		ctx := context.WithValue(t.Context(), principalKey{}, principal{role: role})
		_, err := NewApprovals(approvals.New(approvals.Options{}), nil, nil).Answer(ctx,
			connect.NewRequest(&apiv1.AnswerApprovalRequest{Id: "gone", Approved: true, Arguments: "{}"}))
		if connect.CodeOf(err) != want {
			t.Errorf("%s: %v", role, err)
		}
	}
}
