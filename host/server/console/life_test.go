package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/toolhost/toolhost/host/api/apiv1"
)

// A viewer sees everything, and the page offers nothing that the host would refuse.
func TestBrowserOffersAViewerNothingToDo(t *testing.T) {
	f := newFake(2, 2)
	f.role = apiv1.Role_ROLE_VIEWER
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	for page, names := range map[string]string{"tools/demo__nested": "Run,Preview", "plugins": "Reload,Reset", "configuration": "Reload",
		"approvals": "Approve,Reject,Forget"} {
		b.open(server.URL, page)
		b.settle()
		can := eval[string](b, `[...document.querySelectorAll("main button:not(:disabled)")].map((b) => b.textContent).join()`)
		for _, name := range strings.Split(names, ",") {
			if strings.Contains(","+can+",", ","+name+",") {
				t.Errorf("%s offers %s: %s", page, name, can)
			}
		}
	}
	b.see(".who", "viewer")
}

// An approver answers what waits, and is offered nothing else.
func TestBrowserOffersAnApproverAnswers(t *testing.T) {
	f := newFake(2, 2)
	f.role = apiv1.Role_ROLE_APPROVER
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	for _, page := range []string{"tools/demo__nested", "plugins", "configuration"} {
		b.open(server.URL, page)
		b.settle()
		if can := eval[string](b, `[...document.querySelectorAll("main button:not(:disabled)")].map((b) => b.textContent).filter((n) =>
			["Run", "Preview", "Reload", "Reset"].includes(n)).join()`); can != "" {
			t.Errorf("%s offers %s", page, can)
		}
	}
	b.open(server.URL, "approvals")
	b.answerable()
	if eval[bool](b, `[...document.querySelectorAll("main button")].some((b) => b.textContent === "Edit")`) {
		t.Error("an approver is offered to change the arguments")
	}
	b.press("Approve")
	b.see(".detail h2", "demo__hostile")
	b.see(".who", "approver")
}

// A plugin that waits for its first call has no trouble, and a log without lines says so.
func TestBrowserShowsPluginsAtRest(t *testing.T) {
	f := newFake(2, 2)
	f.running = []*apiv1.Plugin{{Name: "quiet", State: "known", Reason: "the first call starts it"},
		{Name: "broken", State: "backoff", Reason: "it is started again soon"}}
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "overview")
	b.see("td", "started again soon")
	if text := eval[string](b, `document.querySelector("main").innerText`); strings.Contains(text, "first call starts it") {
		t.Error("a plugin at rest is shown with trouble")
	}
	b.open(server.URL, "plugins")
	b.pressIn("#plugin-quiet", "Logs")
	b.see("#plugin-quiet .hint", "Nothing was printed yet")
	b.pressIn("#plugin-broken", "Logs")
	b.see("#plugin-broken .live", "a line")
}

// A page that is not looked at holds no stream, and has the present again when it is.
func TestBrowserHidesWithoutStreams(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "plugins")
	b.see("h2", "demo")
	f.awaitWatches(t, func(n int) bool { return n >= 2 })
	hide := func(hidden string) {
		eval[bool](b, `Object.defineProperty(document, "hidden", { value: `+hidden+`, configurable: true }),
			document.dispatchEvent(new Event("visibilitychange"))`)
	}
	hide("true")
	f.awaitWatches(t, func(n int) bool { return n == 0 })
	hide("false")
	f.awaitWatches(t, func(n int) bool { return n >= 2 })
	b.see("nav", "3")
	b.wait(`document.title === "(3) Plugins \u00b7 toolhost"`)
}

// A page whose connections end says so, and goes on by itself.
func TestBrowserConnectsAgain(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "plugins")
	b.see("h2", "demo")
	b.expect("ERR_")
	f.awaitWatches(t, func(n int) bool { return n >= 2 })
	before := f.watched.Load()
	server.CloseClientConnections()
	f.awaitWatches(t, func(n int) bool { return n >= 2 && f.watched.Load() >= before+2 })
	b.wait(`document.querySelector(".connection").textContent === ""`)
}

// What is missing is said beside its field when a person runs the tool, and not before.
func TestBrowserShowsWhatIsMissing(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__nested")
	b.wait(`!!document.querySelector("[name='arguments[count]']")`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[count]"]`), "12"))
	if n := eval[int](b, `[...document.querySelectorAll(".fielderror")].filter((e) => e.offsetParent).length`); n != 0 {
		t.Errorf("%d mistakes are shown before the tool is run", n)
	}
	b.press("Run")
	b.see(".fielderror", "at most 9")
	b.see(".fielderror", "This is required")
	b.wait(`document.activeElement.getAttribute("aria-invalid") === "true"`)
	b.screenshot("mistakes")
	if got := f.answers(); len(got) != 0 {
		t.Errorf("the host was called with %q", got)
	}
	b.press("JSON") // the host has the last word
	b.do(chromedp.SetValue(chromedp.CSS("textarea.json"), `{"name": 12345678901234567890}`))
	b.press("Run")
	b.see(".status", "Done")
	if got := f.answers(); len(got) != 1 || got[0] != `{"name": 12345678901234567890}` {
		t.Errorf("the host was called with %q", got)
	}
}

// Keys lead through the pages.
func TestBrowserHasKeys(t *testing.T) {
	server := newFake(20, 2).serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "overview")
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("t"))
	b.see("h1", "Tools")
	b.see(".list", "many__tool_0003")
	b.do(chromedp.KeyEvent("/"))
	b.wait(`document.activeElement.type === "search"`)
	b.do(chromedp.KeyEvent("gp")) // in a field they are letters
	if at := eval[string](b, "location.hash"); at != "#/tools" {
		t.Errorf("the page is %s", at)
	}
}

// The plot of the calls at work has those that wait for a slot.
func TestBrowserPlotsQueuedCalls(t *testing.T) {
	f := newFake(2, 2)
	f.queued.Store(3)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "overview")
	b.see(".plotwords", "queued: now 3, at most 3. waiting for approval: now 0")
	f.queued.Store(1)
	b.see(".plotwords", "queued: now 1, at most 3")
}

// What is wrong with the configuration is said while it is, on the overview and beside the file.
func TestBrowserNoticesTheConfiguration(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "overview")
	f.reloadFailure.Store("config.hcl:3: there is no block plugn")
	b.see(".notice", "no block plugn")
	f.reloadFailure.Store("")
	b.wait(`!document.querySelector(".notice")`)
	f.untrusted.Store(true)
	b.open(server.URL, "configuration")
	b.press("Check the file")
	b.see(".notice", "toolhost trust")
	f.untrusted.Store(false)
	b.wait(`!document.querySelector(".notice")`)
}
