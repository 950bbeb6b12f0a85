package wire

import (
	"encoding/json"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// FromContent makes the message of a part of content. Its text is not copied.
func FromContent(c mcpcontent.Part) *pluginv1.Content {
	return &pluginv1.Content{Type: textutil.Clean(c.Type), Text: textutil.ReadOnlyBytes(c.Text), Data: c.Data,
		MimeType: textutil.Clean(c.MIMEType), Uri: textutil.Clean(c.URI), Name: textutil.Clean(c.Name),
		Raw: c.Raw, Extra: c.Extra, Source: c.Source}
}

// OrNil returns nil for empty bytes: the wire does not distinguish the two.
func OrNil(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// List converts texts and bytes into each other. Bytes keep names that are no UTF-8.
func List[To, From ~string | ~[]byte](in []From) (out []To) {
	for _, v := range in {
		out = append(out, To(v))
	}
	return out
}

// Objects converts named JSON. It returns nil for none.
func Objects[To, From ~[]byte](in map[string]From) map[string]To {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]To, len(in))
	for key, object := range in {
		out[textutil.Clean(key)] = To(object)
	}
	return out
}
