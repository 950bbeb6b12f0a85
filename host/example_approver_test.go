package host_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A list of tools that need a yes, and somebody who gives it: everything else runs unasked.
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
	// the user said no to greet__bye: stay a while; nothing was run
	// Do not send this call again unless the user asks for it. Do as the user says, or ask.
}
