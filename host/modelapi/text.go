package modelapi

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
)

// plainText is text with fenced blocks.
var plainText = vendor{
	toolName: plainName,
	tool:     textTool,
	list:     textList,
	calls:    textCalls,
	results:  textResults,
	stream:   (*Assembler).addText,
}

// textIntro explains to a model how to call tools.
const textIntro = "You can call tools. To call one, write a block of these three lines: three backticks and the word " +
	"tool_call; one JSON object, with the tool's \"name\" and its \"arguments\"; three backticks. Like this:\n\n" +
	"```tool_call\n" + `{"name": "NAME", "arguments": {"KEY": "VALUE"}}` + "\n```\n\n" +
	"Begin it at the beginning of a line and inside no other block. Several blocks are several calls. " +
	"Stop after your last block: the results come in the next message. " +
	"These are the tools, one a line; the \"parameters\" are the JSON Schema that the \"arguments\" must fit.\n\n"

// textTool returns a line of JSON, so that no description can pass for another tool.
func textTool(t *host.Tool) (any, error) {
	schema, err := toolschema.MCP(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	line := members("name", t.Name, "description", t.Description, "parameters", schema)
	return string(line) + "\n", nil
}

func textList(tools []any) any {
	if len(tools) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(textIntro)
	for _, line := range tools {
		out.WriteString(line.(string))
	}
	return out.String()
}

// unclosed is why a call is not complete.
const unclosed = "its block is not closed"

// textCalls reads a text. A block that is not closed is a truncated call even if its object is complete: more may have
// been meant to follow.
func textCalls(v value) (calls []host.Call, err error) {
	var r textReader
	blocks := append(r.add(v.raw), r.end()...)
	if r.block != nil {
		blocks = append(blocks, r.block)
	}
	for i, b := range blocks {
		var c host.Call
		if c.Tool, c.Arguments = b.call(); c.Tool == "" {
			return nil, fmt.Errorf("block %d of its calls has no tool's name: it must hold %s", i+1, b.form())
		}
		c.TextArguments = b.listed
		if !b.closed {
			c.StopReason = unclosed
		}
		calls = append(calls, c)
	}
	return calls, nil
}

var backticks = lazy.Regexp("`{3,}")

// textResults returns a text with a block for each result, whose fence is longer than any row of backticks in the
// result.
func textResults(results []*host.Result) (any, error) {
	var out []string
	for i, r := range results {
		ending := "succeeded"
		if r.Error != nil {
			ending = "failed"
		}
		body, fence := resultText(r), "```"
		for _, row := range backticks().FindAllString(body, -1) {
			fence = strings.Repeat("`", max(len(fence), len(row)+1))
		}
		if body != "" && !strings.HasSuffix(body, "\n") {
			body += "\n"
		}
		out = append(out, fmt.Sprintf("Call %d of %d, %s, %s:\n%stool_result\n%s%s\n", i+1, len(results), quoteName(r.Tool),
			ending, fence, body, fence))
	}
	return strings.Join(out, "\n"), nil
}

func (a *Assembler) addText(chunk []byte) error {
	a.closeBlocks(a.text.add(chunk))
	return nil
}

func (a *Assembler) endText() {
	a.closeBlocks(a.text.end())
	b := a.text.block
	if b == nil {
		return
	}
	if name, _ := b.call(); name != "" { // it may follow the arguments
		if b.partial.name.joined == "" {
			b.partial.add("", name, "")
		}
		b.partial.fail("TruncatedCall", "of %.100q is not complete, %s: the stream ended", name, unclosed)
	}
}

// closeBlocks completes the calls of closed blocks, and updates that of the open one for display.
func (a *Assembler) closeBlocks(closed []*textBlock) {
	for _, b := range closed {
		if c := a.blockCall(b); c.isOpen() {
			name, args := b.call()
			c.name, c.text = partialName{known: a.tools}, argumentBuffer{} // replaces what was displayed
			c.add("", name, string(args))
			c.textArguments = b.listed
			if name == "" {
				c.fail("NameMissing", "has no tool's name: its block must hold %s", b.form())
			}
			c.finish()
		}
	}
	b := a.text.block
	if b == nil {
		return
	}
	if c := a.blockCall(b); c.isOpen() {
		name, args := b.soFar()
		if c.name.joined == "" && name != "" {
			c.add("", name, "")
		}
		c.follow(args)
	}
}

// blockCall returns the call of a block. It fails if the block is too large.
func (a *Assembler) blockCall(b *textBlock) *partialCall {
	if b.partial == nil {
		b.partial = a.begin()
	}
	if b.tooLong {
		b.partial.failTooLarge()
	}
	return b.partial
}

// follow adds what is new in the text of the arguments, up to the end of their object.
func (c *partialCall) follow(text []byte) {
	joined := &c.text.joined
	for _, b := range textutil.TrimPartialEnd(text[min(len(joined.text), len(text)):]) {
		if joined.isClosed() || joined.tooLong {
			break
		}
		joined.add(string([]byte{b}))
		c.changed = true
	}
	c.checkSize()
}
