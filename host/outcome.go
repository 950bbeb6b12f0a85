package host

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolhost/toolhost/sdk"
)

// conclude is the border: every failure that leaves it says what became of the call, as a field for programs, and in words
// for the model where that is not known. What is said there comes on top of the limit for error messages.
func (h *Host) conclude(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if e := asError(err); e != nil {
			return result, c.concluded(e)
		}
		if result != nil && result.Error != nil {
			result = new(*result) // the plugin may hold on to its own
			result.Error = c.concluded(result.Error)
		}
		return result, nil
	}
}

// unknown is what the model reads of OutcomeUnknown.
const unknown = "It is not known whether the call has done its work, or a part: check before you repeat it."

// concluded is the error with the outcome of the call: the worst of what the route says and what came of each time that
// the plugin was asked.
func (c *Call) concluded(e *sdk.Error) *sdk.Error { return concluded(e, c.outcome) }

func concluded(e *sdk.Error, of sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = worse(cmp.Or(e.Outcome, sdk.OutcomeNotSent), of)
	if e.Outcome == sdk.OutcomeUnknown {
		e.Message = sentence(e.Message) + unknown
	}
	return e
}

// sentence makes room for another one behind the text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	switch text[len(text)-1] {
	case '.', '!', '?', ')', '\n':
		return text + " "
	}
	return text + ". "
}

// outcomeOf is what came of asking a plugin. Of a plugin that is not supervised, and does not tell, the worst is believed.
func outcomeOf(r *sdk.Result, err error) sdk.Outcome {
	e := asError(err)
	switch {
	case e != nil && e.Outcome == "" && e.Code == sdk.CodePluginUnavailable:
		return sdk.OutcomeNotSent
	case e != nil:
		return cmp.Or(e.Outcome, sdk.OutcomeUnknown)
	case r != nil && r.Error != nil:
		return cmp.Or(r.Error.Outcome, sdk.OutcomeFailed)
	}
	return sdk.OutcomeFailed // if the call fails all the same, then by what comes after the plugin
}

// outcomes are in rising order of what they demand of those who would repeat the call.
var outcomes = []sdk.Outcome{"", sdk.OutcomeNotSent, sdk.OutcomeFailed, sdk.OutcomeUnknown}

func worse(a, b sdk.Outcome) sdk.Outcome {
	if slices.Index(outcomes, a) > slices.Index(outcomes, b) {
		return a
	}
	return b
}
