// Command plugin is the plugin of toolhost's arms.
package main

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/tools/bench/payload"
	"github.com/toolhost/toolhost/sdk"
)

func main() {
	p := sdk.New("bench", "1.0.0")
	echo := func(_ context.Context, _ *sdk.Request, in payload.Args) (*sdk.Result, error) {
		return sdk.Text(string(payload.Text(in.Size))), nil
	}
	tool := func(name string, readOnly *bool) sdk.Tool {
		return sdk.Tool{Name: name, Description: "For the benchmark.", Hints: sdk.Hints{ReadOnly: readOnly},
			MaxResultBytes: sdk.MaxResult}
	}
	sdk.AddTool(p, tool("echo", sdk.Yes), echo)
	sdk.AddTool(p, tool("write", sdk.No), echo)
	large := tool("large", sdk.Yes) // the model gets what it gets as a rule, not 4 MiB
	large.MaxResultBytes = 0
	sdk.AddTool(p, large, echo)
	wide := tool("wide", sdk.Yes)
	wide.InputSchema = payload.WideSchema()
	p.AddRawTool(wide, func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(string(payload.Text(100))), nil
	})
	hang := tool("hang", sdk.Yes)
	hang.InputSchema = json.RawMessage(`{"type":"object"}`)
	p.AddRawTool(hang, func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(1, 0, "hanging")
		<-ctx.Done()
		return nil, ctx.Err()
	})
	sdk.Serve(p)
}
