package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// holdEnter presses Enter and keeps it down until it has been repeated n times. Each press is one event, as those of a
// keyboard are: chromedp.KeyEvent sends the character even if the page has prevented the key.
func (b *browser) holdEnter(n int, modifiers chromedp.Modifier) {
	b.t.Helper()
	key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter",
		WindowsVirtualKeyCode: 13, Text: "\r", UnmodifiedText: "\r", Modifiers: int64(modifiers)}
	for i := range n + 1 {
		key.AutoRepeat = new(i > 0)
		b.do(command(input.DispatchKeyEvent, key))
	}
	key.Type, key.Text, key.AutoRepeat = input.DispatchKeyEventTypeKeyUp, "", nil
	b.do(command(input.DispatchKeyEvent, key))
}

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

// A key that is held makes one call, the key of the page as well as Enter on the button.
func TestBrowserCallsOnceWhileAKeyIsHeld(t *testing.T) {
	f := newFake(2, 2)
	f.busy = true // calls end at once
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "tools/demo__loop")
	b.wait(`!!document.querySelector(".form")`)
	for name, c := range map[string]struct {
		focus     string
		modifiers chromedp.Modifier
	}{
		"Ctrl+Enter": {".tabs [role=tab]", chromedp.ModifierCtrl},
		"Enter":      {".run button", 0},
	} {
		before := len(f.answers())
		eval[bool](b, `document.querySelector(`+quote(c.focus)+`).focus(), true`)
		b.holdEnter(5, c.modifiers)
		b.wait(`document.querySelector(".call .status")?.textContent.startsWith("Done") && !document.querySelector(".list .pill")`)
		if n := len(f.answers()) - before; n != 1 {
			t.Errorf("%s, held, made %d calls", name, n)
		}
	}
}

// A button does nothing while what it has begun goes on.
func TestBrowserButtonsActOnce(t *testing.T) {
	f := newFake(2, 2)
	begun, release := make(chan struct{}, 10), make(chan struct{})
	f.reloading = func() { begun <- struct{}{}; <-release }
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "plugins")
	for range 5 {
		b.press("Reload")
	}
	<-begun
	close(release)
	b.see("#announcements", "demo was reloaded")
	b.press("Reload")
	<-begun
	if n := len(begun); n != 0 {
		t.Errorf("the plugin was reloaded %d times more", n)
	}
}
