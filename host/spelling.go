package host

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/sdk"
)

// A spelling knows the properties at the top of a schema that also allows others; nil is for all other schemas, which
// refuse misspelt names themselves.
type spelling struct {
	exact  map[string]bool
	folded map[string]string // to the property
}

func newSpelling(schema json.RawMessage) *spelling {
	var s struct {
		AdditionalProperties any `json:"additionalProperties"`
	}
	names := newArgumentSchema(schema).top().names()
	if json.Unmarshal(schema, &s) != nil || len(names) == 0 || s.AdditionalProperties == false {
		return nil
	}
	out := &spelling{exact: map[string]bool{}, folded: map[string]string{}}
	for name := range names {
		out.exact[name], out.folded[fold(name)] = true, name
	}
	return out
}

// misspelt refuses "Path" where the schema has "path": a plugin in Go would take it for that, unchecked. It reads
// arguments that are known to be an object.
func (s *spelling) misspelt(arguments json.RawMessage) *sdk.Error {
	if s == nil {
		return nil
	}
	d := decoders.Get().(*jsontext.Decoder)
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	for _, _, err := readToken(d); err == nil; err = d.SkipValue() {
		_, raw, failed := readToken(d)
		if raw == nil || failed != nil {
			return nil
		}
		if s.exact[string(raw[1:len(raw)-1])] {
			continue
		}
		name := unquoted(raw)
		if meant, ok := s.folded[fold(name)]; ok && !s.exact[name] {
			return badAt(d.InputOffset()-int64(len(raw)), arguments, "have the unknown property %q (did you mean %q?)", name, meant)
		}
	}
	return nil
}
