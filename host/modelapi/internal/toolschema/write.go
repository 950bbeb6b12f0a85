package toolschema

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// encode writes a value, in order, with <, > and & as they are: models read this.
func encode(value any) ([]byte, error) { return appendValue(nil, value) }

func appendValue(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case *object:
		return v.append(out)
	case []any:
		return appendList(out, v)
	case string:
		return jsontext.AppendQuote(out, v)
	case jsontext.Value:
		return append(out, v...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	}
	return append(out, "null"...), nil
}

func appendList(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendValue(out, item); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func (o *object) append(out []byte) (_ []byte, err error) {
	out = append(out, '{')
	for i, name := range o.names {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return nil, err
		}
		if out, err = appendValue(append(out, ':'), o.members[name]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}
