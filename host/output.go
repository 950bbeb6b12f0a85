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
