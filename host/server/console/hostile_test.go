package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Schemas that would break a form lead to a field for JSON, and strange names come out as they are.
func TestBrowserFormsOfHostileSchemas(t *testing.T) {
	f := newFake(0, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	for tool, form := range map[string]bool{"demo__names": true, "demo__proto": false, "demo__bomb": false, "demo__loop": true,
		"demo__hostile": true} {
		b.open(server.URL, "tools/"+tool)
		b.see("h2", tool)
		b.wait(`!!document.querySelector(".arguments").firstChild`)
		if got := eval[bool](b, `!!document.querySelector(".arguments .form")`); got != form {
			t.Errorf("%s has a form: %v", tool, got)
		}
	}
	b.open(server.URL, "tools/demo__names")
	for name, value := range map[string]string{"a.b": "one", "a b": "two", "[0]": "three"} {
		field := `[...document.querySelectorAll(".form label")].find((l) => l.textContent.startsWith(` + quote(name) + `)).control`
		eval[bool](b, field+`.focus(), true`)
		b.do(chromedp.KeyEvent(value))
	}
	b.press("Run")
	b.see(".status", "Done")
	if got := f.answers(); len(got) != 1 || mustSame(t, got[0]) != `{"[0]":"three","a b":"two","a.b":"one"}` {
		t.Errorf("the host received %s", got)
	}
}

// mustSame sorts the keys of JSON.
func mustSame(t *testing.T, text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return mustJSON(v)
}

// Characters that turn or hide a text are shown by their numbers, and JSON is indented without being changed.
func TestBrowserShowsTextsAsTheyAre(t *testing.T) {
	server := newFake(0, 2).serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__hostile")
	b.see(".description", "\u2423U+202E\u2423\u2423U+200B\u2423")
	for in, want := range map[string]string{
		`{"a":12345678901234567890,"a":[ ],"b":"x,{\""}`: "{\n  \"a\": 12345678901234567890,\n  \"a\": [],\n  \"b\": \"x,{\\\"\"\n}",
		"no {json}": "no {json}",
	} {
		if got := eval[string](b, `import("/console/format.js").then((m) => m.pretty(`+quote(in)+`))`); got != want {
			t.Errorf("%s is shown as %s", in, got)
		}
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if n := eval[int](b, `import("/console/format.js").then((m) => m.pretty(`+quote(deep)+`).length)`); n > 1<<20 {
		t.Errorf("10 kB of JSON become %d characters", n)
	}
}
