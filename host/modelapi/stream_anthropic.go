package modelapi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// An anthropicEvent is an event of Anthropic's messages, as far as it tells of calls:
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
type anthropicEvent struct {
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

// readAnthropic takes the blocks of type tool_use; those of tools that the vendor runs have other types.
func (a *Assembler) readAnthropic(chunk []byte) error {
	var e anthropicEvent
	if err := decode(chunk, &e); err != nil {
		return err
	}
	switch e.Type {
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			d := a.begin()
			d.slot = e.Index
			d.addRaw(e.Block.ID, e.Block.Name, e.Block.Input)
			if isEmptyObject(e.Block.Input) { // it holds the place of what is to come
				d.pieces = pieces{}
			}
		}
	case "content_block_delta":
		if d := a.anthropicOwner(e.Index); d != nil && e.Delta.Type == "input_json_delta" {
			d.addRaw("", "", e.Delta.PartialJSON)
		}
	case "content_block_stop":
		a.stopBlock(e.Index)
	case "message_delta":
		a.stopMessage(e.Delta.StopReason)
	case "message_stop":
		a.finishOpen()
	case "error":
		a.vendorFailed(cmp.Or(e.Error, &vendorError{}))
	}
	return nil
}

// anthropicOwner is the call of a block; without a number it is the only open one.
func (a *Assembler) anthropicOwner(index *int64) *draft {
	if index == nil {
		return a.only((*draft).isOpen)
	}
	return a.last(func(d *draft) bool { return d.slot != nil && *d.slot == *index })
}

// stopBlock finishes a call that has arguments. Where there are none, the answer may have been cut off before they came:
// that is told later.
func (a *Assembler) stopBlock(index *int64) {
	if d := a.anthropicOwner(index); d != nil && d.pieces.count > 0 {
		d.finish(a.known)
	}
}

// anthropicEnds are the reasons of a good end.
var anthropicEnds = []string{"tool_use", "end_turn", "stop_sequence", "pause_turn"}

func (a *Assembler) stopMessage(reason string) {
	switch {
	case reason == "":
	case slices.Contains(anthropicEnds, reason):
		a.finishOpen()
	default: // max_tokens, refusal, model_context_window_exceeded
		a.cutOpen(fmt.Sprintf("the answer was cut off (%.50s)", reason))
	}
}
