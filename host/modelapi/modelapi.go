// Package modelapi translates between a host and the APIs of model vendors. One turn of an agent is four calls:
//
//	list, problems := modelapi.Export(modelapi.FormatAnthropic, tools) // the "tools" of the request
//	calls, err := modelapi.ParseCalls(modelapi.FormatAnthropic, message)
//	results := h.CallAll(ctx, calls, host.BatchOptions{})
//	reply, err := modelapi.RenderResults(modelapi.FormatAnthropic, results)
//
// For a message that is streamed an Assembler takes the place of ParseCalls. An agent with formats of its own needs
// none of this: it fills in host.Call and reads host.Result itself.
//
// Each vendor has one file. A new format is a file with a value of type vendor, a constant, and a line in vendors.
package modelapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A Format identifies how an API writes tools, calls and results.
type Format string

// The formats. In each of them but FormatText Export returns the value of a request's "tools" member.
const (
	// FormatOpenAI is OpenAI's chat completions API, also used by many other servers. Of Ollama's own API, the messages
	// and streams are read too.
	FormatOpenAI Format = "openai"
	// FormatOpenAIResponses is OpenAI's responses API.
	FormatOpenAIResponses Format = "openai-responses"
	// FormatAnthropic is Anthropic's messages API.
	FormatAnthropic Format = "anthropic"
	// FormatBedrock is the Converse API of Amazon Bedrock, whose "tools" are in the member "toolConfig".
	FormatBedrock Format = "bedrock"
	// FormatCohere is Cohere's chat API, version 2.
	FormatCohere Format = "cohere"
	// FormatGemini is the Gemini API with JSON Schema. Gemini CLI expects it of a tool discovery command.
	FormatGemini Format = "gemini"
	// FormatGeminiOpenAPI is FormatGemini for endpoints without JSON Schema, which take a subset of OpenAPI 3.0.
	FormatGeminiOpenAPI Format = "gemini-openapi"
	// FormatMCP is the Model Context Protocol: tools/list and tools/call.
	FormatMCP Format = "mcp"
	// FormatText is plain text, for models without function calling. Export and RenderResults return one JSON string: the
	// text of a system message, and of the next user message. The model calls in fenced blocks such as
	//
	//	```tool_call
	//	{"name": "greet__hello", "arguments": {"name": "Ada"}}
	//	```
	//
	// The fences are those of https://spec.commonmark.org/0.31.2/#fenced-code-blocks with backticks. A block inside
	// another fence, for example a longer one, is quoted text and no call; so is a block indented by four spaces. The
	// tags <tool_call>, at the beginning of a line, and </tool_call> are read like fences: many models were trained so,
	// also with <function=NAME> and <parameter=KEY>, or a name and <arg_key> and <arg_value>, inside. What models of
	// Mistral, Llama, DeepSeek, Kimi, MiniMax, Granite, Phi, Nemotron, Seed, LFM2, OLMo, Gemma and gpt-oss write, such as
	// [TOOL_CALLS], is read where a line begins with it, and like <tool_call> also directly behind a sentence, if
	// nothing but calls follows up to the end of the text. A list of calls in Python, such as
	// [greet__hello(name="Ada")], is read where it is the whole text, and a call in Python without the brackets is not: it
	// may be an example. A JSON object alone is no call: it may be the answer.
	//
	// Blocks with the info string "tool" are read too: a line TOOL_NAME: holds the name, and the lines between BEGIN_ARG:
	// KEY and END_ARG are the text of an argument, whatever they contain. Such calls have host.Call.TextArguments set.
	//
	// Remove a model's reasoning from the text before you pass it on: it may contain blocks that are not meant as calls.
	FormatText Format = "text"
)

// A vendor implements a format.
type vendor struct {
	toolName func() *regexp.Regexp // what the names of tools must match
	tool     func(*host.Tool) (any, error)
	list     func(tools []any) any // nil: the list is a plain array
	calls    func(value) ([]host.Call, error)
	results  func([]*host.Result) (any, error)
	stream   func(a *Assembler, chunk []byte) error // nil: the format has no streams of calls
}

var vendors = map[Format]vendor{
	FormatOpenAI:          openAI,
	FormatOpenAIResponses: openAIResponses,
	FormatAnthropic:       anthropic,
	FormatBedrock:         bedrock,
	FormatCohere:          cohere,
	FormatGemini:          gemini,
	FormatGeminiOpenAPI:   geminiOpenAPI,
	FormatMCP:             mcp,
	FormatText:            plainText,
}

// Formats returns all formats, sorted.
func Formats() []Format { return slices.Sorted(maps.Keys(vendors)) }

func (f Format) vendor() (vendor, error) {
	v, ok := vendors[f]
	if !ok {
		var names []string
		for _, f := range Formats() {
			names = append(names, string(f))
		}
		return v, fmt.Errorf("there is no format %.40q; there are %s", string(f), strings.Join(names, ", "))
	}
	return v, nil
}

// Export returns the tool list of a request as a JSON array, or in FormatText as a JSON string. A tool that the format
// cannot express is left out, with an error that names it and the reason; an unknown format returns nil and one error.
//
// Leave "tools" out of the request if the list is empty: OpenAI's API, for one, requires that. It also refuses more
// than 128 tools; offer fewer with a Catalog and its Search.
//
// The same tools give the same bytes in whatever order they come, so that prompt caches last until a tool changes.
// Tools are sorted by name; properties keep the plugin's order, in which models read them.
//
// A keyword that the format lacks is left out of a schema where that only permits more arguments, since Host.Call
// checks them all. There are two exceptions: Anthropic's schema gets "additionalProperties": false at a root that lists
// properties, and FormatGeminiOpenAPI leaves out optional properties that it cannot express. OpenAI's "strict" is true
// if the schema meets all requirements of structured outputs without change, as of November 2026:
// https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas. No optional property is made
// required and nullable for it: the plugin would receive the null.
func Export(f Format, tools []*host.Tool) (json.RawMessage, []error) {
	v, err := f.vendor()
	if err != nil {
		return nil, []error{err}
	}
	sorted := slices.DeleteFunc(slices.Clone(tools), func(t *host.Tool) bool { return t == nil })
	slices.SortStableFunc(sorted, func(a, b *host.Tool) int { return cmp.Compare(a.Name, b.Name) })
	list, problems := []any{}, []error(nil)
	for i, t := range sorted {
		var tool any
		var err error
		switch {
		case i > 0 && t.Name == sorted[i-1].Name:
			err = fmt.Errorf("there is another tool of that name before it")
		case !v.toolName().MatchString(t.Name):
			err = fmt.Errorf("its name does not match %s", v.toolName())
		default:
			tool, err = v.tool(t)
		}
		if err != nil {
			problems = append(problems,
				fmt.Errorf("plugin %q: tool %s is left out: format %s: %w", t.Plugin, quoteName(t.Name), f, err))
			continue
		}
		list = append(list, tool)
	}
	var out any = list
	if v.list != nil {
		out = v.list(list)
	}
	text, err := rawjson.Encode(out, "")
	if err != nil {
		return nil, append(problems, fmt.Errorf("the tools have no JSON form: %w", err))
	}
	return text, problems
}

func badSchema(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its input schema does not fit: %w", err)
}

// quoteName returns a tool's name for a message, quoted if a model or plugin has put anything unusual into it.
func quoteName(name string) string {
	if mcp.toolName().MatchString(name) {
		return name
	}
	return fmt.Sprintf("%.100q", name)
}

// EstimateTokens estimates how many tokens the definition adds to each prompt: a quarter of the bytes of its name,
// description and input schema as compact JSON, rounded up. Tokenizers differ: for 70 English definitions the sum was
// 15 to 18 percent above that of OpenAI's o200k_base and cl100k_base, single estimates 3 to 30 percent. For other
// vendors and languages the error can be larger.
func EstimateTokens(t *host.Tool) int {
	definition, err := rawjson.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}{t.Name, t.Description, t.InputSchema}, "")
	if err != nil { // an invalid schema, which no host lists
		return 0
	}
	return (len(definition) + 3) / 4
}
