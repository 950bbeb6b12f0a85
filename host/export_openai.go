package host

import (
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/shapes"
)

// openAIFunction is a function as both of OpenAI's APIs have it. Strict is always written: the responses API takes true
// for its absence. https://developers.openai.com/api/docs/guides/function-calling
type openAIFunction struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func responsesTool(t *Tool) (any, error) {
	f, err := newOpenAIFunction(t)
	f.Type = "function"
	return f, err
}

func openAITool(t *Tool) (any, error) {
	f, err := newOpenAIFunction(t)
	return struct {
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}{"function", f}, err
}

func newOpenAIFunction(t *Tool) (openAIFunction, error) {
	parameters, strict, err := shapes.OpenAI(t.InputSchema)
	if err != nil {
		return openAIFunction{}, badSchema(err)
	}
	return openAIFunction{Name: t.Name, Description: t.Description, Parameters: parameters, Strict: strict}, nil
}

func badSchema(err error) error { return fmt.Errorf("its input schema does not fit: %w", err) }
