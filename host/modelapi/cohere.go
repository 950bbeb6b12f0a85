package modelapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
)

// cohere is Cohere's chat API, version 2. Its calls are written like OpenAI's. https://docs.cohere.com/reference/chat
var cohere = vendor{
	toolName: plainName,
	tool: func(t *host.Tool) (any, error) {
		parameters, _, err := toolschema.OpenAI(t.InputSchema)
		function := members("name", t.Name, "description", t.Description, "parameters", parameters)
		return members("type", "function", "function", function), badSchema(err)
	},
	calls: openAICalls,
	// The content is a list, since a string must be JSON.
	results: toolMessages(func(text string) any { return []any{members("type", "text", "text", text)} }),
	stream:  (*Assembler).addCohere,
}

// addCohere reads an event. https://docs.cohere.com/v2/docs/streaming
func (a *Assembler) addCohere(chunk []byte) error {
	var e struct {
		Type  string `json:"type"`
		Index *int64 `json:"index"`
		Delta struct {
			Message struct {
				Call jsontext.Value `json:"tool_calls"`
			} `json:"message"`
			FinishReason string       `json:"finish_reason"`
			Error        *vendorError `json:"error"`
		} `json:"delta"`
		Message *vendorError `json:"message"` // of an error in place of events
	}
	if err := decode(chunk, &e); err != nil {
		return err
	}
	var d chatDelta
	if e.Type == "tool-call-start" || e.Type == "tool-call-delta" {
		if err := decode(e.Delta.Message.Call, &d); err != nil {
			return err
		}
	}
	switch c := a.at(e.Index); {
	case e.Type == "tool-call-start":
		c = a.begin()
		c.slot = e.Index
		c.addRaw(d.ID, d.Function.Name, d.Function.Arguments)
	case e.Type == "tool-call-delta" && c == nil:
		a.failAmbiguous()
	case e.Type == "tool-call-delta":
		c.addRaw("", "", d.Function.Arguments)
	case e.Type == "tool-call-end" && c != nil && c.text.pieces > 0: // else message-end says whether it was cut off
		c.finish()
	case e.Type == "message-end":
		a.endMessage(e.Delta.FinishReason, chatEnds)
		return a.failVendor(e.Delta.Error)
	case e.Type == "":
		return a.failVendor(e.Message)
	}
	return nil
}
