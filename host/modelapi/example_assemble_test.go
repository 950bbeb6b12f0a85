package modelapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host/modelapi"
)

// A model's stream becomes calls, and the calls are run.
func ExampleAssembler() {
	h := greeter()
	defer h.Close()

	a, err := modelapi.NewAssembler(modelapi.FormatAnthropic)
	if err != nil {
		log.Fatal(err)
	}
	for _, data := range []string{ // of the server-sent events
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"greet__hello","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\": \"Wo"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"rld\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
	} {
		states, err := a.Add([]byte(data))
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range states {
			fmt.Printf("%s %s(%s)\n", s.Status, s.Tool, s.Partial)
		}
	}
	a.End()
	for _, c := range a.Calls() {
		fmt.Println(c.ID, h.Call(context.Background(), c).Text())
	}
	// Output:
	// generating greet__hello()
	// generating greet__hello({"name": "Wo"})
	// generating greet__hello({"name": "World"})
	// generated greet__hello({"name": "World"})
	// toolu_1 Hello, World.
}
