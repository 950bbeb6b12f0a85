package console_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// answers returns what the fake was answered with.
func (f *fake) answers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.called)
}

// Questions are answered by keyboard, each with the hash of what was shown, and a key that comes too early for the next
// question answers nothing.
func TestBrowserAnswersApprovals(t *testing.T) {
	f := newFake(2, 2)
	server := f.serve(t)
	b := openBrowser(t, 1200, 900)
	b.signIn(server.URL, token)
	b.open(server.URL, "approvals")
	b.see("h2", "demo__nested")
	b.see(".diff", "<b>new</b>")
	b.wait(`document.querySelector(".actions button.primary:not(:disabled)")`)
	b.do(chromedp.KeyEvent("a"), chromedp.KeyEvent("a"), chromedp.KeyEvent("a"))
	b.see("h2", "demo__hostile")
	if got := f.answers(); len(got) != 1 || !strings.HasPrefix(got[0], "1 h1 approved ") {
		t.Fatalf("three keys gave %q", got)
	}
	b.wait(`document.querySelector(".actions button.primary:not(:disabled)")`)
	b.do(chromedp.KeyEvent("r"))
	b.see("legend", "demo__nested asks")
	b.wait(`document.querySelector(".actions button.primary:not(:disabled)") && document.querySelector("[name='arguments[branch]']")`)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="arguments[branch]"]`), "main"))
	b.screenshot("question")
	b.press("Answer")
	b.see(".list", "Nothing waits")
	want := []string{"1 h1 approved  map[]", "2 h2 rejected  map[]",
		`3 h3 approved  map[q:{"action":"accept","content":{"branch":"main"}}]`}
	if got := f.answers(); !slices.Equal(got, want) {
		t.Errorf("the answers are %q", got)
	}
}
