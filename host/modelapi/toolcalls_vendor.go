package modelapi

import (
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
)

// each reads the calls of every item of a list, with f.
func (p part) each(f func(part) ([]host.Call, error)) (calls []host.Call, err error) {
	items, err := p.items()
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if item.isList() {
			return nil, item.wrong("an object")
		}
		more, err := f(item)
		if err != nil {
			return nil, err
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

// first reads the first of a list of alternatives.
func (p part) first(f func(part) ([]host.Call, error)) ([]host.Call, error) {
	items, err := p.items()
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return f(items[0])
}

// call puts a call together. Id and arguments may be missing.
func call(id, name, arguments part) ([]host.Call, error) {
	var c host.Call
	var err error
	if !id.missing() {
		if c.ID, err = id.text(); err != nil {
			return nil, err
		}
	}
	if c.Tool, err = name.text(); err != nil {
		return nil, err
	}
	if c.Tool == "" {
		return nil, fmt.Errorf("%s is empty: a call must name its tool", name.place())
	}
	if !arguments.missing() {
		c.Arguments = arguments.raw
	}
	if text, err := arguments.text(); err == nil {
		c.Arguments = []byte(text)
	}
	return []host.Call{c}, nil
}

// openAICalls reads a chat completion, one of its choices or messages, tool calls, or arrays of those. Of several choices,
// which are alternatives, only the first counts.
func openAICalls(p part) ([]host.Call, error) {
	if p.isList() {
		return p.each(openAICalls)
	}
	f, err := p.fields()
	switch {
	case err != nil:
		return nil, err
	case f.has("choices"):
		return f.member("choices").first(openAICalls)
	case f.has("message"):
		calls, err := openAICalls(f.member("message"))
		return cutBlank(calls, f.badEnd("finish_reason", chatEnds)), err
	case f.has("tool_calls"):
		return f.member("tool_calls").each(openAICall)
	case f.has("function_call"): // of older servers: one call, without id
		f, err := f.member("function_call").fields()
		if err != nil {
			return nil, err
		}
		return call(part{}, f.member("name"), f.member("arguments"))
	case f.has("role") || f.has("content"):
		return nil, nil
	}
	return openAICall(p)
}

// openAICall passes over other kinds than functions: nobody offered them here.
func openAICall(p part) ([]host.Call, error) {
	f, err := p.fields()
	if err != nil || f.has("type") && !f.is("type", "function") {
		return nil, err
	}
	function, err := f.member("function").fields()
	if err != nil {
		return nil, err
	}
	return call(f.member("id"), function.member("name"), function.member("arguments"))
}

// responsesCalls reads a response, its output, or items of that.
func responsesCalls(p part) ([]host.Call, error) {
	if p.isList() {
		return p.each(responsesCalls)
	}
	f, err := p.fields()
	switch {
	case err != nil:
		return nil, err
	case f.has("output") && !f.has("call_id"):
		return f.member("output").each(responsesCalls)
	case f.is("type", "function_call"):
		calls, err := call(f.member("call_id", "id"), f.member("name"), f.member("arguments"))
		return cutBlank(calls, f.badEnd("status", responsesEnds)), err
	}
	return nil, needs(f, "type", "output")
}

// anthropicCalls reads a message, its content, or blocks of that.
func anthropicCalls(p part) ([]host.Call, error) {
	if p.isList() {
		return p.each(anthropicCalls)
	}
	f, err := p.fields()
	switch {
	case err != nil:
		return nil, err
	case f.is("type", "tool_use"):
		return call(f.member("id"), f.member("name"), f.member("input"))
	case f.has("content") && (f.has("role") || !f.has("type")):
		if _, err := f.member("content").text(); err == nil {
			return nil, nil
		}
		return anthropicContent(f)
	}
	return nil, needs(f, "type", "content")
}

// anthropicContent reads the blocks of a message. Where that was cut off in a call, the call's input is what there was, or
// {}.
func anthropicContent(f fields) ([]host.Call, error) {
	calls, err := f.member("content").each(anthropicCalls)
	blocks, _ := f.member("content").items()
	if reason := f.badEnd("stop_reason", anthropicEnds); reason != "" && len(calls) > 0 {
		if last, err := blocks[len(blocks)-1].fields(); err == nil && last.is("type", "tool_use") {
			calls[len(calls)-1].Truncated = reason
		}
	}
	return calls, err
}

// cutBlank is for messages that were cut off before the arguments of their last call came; when it was later, the text
// shows it.
func cutBlank(calls []host.Call, reason string) []host.Call {
	if n := len(calls); n > 0 && arguments.IsBlank(calls[n-1].Arguments) {
		calls[n-1].Truncated = reason
	}
	return calls
}

// geminiCalls reads a response, one of its candidates, its content, parts of that, or function calls. Of several
// candidates, which are alternatives, only the first counts.
func geminiCalls(p part) ([]host.Call, error) {
	if p.isList() {
		return p.each(geminiCalls)
	}
	f, err := p.fields()
	switch {
	case err != nil:
		return nil, err
	case f.has("candidates"):
		return f.member("candidates").first(geminiCalls)
	case f.has("content"):
		return geminiCalls(f.member("content"))
	case f.has("parts"):
		return f.member("parts").each(geminiCalls)
	case f.has("functionCall") || f.has("function_call"):
		return geminiCalls(f.member("functionCall", "function_call"))
	case f.has("name"):
		return call(f.member("id"), f.member("name"), f.member("args"))
	}
	return nil, nil // a text, or an answer without any part
}

// mcpCalls reads a tools/call request, its params, or an array of those. A request's id, a string or a number, is the
// call's.
func mcpCalls(p part) ([]host.Call, error) {
	if p.isList() {
		return p.each(mcpCalls)
	}
	f, err := p.fields()
	switch {
	case err != nil:
		return nil, err
	case f.has("method") && !f.is("method", "tools/call"):
		return nil, nil
	case !f.has("method"):
		return call(part{}, f.member("name"), f.member("arguments"))
	}
	params, err := f.member("params").fields()
	if err != nil {
		return nil, err
	}
	calls, err := call(part{}, params.member("name"), params.member("arguments"))
	if id := f.member("id"); err == nil && !id.missing() {
		if calls[0].ID, err = id.text(); err != nil { // a number
			calls[0].ID, err = string(id.raw), nil
		}
	}
	return calls, err
}

// needs says that an object is none of a format's, or nil when one of the members that tell the kind is there.
func needs(f fields, names ...string) error {
	for _, name := range names {
		if f.has(name) {
			return nil
		}
	}
	return fmt.Errorf("%s has neither %q nor %q, so it is neither a call nor a message", f.object.place(), names[0], names[1])
}
