package client

import (
	"encoding/json"
	"testing"
)

func FuzzForNextHop(f *testing.F) {
	f.Add([]byte(`{"_meta":{"progressToken":1},"a":2}`))
	f.Add([]byte(`{"a":2,"_meta":{"io.modelcontextprotocol/x":1,"k":[]},"_meta":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if out := forNextHop(text); json.Valid(text) && !json.Valid(out) {
			t.Fatalf("%q becomes %q", text, out)
		}
	})
}
