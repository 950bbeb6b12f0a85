package arguments

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// Accepted arguments are one JSON object for every reader, and the same one.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a":[1,2.50,-0,1e400,"\u00e9\ud83d\ude00",null,true,{"b":{}}]} `,
		`{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":"x`,
		"{\"a\":\"\xff\"}", `[{}]`, `{}{}`, `{"a":01}`, "\ufeff{}", `{"a":12345678901234567890}`, `{"a":"<\u2028>"}`,
		`{"\u0061":1,"a":1}`, `{"A":1,"a":1}`, `{"K":1,"k":[{"ſ":1,"b":2,"S":3}]}`, ``, "\x00"} {
		f.Add([]byte(seed))
	}
	anything, err := schema.Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		e := check(text, NewSchema(nil))
		if !bytes.Equal(before, text) {
			t.Fatal("the bytes were changed")
		}
		if e != nil {
			if e.Code != sdk.CodeInvalidArgs || e.Message == "" || e.Suggestion == "" || e.Details != nil &&
				!json.Valid(e.Details) {
				t.Errorf("error %+v", e)
			}
			return
		}
		for _, names := range objectNames(t, text) {
			for i, a := range names {
				if slices.ContainsFunc(names[:i],
					func(b string) bool { return strings.EqualFold(a, b) || norm.NFC.String(a) == norm.NFC.String(b) }) {
					t.Errorf("two names are taken for one, %q and another of %q", a, names)
				}
			}
		}
		once := reencoded(t, text)
		if twice := reencoded(t, once); !bytes.Equal(once, twice) {
			t.Errorf("encoded once %s, twice %s", once, twice)
		}
		// otherwise a number may be too large for a schema
		if invalid := anything.Validate(text); invalid != nil && !bytes.ContainsAny(text, "eE") && len(text) < 400 {
			t.Errorf("the schema's reader refuses it: %v", invalid)
		}
	})
}

// objectNames returns the names in each object of a text.
func objectNames(t *testing.T, text []byte) (all [][]string) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			all = append(all, slices.Collect(maps.Keys(v)))
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return all
}

// reencoded is one object as the standard library writes it.
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
