package modelapi

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/lazy"
)

// backticks are what could be taken for the end of a fence.
var backticks = lazy.Regexp("`{3,}")

// textResults is a text that has the result of each call in a block. The block's fence is longer than any row of backticks
// in the result, so that the result cannot end it.
func textResults(results []*host.Result) (any, error) {
	var out []string
	for i, r := range results {
		ending := "succeeded"
		if r.Error != nil {
			ending = "failed"
		}
		out = append(out, fmt.Sprintf("Call %d of %d, %s, %s:\n%s", i+1, len(results), toolLabel(r.Tool), ending, framed(inWords(shown(r)))))
	}
	return strings.Join(out, "\n"), nil
}

func framed(text string) string {
	fence := "```"
	for _, row := range backticks().FindAllString(text, -1) {
		fence = strings.Repeat("`", max(len(fence), len(row)+1))
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + "tool_result\n" + text + fence + "\n"
}

// toolLabel is the name by which a tool was called; what the model wrote there need not be one.
func toolLabel(name string) string {
	if mcpName().MatchString(name) {
		return name
	}
	return fmt.Sprintf("%.100q", name)
}
