package modelapi

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
)

// textIntro tells a model how to call tools. FormatText says what else is read.
const textIntro = "You can call tools. To call one, write a block of these three lines: three backticks and the word tool_call; one JSON object, " +
	"with the tool's \"name\" and its \"arguments\"; three backticks. Like this:\n\n" +
	"```tool_call\n" + `{"name": "NAME", "arguments": {"KEY": "VALUE"}}` + "\n```\n\n" +
	"Begin it at the beginning of a line and inside no other block. Several blocks are several calls. " +
	"Stop after your last block: the results come in the next message. " +
	"These are the tools, one a line; the \"parameters\" are the JSON Schema that the \"arguments\" must fit.\n\n"

// textToolJSON is a tool as a line of JSON, so that no description can pass for another tool.
type textToolJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func textTool(t *host.Tool) (any, error) {
	schema, err := toolschema.MCP(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	line, err := encode(textToolJSON{t.Name, t.Description, schema})
	return string(line) + "\n", err
}

// textList is the whole text; without tools nothing is to be said.
func textList(tools []any) any {
	if len(tools) == 0 {
		return ""
	}
	out := textIntro
	for _, t := range tools {
		out += t.(string)
	}
	return out
}
