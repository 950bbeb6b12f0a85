package modelapi_test

import (
	"strings"

	"github.com/toolhost/toolhost/host"
)

func fenced(word, body string) string { return "```" + word + "\n" + body + "\n```\n" }

func wanted(arguments ...string) (out []host.Call) {
	for _, a := range arguments {
		out = append(out, host.Call{ID: "*", Tool: "p__a", Arguments: []byte(a)})
	}
	return out
}

// plainCall is a call with the arguments {}.
var plainCall = fenced("tool_call", `{"name":"p__a","arguments":{}}`)

// textMessages are texts, the calls that are read of each, and whether the last of those is refused.
var textMessages = map[string]struct {
	text string
	want []host.Call
	bad  bool
}{
	"no call":           {"Hello.\n```go\nfunc main() {}\n```\n", nil, false},
	"nothing":           {"", nil, false},
	"one":               {plainCall, wanted(`{}`), false},
	"text around":       {"I look.\n\n" + plainCall + "That is it.", wanted(`{}`), false},
	"two":               {plainCall + "and\n" + fenced("tool_call", `{"name":"p__a","arguments":{"x":1}}`), wanted(`{}`, `{"x":1}`), false},
	"exact":             {fenced("tool_call", `{"arguments":`+exact+`,"name":"p__a"}`), wanted(exact), false},
	"many lines":        {fenced("tool_call", "{\n \"name\": \"p__a\",\n \"arguments\": {\n  \"x\": \"```\"\n }\n}"), wanted("{\n  \"x\": \"```\"\n }"), false},
	"carriage returns":  {strings.ReplaceAll(plainCall, "\n", "\r\n"), wanted(`{}`), false},
	"no last line end":  {strings.TrimSpace(plainCall), wanted(`{}`), false},
	"a longer fence":    {"`````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n``````", wanted(`{}`), false},
	"three blanks":      {"   " + strings.ReplaceAll(plainCall, "\n```", "\n  ```"), wanted(`{}`), false},
	"no arguments":      {fenced("tool_call", `{"name":"p__a"}`), wanted(``), false},
	"null arguments":    {fenced("tool_call", `{"name":"p__a","arguments":null}`), wanted(``), false},
	"arguments as text": {fenced("tool_call", `{"name":"p__a","arguments":"{\"x\":1}"}`), wanted(`"{\"x\":1}"`), false},
	"another member":    {fenced("tool_call", `{"id":"7","name":"p__a","arguments":{}}`), wanted(`{}`), false},
	"the last brace":    {fenced("tool_call", `{"name":"p__a","arguments":{"x":1}`), wanted(`{"x":1}`), false},

	"in a longer fence":       {"````md\n" + plainCall + "````\n", nil, false},
	"in another fence":        {"~~~\n" + plainCall + "~~~\n", nil, false},
	"in a fence of its kind":  {"```md\n" + plainCall + "\n", nil, false},
	"in a fence that is open": {"~~~ text\n" + plainCall, nil, false},
	"behind another fence":    {"````md\n" + plainCall + "````\n" + plainCall, wanted(`{}`), false},
	"indented as code":        {"    ```tool_call\n    {\"name\":\"p__a\"}\n    ```\n", nil, false},
	"quoted":                  {"> ```tool_call\n> {\"name\":\"p__a\"}\n> ```\n", nil, false},
	"in a line":               {"Write ```tool_call {\"name\":\"p__a\"}``` for it.\n", nil, false},
	"with tildes":             {"~~~tool_call\n{\"name\":\"p__a\"}\n~~~\n", nil, false},
	"another word":            {fenced("tool_calls", `{"name":"p__a"}`), nil, false},
	"a long line":             {strings.Repeat("x", 5000) + "\n" + plainCall, wanted(`{}`), false},
	"a long line of marks":    {strings.Repeat("`", 5000) + "tool_call\n" + plainCall, nil, false},

	"not closed":               {plainCall + "```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":1}}\n", wanted(`{}`, `{"x":1}`), true},
	"a fence inside":           {"````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n```\n````\n", wanted("{}}\n```"), true},
	"closed too short":         {plainCall + "````tool_call\n{\"name\":\"p__a\",\"arguments\":{}}\n```\n", wanted(`{}`, "{}}\n```"), true},
	"not closed, name last":    {plainCall + "```tool_call\n{\"arguments\":{},\"name\":\"p__a\"}\n", wanted(`{}`, `{}`), true},
	"cut in the arguments":     {"```tool_call\n{\"name\":\"p__a\",\"arguments\":{\"x\":", wanted(`{"x":`), true},
	"no brace, no arguments":   {fenced("tool_call", `{"name":"p__a"`), wanted("{\"name\":\"p__a\"\n"), true},
	"no JSON":                  {fenced("tool_call", `{"name":"p__a","arguments":{x:1}}`), wanted(`{x:1}}`), true},
	"two objects":              {fenced("tool_call", `{"name":"p__a","arguments":{}} {}`), wanted(`{}} {}`), true},
	"arguments twice":          {fenced("tool_call", `{"name":"p__a","arguments":{},"arguments":{}}`), wanted(`{},"arguments":{}}`), true},
	"arguments by other names": {fenced("tool_call", `{"name":"p__a","parameters":{}}`), wanted("\"parameters\":{}}\n"), true},
	"an array":                 {fenced("tool_call", `{"name":"p__a","arguments":[]}`), wanted(`[]`), true},

	"listed": {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n5\nEND_ARG\nBEGIN_ARG: y: z\na \"b\"\n\n  c\nEND_ARG"),
		wanted(`{"x":"5","y: z":"a \"b\"\n\n  c"}`), false},
	"listed, no argument":        {fenced("tool", "TOOL_NAME: p__a"), wanted(`{}`), false},
	"listed, empty argument":     {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\nEND_ARG"), wanted(`{"x":""}`), false},
	"listed, carriage returns":   {"```tool\r\nTOOL_NAME: p__a\r\nBEGIN_ARG: x\r\na\r\nb\r\nEND_ARG\r\n```\r\n", wanted(`{"x":"a\r\nb"}`), false},
	"listed, fences inside":      {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\n```\nEND_ARGS\n"+plainCall+"END_ARG"), wanted(`{"x":"` + "```\\nEND_ARGS\\n```tool_call\\n{\\\"name\\\":\\\"p__a\\\",\\\"arguments\\\":{}}\\n```" + `"}`), false},
	"listed, what looks closed":  {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\nBEGIN_ARG: y\n\"}\nEND_ARG"), wanted(`{"x":"BEGIN_ARG: y\n\"}"}`), false},
	"listed, not closed":         {"```tool\nTOOL_NAME: p__a\nBEGIN_ARG: x\na\nEND_ARG\n", wanted(`{"x":"a"}`), true},
	"listed, argument open":      {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\na"), wanted(`{}`), true},
	"listed, an argument twice":  {fenced("tool", "TOOL_NAME: p__a\nBEGIN_ARG: x\na\nEND_ARG\nBEGIN_ARG: x\nb\nEND_ARG"), wanted(`{"x":"a","x":"b"}`), true},
	"listed, two names":          {fenced("tool", "TOOL_NAME: p__a\nTOOL_NAME: p__b"), wanted(`{ not between BEGIN_ARG and END_ARG: TOOL_NAME: p__b}`), true},
	"listed, JSON between lines": {fenced("tool", "TOOL_NAME: p__a\n\"x\":1"), wanted(`{ not between BEGIN_ARG and END_ARG: "x":1}`), true},
}
