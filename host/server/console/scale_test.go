package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// 10,000 calls are scrolled through to the end with few elements, by keyboard too.
func TestBrowserListsTenThousandCalls(t *testing.T) {
	server := newFake(2, 10000).serve(t)
	b := openBrowser(t, 1200, 800)
	b.signIn(server.URL, token)
	b.open(server.URL, "calls")
	b.see(".virtual", "demo__nested")
	b.see("[role=status]", "10,000 calls")
	b.wait(`(() => { const v = document.querySelector(".virtual"); v.scrollTop = v.scrollHeight;
		return document.querySelector(".vrow:last-child")?.getAttribute("aria-posinset") === "10000"; })()`)
	if n := eval[int](b, `document.querySelectorAll(".vrow").length`); n > 100 {
		t.Errorf("the list has %d elements", n)
	}
	b.do(chromedp.Focus(chromedp.CSS(".virtual")), chromedp.KeyEvent("\ue010")) // End
	eval[bool](b, `document.querySelector(".virtual").dispatchEvent(new KeyboardEvent("keydown", { key: "Home" })), true`)
	b.wait(`document.querySelector(".vrow")?.getAttribute("aria-posinset") === "1" && document.querySelector(".virtual").scrollTop === 0`)
	b.do(chromedp.SetValue(chromedp.CSS("#f-status"), "error"))
	eval[bool](b, `document.querySelector("#f-status").dispatchEvent(new Event("input", { bubbles: true })), true`)
	b.wait(`[...document.querySelectorAll(".vrow .pill")].every((p) => p.textContent === "E_TOOL") && document.querySelector(".vrow .pill")`)
	eval[bool](b, `document.querySelector(".virtual").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" })), true`)
	b.see("h2", "E_TOOL")
}

// 1,000 tools are listed and searched.
func TestBrowserSearchesAThousandTools(t *testing.T) {
	server := newFake(1000, 2).serve(t)
	b := openBrowser(t, 1200, 800)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools")
	b.see("[role=status]", "1000 tools")
	b.do(chromedp.SendKeys(chromedp.CSS("input[type=search]"), "tool_0777"))
	b.see("[role=status]", "1 of 1000 tools")
	b.press("many__tool_0777Tool number 777 of many.")
	b.see("h2", "many__tool_0777")
}

// All that a page with a form loads is under 300 KiB; the log has how long that took.
func TestBrowserLoadsLittle(t *testing.T) {
	server := newFake(100, 1000).serve(t)
	b := openBrowser(t, 1200, 800)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__nested")
	b.wait(`!!document.querySelector(".form")`)
	b.do(command(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}), chromedp.Reload())
	b.wait(`!!document.querySelector(".form")`)
	took := eval[float64](b, `performance.now()`)
	size := eval[int](b, `performance.getEntriesByType("resource").reduce((sum, r) => sum + r.encodedBodySize, 0)`)
	t.Logf("the form was there after %.0f ms; %d bytes", took, size)
	if size > 300<<10 {
		t.Errorf("the page loads %d bytes", size)
	}
}
