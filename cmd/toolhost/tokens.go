package main

import (
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// searchTool is such a tool as an agent offers when it defers all others: the model finds them by it. It is here to be
// counted.
var searchTool = host.Tool{Tool: sdk.Tool{
	Name:        "toolhost__search",
	Description: "Finds tools by what they do. Most tools are not listed here: search before you say that something cannot be done. The tools that are found can be called from then on.",
	InputSchema: json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{` +
		`"query":{"type":"string","description":"What the tool should do, in a few words"},` +
		`"limit":{"type":"integer","minimum":1,"description":"How many tools at most; 10 unless told"}}}`),
}}

func sumTokens(tools []*host.Tool) (sum int) {
	for _, t := range tools {
		sum += t.Tokens()
	}
	return sum
}

func tokenSum(tools []*host.Tool) string {
	return fmt.Sprintf("%s: about %s in each prompt\n", counted(len(tools), "tool"), counted(sumTokens(tools), "token"))
}

// saving says what a prompt is spared when it offers only a search tool.
func saving(tools []*host.Tool) string {
	all, alone := sumTokens(tools), searchTool.Tokens()
	if alone >= all {
		return fmt.Sprintf("a search tool instead of them: about %s, which saves nothing\n", counted(alone, "token"))
	}
	return fmt.Sprintf("a search tool instead of them: about %s, which saves %d (%d %%)\n", counted(alone, "token"), all-alone, (all-alone)*100/all)
}
