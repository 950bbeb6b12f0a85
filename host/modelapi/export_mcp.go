package modelapi

import (
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
)

// mcpToolJSON is a tool of tools/list. https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
type mcpToolJSON struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  mcpHints        `json:"annotations,omitzero"`
}

// mcpHints are absent where the plugin does not tell: their defaults are not all false.
type mcpHints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

func mcpTool(t *host.Tool) (any, error) {
	input, err := toolschema.MCP(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	if t.OutputSchema != nil && !json.Valid(t.OutputSchema) {
		return nil, errors.New("its output schema is not valid JSON")
	}
	return mcpToolJSON{t.Name, t.Title, t.Description, input, t.OutputSchema, mcpHints(t.Hints)}, nil
}
