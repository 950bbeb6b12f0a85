package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

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
