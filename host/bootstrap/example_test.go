package bootstrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// A configuration becomes a running host, which makes one call.
func Example() {
	ctx := context.Background()
	i, err := bootstrap.Open(ctx, bootstrap.Options{
		Config:     "config.hcl",
		TrustNamed: true, // the file is this program's own
	})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	r := i.Catalog().Call(ctx, host.Call{Tool: "greet__hello", Arguments: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(r.Text())
	// Output: Hello, Ada.
}

var diary = map[string]string{"Friday": "It rained."}

type readArgs struct {
	Day string `json:"day" enum:"Friday|Saturday"`
}

// A program adds tools of its own to those of the configuration.
func ExampleOptions_inProcess() {
	ctx := context.Background()
	p := sdk.New("diary", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "read", Description: "Reads the diary of a day.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(_ context.Context, _ *sdk.Request, in readArgs) (*sdk.Result, error) {
			return sdk.Text(diary[in.Day]), nil
		})
	own, err := host.InProcess(ctx, p, nil)
	if err != nil {
		log.Fatal(err)
	}
	i, err := bootstrap.Open(ctx, bootstrap.Options{
		Config:     "config.hcl",
		TrustNamed: true,
		InProcess:  map[string]host.Plugin{"diary": own},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	r := i.Catalog().Call(ctx, host.Call{Tool: "diary__read", Arguments: json.RawMessage(`{"day":"Friday"}`)})
	fmt.Println(r.Text())
	// Output: It rained.
}

// Without TrustNamed, a configuration must have been trusted, or a person is asked.
func ExampleOptions_askTrust() {
	i, err := bootstrap.Open(context.Background(), bootstrap.Options{
		Config: "config.hcl", // of a folder that the user opened
		AskTrust: func(_ context.Context, r *bootstrap.TrustRequest) (bool, error) {
			fmt.Println("programs that it would run:", len(r.Runs))
			return false, nil // show r.Runs in your dialog; yes is remembered until the file changes
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer i.Close()
	// Output:
	// programs that it would run: 1
	// config.hcl is not trusted, so nothing of it was run
}

// A question is sent to the goroutine of the user interface.
type question struct {
	request *host.ApprovalRequest
	answer  chan host.Answer
}

// Calls that need approval wait until the user interface answers.
func ExampleOptions_approver() {
	ctx := context.Background()
	questions := make(chan question)
	go func() { // the user interface
		for q := range questions {
			fmt.Printf("%s %s? Yes.\n", q.request.Tool.Name, q.request.Arguments)
			q.answer <- host.Yes()
		}
	}()
	approver := host.ApproverFunc(func(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
		q := question{r, make(chan host.Answer, 1)}
		select {
		case questions <- q:
		case <-ctx.Done(): // the call was canceled, or the approval timed out
			return host.Answer{}, ctx.Err()
		}
		select {
		case a := <-q.answer:
			return a, nil
		case <-ctx.Done():
			return host.Answer{}, ctx.Err()
		}
	})
	i, err := bootstrap.Open(ctx, bootstrap.Options{Config: "config.hcl", TrustNamed: true, Approver: approver})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	r := i.Catalog().Call(ctx, host.Call{Tool: "greet__send", Arguments: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(r.Text())
	// Output:
	// greet__send {"name":"Ada"}? Yes.
	// Sent to Ada.
}

// A middleware sees every call and its result.
func ExampleOptions_middleware() {
	ctx := context.Background()
	logged := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			result, err := next(ctx, c)
			if err == nil && result.Error != nil { // the tool itself has failed
				fmt.Printf("%s: %v\n", c.Tool, result.Error)
			} else {
				fmt.Printf("%s: %v\n", c.Tool, err)
			}
			return result, err
		}
	}
	i, err := bootstrap.Open(ctx, bootstrap.Options{Config: "config.hcl", TrustNamed: true,
		Middleware: []host.Middleware{logged}})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	i.Catalog().Call(ctx, host.Call{Tool: "greet__hello", Arguments: json.RawMessage(`{"name":"Ada"}`)})
	// Output: greet__hello: <nil>
}

// A sub-agent gets its own catalog: it can neither see nor call other tools.
func ExampleInstance_Catalog() {
	ctx := context.Background()
	i, err := bootstrap.Open(ctx, bootstrap.Options{Config: "config.hcl", TrustNamed: true})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	reader, err := i.Catalog().Narrow(host.Filter{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	r := reader.Call(ctx, host.Call{Tool: "greet__send", Arguments: json.RawMessage(`{"name":"Ada"}`), Caller: "reader"})
	fmt.Println(r.Error.Code)
	// Output: E_TOOL_NOT_IN_CATALOG
}

// One turn of a model: the tools go out, its message comes back, and every call is answered.
func ExampleInstance_Catalog_turn() {
	ctx := context.Background()
	i, err := bootstrap.Open(ctx, bootstrap.Options{Config: "config.hcl", TrustNamed: true})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	tools, _ := i.Catalog().Tools(ctx)
	request, _ := modelapi.Export(modelapi.FormatOpenAI, tools)
	message := ask(request)
	calls, err := modelapi.ParseCalls(modelapi.FormatOpenAI, message)
	if err != nil {
		log.Fatal(err)
	}
	results := i.Catalog().CallAll(ctx, calls, host.BatchOptions{})
	reply, err := modelapi.RenderResults(modelapi.FormatOpenAI, results)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(reply))
	// Output: [{"role":"tool","tool_call_id":"call_1","content":"Hello, Ada."}]
}

// ask stands for the request to the vendor.
func ask(json.RawMessage) []byte {
	return []byte(`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function",
		"function":{"name":"greet__hello","arguments":"{\"name\":\"Ada\"}"}}]}`)
}
