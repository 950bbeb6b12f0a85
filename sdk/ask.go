package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A Question is asked of the person on whose behalf a call runs.
type Question struct {
	// Message is the question, of at most 4 KiB.
	Message string
	// Schema is the form that the person fills in, the JSON Schema of a flat object: its properties are texts, numbers,
	// booleans, choices (enum, oneOf with const and title) and lists of choices (items). Nil asks for a yes or no alone.
	Schema json.RawMessage
}

// An Action is what a person did with a question.
type Action string

// The actions.
const (
	Accepted Action = elicit.Accept  // the person answered
	Declined Action = elicit.Decline // the person said no
	Canceled Action = elicit.Cancel  // the person closed the question
)

// An Answer is a person's answer to a question.
type Answer[T any] struct {
	Action Action
	// Value is what the person filled in, when Action is Accepted.
	Value T
}

// Ask asks the person on whose behalf the call runs, and waits for the answer. T is a flat struct: its fields are the
// form, with the tags of AddTool; an empty struct asks for a yes or no alone. A call may ask ten times, one question
// after the other, and never for secrets: hosts refuse such questions. The time until the answer does not count against
// the call's deadline; while a question is open the call neither reports events nor calls tools.
// The error is an *Error: no one can be asked (Name "NoOneToAsk"), no one has answered in time, the question is over a
// limit, or ctx has ended. A tool should work without an answer, or name the argument that answers the question.
func Ask[T any](ctx context.Context, r *Request, message string) (Answer[T], error) {
	schema, err := inferSchema("the question", reflect.TypeFor[T](), ofInput)
	if err != nil {
		return Answer[T]{}, err
	}
	answer, err := r.Ask(ctx, Question{Message: message, Schema: schema})
	out := Answer[T]{Action: answer.Action}
	if err == nil && answer.Action == Accepted {
		out.Value, err = decode[T](answer.Value, "the answer does not fit")
	}
	return out, err
}

// Ask is like the function Ask, with a schema and a JSON object.
func (r *Request) Ask(ctx context.Context, q Question) (Answer[json.RawMessage], error) {
	asked, err := q.check()
	if err != nil {
		return Answer[json.RawMessage]{}, &Error{Name: "BadQuestion", Message: "the question cannot be asked: " + err.Error()}
	}
	if r.Services == nil || !mayAsk(r.Capabilities) {
		return Answer[json.RawMessage]{}, &Error{Name: "NoOneToAsk", Message: "the tool asks " +
			fmt.Sprintf("%.200q, and no one can be asked here", q.Message),
			Suggestion: "If the tool has arguments for what it asks, pass them; otherwise ask a person to make the call."}
	}
	raw, err := r.Services.Ask(ctx, asked.Request())
	if err != nil {
		return Answer[json.RawMessage]{}, err
	}
	answer, err := asked.ReadAnswer(raw)
	if err != nil {
		return Answer[json.RawMessage]{}, &Error{Name: "BadAnswer", Message: err.Error()}
	}
	return Answer[json.RawMessage]{Action: Action(answer.Action), Value: answer.Content}, nil
}

// check returns the question as it is asked.
func (q Question) check() (*elicit.Question, error) {
	if strings.TrimSpace(q.Message) == "" {
		return nil, fmt.Errorf("it is empty")
	}
	form := struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
	}{Type: "object", Properties: json.RawMessage("{}")}
	if q.Schema != nil { // other keywords, such as additionalProperties, are none of MCP's forms
		if err := json.Unmarshal(q.Schema, &form); err != nil {
			return nil, err
		}
	}
	if form.Properties == nil {
		form.Properties = json.RawMessage("{}")
	}
	out := &elicit.Question{Message: textutil.Clean(q.Message), RequestedSchema: Encode(form)}
	if _, err := elicit.ParseForm(out.RequestedSchema); err != nil {
		return nil, err
	}
	return out, out.Check()
}

// mightAsk is false where mayAsk is; it is quick, and part of every call.
func mightAsk(capabilities json.RawMessage) bool {
	return len(capabilities) > 0 && bytes.Contains(capabilities, []byte(`"elicitation"`))
}

// mayAsk reports whether a caller with these capabilities answers forms.
func mayAsk(capabilities json.RawMessage) bool {
	if !mightAsk(capabilities) {
		return false
	}
	var c struct{ Elicitation map[string]json.RawMessage }
	if json.Unmarshal(capabilities, &c) != nil || c.Elicitation == nil {
		return false
	}
	_, form := c.Elicitation["form"]
	_, url := c.Elicitation["url"]
	return form || !url // an empty object is that of a client from before there were modes
}
