package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// greetBinary is the plugin's program: here the test binary; in an agent a path such as "bin/toolhost-plugin-greet".
var greetBinary = os.Args[0]

// An agent keeps a plugin running, lists its tools, and calls one.
func Example() {
	ctx := context.Background()
	supervisor, err := supervise.New(supervise.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer supervisor.Close()
	greet, err := supervisor.Add(supervise.Spec{Name: "greet", Command: []string{greetBinary}})
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(map[string]host.Plugin{"greet": greet}, host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	tools, problems := h.Tools(ctx) // starts the plugin
	for _, t := range tools {
		fmt.Println(t.Name, "-", t.Description)
	}
	fmt.Println("left out:", len(problems))

	r := h.Call(ctx, host.Call{Tool: "greet__hello", Arguments: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(r.Text())

	r = h.Call(ctx, host.Call{Tool: "greet__hello", Arguments: json.RawMessage(`{"nam":"Ada"}`)})
	fmt.Printf("%s: %s\n", r.Error.Code, r.Error.Suggestion)
	// Output:
	// greet__hello - Greets a person.
	// left out: 0
	// Hello, Ada.
	// E_TOOL_INVALID_ARGS: greet__hello takes name (string, required), style (string).
}

type helloArgs struct {
	Name  string `json:"name" jsonschema:"Who to greet"`
	Style string `json:"style,omitempty" enum:"plain|loud"`
}

func hello(_ context.Context, _ *sdk.Request, in helloArgs) (*sdk.Result, error) {
	return sdk.Textf("Hello, %s.", in.Name), nil
}

// serveGreet is the main function of the plugin.
func serveGreet() {
	p := sdk.New("greet", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "hello", Description: "Greets a person.", Hints: sdk.Hints{ReadOnly: sdk.Yes}}, hello)
	sdk.Serve(p)
}

// A list of tools that need approval, and an approver: all other tools run without.
func ExampleApproverFunc() {
	greet := answering(sdk.Text("Hello."), nil, writes("hello"), writes("bye"))
	rules, err := policy.New(policy.AskFor("greet__bye"))
	if err != nil {
		log.Fatal(err)
	}
	ask := host.ApproverFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
		fmt.Printf("%s %s? No.\n", r.Tool.Name, r.Arguments)
		return host.No("stay a while"), nil
	})
	h, err := host.New(map[string]host.Plugin{"greet": greet}, host.Options{Policy: rules, Approver: ask})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, tool := range []string{"greet__hello", "greet__bye"} {
		fmt.Println(h.Call(context.Background(), host.Call{Tool: tool}).Text())
	}
	// Output:
	// Hello.
	// greet__bye {}? No.
	// the user rejected greet__bye: stay a while; nothing was run
	// Do not send this call again unless the user asks for it. Do as the user says, or ask.
}
