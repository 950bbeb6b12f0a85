// Package modelapi translates between a host and the APIs of model vendors: Export writes the tool list of a request,
// ParseCalls reads the calls of a message, an Assembler those of a stream, and RenderResults writes the answers.
package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/lazy"
)

// A Format is the shape in which a vendor's API, or a protocol, has tools, calls and results.
type Format string

// The formats. In each of them but FormatText Export gives the whole value of a request's "tools".
const (
	// FormatOpenAI is OpenAI's chat completions, and that of the many servers that copy it.
	FormatOpenAI Format = "openai"
	// FormatOpenAIResponses is OpenAI's responses API.
	FormatOpenAIResponses Format = "openai-responses"
	// FormatAnthropic is Anthropic's messages API.
	FormatAnthropic Format = "anthropic"
	// FormatGemini is Gemini's function declarations with JSON Schema, which is also what Gemini CLI's discovery command prints.
	FormatGemini Format = "gemini"
	// FormatGeminiOpenAPI is FormatGemini for endpoints that know no JSON Schema, with a subset of OpenAPI 3.0 instead.
	FormatGeminiOpenAPI Format = "gemini-openapi"
	// FormatMCP is the tools of a Model Context Protocol tools/list result.
	FormatMCP Format = "mcp"
	// FormatText is plain text, for models that know no function calling: what Export and RenderResults give is one JSON
	// string, which holds the text of a system message and that of the next user message. The model calls in blocks such as
	//
	//	```tool_call
	//	{"name": "greet__hello", "arguments": {"name": "Ada"}}
	//	```
	//
	// Models know fences and JSON well, and in JSON no line can look like the end of a fence, so nothing needs to be escaped
	// for it. Fences are those of https://spec.commonmark.org/0.31.2/#fenced-code-blocks with backticks. A block inside
	// another fence, such as a longer one, is a quotation and no call; so is one that is indented by four blanks.
	//
	// Blocks of the word tool are read too, in which a line TOOL_NAME: has the name, and the lines between BEGIN_ARG: KEY and
	// END_ARG are the text of an argument, whatever they hold. Host.Call reads such a text as the tool's schema wants it: as a string
	// where it may be one, else as the number, boolean, null, array or object that it stands for. What a model thinks aloud before its answer is no
	// part of the text: leave it out.
	FormatText Format = "text"
)

// A dialect is what a format does.
type dialect struct {
	name    func() *regexp.Regexp
	tool    func(*host.Tool) (any, error) // one tool of the list
	wrap    func([]any) any               // the list, when it is not simply an array
	calls   func(part) ([]host.Call, error)
	results func([]*host.Result) (any, error)
}

var (
	// plainName is what OpenAI's and Anthropic's references ask for; Anthropic's API takes 128 characters by now.
	plainName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)
	// geminiName is from https://ai.google.dev/api/caching#FunctionDeclaration and Vertex AI's reference, the stricter of both.
	geminiName = lazy.Regexp(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	// mcpName is from https://modelcontextprotocol.io/specification/2025-11-25/server/tools
	mcpName = lazy.Regexp(`^[a-zA-Z0-9_.-]{1,128}$`)
)

var dialects = map[Format]dialect{
	FormatOpenAI:          {plainName, openAITool, nil, openAICalls, openAIResults},
	FormatOpenAIResponses: {plainName, responsesTool, nil, responsesCalls, responsesResults},
	FormatAnthropic:       {plainName, anthropicTool, nil, anthropicCalls, anthropicResults},
	FormatGemini:          {geminiName, geminiTool, geminiList, geminiCalls, geminiResults},
	FormatGeminiOpenAPI:   {geminiName, geminiOpenAPITool, geminiList, geminiCalls, geminiTextResults},
	FormatMCP:             {mcpName, mcpTool, nil, mcpCalls, mcpResults},
	FormatText:            {plainName, textTool, textList, textCalls, textResults},
}

// Formats gives all formats, sorted.
func Formats() []Format {
	out := make([]Format, 0, len(dialects))
	for f := range dialects {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func (f Format) dialect() (dialect, error) {
	d, ok := dialects[f]
	if !ok {
		return d, fmt.Errorf("there is no format %.40q; there are %s", string(f), formatList())
	}
	return d, nil
}

// Export gives the tools in the shape of a vendor, as a JSON array, or in FormatText a JSON string. The tools themselves stay as they are. A tool that the
// format cannot express is left out, with an error that names it and says why; an unknown format gives nil and one error.
//
// An empty list, or an empty text, is for no request: OpenAI's API, for one, wants "tools" left out then. It also refuses more than 128 tools;
// a Catalog and its Search offer fewer.
//
// The same tools give the same bytes, whatever order they come in: they are sorted by name, and keys come in a fixed
// order. Inside a schema the plugin's own order is kept, since models read properties in it; only FormatGeminiOpenAPI
// writes keywords in an order of its own. Prompt caches keep as long as no tool changes.
//
// What a format has no words for is left out of a schema where that lets a model send more; Host.Call still checks it. Less
// is said in two places: Anthropic's schema gets additionalProperties false at a root that lists properties, and
// FormatGeminiOpenAPI leaves out optional properties that it has no words for. OpenAI's "strict" is true only
// for a schema that, as it is, keeps all rules of structured outputs as of November 2026, limits included:
// https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas. Optional properties are not made
// required and nullable for it, since the null would reach the plugin.
func Export(f Format, tools []*host.Tool) (json.RawMessage, []error) {
	d, err := f.dialect()
	if err != nil {
		return nil, []error{err}
	}
	sorted := slices.DeleteFunc(slices.Clone(tools), func(t *host.Tool) bool { return t == nil })
	slices.SortStableFunc(sorted, func(a, b *host.Tool) int { return cmp.Compare(a.Name, b.Name) })
	list, problems := []any{}, []error(nil)
	for i, t := range sorted {
		if i > 0 && t.Name == sorted[i-1].Name {
			problems = append(problems, f.leftOut(t, "there is another tool of that name before it"))
			continue
		}
		shaped, err := d.export(t)
		if err != nil {
			problems = append(problems, f.leftOut(t, err.Error()))
			continue
		}
		list = append(list, shaped)
	}
	var value any = list
	if d.wrap != nil {
		value = d.wrap(list)
	}
	out, err := encode(value)
	if err != nil {
		return nil, append(problems, fmt.Errorf("the tools have no JSON form: %w", err))
	}
	return out, problems
}

func (d dialect) export(t *host.Tool) (any, error) {
	if !d.name().MatchString(t.Name) {
		return nil, fmt.Errorf("its name does not match %s", d.name())
	}
	return d.tool(t)
}

func (f Format) leftOut(t *host.Tool, why string) error {
	return fmt.Errorf("plugin %q: tool %s is left out: format %s: %s", t.Plugin, toolLabel(t.Name), f, why)
}

// encode writes JSON with <, > and & as they are, since models read it.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// formatList names all formats in words.
func formatList() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}
