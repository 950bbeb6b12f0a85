package modelapi

import (
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
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

func responsesTool(t *host.Tool) (any, error) {
	f, err := newOpenAIFunction(t)
	f.Type = "function"
	return f, err
}

func openAITool(t *host.Tool) (any, error) {
	f, err := newOpenAIFunction(t)
	return struct {
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}{"function", f}, err
}

func newOpenAIFunction(t *host.Tool) (openAIFunction, error) {
	parameters, strict, err := toolschema.OpenAI(t.InputSchema)
	if err != nil {
		return openAIFunction{}, badSchema(err)
	}
	return openAIFunction{Name: t.Name, Description: t.Description, Parameters: parameters, Strict: strict}, nil
}

func badSchema(err error) error { return fmt.Errorf("its input schema does not fit: %w", err) }
