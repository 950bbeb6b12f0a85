package modelapi

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/sdk"
)

// bedrock is the Converse API of Amazon Bedrock.
var bedrock = vendor{
	toolName: plainName,
	tool:     bedrockTool,
	calls:    bedrockCalls,
	results:  bedrockResults,
	stream:   (*Assembler).addBedrock,
}

// bedrockTool leaves an empty description out, which the API refuses.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html
func bedrockTool(t *host.Tool) (any, error) {
	schema, err := toolschema.Bedrock(t.InputSchema)
	return members("toolSpec", members("name", t.Name, "description", when(t.Description != "", t.Description),
		"inputSchema", members("json", schema))), badSchema(err)
}

// bedrockEnds are the stop reasons of a complete message. Others are max_tokens, guardrail_intervened,
// content_filtered, malformed_tool_use, malformed_model_output and model_context_window_exceeded.
var bedrockEnds = []string{"tool_use", "end_turn", "stop_sequence"}

// bedrockCalls reads a response, its output, its message, or blocks of that. Blocks of tools that the vendor runs have
// a type.
func bedrockCalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(bedrockCalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.has("output"):
		calls, err := bedrockCalls(o.member("output"))
		output, _ := o.member("output").object()
		message, _ := output.member("message").object()
		isCall := func(block object) bool { return block.has("toolUse") }
		return truncateEnd(calls, message.member("content"), isCall, o.truncation("stopReason", bedrockEnds)), err
	case o.has("message"):
		if message, err := o.member("message").text(); err == nil { // of an exception
			return nil, &vendorError{message}
		}
		return bedrockCalls(o.member("message"))
	case o.has("content"):
		return o.member("content").each(bedrockCalls)
	case !o.has("toolUse"):
		return nil, nil // a text, or reasoning
	}
	use, err := o.member("toolUse").object()
	if err != nil || use.has("type") {
		return nil, err
	}
	return newCall(use.member("toolUseId"), use.member("name"), use.member("input"))
}

// bedrockAccepts are media types whose subtypes are formats of the API in a tool's result.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html
var bedrockAccepts = []string{"image/png", "image/jpeg", "image/gif", "image/webp", pdf}

// bedrockResults returns one user message. The status is written for errors only: not all models know it.
func bedrockResults(results []*host.Result) (any, error) {
	blocks := []any{}
	for _, r := range results {
		documents := 0
		content := renderContent(visibleContent(r), bedrockAccepts, func(t string) any { return members("text", t) },
			func(p sdk.Content) any {
				kind, format, _ := strings.Cut(p.MIMEType, "/")
				var name any
				if p.MIMEType == pdf { // the API wants a name, another one for each of a conversation
					documents++
					sum := sha256.Sum256(fmt.Appendf(nil, "%d of %s", documents, r.CallID))
					kind, name = "document", fmt.Sprintf("file %x", sum[:8])
				}
				return members(kind, members("format", format, "name", name, "source", members("bytes", p.Data)))
			})
		blocks = append(blocks, members("toolResult", members("toolUseId", r.CallID, "content", content,
			"status", when(r.Error != nil, "error"))))
	}
	return members("role", "user", "content", blocks), requireIDs(results)
}

// addBedrock reads an event of ConverseStream under its name.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
func (a *Assembler) addBedrock(chunk []byte) error {
	type event struct {
		Index *int64 `json:"contentBlockIndex"`
		Start struct {
			ToolUse *struct {
				ID   string `json:"toolUseId"`
				Name string `json:"name"`
				Type string `json:"type"`
			} `json:"toolUse"`
		} `json:"start"`
		Delta struct {
			ToolUse struct {
				Input jsontext.Value `json:"input"`
			} `json:"toolUse"`
		} `json:"delta"`
		StopReason string `json:"stopReason"`
	}
	var events map[string]jsontext.Value
	if err := decode(chunk, &events); err != nil {
		return err
	}
	if len(events) > 1 {
		return errors.New("a chunk of the stream has several events")
	}
	for name, raw := range events {
		if strings.HasSuffix(name, "Exception") || name == "message" {
			return a.failVendor(newVendorError(value{raw: json.RawMessage(raw)}))
		}
		var e event
		if err := decode(raw, &e); err != nil {
			return err
		}
		block := a.at(e.Index)
		if e.Index == nil { // blocks come one after the other
			block = a.last((*partialCall).isOpen)
		}
		switch name {
		case "contentBlockStart":
			if use := e.Start.ToolUse; use != nil && use.Type == "" {
				block = a.begin()
				block.slot = e.Index
				block.add(use.ID, use.Name, "")
			}
		case "contentBlockDelta":
			if block != nil {
				block.addRaw("", "", e.Delta.ToolUse.Input)
			}
		case "contentBlockStop":
			// without arguments, messageStop reports whether it was cut off before they came
			if block != nil && block.text.pieces > 0 {
				block.finish()
			}
		case "messageStop":
			a.endMessage(e.StopReason, bedrockEnds)
		}
	}
	return nil
}
