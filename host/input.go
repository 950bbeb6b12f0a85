package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// An InputHandler answers the questions that a tool asks before it continues, such as the elicitations of an MCP
// server. It may be called for many calls at once.
type InputHandler interface {
	// Capabilities are the kinds of questions that it answers, as MCP's client capabilities: a JSON object such as
	// {"elicitation":{"form":{}}}.
	Capabilities() json.RawMessage
	// AnswerInput returns the answers, JSON objects by the keys of the questions. If it returns an error, the call
	// fails; for ErrNoApprover the message says that no one can be asked.
	AnswerInput(ctx context.Context, r *InputRequest) (map[string]json.RawMessage, error)
}

// An InputRequest has the questions of one call. It is the handler's own copy.
type InputRequest struct {
	CallID, Caller, SessionID string
	// Tool is the tool that asks. Show it, so that no question passes for another plugin's, or for the host's own.
	Tool *Tool
	// Via is the call on behalf of which a plugin makes this one; nil for a call of an agent or a person.
	Via *Via
	// Requests are MCP's input requests by their keys, JSON objects: {"method":"elicitation/create","params":{…}}.
	Requests map[string]json.RawMessage
}

const maxRounds = 10 // how often one call may ask

// input has the tool's questions answered, and repeats the call with the answers. The time that answers take does not
// count against the call's deadline.
func (h *snapshot) input(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.checkAsked(); e != nil {
			return nil, e
		}
		result, err := next(ctx, c)
		for round := 1; ; round++ {
			if err != nil || result == nil || result.InputRequired == nil || result.Error != nil {
				return result, err
			}
			if !c.ReturnInput {
				result, err = h.continueCall(ctx, c, result.InputRequired, round, next)
				continue
			}
			if e := checkQuestions(c, result.InputRequired); e != nil {
				return nil, e
			}
			return result, nil
		}
	}
}

// checkAsked refuses to give a person's answers to another call than the one that asked: a Reload may have replaced the
// tool since, or a person changed the arguments after it.
func (c *Call) checkAsked() *sdk.Error {
	a := c.asked
	if a == nil || a.Definition.hash() == c.Definition.hash() && bytes.Equal(a.Arguments, c.Arguments) &&
		a.Workdir == c.Workdir {
		return nil
	}
	e := advise(fail(sdk.CodeTool, "QuestionExpired",
		"the tool or the arguments of %s have changed since it asked a question, so it did not get the answer", c.Tool),
		"Check what the tool has done before you make the call again.")
	e.Outcome = sdk.OutcomeUnknown
	return e
}

// continueCall has the questions answered and makes the call again, unless the questions of a suspended call are
// withdrawn before that.
func (h *snapshot) continueCall(ctx context.Context, c *Call, in *sdk.InputRequired, round int, next CallFunc) (
	*sdk.Result, error) {
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	var beside *callDuringQuestions // nil unless the call is suspended
	if in.Suspended {
		var err error
		if beside, err = h.callDuringQuestions(ctx, c, in, stopAsking); err != nil {
			return nil, err
		}
		defer beside.end()
	}
	if e := checkQuestions(c, in); e != nil {
		return nil, e
	}
	if round > maxRounds {
		return nil, advise(fail(sdk.CodeTool, "TooManyQuestions", "%s has asked %d times and asks again; the call was ended",
			c.Tool, maxRounds), unaskedAdvice)
	}
	var answers map[string]json.RawMessage
	if len(in.Requests) > 0 || !in.Suspended {
		var err error
		answers, err = h.answer(asking, c, in)
		if beside.hasReturned(0) {
			return beside.returned(c)
		}
		if err != nil {
			return nil, err
		}
	}
	c.InputResponses, c.RequestState = answers, in.State
	c.asked = &Call{Definition: c.Definition, Arguments: c.Arguments, Workdir: c.Workdir}
	result, err := next(ctx, c)
	if isExpired(result, err) && beside.hasReturned(maxReceive) && !isExpired(beside.result, beside.err) {
		return beside.returned(c) // the call has ended while the answers were on their way
	}
	return result, err
}

// answer asks the handler, and waits as long as for an approval.
func (h *snapshot) answer(ctx context.Context, c *Call, in *sdk.InputRequired) (answers map[string]json.RawMessage,
	err error) {
	r := &InputRequest{CallID: c.ID, Caller: c.Caller, SessionID: c.SessionID, Tool: c.Definition.clone(),
		Via: c.Via(), Requests: map[string]json.RawMessage{}}
	for key, request := range in.Requests {
		r.Requests[key] = bytes.Clone(request)
	}
	limited, cancel := context.WithTimeout(ctx, h.options.ApprovalTimeout)
	defer cancel()
	err = ErrNoApprover
	if h.options.Input != nil {
		asking, waiting := c.enter(limited, stageInput)
		answers, err = h.callInputHandler(ctx, asking, c, r)
		waiting.end(asError(err), 0)
	}
	if err == nil {
		err = checkAnswers(in, answers)
	}
	switch {
	case err == nil:
		return answers, nil
	case ctx.Err() != nil:
		return nil, sdk.EndedError(ctx)
	}
	why := fmt.Sprintf("got no answer: %s", err)
	if limited.Err() != nil {
		why = fmt.Sprintf("no one answered within %s", h.options.ApprovalTimeout)
	}
	return nil, advise(fail(sdk.CodeTool, "InputRequired", "%s asks %s, and %s", c.Tool, questionText(in), why),
		"If the tool has arguments for what it asks, pass them; otherwise ask a person to make the call.")
}

// unaskedAdvice is for a tool whose questions are not asked.
const unaskedAdvice = "If the tool has arguments for what it asks, pass them; otherwise do without it."

const maxQuestions = 16 // how many questions a call may ask at once

// checkQuestions refuses questions to a person that are over a limit, or ask for a secret: what is typed into a form
// goes to the plugin, and into what it keeps.
func checkQuestions(c *Call, in *sdk.InputRequired) *sdk.Error {
	refuse := func(name, format string, a ...any) *sdk.Error {
		return advise(fail(sdk.CodeTool, name, "the question of %s was refused: %s; the call was ended", c.Tool,
			fmt.Sprintf(format, a...)), unaskedAdvice)
	}
	if len(in.Requests) > maxQuestions {
		return refuse("TooManyQuestions", "there are %d at once; the limit is %d", len(in.Requests), maxQuestions)
	}
	for _, key := range slices.Sorted(maps.Keys(in.Requests)) {
		q, is, err := elicit.Read(in.Requests[key])
		if err == nil && !is {
			continue
		}
		if err == nil {
			err = q.Check()
		}
		if err != nil {
			return refuse("BadQuestion", "%s", err)
		}
		form, err := elicit.ParseForm(q.RequestedSchema)
		if err != nil { // its maker checks the answer
			continue
		}
		if name := form.Secret(redact.Name); name != "" {
			return advise(refuse("SecretAsked", "its field %.60q is for a secret, which would go to the plugin as plain text",
				name), "Secrets belong in the plugin's configuration or environment. Ask the user to set it there.")
		}
	}
	return nil
}

// checkAnswers checks answers to questions to a person. Whether they fit the form is the asking plugin's to check,
// which knows more about it, such as an MCP server: the sdk does, and prompts ask again.
func checkAnswers(in *sdk.InputRequired, answers map[string]json.RawMessage) error {
	for key, request := range in.Requests {
		if _, is, err := elicit.Read(request); err == nil && is {
			if _, err := elicit.ReadAnswer(answers[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// callInputHandler returns soon after asking ends, whether or not the handler does.
func (h *snapshot) callInputHandler(ctx, asking context.Context, c *Call, r *InputRequest) (map[string]json.RawMessage,
	error) {
	replied := make(chan reply[map[string]json.RawMessage], 1)
	go respond(h, replied, "the host's input handler", c.ID, func() (map[string]json.RawMessage, error) {
		return h.options.Input.AnswerInput(asking, r)
	})
	answers, err := await(ctx, asking, replied)
	if err != nil {
		return nil, err
	}
	for key := range r.Requests {
		if !json.Valid(answers[key]) {
			return nil, fmt.Errorf("the host's input handler left the question %.100q without a valid answer", key)
		}
	}
	return answers, nil
}

// capabilities are the kinds of questions that the plugin may ask the caller.
func (h *snapshot) capabilities(c *Call) json.RawMessage {
	if c.Capabilities == nil && !c.ReturnInput && h.options.Input != nil {
		return h.options.Input.Capabilities()
	}
	return c.Capabilities
}

// questionText quotes the first question, for an error.
func questionText(in *sdk.InputRequired) string {
	for _, key := range slices.Sorted(maps.Keys(in.Requests)) {
		var request struct {
			Method string
			Params struct{ Message string }
		}
		if json.Unmarshal(in.Requests[key], &request) == nil && request.Method != "" {
			message, _ := textutil.Visible(cmp.Or(request.Params.Message, request.Method), -1)
			return strconv.Quote(cutText(message, 200))
		}
	}
	return "a question"
}

// A callDuringQuestions is a call of a plugin that the host makes beside the questions of a suspended call. By it the
// host learns that they need no answer any more, and the plugin that no answers will come.
type callDuringQuestions struct {
	cancel   context.CancelFunc
	received chan struct{} // closed when the plugin has the call

	done   chan struct{} // closed when it has returned; then result and err are set
	result *sdk.Result
	err    error
}

// maxReceive is how long a call beside questions may take to reach the plugin, or to return from it. What is canceled
// before it is received may never reach the plugin.
const maxReceive = 2 * time.Second

// callDuringQuestions begins the call, which has no deadline: people may take longer than the tool. It calls ended when
// the call has returned.
func (h *snapshot) callDuringQuestions(ctx context.Context, c *Call, in *sdk.InputRequired, ended func()) (
	*callDuringQuestions, error) {
	r, err := h.toRequest(c)
	if err != nil {
		return nil, err
	}
	r.InputResponses, r.RequestState, r.DuringQuestions = nil, in.State, true
	r.RunID, r.Attempt, r.Services = h.newRunID(), 1, (*services)(c)
	b := &callDuringQuestions{received: make(chan struct{}), done: make(chan struct{})}
	forward := h.forwardEvents(ctx, c)
	received := sync.OnceFunc(func() { close(b.received) })
	r.Events = func(e sdk.Event) {
		if e.Type != sdk.EventStarted {
			forward(e)
			return
		}
		received()
	}
	calling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.cancel = cancel
	go func() {
		defer ended()
		defer close(b.done)
		defer func() {
			if cause := recover(); cause != nil { // of a plugin in this process
				logPanic(h.log, cause, "call_id", c.ID, "tool", c.Tool)
				b.err = fail(sdk.CodeInternal, "Panic", "the plugin panicked; see the host's log for call id %s", c.ID)
			}
		}()
		b.result, b.err = c.Definition.plugin.Call(calling, r)
	}()
	return b, nil
}

// end ends the call, if it has not returned. Without answers, the plugin learns that it waits for nothing.
func (b *callDuringQuestions) end() {
	select {
	case <-b.received:
	case <-b.done:
	case <-time.After(maxReceive):
	}
	b.cancel()
	<-b.done
}

// hasReturned reports whether the call returns within a time.
func (b *callDuringQuestions) hasReturned(within time.Duration) bool {
	if b == nil {
		return false
	}
	select {
	case <-b.done:
		return true
	default:
	}
	select {
	case <-b.done:
		return true
	case <-time.After(within):
		return false
	}
}

// returned is what the call has returned: the result of the suspended call, or its other questions.
func (b *callDuringQuestions) returned(c *Call) (*sdk.Result, error) {
	c.outcome = moreRestrictive(c.outcome, outcomeOf(b.result, b.err))
	return c.checkOutput(checkResult(b.result, b.err))
}

// isExpired reports that a plugin no longer has the suspended call.
func isExpired(result *sdk.Result, err error) bool {
	e := failure(result, err)
	return e != nil && e.Name == "QuestionExpired"
}
