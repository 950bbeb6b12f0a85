package host

import (
	"github.com/toolhost/toolhost/sdk"
)

// checkOutput holds a structured result against the schema that its tool declares. The call has run, so the model still
// reads the content; programs get no JSON that is not what was promised. A failure, or a result without any, promises
// nothing.
func (c *Call) checkOutput(result *sdk.Result, err error) (*sdk.Result, error) {
	output := c.Definition.output
	if output == nil || result == nil || result.Error != nil || result.Structured == nil || err != nil {
		return result, err
	}
	invalid := output.Validate(result.Structured)
	if invalid == nil {
		return result, nil
	}
	out := *result
	out.Structured = nil
	e := fail(sdk.CodeProtocol, "InvalidOutput", "%s has run, but its structured result does not fit its output schema and is left out: %s", c.Tool, invalid)
	e.Suggestion = "Read the content instead. Find out what the call has done before you make it again."
	return &out, e
}

// checkResult leaves out what of a result cannot be read, and says so: an empty success would hide it. Of plugins behind the
// wire, that has been done.
func checkResult(result *sdk.Result, err error) (*sdk.Result, error) {
	if result == nil || err != nil {
		return result, err
	}
	broken := result.Check()
	if broken == nil {
		return result, nil
	}
	out := *result
	if (&sdk.Result{Structured: out.Structured}).Check() != nil {
		out.Structured = nil
	}
	out.Content = nil
	for _, p := range result.Content {
		if (&sdk.Result{Content: []sdk.Content{p}}).Check() == nil {
			out.Content = append(out.Content, p)
		}
	}
	if result.Error != nil {
		out.Error = new(*result.Error)
		out.Error.Message += "; besides, the result is broken: " + broken.Error()
		return &out, nil //nolint:nilerr // the tool's own error says more, and says this too
	}
	e := fail(sdk.CodeProtocol, "BrokenResult", "the result is broken: %s; the tool has run, and what can be read of its result is kept", broken)
	e.Suggestion = "Find out what the call has done before you make it again."
	return &out, e
}
