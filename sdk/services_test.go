package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// A host from before there were services has not said that it replies: the handler learns it at once.
func TestCallToolWithAnOldHost(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var err error
	c, _, ended := listening(t, ctx, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		_, err = r.CallTool(ctx, "readfile__read", nil)
		return sdk.Text("done"), nil
	}))
	if _, err := c.Call(t.Context(), &sdk.Request{Tool: "x", Services: noServices{}}); err != nil { // without Describe
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != "NoHostServices" || e.Outcome != sdk.OutcomeNotSent {
		t.Errorf("the handler got %v", err)
	}
	if _, err = (&sdk.Request{}).CallTool(ctx, "x", nil); err == nil {
		t.Error("a request of no host calls tools")
	}
	stop()
	<-ended
}

type noServices struct{}

func (noServices) Ask(context.Context, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("no")
}

func (noServices) CallTool(context.Context, string, json.RawMessage) (*sdk.Result, error) {
	return nil, errors.New("no")
}
