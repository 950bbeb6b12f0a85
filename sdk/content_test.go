package sdk

import (
	"encoding/json"
	"testing"
)

// Members without a field are written after those with one, byte for byte and in their order.
func TestContentKeepsExtraMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part Content
		want string
	}{
		"text": {Content{Type: "text", Text: "a<b", Extra: json.RawMessage(
			`{"_meta":{"z":1,"a":9007199254740993},"annotations":{"priority":0.10}}`)},
			`{"type":"text","text":"a<b","_meta":{"z":1,"a":9007199254740993},"annotations":{"priority":0.10}}`},
		"a field is not replaced": {Content{Type: "text", Text: "a", Extra: json.RawMessage(`{"text":"b","x":1}`)},
			`{"type":"text","text":"a","x":1}`},
		"link": {Content{Type: "resource_link", URI: "file:///a", Name: "a", Extra: json.RawMessage(`{"size":3}`)},
			`{"type":"resource_link","uri":"file:///a","name":"a","size":3}`},
		"resource": {Content{Type: "resource", URI: "file:///a", Text: "t", Extra: json.RawMessage(
			`{"resource":{"_meta":{"k":1},"uri":"other"},"annotations":{}}`)},
			`{"type":"resource","resource":{"uri":"file:///a","text":"t","_meta":{"k":1}},"annotations":{}}`},
		"no object": {Content{Type: "text", Text: "a", Extra: json.RawMessage(`[1]`)}, `{"type":"text","text":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.part.MarshalJSON()
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}
