package bootstrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/sdk"
)

// opened is a host of config.hcl, and a function that calls one of its tools.
func opened(o bootstrap.Options) (call func(tool, arguments string) *host.Result, end func() error) {
	o.Config, o.TrustNamed = "config.hcl", true
	i, err := bootstrap.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	return func(tool, arguments string) *host.Result {
		return i.Catalog().Call(context.Background(), host.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
	}, i.Close
}

// A middleware answers calls of tools that only read from a cache. It runs before the arguments are checked: the key is
// what the model wrote.
func ExampleOptions_middlewareCache() {
	var known sync.Map
	cached := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if t := c.Definition; t == nil || t.Hints.ReadOnly == nil || !*t.Hints.ReadOnly { // nil: an unknown tool
				return next(ctx, c)
			}
			key := c.Tool + string(c.Arguments)
			if result, is := known.Load(key); is {
				fmt.Println("from the cache")
				return result.(*sdk.Result), nil
			}
			result, err := next(ctx, c)
			if err == nil && result.Error == nil {
				known.Store(key, result)
			}
			return result, err
		}
	}
	call, end := opened(bootstrap.Options{Middleware: []host.Middleware{cached}})
	defer end()
	for range 2 {
		fmt.Println(call("greet__hello", `{"name":"Ada"}`).Text())
	}
	// Output:
	// Hello, Ada.
	// from the cache
	// Hello, Ada.
}

// A middleware sees calls that go wrong too: of tools that do not exist, and with arguments that are no JSON. It may
// repair them, or make a call again whose error says that this may help.
func ExampleOptions_middlewareRepair() {
	repaired := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if c.Definition == nil { // unknown: perhaps in the style of another agent
				c.Tool = strings.Replace(c.Tool, ".", "__", 1)
			}
			if !json.Valid(c.Arguments) {
				c.Arguments = sdk.Encode(map[string]string{"name": string(c.Arguments)})
			}
			result, err := next(ctx, c)
			if again := result != nil && result.Error != nil && result.Error.Retryable; again && ctx.Err() == nil {
				result, err = next(ctx, c)
			}
			return result, err
		}
	}
	call, end := opened(bootstrap.Options{Middleware: []host.Middleware{repaired}})
	defer end()
	fmt.Println(call("greet.hello", `Ada`).Text())
	fmt.Println(call("greet.helo", `Ada`).Error.Code)
	// Output:
	// Hello, Ada.
	// E_TOOL_NOT_FOUND
}

// An agent answers the questions that tools ask in the middle of their calls.
func ExampleOptions_input() {
	call, end := opened(bootstrap.Options{Input: userInterface{}})
	defer end()
	fmt.Println(call("greet__invite", `{"name":"Ada"}`).Text())
	// Output:
	// greet__invite asks: On which day?
	// Ada is invited for Friday.
}

// A userInterface shows forms.
type userInterface struct{}

// Capabilities says which questions it can show: forms, and no addresses to open.
func (userInterface) Capabilities() json.RawMessage {
	return json.RawMessage(`{"elicitation":{"form":{}}}`)
}

// AnswerInput shows each question, with the tool that asks, and returns MCP's answers.
func (userInterface) AnswerInput(_ context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for key, request := range r.Requests {
		var question struct {
			Params struct {
				Message         string
				RequestedSchema json.RawMessage // the form to show
			}
		}
		if err := json.Unmarshal(request, &question); err != nil {
			return nil, err
		}
		fmt.Printf("%s asks: %s\n", r.Tool.Name, question.Params.Message)
		answers[key] = json.RawMessage(`{"action":"accept","content":{"day":"Friday"}}`) // or decline, or cancel
	}
	return answers, nil
}

// The log goes where the agent's own goes: here only the lines of calls, without what changes from run to run.
func ExampleOptions_logger() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case "level", "msg", "tool", "status", "code":
			return a
		}
		return slog.Attr{}
	}})
	call, end := opened(bootstrap.Options{Logger: slog.New(onlyCalls{handler})})
	defer end()
	call("greet__hello", `{"name":"Ada"}`)
	call("greet__hello", `{}`)
	// Output:
	// level=INFO msg=call status=ok tool=greet__hello
	// level=INFO msg=call status=error code=E_TOOL_INVALID_ARGS tool=greet__hello
}

// onlyCalls is a slog.Handler that drops what is not the line of a call.
type onlyCalls struct{ slog.Handler }

// Handle passes on the lines of calls.
func (h onlyCalls) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != "call" {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs adds fields to each line.
func (h onlyCalls) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyCalls{h.Handler.WithAttrs(attrs)}
}

// An agent that logs with hclog gives the host a handler that writes to it.
func ExampleOptions_hclog() {
	log := hclog.New(&hclog.LoggerOptions{Output: os.Stdout, DisableTime: true, Level: hclog.Info})
	call, end := opened(bootstrap.Options{Logger: slog.New(onlyCalls{toHCLog{log}})})
	defer end()
	call("greet__hello", `{}`)
	// Output: [INFO]  call: tool=greet__hello status=error code=E_TOOL_INVALID_ARGS
}

// toHCLog is a slog.Handler that writes to an hclog.Logger.
type toHCLog struct{ log hclog.Logger }

// Enabled asks the logger.
func (h toHCLog) Enabled(_ context.Context, l slog.Level) bool { return h.log.GetLevel() <= level(l) }

// Handle writes a record.
func (h toHCLog) Handle(_ context.Context, r slog.Record) error {
	fields := map[string]any{}
	r.Attrs(func(a slog.Attr) bool {
		fields[a.Key] = a.Value.Any()
		return true
	})
	var args []any
	for _, key := range []string{"tool", "status", "code"} { // all of them in a program of your own
		if v, there := fields[key]; there {
			args = append(args, key, v)
		}
	}
	h.log.Log(level(r.Level), r.Message, args...)
	return nil
}

// WithAttrs adds fields to each line.
func (h toHCLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = append(args, a.Key, a.Value.Any())
	}
	return toHCLog{h.log.With(args...)}
}

// WithGroup begins a part of the log.
func (h toHCLog) WithGroup(name string) slog.Handler { return toHCLog{h.log.Named(name)} }

func level(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
