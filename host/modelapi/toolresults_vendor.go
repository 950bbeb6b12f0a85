package modelapi

import (
	"cmp"
	"encoding/base64"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

const pdf = "application/pdf"

func dataURL(p sdk.Content) string {
	return "data:" + p.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// openAIMessage is a tool's message, which holds text only.
// https://platform.openai.com/docs/api-reference/chat/create
type openAIMessage struct {
	Role    string `json:"role"`
	CallID  string `json:"tool_call_id"`
	Content string `json:"content"`
}

func openAIResults(results []*host.Result) (any, error) {
	out := []openAIMessage{}
	for _, r := range results {
		if err := needID(r); err != nil {
			return nil, err
		}
		out = append(out, openAIMessage{"tool", r.CallID, inWords(shown(r))})
	}
	return out, nil
}

// responsesTakes are the types that https://platform.openai.com/docs/guides/images-vision names, and PDF.
var responsesTakes = natives{"image/png", "image/jpeg", "image/webp", "image/gif", pdf}

// responsesItem is a call's output: a text, or a list when there is more than text.
type responsesItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

func responsesResults(results []*host.Result) (any, error) {
	out := []responsesItem{}
	for _, r := range results {
		if err := needID(r); err != nil {
			return nil, err
		}
		out = append(out, responsesItem{"function_call_output", r.CallID, responsesOutput(shown(r))})
	}
	return out, nil
}

func responsesOutput(parts []sdk.Content) any {
	texts := true
	list := responsesTakes.render(parts, func(text string) any { return responsesPart{Type: "input_text", Text: text} },
		func(p sdk.Content) any {
			texts = false
			if p.MIMEType == pdf {
				return responsesPart{Type: "input_file", Filename: filename(p), FileData: dataURL(p)}
			}
			return responsesPart{Type: "input_image", ImageURL: dataURL(p)}
		})
	if texts {
		return inWords(parts)
	}
	return list
}

// filename is a name for a PDF, which the API wants with one.
func filename(p sdk.Content) string {
	name := cmp.Or(p.Name, path.Base(p.URI))
	if !strings.HasSuffix(strings.ToLower(name), ".pdf") {
		return "file.pdf"
	}
	return name
}

// anthropicTakes are the types that https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls and the
// pages on images and PDF name.
var anthropicTakes = natives{"image/png", "image/jpeg", "image/webp", "image/gif", pdf}

type anthropicMessage struct {
	Role    string            `json:"role"`
	Content []anthropicResult `json:"content"`
}

type anthropicResult struct {
	Type    string `json:"type"`
	CallID  string `json:"tool_use_id"`
	Content []any  `json:"content,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicMedia struct {
	Type   string          `json:"type"`
	Source anthropicSource `json:"source"`
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

func anthropicResults(results []*host.Result) (any, error) {
	out := anthropicMessage{"user", []anthropicResult{}}
	for _, r := range results {
		if err := needID(r); err != nil {
			return nil, err
		}
		blocks := anthropicTakes.render(shown(r), func(text string) any { return anthropicText{"text", text} }, anthropicBlock)
		out.Content = append(out.Content, anthropicResult{"tool_result", r.CallID, blocks, r.Error != nil})
	}
	return out, nil
}

func anthropicBlock(p sdk.Content) any {
	kind := "image"
	if p.MIMEType == pdf {
		kind = "document"
	}
	return anthropicMedia{kind, anthropicSource{"base64", p.MIMEType, p.Data}}
}

// geminiTakes are the types that https://ai.google.dev/gemini-api/docs/function-calling names for a function's response,
// with models from Gemini 3 on.
var geminiTakes = natives{"image/png", "image/jpeg", "image/webp", pdf}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Response geminiResponse `json:"functionResponse"`
}

type geminiResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []any             `json:"parts,omitempty"`
}

type geminiData struct {
	Inline geminiBlob `json:"inlineData"`
}

type geminiBlob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

func geminiResults(results []*host.Result) (any, error) {
	return newGeminiContent(results, geminiTakes), nil
}

// geminiTextResults is for endpoints that take no parts in a response.
func geminiTextResults(results []*host.Result) (any, error) {
	return newGeminiContent(results, nil), nil
}

func newGeminiContent(results []*host.Result, takes natives) geminiContent {
	out := geminiContent{"user", []geminiPart{}}
	for _, r := range results {
		var texts []string
		response := geminiResponse{Name: r.Tool}
		for _, p := range takes.render(shown(r), func(text string) any { return text },
			func(p sdk.Content) any { return geminiData{geminiBlob{p.MIMEType, p.Data}} }) {
			if text, ok := p.(string); ok {
				texts = append(texts, text)
				continue
			}
			response.Parts = append(response.Parts, p)
		}
		if !strings.HasPrefix(r.CallID, madeID) {
			response.ID = r.CallID
		}
		key := "output"
		if r.Error != nil {
			key = "error"
		}
		response.Response = map[string]string{key: strings.Join(texts, "\n")}
		out.Parts = append(out.Parts, geminiPart{response})
	}
	return out
}
