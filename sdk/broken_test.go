package sdk

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// Whatever a plugin of another kind sends that cannot be read is an error that says so. What can be read is kept.
func TestBrokenResults(t *testing.T) {
	t.Parallel()
	good := &pluginv1.Content{Type: "text", Text: []byte("good")}
	with := func(c *pluginv1.Content) *pluginv1.Result {
		return &pluginv1.Result{Content: []*pluginv1.Content{good, c}}
	}
	deep := []byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
	cases := map[string]struct {
		sent *pluginv1.Result
		says string // "" is no error
		code Code
	}{
		"structured that is cut off":       {&pluginv1.Result{Structured: []byte(`{"a":`)}, "the structured JSON is not valid", CodeProtocol},
		"structured with more behind":      {&pluginv1.Result{Structured: []byte(`{} {}`)}, "the structured JSON is not valid", CodeProtocol},
		"structured of blanks":             {&pluginv1.Result{Structured: []byte(` `)}, "the structured JSON is not valid", CodeProtocol},
		"structured as JavaScript has it":  {&pluginv1.Result{Structured: []byte(`{"a":NaN}`)}, "the structured JSON is not valid", CodeProtocol},
		"structured nested too deep":       {&pluginv1.Result{Structured: deep[19_900:20_100]}, "nested 100 deep", CodeResultTooLarge},
		"structured nested beyond reading": {&pluginv1.Result{Structured: deep}, "nested 20000 deep", CodeProtocol},
		"structured beside content":        {&pluginv1.Result{Structured: []byte(`{`), Content: []*pluginv1.Content{good}}, "the structured JSON is not valid", CodeProtocol},
		"a part without a type":            {with(&pluginv1.Content{Text: []byte("x")}), "part 2 () has no type", CodeProtocol},
		"a part of nothing":                {with(&pluginv1.Content{}), "part 2 () has no type", CodeProtocol},
		"a part that is not known":         {with(&pluginv1.Content{Type: "chart", Text: []byte("x")}), "part 2 (chart) is of a kind that is not known", CodeProtocol},
		"a part of broken JSON":            {with(&pluginv1.Content{Type: "chart", Raw: []byte(`{"type":`)}), "part 2 (chart) has JSON that is not valid", CodeProtocol},
		"a part of JSON that is no object": {with(&pluginv1.Content{Type: "chart", Raw: []byte(`["chart"]`)}), "part 2 (chart) has JSON that is no object", CodeProtocol},
		"a text of bytes":                  {with(&pluginv1.Content{Type: "text", Data: []byte("x")}), "part 2 (text) has bytes beside its text", CodeProtocol},
		"an image of nothing":              {with(&pluginv1.Content{Type: "image", MimeType: "image/png"}), "part 2 (image) has no data", CodeProtocol},
		"an image of text":                 {with(&pluginv1.Content{Type: "image", Text: []byte("aGk="), MimeType: "image/png"}), "part 2 (image) has no data", CodeProtocol},
		"an image of both":                 {with(&pluginv1.Content{Type: "image", Text: []byte("x"), Data: []byte("x")}), "part 2 (image) has a text beside its data", CodeProtocol},
		"an audio of nothing":              {with(&pluginv1.Content{Type: "audio"}), "part 2 (audio) has no data", CodeProtocol},
		"a resource of no place":           {with(&pluginv1.Content{Type: "resource", Text: []byte("x")}), "part 2 (resource) has no URI", CodeProtocol},
		"a link to nothing":                {with(&pluginv1.Content{Type: "resource_link", Name: "x"}), "part 2 (resource_link) has no URI", CodeProtocol},
		"a failure with a broken part":     {&pluginv1.Result{Error: &pluginv1.Error{Message: "no"}, Content: []*pluginv1.Content{good, {Type: "image"}}}, "no; besides, the result is broken: part 2 (image) has no data", CodeTool},

		"a text that is empty":        {with(&pluginv1.Content{Type: "text"}), "", ""},
		"a text that is not UTF-8":    {with(&pluginv1.Content{Type: "text", Text: []byte("a\xff")}), "", ""},
		"a resource that is empty":    {with(&pluginv1.Content{Type: "resource", Uri: "file:///a"}), "", ""},
		"a kind with JSON of its own": {with(&pluginv1.Content{Type: "chart", Raw: []byte(`{"type":"chart"}`)}), "", ""},
		"null":                        {&pluginv1.Result{Structured: []byte(`null`)}, "", ""},
		"nothing at all":              {&pluginv1.Result{}, "", ""},
	}
	for name, c := range cases {
		for _, inPieces := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := script(nil, last(c.sent))
				if inPieces && len(c.sent.GetContent()) == 2 && len(c.sent.GetContent()[1].GetRaw()) == 0 {
					second := c.sent.GetContent()[1]
					s = script(nil, textPart("good", 4), part(second, int64(len(second.GetText())+len(second.GetData()))), last(&pluginv1.Result{Error: c.sent.GetError()}))
				}
				r, err := clientOf(t, s).Call(t.Context(), &Request{Tool: "x"})
				if err != nil {
					if e := err.(*Error); e.Code != c.code || !strings.Contains(e.Message, c.says) {
						t.Errorf("error %v, want %s with %q", err, c.code, c.says)
					}
					return
				}
				switch e := r.Error; {
				case (e == nil) != (c.says == ""):
					t.Errorf("error %v, want %q", e, c.says)
				case e != nil && (e.Code != c.code || e.Outcome != OutcomeFailed || !strings.Contains(e.Message, c.says)):
					t.Errorf("error %+v, want %s with %q", e, c.code, c.says)
				case e != nil && len(c.sent.GetContent()) == 2 && (len(r.Content) != 1 || r.Content[0].Text != "good"):
					t.Errorf("content %+v", r.Content)
				}
				if err := r.Check(); err != nil {
					t.Errorf("what is left of it is broken: %v", err)
				}
			})
		}
	}
}

// Nobody decides on a preview of which something cannot be read.
func TestBrokenPreviews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent *pluginv1.PreviewResponse
		says string
	}{
		"structured":   {&pluginv1.PreviewResponse{Structured: []byte(`{`)}, "is not valid"},
		"a list":       {&pluginv1.PreviewResponse{Structured: []byte(`[]`)}, "is no object"},
		"a part":       {&pluginv1.PreviewResponse{Content: []*pluginv1.Content{{Type: "image"}}}, "part 1 (image) has no data"},
		"a good one":   {&pluginv1.PreviewResponse{Structured: []byte(`{}`), Content: []*pluginv1.Content{{Type: "text"}}}, ""},
		"an empty one": {&pluginv1.PreviewResponse{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := brokenPreview(c.sent)
			if (e == nil) != (c.says == "") || e != nil && (e.Code != CodeProtocol || !strings.Contains(e.Message, c.says)) {
				t.Errorf("error %v, want %q", e, c.says)
			}
		})
	}
}
