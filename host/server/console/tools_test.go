package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// A token in the address is exchanged for a session and is gone from the address, the storage and scripts' cookies.
func TestBrowserSignsIn(t *testing.T) {
	server := newFake(2, 10).serve(t)
	b := openBrowser(t, 1200, 800)
	b.signIn(server.URL, token)
	if at := eval[string](b, "location.href"); strings.Contains(at, token) {
		t.Errorf("the address is %s", at)
	}
	if kept := eval[string](b, "JSON.stringify(localStorage)+JSON.stringify(sessionStorage)+document.cookie"); strings.Contains(kept, token) {
		t.Errorf("scripts can read the token: %s", kept)
	}
	b.do(chromedp.Reload())
	b.wait(`!!document.querySelector("nav")`)
	b.press("Sign out")
	b.expect("401")
	b.wait(`!!document.querySelector(".signin")`)
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), "wrong\n"))
	b.see(".problem", "not valid")
	b.screenshot("sign-in")
	b.do(chromedp.SetValue(chromedp.CSS("#token"), token))
	b.press("Sign in")
	b.wait(`!!document.querySelector("nav")`)
}

// The form sends nested objects and arrays as a person fills them in, and nothing for what was left empty.
func TestBrowserRunsAToolFromItsForm(t *testing.T) {
	f := newFake(2, 10)
	server := f.serve(t)
	b := openBrowser(t, 1200, 1000)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__nested")
	b.do(chromedp.WaitVisible(chromedp.CSS(`[name="arguments[name]"]`)),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[name]"]`), "Ada"),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[owner][mail]"]`), "ada@example.com"),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[labels]"]`), `{"a":"b"}`),
		chromedp.SendKeys(chromedp.CSS(`[name="arguments[steps][0][run]"]`), "build"))
	b.screenshot("form")
	b.press("Run")
	b.see(".status", "Done")
	b.see(".live", "first line")
	b.see(".content", "<img src=x")
	b.wait(`document.querySelectorAll(".content img").length === 1 && document.querySelector(".content img").naturalWidth === 1`)
	b.see(".diff", "<b>new</b>")
	b.screenshot("call")
	b.press("Policy")
	b.see("h2", "organization")
	b.press("Tools")
	b.press("demo__nestedNested")
	b.wait(`document.querySelector('[name="arguments[owner][mail]"]')?.value === "ada@example.com"`) // what was filled in is kept
	b.see(".live", "first line")
	f.mu.Lock()
	defer f.mu.Unlock()
	var got, want any
	_ = json.Unmarshal([]byte(f.called[0]), &got)
	_ = json.Unmarshal([]byte(`{"name":"Ada","owner":{"mail":"ada@example.com"},"labels":{"a":"b"},"steps":[{"run":"build"}]}`), &want)
	if g, w := mustJSON(got), mustJSON(want); g != w {
		t.Errorf("the host received %s, not %s", g, w)
	}
	if title := eval[string](b, "document.title"); strings.Contains(title, "owned") {
		t.Error("a text of a plugin ran as a script")
	}
}

func mustJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// What a person asked for is in sight when it comes: the preview, and the result of a call.
func TestBrowserShowsResultsInSight(t *testing.T) {
	f := inUse(t)
	f.result = []*apiv1.Content{{Type: "text", Text: strings.Repeat("a line\n", 100)}}
	server := f.serve(t)
	b := openBrowser(t, 1280, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/shell__exec")
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[command]"]`), "make"))
	seen := func(selector string) {
		t.Helper()
		b.wait(`(() => { const r = document.querySelector(` + quote(selector) + `).getBoundingClientRect();
			return r.top >= 0 && r.top < innerHeight - 150; })()`)
	}
	b.press("Preview")
	b.see(".decision", "writes")
	seen(".decision")
	eval[bool](b, "scrollTo(0, 0), true")
	b.press("Run")
	b.see(".result", "a line")
	seen(".result")
	b.screenshot("result-in-sight")
}

// Colours of a terminal are left out, also where the parts of an output divide one, and what was printed is shown once.
func TestBrowserTakesColoursOut(t *testing.T) {
	f := newFake(2, 2)
	f.output = []string{"plain \x1b[3", "1;1mred\x1b", "[0m \x1b]0;title\n"}
	f.result = []*apiv1.Content{{Type: "text", Text: "\x1b[32mgreen\x1b[0m"}}
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__loop")
	b.wait(`!!document.querySelector(".form")`)
	b.press("Run")
	b.see(".result .content", "green")
	if text := eval[string](b, `document.querySelector(".live").textContent.trim() + "|" + document.querySelector(".content").textContent`); text !=
		"plain red \u2423U+001B\u2423]0;title|green" {
		t.Errorf("the page shows %q", text)
	}
	f.output, f.result = []string{"\x1b[31monce\x1b[0m\n"}, []*apiv1.Content{{Type: "text", Text: "exit 0\nonce\n"}}
	b.press("Run")
	b.see(".result .content", "once")
	if n := eval[int](b, `document.querySelector(".call").innerText.split("once").length - 1`); n != 1 {
		t.Errorf("the output is shown %d times", n)
	}
}

// A link with a token that is not valid leaves a session that is.
func TestBrowserKeepsItsSession(t *testing.T) {
	server := newFake(2, 2).serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.expect("401")
	b.do(chromedp.Navigate(server.URL + "/#token=wrong"))
	b.see("#announcements", "You are still signed in")
	b.see("h1", "Overview")
}
