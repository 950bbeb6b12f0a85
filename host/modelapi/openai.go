package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/internal/lazy"
)

// openAI is OpenAI's chat completions API. Strict is always written: the responses API takes its absence for true.
// https://developers.openai.com/api/docs/guides/function-calling
var openAI = vendor{
	toolName: plainName,
	tool: func(t *host.Tool) (any, error) {
		parameters, strict, err := toolschema.OpenAI(t.InputSchema)
		function := members("name", t.Name, "description", t.Description, "parameters", parameters, "strict", strict)
		return members("type", "function", "function", function), badSchema(err)
	},
	calls:   openAICalls,
	results: toolMessages(func(text string) any { return text }),
	stream:  (*Assembler).addOpenAI,
}

// plainName is from OpenAI's and Anthropic's references; Anthropic's API accepts 128 characters by now.
var plainName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// chatEnds are the finish reasons of a complete message, OpenAI's first; servers have many names for the others.
var chatEnds = []string{"tool_calls", "function_call", "stop", "tool_call", "tool_use", "end_turn", "eos", "complete",
	"stop_sequence"}

// openAICalls reads a chat completion, one of its choices or messages, tool calls, or arrays of those. Choices are
// alternatives: only the first counts.
func openAICalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(openAICalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.has("error"):
		return nil, o.vendorError()
	case o.has("choices"):
		return o.member("choices").first(openAICalls)
	case o.has("message"):
		if message, err := o.member("message").text(); err == nil { // of an error of vLLM or Cohere
			return nil, &vendorError{message}
		}
		calls, err := openAICalls(o.member("message"))
		return truncateLast(calls, o.truncation("finish_reason", chatEnds)), err
	case o.has("tool_calls"):
		return o.member("tool_calls").each(openAICall)
	case o.has("function_call"): // of older servers: one call, without id
		o, err := o.member("function_call").object()
		if err != nil {
			return nil, err
		}
		return newCall(value{}, o.member("name"), o.member("arguments"))
	case o.has("role") || o.has("content"):
		return nil, nil
	}
	return openAICall(v)
}

// openAICall skips calls of other types than function, which are not offered.
func openAICall(v value) ([]host.Call, error) {
	o, err := v.object()
	if err != nil || o.has("type") && !o.is("type", "function") {
		return nil, err
	}
	function, err := o.member("function").object()
	if err != nil {
		return nil, err
	}
	return newCall(o.member("id"), function.member("name"), function.member("arguments"))
}

// toolMessages returns results as tool messages, which hold text only.
// https://platform.openai.com/docs/api-reference/chat/create
func toolMessages(content func(text string) any) func([]*host.Result) (any, error) {
	return func(results []*host.Result) (any, error) {
		out := []any{}
		for _, r := range results {
			out = append(out, members("role", "tool", "tool_call_id", r.CallID, "content", content(resultText(r))))
		}
		return out, requireIDs(results)
	}
}

// A chatDelta is a part of a call. https://platform.openai.com/docs/api-reference/chat-streaming
type chatDelta struct {
	Index    *int64       `json:"index"`
	ID       string       `json:"id"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// A chatMessage is what a chunk adds to the message, or all of it.
type chatMessage struct {
	ToolCalls    []chatDelta   `json:"tool_calls"`
	FunctionCall *chatFunction `json:"function_call"` // of older models: one call, without id
}

type chatChoice struct {
	Index        int64       `json:"index"`
	Delta        chatMessage `json:"delta"`
	Message      chatMessage `json:"message"` // of servers that send it at once
	FinishReason string      `json:"finish_reason"`
}

// addOpenAI reads the first choice: calls are run for one message.
func (a *Assembler) addOpenAI(chunk []byte) error {
	var c struct {
		Choices []chatChoice   `json:"choices"`
		Message jsontext.Value `json:"message"` // without choices: Ollama's, or the text of an error of vLLM
		Done    string         `json:"done_reason"`
		Error   *vendorError   `json:"error"`
	}
	if err := decode(chunk, &c); err != nil {
		return err
	}
	switch c.Message.Kind() {
	case '{':
		alone := chatChoice{FinishReason: c.Done}
		if err := decode(c.Message, &alone.Message); err != nil {
			return err
		}
		c.Choices = append(c.Choices, alone)
	case '"':
		c.Error = cmp.Or(c.Error, newVendorError(value{raw: json.RawMessage(c.Message)}))
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, m := range []chatMessage{choice.Delta, choice.Message} {
			if m.FunctionCall != nil {
				a.addChatDelta(chatDelta{Index: new(int64(-1)), Function: *m.FunctionCall})
			}
		}
		for i, d := range choice.Delta.ToolCalls {
			if i < maxStreamCalls && a.isAnother(d, choice.Delta.ToolCalls[:i]) {
				a.begin().addRaw("", d.Function.Name, d.Function.Arguments)
			} else {
				a.addChatDelta(d)
			}
		}
		for _, d := range choice.Message.ToolCalls {
			if d.Index == nil && d.ID == "" { // a whole call, which continues no other
				a.begin().addRaw("", d.Function.Name, d.Function.Arguments)
			} else {
				a.addChatDelta(d)
			}
		}
		a.endMessage(choice.FinishReason, chatEnds)
	}
	return a.failVendor(c.Error)
}

// endMessage finishes the open calls for one of the reasons of a complete message, and truncates them for any other.
func (a *Assembler) endMessage(reason string, complete []string) {
	switch {
	case reason == "":
	case slices.Contains(complete, strings.ToLower(reason)):
		a.finishOpen()
	default: // such as length, max_tokens, content_filter, refusal
		a.truncateOpen(fmt.Sprintf("the answer was cut off (%.50s)", reason))
	}
}

func (a *Assembler) addChatDelta(d chatDelta) {
	text, err := argumentText(d.Function.Arguments)
	if d.ID == "" && d.Function.Name == "" && text == "" && err == nil {
		return // some servers send it before the first call and after the last
	}
	begun := len(a.calls)
	c := a.chatCall(d)
	// other finds another call that a delta without an id could belong to as well.
	other := func(match func(*partialCall) bool) bool {
		return c != nil && d.ID == "" && a.last(func(o *partialCall) bool {
			return o != c && o.isOpen() && (d.Index == nil || o.hasSlot(d.Index)) && match(o)
		}) != nil
	}
	continues := c != nil && d.Index == nil && text != "" && len(a.calls) == begun && c.text.pieces == 0
	lacksArguments := func(o *partialCall) bool {
		return o.text.pieces == 0 && (continues || o.tool() == d.Function.Name)
	}
	if c == nil || a.ambiguous && d.Index == nil && d.ID == "" || other(lacksArguments) {
		a.failAmbiguous()
		return
	}
	if c.slot == nil {
		c.slot = d.Index
	}
	repeated := other(func(o *partialCall) bool {
		return o.isWhole(d.Function.Name, text) && (c.text.pieces == 0 || !mayLackArguments(o.text.best(true).text))
	}) && mayLackArguments(c.text.best(true).text) // asked last: it may read all of a blank text
	c.addRaw(d.ID, d.Function.Name, d.Function.Arguments)
	if repeated {
		c.fail("StreamAmbiguous", "has the arguments of another one, which the stream may only repeat")
	}
}

// isAnother reports whether a delta without an index and an id is a whole call that is like one before it in its chunk:
// no chunk has a call twice, while a later one may repeat it.
func (a *Assembler) isAnother(d chatDelta, before []chatDelta) bool {
	if d.Index != nil || d.ID != "" || d.Function.Name == "" {
		return false
	}
	same, known := 0, 0
	for _, o := range before {
		if o.Index == nil && o.ID == "" && o.Function.Name == d.Function.Name &&
			bytes.Equal(o.Function.Arguments, d.Function.Arguments) {
			same++
		}
	}
	if same == 0 {
		return false
	}
	text, _ := argumentText(d.Function.Arguments)
	for _, c := range a.calls {
		if c.tool() == d.Function.Name && c.isWhole(d.Function.Name, text) {
			known++
		}
	}
	return known == same
}

// isWhole reports whether a delta's name and text of arguments are all that is known of this call.
func (c *partialCall) isWhole(name, text string) bool {
	return c.isClosed() && (name == "" || strings.HasPrefix(name, c.name.last)) && text == string(c.text.best(true).text)
}

// chatCall finds the call that a delta belongs to, or begins one; nil if it could belong to several. Servers number
// calls in many ways, so neither the index nor the id is trusted alone: the index finds the call, but a delta that
// names a tool again does not continue a closed call. A delta without index uses its id, one without both to the
// only open call.
func (a *Assembler) chatCall(d chatDelta) *partialCall {
	c := cmp.Or(a.last(func(c *partialCall) bool {
		return d.ID != "" && c.id == d.ID && (c.slot == nil || d.Index == nil || c.hasSlot(d.Index))
	}), a.at(d.Index))
	incomplete := func(c *partialCall) bool { return c.isOpen() && !c.isClosed() && !c.isOtherTool(d) }
	inSlot := func(c *partialCall) bool { return d.Index != nil && c.hasSlot(d.Index) && incomplete(c) }
	switch {
	case d.ID == "" && a.last(inSlot) != a.only(inSlot):
		return nil
	case c != nil && !c.isFollowedBy(d):
		return c
	case c != nil:
		c = a.begin()
		c.mayRepeat = true
		return c
	case d.Index != nil || d.ID != "":
		// The first delta with this index or id begins a call, unless it lacks a name and can only belong to the open call,
		// such as an id that comes late.
		open := a.only((*partialCall).isOpen)
		if d.Index == nil {
			open = cmp.Or(a.only(func(c *partialCall) bool { return c.isOpen() && c.slot == nil && c.id == "" }), open)
		}
		if d.Function.Name == "" && open != nil && ((open.slot == nil) != (d.Index == nil) || open.id == "") {
			return open
		}
		return a.begin()
	}
	text, _ := argumentText(d.Function.Arguments)
	if d.Function.Name == "" && a.last(func(c *partialCall) bool { return c.isOpen() && c.namedAgain }) != nil {
		return nil
	}
	if last := a.last(incomplete); last != nil {
		so := last.text.joined.text
		if d.Function.Name != "" && last.id == "" && len(so) > 0 &&
			(text == "" || beginsObject(text) && !bytes.HasPrefix([]byte(text), so)) {
			return nil // the next call, or an object inside of the arguments of this one
		}
		last.namedAgain = last.namedAgain || d.Function.Name != "" && d.Function.Name == last.name.last && text == ""
		return a.only(incomplete)
	}
	if open := a.last((*partialCall).isOpen); open != nil && !open.isFollowedBy(d) {
		open.namedAgain = open.namedAgain || d.Function.Name != "" && text == ""
		return open
	}
	return a.begin()
}

// isOtherTool reports whether a delta names another offered tool than this call, whose name is complete: arguments
// follow it, or the delta has another id.
func (c *partialCall) isOtherTool(d chatDelta) bool {
	name, known := c.tool(), c.name.known
	return (c.text.pieces > 0 || c.id != "" && d.ID != "" && d.ID != c.id || !strings.HasPrefix(d.Function.Name, name)) &&
		name != d.Function.Name && known[name] && known[d.Function.Name] && !known[c.name.joined+d.Function.Name]
}

// isFollowedBy reports whether a delta under the index or id of this call begins the next one: it names another tool,
// or the arguments are closed, and it names a tool and has another id, or arguments that do not repeat those of the
// call.
func (c *partialCall) isFollowedBy(d chatDelta) bool {
	if c.isOtherTool(d) {
		return true
	}
	if d.Function.Name == "" || !c.isClosed() {
		return false
	}
	if d.ID != "" && c.id != "" {
		return d.ID != c.id
	}
	text, _ := argumentText(d.Function.Arguments)
	return beginsObject(text) && !c.isWhole(d.Function.Name, text)
}
