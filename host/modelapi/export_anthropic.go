package modelapi

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
)

// anthropicTool has three members and no more: the API refuses what it does not know.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
func anthropicTool(t *host.Tool) (any, error) {
	schema, err := toolschema.Anthropic(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	return struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}{t.Name, t.Description, schema}, nil
}
