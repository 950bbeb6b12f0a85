package modelapi

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
)

// geminiFunction is a function declaration. Only one of the two schemas is there.
// https://ai.google.dev/api/caching#FunctionDeclaration
type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

func geminiTool(t *host.Tool) (any, error) {
	schema, err := toolschema.Gemini(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	return geminiFunction{Name: t.Name, Description: t.Description, JSONSchema: schema}, nil
}

func geminiOpenAPITool(t *host.Tool) (any, error) {
	schema, err := toolschema.GeminiOpenAPI(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	return geminiFunction{Name: t.Name, Description: t.Description, Parameters: schema}, nil
}

// geminiList puts all functions into one tool, as the API and Gemini CLI's discovery want it. Without any, there is no
// tool either: the API refuses an empty one.
func geminiList(functions []any) any {
	if len(functions) == 0 {
		return []any{}
	}
	return []any{struct {
		Declarations []any `json:"functionDeclarations"`
	}{functions}}
}
