package console_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// fields are the names of the form's fields that are seen, in their order.
func (b *browser) fields() []string {
	b.t.Helper()
	return strings.Fields(eval[string](b, `[...document.querySelectorAll(".form [name^=arguments]")].filter((e) => e.offsetParent)
		.map((e) => e.name.slice("arguments".length)).join(" ")`))
}

// writeJSON has the arguments of the tool written as JSON.
func (b *browser) writeJSON(text string) {
	b.t.Helper()
	b.press("JSON")
	b.do(chromedp.SetValue(chromedp.CSS("textarea.json"), text))
}

// readJSON is the arguments as JSON.
func (b *browser) readJSON() string {
	b.t.Helper()
	b.press("JSON")
	return eval[string](b, `document.querySelector("textarea.json").value`)
}

// sent runs the tool and returns what the host received.
func (b *browser) sent(f *fake) string {
	b.t.Helper()
	before := len(f.answers())
	b.press("Run")
	b.wait(`document.querySelectorAll(".call").length > 0 && document.querySelector(".call .status").textContent.startsWith("Done")`)
	got := f.answers()
	if len(got) != before+1 {
		b.t.Fatalf("the host was called with %q", got)
	}
	return got[before]
}

// The form of every tool that ships keeps its fields when a person looks at the JSON and comes back.
func TestBrowserFormKeepsItsFields(t *testing.T) {
	f := inUse(t)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	for _, tool := range f.tools {
		b.open(server.URL, "tools/"+tool.Name)
		b.see("h2", tool.Name)
		if !eval[bool](b, `!!document.querySelector(".form")`) {
			continue
		}
		before := b.fields()
		b.press("JSON")
		b.press("Form")
		b.wait(`document.querySelector(".form").offsetParent`)
		if after := b.fields(); !slices.Equal(before, after) {
			t.Errorf("%s has the fields %q, and %q after a look at the JSON", tool.Name, before, after)
		}
	}
}

// Form and JSON are two views of the same arguments, also of nested ones; what the form cannot show stays in the JSON, and
// is named.
func TestBrowserFormAndJSONAgree(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__nested")
	b.see("h2", "demo__nested")
	for _, text := range []string{
		`{"name":"Ada","steps":[{"run":"a"}]}`,
		`{"name":"Ada","count":3,"kind":"large","dry":false,"owner":{"mail":"x@y","age":4},"labels":{"a":"b"},"steps":[{"run":"a","args":["1","2"]},{"run":"b"}]}`,
		`{"name":"","steps":[{"run":""}]}`,
	} {
		b.writeJSON(text)
		b.press("Form")
		b.wait(`document.querySelector(".form").offsetParent`)
		if got := mustSame(t, b.readJSON()); got != mustSame(t, text) {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
	for text, names := range map[string]string{
		`{"name":"x","owner":{"mail":"m","name":"y"},"extra":1,"steps":[]}`: "owner.name, extra",
		`{"name":"x","steps":3}`:                        "steps",
		`{"name":"x","steps":[{"run":"a","args":"b"}]}`: "steps.0.args",
		`[1]`: "no list of named values",
		`{"name":"x","steps":[],"count":12345678901234567890}`:                  "that many digits",
		`{"name":"x","name":"y","steps":[]}`:                                    "stand twice",
		`{"name":"x","steps":[{"run":"a"}],"owner":{"mail":"m"},"labels":null}`: "",
		`{"name":"x","kind":"medium","steps":[]}`:                               "kind",
	} {
		b.writeJSON(text)
		b.press("Form")
		if names == "" {
			b.wait(`document.querySelector(".form").offsetParent`)
			continue
		}
		b.see("[role=tabpanel] > .fielderror", names)
		if got := b.readJSON(); got != text {
			t.Errorf("%s became %s", text, got)
		}
		if got := b.sent(f); got != text {
			t.Errorf("%s was sent as %s", text, got)
		}
	}
}

// Items of an array are added, moved and deleted in the form.
func TestBrowserFormChangesArrays(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 1400)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__nested")
	b.see("h2", "demo__nested")
	b.writeJSON(`{"name":"x","steps":[{"run":"one"},{"run":"two","args":["deep"]}]}`)
	b.press("Form")
	steps := `[data-schemapath="arguments.steps"]`
	act := func(selector, label string) {
		find := `[...document.querySelectorAll(` + quote(selector) + `)].map((e) => [...e.querySelectorAll("button")].filter((b) => b.offsetParent &&
			(b.textContent.trim() || b.title).toLowerCase().startsWith(` + quote(label) + `)).at(-1)).filter(Boolean)[0]`
		b.wait("!!" + find)
		eval[bool](b, "document.activeElement.blur(), ("+find+").click(), true") // as a mouse does
	}
	act(steps, "add")
	b.wait(`!!document.querySelector('[name="arguments[steps][2][run]"]')`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[steps][2][run]"]`), "three"))
	act(`[data-schemapath="arguments.steps.2"]`, "move up")
	b.wait(`document.querySelector('[name="arguments[steps][1][run]"]').value === "three"`)
	act(`[data-schemapath="arguments.steps.0"]`, "delete")
	b.wait(`!document.querySelector('[name="arguments[steps][2][run]"]')?.offsetParent`)
	b.screenshot("form-arrays")
	if got, want := mustSame(t, b.readJSON()), `{"name":"x","steps":[{"run":"three"},{"args":["deep"],"run":"two"}]}`; got != want {
		t.Errorf("the arguments are %s, not %s", got, want)
	}
}

// A required text may be empty: where a person has emptied it, or says so twice.
func TestBrowserSendsEmptyTexts(t *testing.T) {
	f := inUse(t)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/edit__replace")
	b.wait(`!!document.querySelector('[name="arguments[path]"]')`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[path]"]`), "a.txt"),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[old_string]"]`), "b"))
	b.press("Run")
	b.see(".fielderror", "To send an empty text, press again")
	if got := f.answers(); len(got) != 0 {
		t.Fatalf("the host was called with %q", got)
	}
	want := `{"new_string":"","old_string":"b","path":"a.txt"}`
	if got := mustSame(t, b.sent(f)); got != want {
		t.Errorf("the host received %s", got)
	}
	b.do(chromedp.Reload())
	b.wait(`!!document.querySelector('[name="arguments[new_string]"]')`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[path]"]`), "a.txt"),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[old_string]"]`), "b"),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[new_string]"]`), "c\b"))
	if got := mustSame(t, b.sent(f)); got != want {
		t.Errorf("the host received %s", got)
	}
}

// A field for JSON sends what is written in it, digit by digit, and nothing that is no JSON.
func TestBrowserFieldsForJSON(t *testing.T) {
	f := newFake(2, 2)
	f.tools = append(f.tools, &apiv1.Tool{Name: "demo__any", Plugin: "demo", InputSchema: `{"type":"object","properties":{
		"any":{},"n":{"type":"integer"}}}`})
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__any")
	b.wait(`!!document.querySelector('[name="arguments[any]"]')`)
	anything, n := chromedp.CSS(`[name="arguments[any]"]`), chromedp.CSS(`[name="arguments[n]"]`)
	b.do(chromedp.SendKeys(anything, "not json"), chromedp.SendKeys(n, "12345678901234567890"))
	b.press("Run")
	b.see(".fielderror", "This is no JSON")
	b.see(".fielderror", "that many digits")
	if got := f.answers(); len(got) != 0 {
		t.Fatalf("the host was called with %q", got)
	}
	eval[bool](b, `document.querySelectorAll(".form [name]").forEach((e) => { e.value = ""; e.dispatchEvent(new Event("change", { bubbles: true })); }), true`)
	b.do(chromedp.SendKeys(anything, `{"id": 12345678901234567890, "f": 0.1, "g": 1.0}`), chromedp.SendKeys(n, "7"))
	got := b.sent(f)
	if !json.Valid([]byte(got)) || !strings.Contains(got, "12345678901234567890") || !strings.Contains(got, `"n":7`) {
		t.Errorf("the host received %s", got)
	}
	b.do(chromedp.Reload())
	b.writeJSON(`{"any":"a text"}`)
	b.press("Form")
	b.wait(`document.querySelector('[name="arguments[any]"]').value === '"a text"'`)
	if got := mustSame(t, b.readJSON()); got != `{"any":"a text"}` {
		t.Errorf("the text comes back as %s", got)
	}
}
