package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// A question is one of those that a tool asks.
type question struct {
	method string // such as elicitation/create
	params string // JSON
}

// capability is the member of a client's capabilities that the question needs.
func (q question) capability() string {
	kind, _, _ := strings.Cut(q.method, "/")
	return kind
}

func form(message, properties string, required ...string) question {
	return question{"elicitation/create", fmt.Sprintf(
		`{"message":%s,"requestedSchema":{"type":"object","properties":%s,"required":%s}}`,
		sdk.Encode(message), properties, sdk.Encode(append([]string{}, required...)))}
}

func sample(prompt string, maxTokens int) question {
	return question{"sampling/createMessage", fmt.Sprintf(
		`{"messages":[{"role":"user","content":{"type":"text","text":%s}}],"maxTokens":%d}`, sdk.Encode(prompt), maxTokens)}
}

// A round are the questions that a tool asks at once, by keys of its choice.
type round map[string]question

// An asker is a tool that asks in rounds and then answers from all that it was given in the last one.
type asker struct {
	rounds  []round
	stated  bool // whether the questions come with a signed state
	limited bool // whether only questions are asked that the caller answers
	result  func(answers map[string]json.RawMessage) *sdk.Result
}

// call asks the questions of the round that the state names, until all of them have an answer of the right form.
func (a asker) call(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
	number, err := a.round(r)
	if err != nil {
		return nil, err
	}
	asked := a.rounds[number]
	if a.limited {
		asked = maps.Clone(asked)
		maps.DeleteFunc(asked, func(_ string, q question) bool { return !answers(r.Capabilities, q) })
	}
	if complete(asked, r.InputResponses) {
		number++
		if number == len(a.rounds) {
			return a.result(r.InputResponses), nil
		}
		asked = a.rounds[number]
	}
	required := &sdk.InputRequired{Requests: map[string]json.RawMessage{}}
	for key, q := range asked {
		required.Requests[key] = json.RawMessage(fmt.Sprintf(`{"method":%q,"params":%s}`, q.method, q.params))
	}
	if a.stated {
		required.State = sign(fmt.Sprintf("%s/%d", r.Tool, number))
	}
	return &sdk.Result{InputRequired: required}, nil
}

// round returns the one whose questions the request answers: the first without a state.
func (a asker) round(r *sdk.Request) (number int, err error) {
	if !a.stated || r.RequestState == "" {
		return 0, nil
	}
	for n := range a.rounds {
		if r.RequestState == sign(fmt.Sprintf("%s/%d", r.Tool, n)) {
			return n, nil
		}
	}
	return 0, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "BadRequestState",
		Message: "the request state is not one that this tool gave"}
}

// complete reports whether each question has an answer that is an object.
func complete(asked round, responses map[string]json.RawMessage) bool {
	for key := range asked {
		var object map[string]json.RawMessage
		if json.Unmarshal(responses[key], &object) != nil || object == nil {
			return false
		}
	}
	return len(asked) > 0
}

func answers(capabilities json.RawMessage, q question) bool {
	var declared map[string]json.RawMessage
	return json.Unmarshal(capabilities, &declared) == nil && declared[q.capability()] != nil
}

var stateKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}()

// sign returns a state that only this process can make.
func sign(text string) string {
	mac := hmac.New(sha256.New, stateKey)
	_, _ = mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const (
	nameField = `{"name":{"type":"string"}}`
	okField   = `{"ok":{"type":"boolean"}}`
	person    = `{"username":{"type":"string","description":"User's response"},` +
		`"email":{"type":"string","description":"User's email address"}}`
	withDefaults = `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},` +
		`"score":{"type":"number","default":95.5},` +
		`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},` +
		`"verified":{"type":"boolean","default":true}}`
	choices = `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},` +
		`{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},` +
		`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],` +
		`"enumNames":["Option One","Option Two","Option Three"]},` +
		`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},` +
		`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},` +
		`{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`
)

// questionTools ask the caller before they answer.
func questionTools() []sdk.BoundTool {
	roots := question{"roots/list", `{}`}
	name := form("What is your name?", nameField, "name")
	asking := func(tool string, a asker) sdk.BoundTool {
		if a.result == nil {
			a.result = every("Answers: %s")
		}
		return askingTool(tool, noArguments, func(*sdk.Request) asker { return a })
	}
	return []sdk.BoundTool{
		askingTool("test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
			func(r *sdk.Request) asker {
				return asker{rounds: []round{{"sample": sample(argument(r, "prompt"), 100)}}, result: every("LLM response: %s")}
			}),
		askingTool("test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
			func(r *sdk.Request) asker {
				return asker{rounds: []round{{"form": form(argument(r, "message"), person, "username", "email")}},
					result: every("User response: %s")}
			}),
		asking("test_elicitation_sep1034_defaults", asker{rounds: []round{{"form": form("Please review", withDefaults)}},
			result: every("Elicitation completed: %s")}),
		asking("test_elicitation_sep1330_enums", asker{rounds: []round{{"form": form("Please choose", choices)}},
			result: every("Elicitation completed: %s")}),
		asking("test_streaming_elicitation", asker{rounds: []round{{"user_name": name}}}),
		asking("test_missing_capability", asker{rounds: []round{{"sample": sample("Say something.", 10)}}}),
		asking("test_input_required_result_elicitation", asker{rounds: []round{{"user_name": name}},
			result: every("Hello, %s!")}),
		asking("test_input_required_result_sampling", asker{rounds: []round{
			{"capital_question": sample("What is the capital of France?", 100)}}}),
		asking("test_input_required_result_list_roots", asker{rounds: []round{{"client_roots": roots}}}),
		asking("test_input_required_result_request_state", asker{stated: true,
			rounds: []round{{"confirm": form("Please confirm", okField, "ok")}}, result: every("state-ok: %s")}),
		asking("test_input_required_result_tampered_state", asker{stated: true,
			rounds: []round{{"confirm": form("Please confirm", okField, "ok")}}}),
		asking("test_input_required_result_multiple_inputs", asker{stated: true, rounds: []round{
			{"user_name": name, "greeting": sample("Generate a greeting", 50), "client_roots": roots}}}),
		asking("test_input_required_result_multi_round", asker{stated: true, rounds: []round{
			{"step1": form("Step 1: What is your name?", nameField, "name")},
			{"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color")}}}),
		asking("test_input_required_result_capabilities", asker{limited: true, rounds: []round{
			{"user_name": name, "greeting": sample("Generate a greeting", 50)}}}),
	}
}

func askingTool(name, schema string, of func(*sdk.Request) asker) sdk.BoundTool {
	return tool(name, "Asks the caller before it answers.", schema,
		func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) { return of(r).call(ctx, r) })
}

// every returns a text with all answers, as JSON.
func every(format string) func(map[string]json.RawMessage) *sdk.Result {
	return func(answers map[string]json.RawMessage) *sdk.Result {
		return sdk.Textf(format, sdk.Encode(answers))
	}
}

func argument(r *sdk.Request, name string) string {
	var in map[string]any
	_ = json.Unmarshal(r.Arguments, &in) // the schema was checked
	text, _ := in[name].(string)
	return text
}
