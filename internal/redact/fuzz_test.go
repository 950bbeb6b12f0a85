package redact

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What was JSON stays JSON, and a second look finds nothing new.
func FuzzRedactJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"password":"x"}`, `{"a":"hunter22","b":[1,2.5e3,null]}`,
		`{"a":"hunt\u0065r22"}`, ` [ "token: abcdefghijklmnopqr" ] `, `"\ud800"`, "\"\xff\"",
		`{"token":{"a":"]","b":[]},"c":1}`, `{"hunter22":{"secret":[{}]}}`, `1`, `"`, `{"a":"password=\"x"}`} {
		f.Add([]byte(seed))
	}
	r := New("hunter22")
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		out := r.JSON(text)
		if !bytes.Equal(text, before) {
			t.Fatal("the input was changed")
		}
		if !json.Valid(text) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
		if again := r.JSON(out); !json.Valid(again) || bytes.Contains(again, []byte("hunter22")) {
			t.Errorf("%q became %q, and then %q", text, out, again)
		}
	})
}
