package mcpcontent_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/internal/mcpcontent"
)

// travel is what a part becomes between the plugin that reads it and the host that writes it.
func travel(t interface{ Fatalf(string, ...any) }, raw string) mcpcontent.Part {
	p := mcpcontent.Read(json.RawMessage(raw))
	sent := mcpcontent.Sent(p)
	if sent.Source == nil {
		return sent
	}
	got, ok := mcpcontent.Resolve(sent)
	if !ok {
		t.Fatalf("%s cannot be resolved: %+v", raw, sent)
	}
	if got.Text != p.Text || !bytes.Equal(got.Data, p.Data) || !bytes.Equal(got.Extra, p.Extra) {
		t.Fatalf("%s: %+v arrives as %+v", raw, p, got)
	}
	return got
}

func compact(raw string) string {
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(raw)); err != nil {
		return err.Error()
	}
	return out.String()
}

func TestPartsKeepTheirBytes(t *testing.T) {
	for _, raw := range []string{
		`{"type":"text","text":"plain"}`,
		`{"text":"first","type":"text"}`,
		`{ "type" : "text" , "text" : "blanks" }`,
		`{"type":"text","text":"\u0041\/\u00e9\u2028 \ud83d\ude00 \n\t"}`,
		`{"type":"text","text":"\ud800 alone"}`,
		`{"type":"t\u0065xt","te\u0078t":"escaped names"}`,
		`{"type":"text","annotations":{"priority":1.0,"audience":["user"]},"text":"x"}`,
		`{"_meta":{"n":9007199254740993,"e":1E+2},"type":"text","text":"x"}`,
		`{"type":"text","text":"first","text":"second"}`,
		`{"type":"text","type":"image","text":"x"}`,
		`{"type":"text","text":"x","_meta":{"a":1,"a":2}}`,
		`{"type":"image","mimeType":"image/png","data":"AAEC"}`,
		`{"type":"image","data":"AAE\/","mimeType":"image\/png"}`,
		`{"type":"image","data":""}`,
		`{"type":"resource","resource":{"text":"body","uri":"file:///a","mimeType":"m"}}`,
		`{"resource":{"blob":"AAEC","uri":"file:///a"},"type":"resource"}`,
		`{"type":"resource","resource":{"uri":"","text":"x"}}`,
		`{"type":"resource","resource":{"uri":"u","text":"x","text":"y"}}`,
		`{"type":"resource_link","name":"n","uri":"u","title":"t","mimeType":"m"}`,
		`{"type":"hologram","data":"x"}`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"type":"text","text":"many members"}`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"type":"text","text":"x","i":10}`,
	} {
		if got := string(mcpcontent.Write(travel(t, raw))); got != raw && got != compact(raw) {
			t.Errorf("%s becomes %s", raw, got)
		}
	}
}

// A member that only another kind defines does not make a part one of no kind: models would read its JSON.
func TestPartsWithMembersOfOtherKinds(t *testing.T) {
	bodies := map[string]string{"text": `"text":"x"`, "image": `"data":"AAEC"`, "audio": `"data":"AAEC"`,
		"resource": `"resource":{"uri":"u","text":"x"}`, "resource_link": `"uri":"u"`}
	for kind, body := range bodies {
		for _, more := range []string{`"name":"STDOUT"`, `"uri":""`, `"mimeType":"text/plain"`, `"mimeType":null`, `"text":"t"`,
			`"data":5`, `"resource":{}`, `"name":{}`} {
			name, _, _ := strings.Cut(more, ":")
			if strings.Contains(body, name) && kind != "resource" || kind == "resource" && name == `"resource"` ||
				kind != "text" && kind != "resource" && name == `"mimeType"` || kind == "resource_link" && name == `"name"` {
				continue // it is of this kind
			}
			for _, raw := range []string{`{"type":"` + kind + `",` + body + `,` + more + `}`, `{` + more + `,` + body + `,"type":"` + kind + `"}`} {
				p := travel(t, raw)
				if got := string(mcpcontent.Write(p)); p.Type != kind || got != raw {
					t.Errorf("%s becomes %+v, written %s", raw, p, got)
				}
			}
		}
	}
}

// What a person or a check sees in the fields is what is written, whatever the source says.
func TestAChangedPartIsNotWrittenAsItWas(t *testing.T) {
	for _, raw := range []string{`{"text":"SECRET","type":"text"}`, `{"type":"text","text":"\u0053ECRET"}`,
		`{"resource":{"text":"SECRET","uri":"u"},"type":"resource"}`,
		`{"type":"image","mimeType":"SECRET","data":"AAEC"}`, `{"uri":"SECRET","type":"resource_link"}`,
		`{"annotations":{"x":"SECRET"},"text":"t","type":"text"}`} {
		p := travel(t, raw)
		if p.Source == nil {
			t.Errorf("%s has no source", raw)
		}
		replace := func(s string) string { return strings.ReplaceAll(s, "SECRET", "hidden") }
		p.Text, p.MIMEType, p.URI = replace(p.Text), replace(p.MIMEType), replace(p.URI)
		p.Extra = []byte(replace(string(p.Extra)))
		got := mcpcontent.Read(mcpcontent.Write(p))
		if got.Text != p.Text || got.MIMEType != p.MIMEType || got.URI != p.URI || !bytes.Equal(got.Extra, p.Extra) {
			t.Errorf("%s becomes %s", raw, mcpcontent.Write(p))
		}
	}
}

// A plugin cannot have its host check one text and pass on another.
func TestASourceThatSaysSomethingElseIsRefused(t *testing.T) {
	for _, sent := range []mcpcontent.Part{
		{Type: "text", Text: "good", Source: json.RawMessage(`{"text":"evil","type":"text"}`)},
		{Type: "text", Text: "good", Source: json.RawMessage(`{"text":"","type":"text","text":"evil"}`)},
		{Type: "text", Text: "good", Source: json.RawMessage(`{"type":"image","data":""}`)},
		{Type: "image", Data: []byte("x"), Source: json.RawMessage(`{"data":"AAEC","type":"image"}`)},
		{Type: "image", Text: "good", Source: json.RawMessage(`{"data":"AAEC","type":"image"}`)},
		{Type: "resource_link", URI: "good", Source: json.RawMessage(`{"uri":"evil","type":"resource_link"}`)},
		{Type: "image", MIMEType: "good", Data: []byte("x"), Source: json.RawMessage(`{"data":"","type":"image"}`)},
		{Type: "text", Text: "good", Raw: json.RawMessage(`{}`), Source: json.RawMessage(`{"text":"","type":"text"}`)},
		{Type: "text", Text: "good", Source: json.RawMessage(`[]`)},
		{Type: "text", Text: "good", Source: json.RawMessage(`{"text":"","type":"text"`)},
	} {
		if got, ok := mcpcontent.Resolve(sent); ok {
			t.Errorf("%+v becomes %+v", sent, got)
		}
		if sent.Raw == nil {
			if got := string(mcpcontent.Write(sent)); strings.Contains(got, "evil") {
				t.Errorf("%+v is written as %s", sent, got)
			}
		}
	}
}

// A large text, or data, travels once, and is held once.
func TestSourceHasNoLargeBodies(t *testing.T) {
	text := strings.Repeat(`line \"quoted\"\n`, 10_000)
	data := base64.StdEncoding.EncodeToString(make([]byte, 100_000))
	for _, raw := range []string{`{"text":"` + text + `","type":"text"}`, `{"data":"` + data + `","type":"image"}`,
		`{"resource":{"blob":"` + data + `","uri":"u"},"type":"resource"}`,
		`{"type":"text","_meta":{},"text":"` + text + `"}`} {
		if p := travel(t, raw); len(p.Source) > 100 {
			t.Errorf("a source of %d bytes", len(p.Source))
		}
	}
	odd := `{"type":"text","text":"` + strings.Repeat(`\u0041`, 10_000) + `"}`
	p := mcpcontent.Read(json.RawMessage(odd))
	if sent := mcpcontent.Sent(p); len(p.Text) != 10_000 || sent.Text != "" {
		t.Errorf("%d bytes of text, of which %d travel beside the source", len(p.Text), len(sent.Text))
	}
}

func TestPartsOfAnyFormKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := partJSON(t)
		p := travel(t, raw)
		if got := string(mcpcontent.Write(p)); compact(got) != compact(raw) { // blanks between tokens are not kept
			t.Fatalf("%s becomes %s", raw, got)
		}
		// a text is what every reader of JSON sees
		var seen struct{ Type, Text string }
		if p.Raw == nil && p.Type == "text" && (json.Unmarshal([]byte(raw), &seen) != nil || seen.Text != p.Text) {
			t.Fatalf("%s has the text %q, not %q", raw, p.Text, seen.Text)
		}
		p.Text += "changed"
		if p.Raw == nil && p.Type == "text" {
			var seen struct{ Text string }
			if err := json.Unmarshal(mcpcontent.Write(p), &seen); err != nil || seen.Text != p.Text {
				t.Fatalf("%s changed is %s, %v", raw, mcpcontent.Write(p), err)
			}
		}
	})
}

// partJSON draws a content part as a server may write it.
func partJSON(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"text", "image", "audio", "resource", "resource_link", "other"}).Draw(t, "kind")
	var all []string
	add := func(odds int, name, value string) {
		if rapid.IntRange(0, 9).Draw(t, name) < odds {
			all = append(all, text(t, name)+blank(t)+":"+blank(t)+value)
		}
	}
	body := func() string {
		raw := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data")
		return `"` + strings.ReplaceAll(base64.StdEncoding.EncodeToString(raw), "/",
			rapid.SampledFrom([]string{"/", `\/`}).Draw(t, "slash")) + `"`
	}
	add(10, "type", text(t, kind))
	add(map[string]int{"text": 9}[kind], "text", text(t, rapid.String().Draw(t, "text")))
	add(map[string]int{"image": 9, "audio": 9, "other": 5}[kind], "data", body())
	if kind == "resource" {
		inside := []string{`"uri":` + text(t, rapid.String().Draw(t, "uri"))}
		if rapid.Bool().Draw(t, "blob") {
			inside = append(inside, `"blob":`+body())
		} else {
			inside = append(inside, `"text":`+text(t, rapid.String().Draw(t, "text")))
		}
		inside = append(inside, rapid.SliceOfN(rapid.SampledFrom([]string{`"mimeType":"m"`, `"_meta":{"a":1E9}`, `"x":[1, 2]`}),
			0, 2).Draw(t, "inside")...)
		add(9, "resource", "{"+strings.Join(rapid.Permutation(inside).Draw(t, "order inside"), ",")+"}")
	}
	add(map[string]int{"resource_link": 9}[kind], "uri", text(t, rapid.String().Draw(t, "uri")))
	add(2, "mimeType", text(t, rapid.StringN(0, 5, -1).Draw(t, "mimeType")))
	add(1, "name", `"n"`)
	add(3, "annotations", `{"priority": 0.50}`)
	add(3, "_meta", `{"b":9007199254740993,"a":{"\u0061":null}}`)
	add(1, "type", `"text"`)
	add(1, "text", `"again"`)
	all = rapid.Permutation(all).Draw(t, "order")
	return "{" + blank(t) + strings.Join(all, blank(t)+","+blank(t)) + blank(t) + "}"
}

// text draws a JSON string of a text.
func text(t *rapid.T, s string) string {
	form := rapid.IntRange(0, 5).Draw(t, "escapes")
	if form > 2 {
		return strings.TrimSpace(encode(s, false))
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r > 0xFFFF || rapid.Bool().Draw(t, "as it is"):
			quoted := strings.TrimSpace(encode(string(r), form == 0))
			out.WriteString(quoted[1 : len(quoted)-1])
		case r == '/':
			out.WriteString(`\/`)
		default:
			fmt.Fprintf(&out, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "digits"), r)
		}
	}
	return `"` + out.String() + `"`
}

func encode(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s) // a string has a JSON form
	return b.String()
}

func blank(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "blank")
}

// A reader of any bytes writes JSON, and the same again.
func FuzzPart(f *testing.F) {
	f.Add([]byte(`{"text":"\u0041","type":"text"}`), "x")
	f.Add([]byte(`{"type":"resource","resource":{"blob":"AA==","uri":"u"}}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		if json.Valid(raw) && utf8.Valid(raw) {
			if got := mcpcontent.Write(mcpcontent.Read(raw)); string(got) != compact(string(raw)) && !bytes.Equal(got, raw) {
				t.Fatalf("%s becomes %s", raw, got)
			}
		}
		for _, kind := range []string{"text", "image", "resource"} {
			p := mcpcontent.Part{Type: kind, Text: text, Source: raw}
			_ = mcpcontent.Sent(p)
			if out := mcpcontent.Write(p); !json.Valid(out) {
				t.Fatalf("%+v is written as %s", p, out)
			}
		}
	})
}
