package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/wire"
)

// A Result is what a call returns to the model.
type Result struct {
	// Content is for the model to read, in order.
	Content []Content
	// Structured is the result as JSON, for programs. A tool with an OutputSchema sets it.
	Structured json.RawMessage
	// Error says how the tool failed; nil when it did not.
	Error *Error
	// Truncated means that Content is incomplete.
	Truncated bool
	// Extra is a JSON object of those members of the source's result that no other field has, such as _meta; nil when
	// there are none. If an MCP server used another order of members, placeholders for content, structuredContent
	// (null) and isError keep it.
	Extra json.RawMessage
	// InputRequired, when not nil, means that the call has questions; nothing but Extra is set beside it.
	InputRequired *InputRequired
}

// InputRequired has the questions of a call that cannot continue without answers. The host asks the caller, and makes
// the call again with Request.InputResponses and Request.RequestState.
type InputRequired struct {
	// Requests are MCP's input requests, JSON objects such as {"method":"elicitation/create","params":{…}}, by keys
	// that the tool chooses.
	Requests map[string]json.RawMessage `json:"requests"`
	// State is returned with the answers. Callers may read and change it: a tool that relies on it signs it.
	State string `json:"state,omitempty"`
	// Suspended says that the tool keeps the call until the answers come. While the host asks, it makes the call once
	// more with Request.DuringQuestions, with the state and without answers. That call returns the result of the
	// suspended one, if that comes without answers, or its questions, if others are open by now; there may be none. When
	// its context ends, no answers will come. It returns anything when the answers come.
	Suspended bool `json:"-"`
}

// Limits of a call, in bytes. Both ends of the wire enforce them.
const (
	MaxArguments = wire.MaxArguments // the arguments object: 1 MiB
	// MaxResult is for all parts and the structured JSON of a result together: 4 MiB. Of a larger one the host writes the
	// parts of more than 1 MiB to files, 64 MiB as a rule, and refuses it if the rest is over the limit.
	MaxResult = wire.MaxResult
)

func failed(e *Error) *Result { return &Result{Error: e} }

// Text returns a result of one text.
func Text(text string) *Result {
	return &Result{Content: []Content{TextContent(text)}}
}

// Textf is Text with fmt.Sprintf.
func Textf(format string, a ...any) *Result { return Text(fmt.Sprintf(format, a...)) }

// JSON returns a result of structured data, with the same JSON as text for models that read nothing else. A nil map is
// {}, a nil slice []. For a value without a JSON form, such as NaN, it returns an error result.
func JSON(v any) *Result {
	data, err := json.Marshal(v)
	if err != nil {
		return failed(badResult(err))
	}
	data = orEmpty(data, v)
	return &Result{Structured: data, Content: []Content{TextContent(string(data))}}
}

// Add appends content to the result, and returns it.
func (r *Result) Add(parts ...Content) *Result {
	r.Content = append(r.Content, parts...)
	return r
}

// Content is one part of a result. Its kinds and its JSON form are MCP's.
type Content struct {
	// Type is "text", "image", "audio", "resource" or "resource_link"; any other kind is in Raw.
	Type string
	// Text is the text of a text or of a resource.
	Text string
	// Data holds the bytes of an image, an audio or a binary resource; base64 in JSON only.
	Data []byte
	// MIMEType is the type of Data or of what URI points to.
	MIMEType string
	// URI and Name identify a resource or a link.
	URI, Name string
	// Raw is the whole JSON object of any other kind.
	Raw json.RawMessage
	// Extra is a JSON object of those members of the part that no other field has, such as annotations and _meta; its
	// member "resource" holds those of the object in a resource. Nil when there are none.
	Extra json.RawMessage
	// Source is for plugins that pass on parts of MCP servers: the JSON object as its server wrote it, where that is not
	// what MarshalJSON writes of the other fields. In it the text, or the data, is usually an empty string. MarshalJSON
	// fills that, and writes Source if it still equals the other fields: a change of those is never lost.
	Source json.RawMessage
}

// TextContent returns a text.
func TextContent(text string) Content { return Content{Type: "text", Text: text} }

// ImageContent returns an image of a type such as image/png.
func ImageContent(data []byte, mimeType string) Content {
	return Content{Type: "image", Data: data, MIMEType: mimeType}
}

// FileContent returns a resource with the content of a file: text when mimeType is a text type or JSON, else bytes.
func FileContent(uri, mimeType string, data []byte) Content {
	c := Content{Type: "resource", URI: uri, MIMEType: mimeType}
	if strings.HasPrefix(mimeType, "text/") || mimeType == "application/json" {
		c.Text = string(data)
	} else {
		c.Data = data
	}
	return c
}

// LinkContent returns a link, such as to a file that is too large to show.
func LinkContent(uri, name, mimeType string) Content {
	return Content{Type: "resource_link", URI: uri, Name: name, MIMEType: mimeType}
}

// MarshalJSON writes the part as MCP does.
func (c Content) MarshalJSON() ([]byte, error) { return mcpcontent.Write(mcpcontent.Part(c)), nil }

// Encode returns the JSON of v, for Result.Structured and the like. Unlike json.Marshal it does not escape <, > and &,
// which models read. It returns nil when v has no JSON form.
func Encode(v any) json.RawMessage {
	out, _ := rawjson.Encode(v, "")
	return out
}

// A ContentMaker is a result type of AddTool that renders its own content for models. Otherwise they read its JSON.
type ContentMaker interface{ ToolContent() []Content }

var (
	resultType = reflect.TypeFor[*Result]()
	rawType    = reflect.TypeFor[json.RawMessage]()
)

// textIsJSON reports that the text of each result of a type is its JSON.
func textIsJSON(out reflect.Type) bool {
	maker := reflect.TypeFor[ContentMaker]()
	return out != resultType && out.Kind() != reflect.Interface && !out.Implements(maker) &&
		!reflect.PointerTo(out).Implements(maker)
}

// outputSchema returns the schema of a tool's structured result: the tool's own, or that of its result type.
func outputSchema(t *Tool, out reflect.Type) (json.RawMessage, error) {
	if out == resultType || t.OutputSchema != nil {
		return t.OutputSchema, nil
	}
	subject := "tool " + strconv.Quote(t.Name) + ": the result"
	known := (&inferrer{of: ofOutput}).known(pointed(out))
	if kind := pointed(out).Kind(); out == rawType || pointed(out) == resultType.Elem() ||
		kind != reflect.Struct && kind != reflect.Map || known != nil && known.is("string") {
		return nil, fmt.Errorf("%s: %v is not an object in JSON; return a struct with it as a field, or *sdk.Result, such "+
			"as sdk.Text of a text", subject, out)
	}
	return inferSchema(subject, out, ofOutput)
}

// orEmpty is the JSON of a result: that of a nil map or slice is empty, as Go has it, where encoding/json writes null.
func orEmpty(data json.RawMessage, value any) json.RawMessage {
	if string(data) != "null" {
		return data
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !v.IsValid(), implements(v.Type(), writesJSON), implements(v.Type(), writesText), isBytes(v.Type()):
	case v.Kind() == reflect.Map:
		return json.RawMessage("{}")
	case v.Kind() == reflect.Slice:
		return json.RawMessage("[]")
	}
	return data
}

func badResult(err error) *Error {
	return &Error{Name: "BadResult", Message: "the result has no JSON form: " + err.Error(), Outcome: OutcomeUnknown,
		Suggestion: "This is a bug in the plugin. Find out what the call has done before you make it again."}
}

// structured returns the result of a typed handler, to which value points: methods that only a pointer has count too.
func structured(value any) (*Result, error) {
	data := orEmpty(Encode(value), value)
	switch {
	case data == nil:
		_, err := json.Marshal(value)
		return nil, badResult(err)
	case string(data) == "null":
		return nil, nil //nolint:nilnil // run reports it
	}
	maker, ok := value.(ContentMaker)
	if !ok {
		maker, ok = reflect.ValueOf(value).Elem().Interface().(ContentMaker)
	}
	if ok {
		return &Result{Structured: data, Content: maker.ToolContent()}, nil
	}
	return &Result{Structured: data, Content: []Content{TextContent(string(data))}}, nil
}
