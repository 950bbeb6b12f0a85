package console_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A call that runs, and one that the record has no end of, are no errors; who looks at one that runs sees it end.
func TestBrowserFollowsARunningCall(t *testing.T) {
	f := newFake(2, 40)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "calls")
	pill := func(row int, text, class string) {
		t.Helper()
		at := `document.querySelectorAll(".vrow")[` + strconv.Itoa(row) + `].querySelector(".pill")`
		b.wait(at + `?.textContent === ` + quote(text) + ` && ` + at + `.className.trim() === ` + quote("pill "+class))
	}
	b.wait(`document.querySelectorAll(".vrow").length > 9`)
	pill(runningCall, "running", "warn")
	b.wait(`document.querySelectorAll(".vrow")[` + strconv.Itoa(endlessCall) + `].querySelector(".pill").className.trim() === "pill"`)
	b.see(".vrow .pill", "no end")
	b.screenshot("calls-running")
	b.open(server.URL, "calls/call-00008")
	b.see("h2 .pill", "no end")
	b.open(server.URL, "calls/call-00005")
	b.see("h2 .pill", "running")
	b.screenshot("call-running")
	f.ended.Store(true)
	b.see("h2 .pill", "ok")
	b.see(".result", "<img src=x")
	b.wait(`![...document.querySelectorAll("main button")].some((e) => e.textContent === "Cancel")`)
	b.press("All calls")
	b.wait(`document.querySelectorAll(".vrow").length > 9`)
	pill(runningCall, "ok", "good")
}

// The list of calls shows what is new at its beginning, says how much is new further down, and keeps its filters in the
// address.
func TestBrowserFiltersCalls(t *testing.T) {
	f := newFake(2, 400)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "calls")
	enter := func(field, text string) {
		b.do(chromedp.SendKeys(chromedp.CSS("#f-"+field), text))
	}
	enter("codes", "e_tool")
	enter("tool", "nested")
	b.wait(`document.querySelector(".vrow") && [...document.querySelectorAll(".vrow .pill")].every((p) => p.textContent === "E_TOOL")`)
	if at := eval[string](b, "location.hash"); !strings.Contains(at, "tool=nested") || !strings.Contains(at, "codes=e_tool") {
		t.Errorf("the address is %s", at)
	}
	eval[bool](b, `document.querySelector(".vrow").click(), true`)
	b.see("h2", "E_TOOL")
	eval[bool](b, `history.back(), true`)
	b.wait(`document.querySelector("#f-codes")?.value === "e_tool" && document.querySelector(".vrow .pill")?.textContent === "E_TOOL"`)
	b.do(chromedp.Reload())
	b.wait(`document.querySelector("#f-tool")?.value === "nested" && document.querySelector(".vrow .pill")?.textContent === "E_TOOL"`)
	enter("tool", "x")
	b.see("[role=status]", "0 calls")
	b.press("Calls")
	b.wait(`document.querySelector("#f-tool").value === "" && document.querySelectorAll(".vrow").length > 9`)

	first := `document.querySelector(".vrow .mono").textContent`
	before := eval[string](b, first)
	f.begin(3)
	b.wait(first + " !== " + quote(before))
	eval[bool](b, `document.querySelector(".virtual").scrollTop = 900, true`)
	b.wait(`document.querySelector(".vrow").getAttribute("aria-posinset") !== "1"`)
	f.begin(2)
	b.press("2 new calls")
	b.wait(`document.querySelector(".virtual").scrollTop === 0`)
}
