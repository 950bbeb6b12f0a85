package sdk_test

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/sdk"
)

// helloArgs are the arguments of the tool hello; its schema is inferred from them.
type helloArgs struct {
	Name string `json:"name" jsonschema:"Who to greet"`
}

func hello(_ context.Context, _ *sdk.Request, in helloArgs) (*sdk.Result, error) {
	if in.Name == "" {
		return nil, &sdk.Error{Name: "NobodyThere", Message: "the name is empty", Suggestion: "Ask who to greet."}
	}
	return sdk.Textf("Hello, %s.", in.Name), nil
}

func main() {
	p := sdk.New("greet", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "hello", Description: "Greets a person.", Hints: sdk.Hints{ReadOnly: sdk.Yes}}, hello)
	sdk.Serve(p)
}

// A whole plugin. Run by hand instead of by a host, it prints what it is.
func Example() {
	fmt.Println(runByHand("greet"))
	// Output:
	// greet 1.0.0 is a toolhost plugin (tools: hello). To use it, name this file in a plugin block of config.hcl; to debug it, run it with TOOLHOST_ATTACH=1.
}
