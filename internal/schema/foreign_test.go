package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForeignSchemas(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		notes        []string // words of each
		fit, unfit   []string
	}{
		{"formats", `{"properties":{"d":{"type":"string","format":"date"},"n":{"type":"integer","format":"int32"},"x":{"format":"odd"}}}`, nil,
			[]string{`{"d":"2024-02-29"}`, `{"n":-2147483648}`, `{"x":"y"}`, `{}`}, []string{`{"d":"2025-02-29"}`, `{"n":2147483648}`}},
		{"a format of another type", `{"properties":{"d":{"format":"date"}}}`, nil, []string{`{"d":5}`, `{"d":null}`}, []string{`{"d":"no"}`}},
		{"a format in one of two", `{"properties":{"d":{"anyOf":[{"type":"string","format":"date"},{"type":"string","format":"ipv4"}]}}}`, nil,
			[]string{`{"d":"2026-11-22"}`, `{"d":"192.0.2.1"}`}, []string{`{"d":"192.0.2"}`}},
		{"a format that is refused", `{"properties":{"d":{"type":"string","not":{"format":"date"}}}}`, nil, []string{`{"d":"x"}`}, []string{`{"d":"2026-11-22"}`}},
		{"lookahead", `{"properties":{"a":{"type":"string","pattern":"^(?!x)","maxLength":2}},"required":["a"]}`, []string{`#/properties/a/pattern: pattern "^(?!x)"`},
			[]string{`{"a":"x"}`}, []string{`{"a":"abc"}`, `{}`}},
		{"no regular expression", `{"properties":{"a":{"pattern":"["}}}`, []string{`#/properties/a/pattern`}, []string{`{"a":"b"}`}, nil},
		{"lookahead for names", `{"patternProperties":{"^(?=a)":{"type":"string"},"^b":{"type":"string"}},"additionalProperties":false}`,
			[]string{`#/patternProperties/`}, []string{`{"a":5}`, `{"b":"x"}`}, []string{`{"b":5}`}},
		{"tuple", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`, nil, []string{`{"a":["x",1]}`}, []string{`{"a":[1]}`}},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","nullable":true,"enum":["x"]},"c":{"nullable":true,"type":["string","null"]},"d":{"type":"string","nullable":false}}}`,
			nil, []string{`{"a":null}`, `{"a":"x"}`, `{"c":null}`}, []string{`{"a":5}`, `{"b":null}`, `{"d":null}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileForeign([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			notes := s.Unchecked
			if len(notes) != len(c.notes) {
				t.Fatalf("notes %q", notes)
			}
			for i, note := range notes {
				if !strings.Contains(note, c.notes[i]) || !strings.HasSuffix(note, "; it is not checked") {
					t.Errorf("note %q", note)
				}
			}
			for _, doc := range c.fit {
				if invalid := s.Validate([]byte(doc)); invalid != nil {
					t.Errorf("%s: %v", doc, invalid)
				}
			}
			for _, doc := range c.unfit {
				if s.Validate([]byte(doc)) == nil {
					t.Errorf("%s fits", doc)
				}
			}
		})
	}
	if _, err := CompileForeign([]byte(`{"$ref":"#/gone"}`)); err == nil {
		t.Error("a reference to nothing compiles")
	}
}

// In a schema of one's own a format says what is meant, and nothing more; nullable counts there too.
func TestOwnSchemasHaveNoFormats(t *testing.T) {
	s, err := Compile([]byte(`{"properties":{"d":{"type":"string","format":"date"},"a":{"type":"string","nullable":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{`{"d":"tomorrow"}`, `{"a":null}`} {
		if invalid := s.Validate([]byte(doc)); invalid != nil {
			t.Errorf("%s: %v", doc, invalid)
		}
	}
}

func TestFormatWords(t *testing.T) {
	s, err := CompileForeign([]byte(`{"properties":{"d":{"type":"string","format":"date-time"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Invalid{Problems: []Problem{{Path: "d", Message: `must be a date and time with its zone such as 2026-11-22T09:30:00Z, got "tomorrow"`}}}
	if diff := cmp.Diff(want, s.Validate([]byte(`{"d":"tomorrow"}`))); diff != "" {
		t.Error(diff)
	}
}

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct{ fit, unfit []string }{
		"date":                  {[]string{"2026-11-22", "2024-02-29"}, []string{"2025-02-29", "2026-13-01", "2026-1-1", "26-01-01", "2026-11-22Z", ""}},
		"time":                  {[]string{"09:30:00Z", "09:30:00.5+01:00", "23:59:60Z", "00:59:60+01:00"}, []string{"09:30:00", "9:30:00Z", "24:00:00Z", "09:30:60Z", "09:30Z"}},
		"iso-time":              {[]string{"09:30:00", "09:30:00Z"}, []string{"09:30"}},
		"date-time":             {[]string{"2026-11-22T09:30:00Z", "2026-11-22t09:30:00z", "2026-11-22 09:30:00+01:00"}, []string{"2026-11-22T09:30:00", "2026-11-22", "2026-11-22X09:30:00Z"}},
		"iso-date-time":         {[]string{"2026-11-22T09:30:00"}, []string{"2026-11-22T"}},
		"duration":              {[]string{"P3D", "P1Y2M3DT4H5M6S", "PT1M", "P2W"}, []string{"P", "PT", "3D", "P3DT", "P1H", "P1W2D"}},
		"email":                 {[]string{"ada@example.org", "a.b+c@example.co.uk"}, []string{"ada", "ada@", "ada@localhost", "ädä@example.org", "@example.org", "a b@example.org", "Ada <ada@example.org>", "ada@exa mple.org"}},
		"hostname":              {[]string{"example.org", "a", "xn--bcher-kva.example"}, []string{"", "-a", "a-", "a..b", "a b", strings.Repeat("a", 64)}},
		"ipv4":                  {[]string{"192.0.2.1"}, []string{"192.0.2", "256.0.0.1", "::1", "1.2.3.4.5"}},
		"ipv6":                  {[]string{"2001:db8::1", "::1", "::ffff:192.0.2.1"}, []string{"192.0.2.1", "::1%lo", "1::2::3"}},
		"uri":                   {[]string{"https://example.org/x?y#z", "mailto:ada@example.org", "urn:x:y"}, []string{"/x", "x y:z", "https://example.org/a b", "", "http://ü.example"}},
		"uri-reference":         {[]string{"../x", "/x", "#y", "", "https://example.org", "09:30:00Z"}, []string{"a b", "a#b#c", "%zz"}},
		"uri-template":          {[]string{"/users/{id}", "/x{?a,b*}", "plain", ""}, []string{"/users/{id", "/{}", "a b", "}"}},
		"url":                   {[]string{"https://example.org/x", "ftp://example.org"}, []string{"example.org", "mailto:ada@example.org", "http://", "http://a b", "http://localhost:3000", "http://127.0.0.1/x"}},
		"uuid":                  {[]string{"123e4567-e89b-12d3-a456-426614174000", "urn:uuid:123E4567-e89b-12d3-a456-426614174000"}, []string{"123e4567e89b12d3a456426614174000", ""}},
		"json-pointer":          {[]string{"", "/a/0", "/a~1b"}, []string{"a", "/a~2"}},
		"relative-json-pointer": {[]string{"1/a", "0#"}, []string{"/a", "01/a"}},
		"byte":                  {[]string{"", "YWJj", "YQ=="}, []string{"YQ", "Y Q=", "*"}},
	} {
		for _, s := range c.fit {
			if !formats[name].holds(s) {
				t.Errorf("%s: %q does not fit", name, s)
			}
		}
		for _, s := range c.unfit {
			if formats[name].holds(s) {
				t.Errorf("%s: %q fits", name, s)
			}
		}
	}
}
