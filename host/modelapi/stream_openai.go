package modelapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A chatChunk is a chunk of OpenAI's chat completions, as far as it tells of calls:
// https://platform.openai.com/docs/api-reference/chat-streaming
type chatChunk struct {
	Choices []struct {
		Index int64 `json:"index"`
		Delta struct {
			ToolCalls    []chatDelta   `json:"tool_calls"`
			FunctionCall *chatFunction `json:"function_call"` // of older models: one call, without id
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Error *vendorError `json:"error"`
}

type chatDelta struct {
	Index    *int64       `json:"index"`
	ID       string       `json:"id"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// readOpenAI takes the first choice: calls are run for one answer.
func (a *Assembler) readOpenAI(chunk []byte) error {
	var c chatChunk
	if err := decode(chunk, &c); err != nil {
		return err
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if f := choice.Delta.FunctionCall; f != nil {
			a.addChat(chatDelta{Index: new(int64(-1)), Function: *f})
		}
		for _, d := range choice.Delta.ToolCalls {
			a.addChat(d)
		}
		a.stopChat(choice.FinishReason)
	}
	a.vendorFailed(c.Error)
	return nil
}

// chatEnds are the reasons of a good end; servers have many names for the others.
var chatEnds = []string{"tool_calls", "function_call", "stop"}

func (a *Assembler) stopChat(reason string) {
	switch {
	case reason == "":
	case slices.Contains(chatEnds, reason):
		a.finishOpen()
	default: // length, content_filter, ...
		a.cutOpen(fmt.Sprintf("the answer was cut off (%.50s)", reason))
	}
}

func (a *Assembler) addChat(x chatDelta) {
	if x.isEmpty() {
		return
	}
	d := a.chatOwner(x)
	if d == nil {
		a.failOpen("StreamAmbiguous", "may lack a part: the stream does not say which call a part belongs to")
		return
	}
	if d.slot == nil {
		d.slot = x.Index
	}
	d.addRaw(x.ID, x.Function.Name, x.Function.Arguments)
}

// isEmpty is for what some servers send before the first call and behind the last.
func (x chatDelta) isEmpty() bool {
	text, err := argumentText(x.Function.Arguments)
	return x.ID == "" && x.Function.Name == "" && text == "" && err == nil
}

// chatOwner finds the call that a delta belongs to, or begins one. Servers number calls as they like, so neither the
// index nor the id is trusted alone: the index finds the call, but a closed one is not continued by a delta that names a
// tool again. A delta without index goes by its id, one without both to the only open call. nil is for a delta that could
// belong to several.
func (a *Assembler) chatOwner(x chatDelta) *draft {
	var d *draft
	if x.Index != nil {
		d = a.last(func(d *draft) bool { return d.slot != nil && *d.slot == *x.Index })
	}
	if d == nil && x.ID != "" {
		d = a.last(func(d *draft) bool { return d.id == x.ID && (d.slot == nil || x.Index == nil) })
	}
	switch {
	case d != nil && !another(d, x) && !a.otherTool(d, x):
		return d
	case d != nil:
		d = a.begin()
		d.doubted = true
		return d
	case x.Index != nil || x.ID != "":
		return a.chatNew(x)
	}
	return a.chatUnmarked(x)
}

// chatNew begins the call of an index or id that is seen first, unless it can only belong to the one open call.
func (a *Assembler) chatNew(x chatDelta) *draft {
	if x.Function.Name == "" {
		if d := a.only((*draft).isOpen); d != nil && (d.slot == nil) != (x.Index == nil) {
			return d
		}
	}
	return a.begin()
}

// chatUnmarked is for deltas without index and id.
func (a *Assembler) chatUnmarked(x chatDelta) *draft {
	goesOn := a.only(func(d *draft) bool { return d.isOpen() && !d.isClosed() })
	latest := a.last((*draft).isOpen)
	several := a.last(func(d *draft) bool { return d.isOpen() && !d.isClosed() }) != goesOn
	switch {
	case several:
		return nil
	case goesOn != nil:
		return goesOn
	case latest != nil && !another(latest, x):
		return latest
	}
	return a.begin()
}

// otherTool says that a delta is of another call than one without arguments: both the id and the name are others, and both
// names are of tools that were offered.
func (a *Assembler) otherTool(d *draft, x chatDelta) bool {
	name := d.name.in(a.known)
	return d.pieces.count == 0 && d.id != "" && x.ID != "" && x.ID != d.id &&
		name != x.Function.Name && a.known[name] && a.known[x.Function.Name]
}

// another says that a delta which seems to be of a call is the beginning of the next one: the call's arguments are
// closed, and the delta names a tool and brings another id, or arguments that do not repeat the call.
func another(d *draft, x chatDelta) bool {
	if x.Function.Name == "" || !d.isClosed() {
		return false
	}
	if x.ID != "" && d.id != "" {
		return x.ID != d.id
	}
	text, _ := argumentText(x.Function.Arguments)
	repeats := strings.HasPrefix(x.Function.Name, d.name.last) && text == string(d.pieces.best(true).text)
	return beginsObject(text) && !repeats
}
