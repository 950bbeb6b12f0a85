package modelapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// gemini is the Gemini API with JSON Schema.
var gemini = vendor{
	toolName: geminiName,
	tool: func(t *host.Tool) (any, error) {
		schema, err := toolschema.Gemini(t.InputSchema)
		// https://ai.google.dev/api/caching#FunctionDeclaration
		return members("name", t.Name, "description", t.Description, "parametersJsonSchema", schema), badSchema(err)
	},
	list:    geminiList,
	calls:   geminiCalls,
	results: func(r []*host.Result) (any, error) { return geminiResults(r, geminiAccepts), nil },
	stream:  (*Assembler).addGemini,
}

// geminiOpenAPI is the Gemini API of endpoints that know neither JSON Schema nor media in results.
var geminiOpenAPI = func() vendor {
	v := gemini
	v.tool = func(t *host.Tool) (any, error) {
		schema, err := toolschema.GeminiOpenAPI(t.InputSchema)
		return members("name", t.Name, "description", t.Description, "parameters", when(schema != nil, schema)),
			badSchema(err)
	}
	v.results = func(r []*host.Result) (any, error) { return geminiResults(r, nil), nil }
	return v
}()

// geminiName is from https://ai.google.dev/api/caching#FunctionDeclaration and Vertex AI's reference, whichever is
// stricter.
var geminiName = lazy.Regexp(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// geminiList puts all functions into one tool, as the API and Gemini CLI's discovery expect. Without functions there is
// no tool: the API refuses an empty one.
func geminiList(functions []any) any {
	if len(functions) == 0 {
		return functions
	}
	return []any{members("functionDeclarations", functions)}
}

// geminiFailures are the finish reasons of a candidate whose calls could not be read by the vendor itself.
var geminiFailures = []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}

func failedCall(reason, message string) *vendorError {
	return &vendorError{strings.TrimSuffix(reason+": "+message, ": ")}
}

func blockedPrompt(reason string) *vendorError {
	return &vendorError{"the prompt was blocked: " + reason}
}

// geminiCalls reads a response, one of its candidates, its content, parts of that, or function calls. Candidates are
// alternatives: only the first counts.
func geminiCalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(geminiCalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.has("error") && !o.has("name"):
		return nil, o.vendorError()
	case o.has("candidates"):
		return o.member("candidates").first(geminiCalls)
	case o.has("promptFeedback"):
		feedback, err := o.member("promptFeedback").object()
		if err != nil || !feedback.has("blockReason") {
			return nil, err
		}
		reason, err := feedback.member("blockReason").text()
		return nil, cmp.Or(err, error(blockedPrompt(reason)))
	case slices.Contains(geminiFailures, o.truncation("finishReason", nil)):
		message, _ := o.member("finishMessage").text()
		return nil, failedCall(o.truncation("finishReason", nil), message)
	case o.has("content"):
		return geminiCalls(o.member("content"))
	case o.has("parts"):
		return o.member("parts").each(geminiCalls)
	case o.has("functionCall") || o.has("function_call"):
		return geminiCalls(o.member("functionCall", "function_call"))
	case o.has("name"):
		return newCall(o.member("id"), o.member("name"), o.member("args"))
	}
	return nil, nil // a text, or a response without parts
}

// geminiAccepts are the media types of https://ai.google.dev/gemini-api/docs/function-calling in a function's response,
// for models from Gemini 3 on.
var geminiAccepts = []string{"image/png", "image/jpeg", "image/webp", pdf}

// geminiResults returns one content. An id that the API did not give is not sent.
func geminiResults(results []*host.Result, accepts []string) any {
	content := []any{}
	for _, r := range results {
		texts, parts, key := []string{}, []any{}, "output"
		for _, p := range renderContent(visibleContent(r), accepts, func(text string) any { return text },
			func(p sdk.Content) any { return members("inlineData", members("mimeType", p.MIMEType, "data", p.Data)) }) {
			if text, ok := p.(string); ok {
				texts = append(texts, text)
			} else {
				parts = append(parts, p)
			}
		}
		if r.Error != nil {
			key = "error"
		}
		answer := members("id", when(r.CallID != "" && !strings.HasPrefix(r.CallID, madeID), r.CallID), "name", r.Tool,
			"response", members(key, strings.Join(texts, "\n")), "parts", when(len(parts) > 0, parts))
		content = append(content, members("functionResponse", answer))
	}
	return members("role", "user", "parts", content)
}

type geminiCall struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Args         jsontext.Value   `json:"args"`
	PartialArgs  []jsontext.Value `json:"partialArgs"`
	WillContinue bool             `json:"willContinue"`
}

// addGemini reads the first candidate of a chunk of streamGenerateContent. Calls come whole, one in a part.
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
func (a *Assembler) addGemini(chunk []byte) error {
	var c struct {
		Candidates []struct {
			Index   int64 `json:"index"`
			Content struct {
				Parts []struct {
					Call *geminiCall `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason  string `json:"finishReason"`
			FinishMessage string `json:"finishMessage"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		Error *vendorError `json:"error"`
	}
	if err := decode(chunk, &c); err != nil {
		return err
	}
	for _, candidate := range c.Candidates {
		for _, part := range candidate.Content.Parts {
			if part.Call != nil && candidate.Index == 0 {
				a.addGeminiCall(part.Call)
			}
		}
		if candidate.Index == 0 && slices.Contains(geminiFailures, candidate.FinishReason) {
			c.Error = cmp.Or(c.Error, failedCall(candidate.FinishReason, candidate.FinishMessage))
		}
	}
	if reason := c.PromptFeedback.BlockReason; reason != "" && len(c.Candidates) == 0 {
		c.Error = cmp.Or(c.Error, blockedPrompt(reason))
	}
	return a.failVendor(c.Error)
}

// addGeminiCall adds a call. The API expects an answer to each part, so one that looks like an earlier one is a call of
// its own unless both have the same id.
func (a *Assembler) addGeminiCall(g *geminiCall) {
	if g.Name == "" && len(g.Args) == 0 {
		return // continues with a call whose arguments are streamed, which has been refused
	}
	text, _ := argumentText(g.Args)
	if a.last(func(c *partialCall) bool {
		return g.ID != "" && c.id == g.ID && c.tool() == g.Name && string(c.text.joined.text) == text
	}) != nil {
		return
	}
	c := a.begin()
	c.addRaw(g.ID, g.Name, g.Args)
	if g.WillContinue || len(g.PartialArgs) > 0 {
		c.fail("StreamedArguments",
			"has its arguments streamed in parts, which is not read: ask for them without streamFunctionCallArguments")
	}
	c.finish()
}
