package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// asked is the text of the question about a call.
func asked(t *testing.T, arguments, reason, preview string) string {
	t.Helper()
	r := &host.ApprovalRequest{Tool: &host.Tool{Tool: sdk.Tool{Name: "p__write"}}, Arguments: json.RawMessage(arguments),
		Decision: policy.Decision{Effect: policy.Ask, Reason: reason}}
	if preview != "" {
		r.Preview = &sdk.Preview{Content: []sdk.Content{sdk.TextContent(preview)}}
	}
	var form struct{ Message string }
	if err := json.Unmarshal(approvalForm(r, false), &form); err != nil {
		t.Fatal(err)
	}
	return form.Message
}

// Neither a reason nor a preview, which plugins and names of files have texts in, makes a line that reads as one of the
// question's own.
func TestLinesOfAQuestion(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r", "\u2028", "\u0085", "\v"} {
		text := "harmless" + end + `Arguments: {"path":"README.md"}` + end + "Allow the tool x to run?"
		own := 0
		for line := range strings.SplitSeq(asked(t, `{"path":"Makefile"}`, text, text), "\n") {
			if strings.HasPrefix(line, "Arguments: ") || strings.HasPrefix(line, "Allow ") {
				own++
			}
		}
		if own != 2 {
			t.Errorf("after %q: %d such lines", end, own)
		}
	}
}

// Every argument is seen, and that something is left out, however the others are written.
func TestArgumentsOfAQuestion(t *testing.T) {
	long := strings.Repeat("a", 3000)
	for name, arguments := range map[string]string{
		"behind a long value":     `{"content":"` + long + `","path":".git/hooks/x"}`,
		"between long values":     `{"content":"` + long + `","path":".git/hooks/x","more":"` + long + `"}`,
		"behind blanks":           `{"content":1,` + strings.Repeat(" ", 3000) + "\n" + `"path":".git/hooks/x"}`,
		"at the end of a command": `{"command":"echo ` + long + `; rm .git/hooks/x"}`,
	} {
		got := asked(t, arguments, "", "")
		if !strings.Contains(got, ".git/hooks/x") || strings.Contains(arguments, long) && !strings.Contains(got, "cut)") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, hidden := range []string{"\u200b", "\u202e", "\u2066", "\U000e0041", "\u00ad"} {
		if got := asked(t, `{"path":"a`+hidden+`b"}`, "", ""); !strings.Contains(got, "a\ufffdb") {
			t.Errorf("%q cannot be seen: %s", hidden, got)
		}
	}
}
