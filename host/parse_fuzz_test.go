package host

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// What checkJSON lets through is one JSON object to everybody who may read it, and the same one.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a":[1,2.50,-0,1e400,"\u00e9\ud83d\ude00",null,true,{"b":{}}]} `, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":"x`,
		"{\"a\":\"\xff\"}", `[{}]`, `{}{}`, `{"a":01}`, "\ufeff{}", `{"a":12345678901234567890}`, `{"a":"<\u2028>"}`, `{"\u0061":1,"a":1}`, ``, "\x00"} {
		f.Add([]byte(seed))
	}
	anything, err := schema.Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		e := checkJSON(text)
		if !bytes.Equal(before, text) {
			t.Fatal("the bytes were changed")
		}
		if e != nil {
			if e.Code != sdk.CodeInvalidArgs || e.Message == "" || e.Suggestion == "" || e.Details != nil && !json.Valid(e.Details) {
				t.Errorf("error %+v", e)
			}
			return
		}
		once := reencoded(t, text)
		if twice := reencoded(t, once); !bytes.Equal(once, twice) {
			t.Errorf("encoded once %s, twice %s", once, twice)
		}
		if invalid := anything.Validate(text); invalid != nil && !bytes.ContainsAny(text, "eE") && len(text) < 400 { // else a number may be too much for a schema
			t.Errorf("the schema's reader refuses it: %v", invalid)
		}
	})
}

// reencoded is what the standard library makes of one object.
func reencoded(t *testing.T, text []byte) []byte {
	t.Helper()
	if !json.Valid(text) {
		t.Fatalf("not JSON: %q", text)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || object == nil {
		t.Fatalf("no object, %v: %q", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than an object, %v: %q", err, text)
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
