package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys that lead to another page answer no question, and neither do keys with modifiers, of an input method, and those
// that are held.
func TestBrowserKeysOfNavigationAnswerNothing(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "approvals")
	b.see("h2", "demo__nested")
	b.answerable()
	keys := func(all ...string) {
		for _, key := range all {
			b.do(chromedp.KeyEvent(key))
		}
	}
	keys("g", "a")
	keys("g", "g", "a")
	keys("g", "r")
	b.see("h1", "Policy")
	keys("g", "a")
	b.see("h2", "demo__nested")
	b.answerable()
	// Shift comes between the two keys, and the first one is still held when the second one comes.
	eval[bool](b, `(() => {
		const press = (key, more) => document.body.dispatchEvent(new KeyboardEvent("keydown",
			{ key, bubbles: true, cancelable: true, ...more }));
		press("g"); press("Shift", { shiftKey: true }); press("a");
		press("g"); press("g", { repeat: true }); press("g", { repeat: true }); press("a");
		for (const more of [{ isComposing: true }, { ctrlKey: true }, { altKey: true }, { metaKey: true }, { repeat: true },
			{ modifierAltGraph: true }])
			press("a", more), press("r", more);
		return true;
	})()`)
	b.do(chromedp.SendKeys(chromedp.CSS("input.reason"), "a bargain"))
	eval[bool](b, `document.activeElement.blur(), true`)
	keys("r")
	b.see("h2", "demo__hostile")
	if got := f.answers(); len(got) != 1 || got[0] != "1 h1 rejected  map[]" {
		t.Errorf("the answers are %q", got)
	}
}

// Arrows scroll the box that has the focus; they do not change the question that is shown.
func TestBrowserScrollsAPreviewByKeyboard(t *testing.T) {
	server := newFake(2, 2).serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "approvals")
	b.see("h2", "demo__nested")
	eval[bool](b, `document.querySelector(".detail .scroll").focus(), true`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	if shown := eval[string](b, `document.querySelector(".detail h2").textContent`); shown != "demo__nested" {
		t.Errorf("%s is shown", shown)
	}
	eval[bool](b, `document.activeElement.blur(), true`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.see("h2", "demo__hostile")
}
