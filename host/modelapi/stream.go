package modelapi

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A vendorError is what vendors send in a stream that they give up.
type vendorError struct {
	Message string `json:"message"`
}

func (a *Assembler) vendorFailed(e *vendorError) {
	if e != nil {
		a.failOpen("StreamFailed", "was not completed, the model's vendor reports an error: %.200q", e.Message)
	}
}

// decode reads a chunk. Texts that are not valid Unicode only matter where arguments are: see argumentText.
func decode(chunk []byte, into any) error {
	if err := json.Unmarshal(chunk, into, jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("a chunk of the stream is not what was expected: %w", err)
	}
	return nil
}

// argumentText is the text of arguments: vendors write them as a string, some servers as the object itself. Text that is
// not valid Unicode, such as half a surrogate pair, is an error: what was meant is not known.
func argumentText(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", err
		}
		return string(text), nil
	case '{':
		return string(v), nil
	case 'n', 0:
		return "", nil
	}
	return "", errors.New("neither a string nor an object")
}

// addRaw is draft.add with arguments that are not decoded yet.
func (d *draft) addRaw(id, name string, arguments jsontext.Value) {
	text, err := argumentText(arguments)
	if err != nil {
		d.add(id, name, "")
		d.unreadable(err)
		return
	}
	d.add(id, name, text)
}
