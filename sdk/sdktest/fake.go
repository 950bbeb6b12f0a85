package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/sdk"
)

// A Host stands in for what a host does for plugins.
type Host struct {
	// Tools are the tools that the plugin may call, by full name. A call of any other is denied, as by a host whose
	// configuration does not grant it; arguments are not checked.
	Tools map[string]func(arguments json.RawMessage) *sdk.Result
	// Answer answers the questions of handlers; nil means that no one can be asked. Accept makes an answer.
	Answer func(q sdk.Question) sdk.Answer[json.RawMessage]
}

// Accept is the answer of a person who fills in a form with the fields of v.
func Accept(v any) sdk.Answer[json.RawMessage] {
	return sdk.Answer[json.RawMessage]{Action: sdk.Accepted, Value: sdk.Encode(v)}
}

// With is the same plugin, whose Run and RunIn offer the handlers what h has.
func (p *Plugin) With(h Host) *Plugin {
	out := *p
	out.host = &h
	return &out
}

// CallTool calls one of the tools.
func (h *Host) CallTool(_ context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error) {
	if f := h.Tools[tool]; f != nil {
		return f(objectOf(arguments)), nil
	}
	return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeDenied, Name: "NotGranted", Outcome: sdk.OutcomeNotSent,
		Message: fmt.Sprintf("the plugin may not call %q, only %s; nothing was run", tool,
			strings.Join(slices.Sorted(maps.Keys(h.Tools)), ", "))}}, nil
}

// Ask answers a question, as a host does.
func (h *Host) Ask(_ context.Context, question json.RawMessage) (json.RawMessage, error) {
	q, is, err := elicit.Read(question)
	if err == nil && !is {
		err = errors.New("it is none to a person")
	}
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("a host would not pass on the question: %w", err)
	}
	if form, err := elicit.ParseForm(q.RequestedSchema); err == nil {
		if name := form.Secret(redact.Name); name != "" {
			return nil, fmt.Errorf("a host would not pass on the question: its field %q is for a secret", name)
		}
	}
	a := h.Answer(sdk.Question{Message: q.Message, Schema: q.RequestedSchema})
	answer := sdk.Encode(elicit.Answer{Action: string(a.Action), Content: a.Value})
	_, err = q.ReadAnswer(answer)
	return answer, err
}

// answerAll answers the questions of a result.
func (h *Host) answerAll(ctx context.Context, in *sdk.InputRequired) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for key, question := range in.Requests {
		var err error
		if answers[key], err = h.Ask(ctx, question); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
