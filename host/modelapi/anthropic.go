package modelapi

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/sdk"
)

// anthropic is Anthropic's messages API.
var anthropic = vendor{
	toolName: plainName,
	tool:     anthropicTool,
	calls:    anthropicCalls,
	results:  anthropicResults,
	stream:   (*Assembler).addAnthropic,
}

// anthropicTool has these three members only: the API refuses unknown ones.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
func anthropicTool(t *host.Tool) (any, error) {
	schema, err := toolschema.Anthropic(t.InputSchema)
	return members("name", t.Name, "description", t.Description, "input_schema", schema), badSchema(err)
}

// anthropicEnds are the stop reasons of a complete message. Others are max_tokens, refusal and
// model_context_window_exceeded.
var anthropicEnds = []string{"tool_use", "end_turn", "stop_sequence", "pause_turn"}

// anthropicCalls reads a message, its content, or blocks of that.
func anthropicCalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(anthropicCalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.is("type", "error") || o.has("error") && !o.has("type"):
		return nil, o.vendorError()
	case o.is("type", "tool_use"):
		return newCall(o.member("id"), o.member("name"), o.member("input"))
	case o.has("content") && (o.has("role") || !o.has("type")):
		return anthropicContent(o)
	}
	return nil, o.requireKind("content")
}

func anthropicContent(message object) ([]host.Call, error) {
	content := message.member("content")
	if _, err := content.text(); err == nil {
		return nil, nil
	}
	calls, err := content.each(anthropicCalls)
	isCall := func(block object) bool { return block.is("type", "tool_use") }
	return truncateEnd(calls, content, isCall, message.truncation("stop_reason", anthropicEnds)), err
}

// anthropicAccepts are the media types of
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls and of the pages on images and PDF.
var anthropicAccepts = []string{"image/png", "image/jpeg", "image/webp", "image/gif", pdf}

// anthropicResults returns one user message.
func anthropicResults(results []*host.Result) (any, error) {
	blocks := []any{}
	for _, r := range results {
		content := renderContent(visibleContent(r), anthropicAccepts,
			func(t string) any { return members("type", "text", "text", t) },
			func(p sdk.Content) any {
				kind := "image"
				if p.MIMEType == pdf {
					kind = "document"
				}
				return members("type", kind, "source", members("type", "base64", "media_type", p.MIMEType, "data", p.Data))
			})
		blocks = append(blocks, members("type", "tool_result", "tool_use_id", r.CallID,
			"content", when(len(content) > 0, content), "is_error", when(r.Error != nil, true)))
	}
	return members("role", "user", "content", blocks), requireIDs(results)
}

// addAnthropic reads an event: blocks of type tool_use; tools that the vendor runs have other types.
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
func (a *Assembler) addAnthropic(chunk []byte) error {
	var e struct {
		Type  string `json:"type"`
		Index *int64 `json:"index"`
		Block struct {
			Type  string         `json:"type"`
			ID    string         `json:"id"`
			Name  string         `json:"name"`
			Input jsontext.Value `json:"input"`
		} `json:"content_block"`
		Delta struct {
			Type        string         `json:"type"`
			PartialJSON jsontext.Value `json:"partial_json"`
			StopReason  string         `json:"stop_reason"`
		} `json:"delta"`
		Error *vendorError `json:"error"`
	}
	if err := decode(chunk, &e); err != nil {
		return err
	}
	block := a.at(e.Index)
	if e.Index == nil { // blocks come one after the other
		block = a.last((*partialCall).isOpen)
	}
	switch e.Type {
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			c := a.begin()
			c.slot = e.Index
			c.addRaw(e.Block.ID, e.Block.Name, e.Block.Input)
			if isEmptyObject(e.Block.Input) { // a placeholder for what follows
				c.text = argumentBuffer{}
			}
		}
	case "content_block_delta":
		if block != nil && e.Delta.Type == "input_json_delta" {
			block.addRaw("", "", e.Delta.PartialJSON)
		}
	case "content_block_stop":
		// without arguments, message_delta reports whether it was cut off before they came
		if block != nil && block.text.pieces > 0 {
			block.finish()
		}
	case "message_delta":
		a.endMessage(e.Delta.StopReason, anthropicEnds)
	case "message_stop":
		a.finishOpen()
	case "error":
		return a.failVendor(cmp.Or(e.Error, &vendorError{}))
	}
	return nil
}
