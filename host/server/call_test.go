package server

import (
	"context"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/sdk"
)

// Requests are held to what the proto says of names and times.
func TestBoundsOfCallRequests(t *testing.T) {
	begun, released := make(chan struct{}, 1), make(chan struct{})
	s := &setup{plugin: fake{tools: map[string]func(context.Context, *sdk.Request) (*sdk.Result, error){
		"wait": waitTool(begun, released)}}}
	s.start(t)
	c := s.client(operatorToken)
	done := make(chan error, 1)
	go func() {
		_, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__wait", CallId: "used",
			Timeout: durationpb.New(host.MaxTimeout)}))
		done <- err
	}()
	<-begun
	for name, one := range map[string]struct {
		in   *apiv1.CallRequest
		want connect.Code
	}{
		"a long time":    {&apiv1.CallRequest{Timeout: durationpb.New(host.MaxTimeout + 1)}, connect.CodeInvalidArgument},
		"a NUL":          {&apiv1.CallRequest{CallId: "a\x00b"}, connect.CodeInvalidArgument},
		"two lines":      {&apiv1.CallRequest{CallId: "a\nb"}, connect.CodeInvalidArgument},
		"a bad session":  {&apiv1.CallRequest{SessionId: "a\rb"}, connect.CodeInvalidArgument},
		"an id in use":   {&apiv1.CallRequest{CallId: "used"}, connect.CodeAlreadyExists},
		"an escape code": {&apiv1.CallRequest{CallId: "\x1b[2J"}, connect.CodeInvalidArgument},
	} {
		one.in.Tool = "p__wait"
		if r, err := c.CallOnce(t.Context(), connect.NewRequest(one.in)); connect.CodeOf(err) != one.want {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	close(released)
	if err := <-done; err != nil {
		t.Error(err)
	}
	again := &apiv1.CallRequest{Tool: "p__wait", CallId: "used"}
	if _, err := c.CallOnce(t.Context(), connect.NewRequest(again)); err != nil {
		t.Errorf("an id that was used before: %v", err)
	}
}
